//! Events of GitLab: <https://docs.gitlab.com/user/project/integrations/webhook_events/>.

use serde_json::Value;

use super::{
    Post, Status,
    git_push::{Change, Commit, Push, is_no_commit},
    honest_links::link,
    lenient_fields::{Field, object},
    markdown_pieces::{first_line, one_per_line, quote},
};

object! {
    struct Event {
        kind "object_kind": String, user: User, user_name: String, project: Project, attributes "object_attributes": Attributes,
        reference "ref": String, before: String, after: String, commits: Vec<Commit>, total_commits_count: u64,
        merge_request: Subject, issue: Subject, commit: NotedCommit,
        build_id: u64, build_name: String, build_status: String,
        name: String, tag: String, url: String, description: String, action: String,
    }
    struct User { name: String, username: String }
    struct Project { path "path_with_namespace": String, web_url: String }
    struct Attributes {
        id: u64, iid: u64, title: String, description: String, url: String, action: String, note: String, status: String,
        reference "ref": String,
    }
    struct Subject { iid: u64, title: String }
    struct NotedCommit { id: String, message: String }
}

/// The post of an event; `None` for one of no news, such as a label or a pipeline that has only begun.
pub fn post(event: &str, body: &Value) -> Option<Post> {
    let read = Event::read(body);
    let (text, status) = match read.kind.as_str() {
        "push" | "tag_push" => (read.push().text(), Status::Success),
        "merge_request" => (read.changed("merge request", '!')?, Status::Success),
        "issue" => (read.changed("issue", '#')?, Status::Success),
        "note" => (read.commented(), Status::Success),
        "pipeline" => {
            let Attributes { id, url, status, reference, .. } = &read.attributes;
            let own = format!("{}/-/pipelines/{id}", read.project.web_url);
            read.ran(&format!("Pipeline #{id}"), if url.is_empty() { &own } else { url }, status, reference)?
        }
        "build" => {
            let url = format!("{}/-/jobs/{}", read.project.web_url, read.build_id);
            read.ran(&format!("Job {}", read.build_name), &url, &read.build_status, &read.reference)?
        }
        "release" => (read.released()?, Status::Success),
        _ => (read.other(event), Status::Success),
    };
    Some(Post { author: "GitLab".into(), text, status, ..Post::default() })
}

impl Event {
    fn who(&self) -> String {
        let names = [&self.user.name, &self.user_name, &self.user.username];
        names.into_iter().map(|name| first_line(name)).find(|name| !name.is_empty()).unwrap_or_else(|| "Somebody".into())
    }

    fn project(&self) -> String {
        link(&self.project.path, &self.project.web_url)
    }

    fn push(&self) -> Push<'_> {
        let compare = format!("{}/-/compare/{}...{}", self.project.web_url, self.before, self.after);
        Push {
            who: self.who(),
            reference: self.reference.clone(),
            repository: self.project(),
            compare: if self.project.web_url.is_empty() || is_no_commit(&self.before) { String::new() } else { compare },
            commits: &self.commits,
            total: self.total_commits_count as usize,
            change: match (is_no_commit(&self.after), is_no_commit(&self.before)) {
                (true, _) => Change::Deleted,
                (_, true) => Change::Made,
                _ => Change::Moved,
            },
        }
    }

    /// A merge request or an issue that began or ended, with its text if it is new.
    fn changed(&self, kind: &str, sign: char) -> Option<String> {
        let Attributes { iid, title, description, url, action, .. } = &self.attributes;
        let done = match action.as_str() {
            "open" => "opened",
            "close" => "closed",
            "reopen" => "reopened",
            "merge" => "merged",
            "approved" => "approved",
            "unapproved" => "withdrew the approval of",
            _ => return None,
        };
        let head = format!("{} {done} {kind} {} in {}", self.who(), link(&format!("{sign}{iid} {title}"), url), self.project());
        Some(one_per_line([head, if action == "open" { quote(description) } else { String::new() }]))
    }

    fn commented(&self) -> String {
        let subject = if self.merge_request.iid > 0 {
            format!("!{} {}", self.merge_request.iid, self.merge_request.title)
        } else if self.issue.iid > 0 {
            format!("#{} {}", self.issue.iid, self.issue.title)
        } else {
            let id: String = self.commit.id.chars().take(7).collect();
            format!("{id} {}", first_line(&self.commit.message))
        };
        let head = format!(
            "{} {} {} in {}",
            self.who(),
            link("commented on", &self.attributes.url),
            first_line(&subject),
            self.project()
        );
        one_per_line([head, quote(&self.attributes.note)])
    }

    /// A pipeline or a job that has ended.
    fn ran(&self, name: &str, url: &str, status: &str, reference: &str) -> Option<(String, Status)> {
        let is_bad = match status {
            "success" => false,
            "failed" | "canceled" => true,
            _ => return None,
        };
        Some((
            format!("{}: {status} on {} in {}", link(name, url), first_line(reference), self.project()),
            Status::bad_if(is_bad),
        ))
    }

    fn released(&self) -> Option<String> {
        let name = if self.name.is_empty() { &self.tag } else { &self.name };
        let head = format!("Released {} of {}", link(name, &self.url), self.project());
        (self.action == "create").then(|| one_per_line([head, quote(&self.description)]))
    }

    /// An event of which only its name is known.
    fn other(&self, event: &str) -> String {
        let name = if self.kind.is_empty() { first_line(event) } else { first_line(&self.kind).replace('_', " ") };
        format!("{}: {name} in {}", self.who(), self.project())
    }
}
