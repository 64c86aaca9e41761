//! Issues and alerts of Sentry: its integrations
//! (<https://docs.sentry.io/organization/integrations/integration-platform/webhooks/>), which name the resource in a header,
//! and its older plugin for webhooks.

use serde_json::Value;

use super::{
    Post, Status,
    honest_links::link,
    lenient_fields::{Field, object},
    markdown_pieces::{bold, first_line, one_per_line},
};

object! {
    struct Event { action: String, data: Data, project_name: String, project: String, culprit: String, level: String, message: String, url: String, event: Subject }
    struct Data {
        issue: Subject, event: Subject, error: Subject, rule "triggered_rule": String,
        title "description_title": String, text "description_text": String, web_url: String,
    }
    struct Subject { title: String, culprit: String, level: String, web_url: String, permalink: String, number "shortId": String, project: Project }
    struct Project { name: String, slug: String }
}

/// The post of what a resource tells; `None` for one of no news. Without a header the body is the plugin's.
pub fn post(resource: &str, body: &Value) -> Option<Post> {
    let Event { action, data, project_name, project, culprit, level, message, url, event } = Event::read(body);
    let is_resolved = matches!(action.as_str(), "resolved" | "ignored" | "archived");
    let text = match resource {
        "issue" if matches!(action.as_str(), "assigned" | "unassigned") => return None,
        "issue" => format!("Issue {}: {}", first_line(&action), data.issue.text()),
        "event_alert" => one_per_line([bold(&data.rule), data.event.text()]),
        "error" => data.error.text(),
        "metric_alert" => {
            one_per_line([link(&format!("{} {}", first_line(&action), data.title), &data.web_url), first_line(&data.text)])
        }
        "" => {
            let title = if event.title.is_empty() { &message } else { &event.title };
            let name = if project_name.is_empty() { project } else { project_name };
            let subject = Subject {
                title: title.clone(),
                culprit,
                level,
                web_url: url,
                project: Project { name, ..Project::default() },
                ..event
            };
            subject.text()
        }
        other => format!("{} {}", first_line(other).replace('_', " "), first_line(&action)),
    };
    Some(Post { author: "Sentry".into(), text, status: Status::bad_if(!is_resolved), ..Post::default() })
}

impl Subject {
    fn text(&self) -> String {
        let address = if self.web_url.is_empty() { &self.permalink } else { &self.web_url };
        let project = if self.project.name.is_empty() { &self.project.slug } else { &self.project.name };
        let about = [&self.level, project, &self.number, &self.culprit].map(|part| first_line(part));
        let about = about.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" \u{b7} ");
        one_per_line([link(&self.title, address), about])
    }
}
