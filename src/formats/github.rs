//! Events of GitHub: <https://docs.github.com/en/webhooks/webhook-events-and-payloads>. [`super::gitea`] sends many of them, too.

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
        action: String, sender: Account, repository: Repository, number: u64,
        reference "ref": String, ref_type: String, compare: String, compare_url: String, commits: Vec<Commit>, total_commits: u64, pusher: Account,
        created: bool, deleted: bool, forced: bool, before: String, after: String,
        pull_request: Subject, issue: Subject, comment: Comment, review: Review, release: Release,
        workflow_run: Run, check_run: Run, workflow: Named, deployment: Deployment, deployment_status: State, zen: String,
        forkee: Repository, page: String, page_comment "comment": String,
    }
    struct Account { login: String, name: String }
    struct Repository { full_name: String, html_url: String }
    struct Subject { number: u64, title: String, body: String, html_url: String, merged: bool }
    struct Comment { body: String, html_url: String }
    struct Review { state: String, kind "type": String, body: String, content: String, html_url: String }
    struct Release { name: String, tag_name: String, body: String, html_url: String, prerelease: bool }
    struct Run { name: String, conclusion: String, html_url: String, head_branch: String, check_suite: Suite }
    struct Suite { head_branch: String }
    struct Named { name: String }
    struct Deployment { environment: String }
    struct State { state: String, target_url: String, log_url: String }
}

/// The post of an event of GitHub, or of a program that has its events; `None` for one of no news, such as a label or a run
/// that has only begun.
pub fn post(program: &str, event: &str, body: &Value) -> Option<Post> {
    let read = Event::read(body);
    let (text, status) = match event {
        "push" => (read.push().text(), Status::Success),
        "pull_request" => (read.changed("pull request", &read.pull_request)?, Status::Success),
        "issues" => (read.changed("issue", &read.issue)?, Status::Success),
        "issue_comment" => (read.commented()?, Status::Success),
        "pull_request_review" => read.reviewed()?,
        "release" => (read.released()?, Status::Success),
        "workflow_run" => read.ran("Workflow", &read.workflow_run)?,
        "check_run" => read.ran("Check", &read.check_run)?,
        "create" => (read.reference_changed("made"), Status::Success),
        "delete" => (read.reference_changed("deleted"), Status::Success),
        "deployment_status" => read.deployed()?,
        "fork" if program == "GitHub" => (read.forked(&read.repository, &read.forkee), Status::Success),
        "fork" => (read.forked(&read.forkee, &read.repository), Status::Success),
        "repository" => (read.repository_changed(), Status::Success),
        "wiki" => (read.wiki_changed(), Status::Success),
        "ping" => (one_per_line([format!("{program} is connected{}", read.of_repository()), quote(&read.zen)]), Status::Success),
        _ => (read.other(event), Status::Success),
    };
    Some(Post { author: program.into(), text, status, ..Post::default() })
}

impl Event {
    fn who(&self) -> String {
        let names = [&self.sender.login, &self.pusher.login, &self.pusher.name];
        names.into_iter().map(|name| first_line(name)).find(|name| !name.is_empty()).unwrap_or_else(|| "Somebody".into())
    }

    fn repository(&self) -> String {
        self.repository.named()
    }

    /// ` in` the repository, if there is one: events of an organisation have none.
    fn of_repository(&self) -> String {
        let repository = self.repository();
        if repository.is_empty() { repository } else { format!(" in {repository}") }
    }

    fn push(&self) -> Push<'_> {
        let change = if self.deleted || is_no_commit(&self.after) {
            Change::Deleted
        } else if self.created || is_no_commit(&self.before) {
            Change::Made
        } else if self.forced {
            Change::Forced
        } else {
            Change::Moved
        };
        Push {
            who: self.who(),
            reference: self.reference.clone(),
            repository: self.repository(),
            compare: self.compare(),
            commits: &self.commits,
            total: self.total_commits as usize,
            change,
        }
    }

    /// The address that compares before and after. If there is nothing to compare with, Gitea's is the server's front page.
    fn compare(&self) -> String {
        let is_gitea = self.compare.is_empty() && self.compare_url.contains("/compare/");
        if is_gitea { self.compare_url.clone() } else { self.compare.clone() }
    }

    /// A pull request or an issue that began or ended, with its text if it is new.
    fn changed(&self, kind: &str, subject: &Subject) -> Option<String> {
        let done = match self.action.as_str() {
            "opened" | "reopened" | "deleted" | "transferred" => &self.action,
            "closed" if subject.merged => "merged",
            "closed" => "closed",
            "ready_for_review" => "finished the draft of",
            _ => return None,
        };
        let body = if self.action == "opened" { quote(&subject.body) } else { String::new() };
        let head = format!("{} {done} {kind} {}{}", self.who(), self.named(subject), self.of_repository());
        Some(one_per_line([head, body]))
    }

    /// The number and title of a pull request or an issue, as a link.
    fn named(&self, subject: &Subject) -> String {
        let number = if subject.number == 0 { self.number } else { subject.number };
        link(&format!("#{number} {}", subject.title), &subject.html_url)
    }

    fn commented(&self) -> Option<String> {
        let Comment { body, html_url } = &self.comment;
        let subject = first_line(&format!("#{} {}", self.issue.number, self.issue.title));
        let head = format!("{} {} {subject}{}", self.who(), link("commented on", html_url), self.of_repository());
        (self.action == "created").then(|| one_per_line([head, quote(body)]))
    }

    fn reviewed(&self) -> Option<(String, Status)> {
        let Review { state, kind, body, content, html_url } = &self.review;
        let body = if body.is_empty() { content } else { body };
        let state = if state.is_empty() { kind.trim_start_matches("pull_request_review_") } else { state };
        let done = match state {
            "approved" => "approved",
            "changes_requested" | "rejected" => "requested changes to",
            _ if !body.trim().is_empty() => "reviewed",
            // Gitea's type of a review that has only comments on lines. For each of these, GitHub has an event of its own.
            "comment" => "commented on",
            _ => return None,
        };
        let pull_request = link(
            &format!("#{} {}", self.pull_request.number, self.pull_request.title),
            first(html_url, &self.pull_request.html_url),
        );
        let head = format!("{} {done} pull request {pull_request}{}", self.who(), self.of_repository());
        let is_new = matches!(self.action.as_str(), "submitted" | "reviewed");
        is_new.then(|| (one_per_line([head, quote(body)]), Status::bad_if(done == "requested changes to")))
    }

    fn released(&self) -> Option<String> {
        let Release { name, tag_name, body, html_url, prerelease } = &self.release;
        let done = if *prerelease { "published pre-release" } else { "released" };
        let head = format!("{} {done} {}{}", self.who(), link(first(name, tag_name), html_url), self.of_repository());
        (self.action == "published").then(|| one_per_line([head, quote(body)]))
    }

    /// A run of checks that has ended.
    fn ran(&self, kind: &str, run: &Run) -> Option<(String, Status)> {
        let branch = first_line(first(&run.head_branch, &run.check_suite.head_branch));
        let on = if branch.is_empty() { branch } else { format!(" on {branch}") };
        let conclusion = first_line(&run.conclusion).replace('_', " ");
        let name = first(&run.name, &self.workflow.name);
        let text = format!("{kind} {}: {conclusion}{on}{}", link(name, &run.html_url), self.of_repository());
        let is_good = matches!(run.conclusion.as_str(), "success" | "neutral" | "skipped");
        (self.action == "completed" && !conclusion.is_empty()).then(|| (text, Status::bad_if(!is_good)))
    }

    /// A branch or a tag that was made or deleted. Forgejo has its full name, such as `refs/heads/main`.
    fn reference_changed(&self, done: &str) -> String {
        let name = ["refs/heads/", "refs/tags/"].iter().find_map(|folder| self.reference.strip_prefix(folder));
        let (kind, name) = (first_line(first(&self.ref_type, "reference")), first_line(name.unwrap_or(&self.reference)));
        format!("{} {done} {kind} {name}{}", self.who(), self.of_repository())
    }

    /// A repository that was copied. GitHub calls the copy the forkee, and Gitea the original.
    fn forked(&self, original: &Repository, copy: &Repository) -> String {
        format!("{} forked {} to {}", self.who(), original.named(), copy.named())
    }

    /// A repository that was made or deleted, for example. The address of a deleted one leads nowhere.
    fn repository_changed(&self) -> String {
        let repository = match self.action.as_str() {
            "created" | "archived" | "unarchived" | "renamed" | "transferred" => self.repository(),
            "deleted" => first_line(&self.repository.full_name),
            _ => return self.other("repository"),
        };
        format!("{} {} repository {repository}", self.who(), self.action)
    }

    /// A page of Gitea's wiki that was created, edited or deleted, with the comment on it.
    fn wiki_changed(&self) -> String {
        let (action, page) = (first_line(&self.action), first_line(&self.page));
        let head = format!("{} {action} wiki page {page}{}", self.who(), self.of_repository());
        one_per_line([head, quote(&self.page_comment)])
    }

    /// A deployment that has succeeded or failed; one that is under way is no news.
    fn deployed(&self) -> Option<(String, Status)> {
        let State { state, target_url, log_url } = &self.deployment_status;
        let to = first_line(first(&self.deployment.environment, "somewhere"));
        let text =
            format!("{}: {state}{}", link(&format!("Deployment to {to}"), first(log_url, target_url)), self.of_repository());
        let is_over = matches!(state.as_str(), "success" | "failure" | "error" | "inactive");
        is_over.then(|| (text, Status::bad_if(matches!(state.as_str(), "failure" | "error"))))
    }

    /// An event of which only its name and its action are known.
    fn other(&self, event: &str) -> String {
        let name = first_line(event).replace('_', " ");
        let action = first_line(&self.action).replace('_', " ");
        let action = if action.is_empty() { action } else { format!(" ({action})") };
        format!("{}: {name}{action}{}", self.who(), self.of_repository())
    }
}

impl Repository {
    fn named(&self) -> String {
        link(&self.full_name, &self.html_url)
    }
}

fn first<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.trim().is_empty() { otherwise } else { text }
}
