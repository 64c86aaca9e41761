//! Which program has sent a body, and the post of it.

use serde_json::Value;

use super::{
    Post, alerts, discord, gitea, github, gitlab, healthchecks, markdown_pieces, sentry,
    slack_messages::message::{self, Dialect},
    statuspage, uptime_kuma,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Slack,
    Mattermost,
    Discord,
    GitHub,
    GitLab,
    Gitea,
    Forgejo,
    Grafana,
    Alertmanager,
    Sentry,
    UptimeKuma,
    Healthchecks,
    Statuspage,
}

/// The headers that name a program's event. Gitea sends GitHub's header, too, and Forgejo both of theirs.
const EVENTS: [(&str, Program); 5] = [
    ("x-forgejo-event", Program::Forgejo),
    ("x-gitea-event", Program::Gitea),
    ("x-gitlab-event", Program::GitLab),
    ("x-github-event", Program::GitHub),
    ("sentry-hook-resource", Program::Sentry),
];
/// Characters of an event's name.
const EVENT: usize = 60;

/// The program that has sent a body, and its event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SendingProgram {
    pub program: Program,
    /// The event as a header or the body names it; empty if there is none.
    event: String,
}

impl SendingProgram {
    /// Recognises a program by the values of its headers, or by the fields of its body. `None` for a body of no other program.
    pub fn recognise<'a>(header: impl Fn(&str) -> Option<&'a str>, body: &Value, dialect: Dialect) -> Option<SendingProgram> {
        let named = EVENTS.iter().find_map(|(name, program)| Some((*program, header(name)?)));
        if let (Some((program, event)), true) = (named, body.is_object()) {
            return Some(SendingProgram { program, event: markdown_pieces::cut(event.trim(), EVENT) });
        }
        Some(SendingProgram { program: by_shape(body, dialect)?, event: String::new() })
    }

    /// How the history names what was read.
    pub fn title_in_history(&self) -> String {
        let name = match self.program {
            Program::UptimeKuma => "Uptime Kuma",
            Program::Healthchecks => "Healthchecks.io",
            program => &format!("{program:?}"),
        };
        format!("{name} {}", self.event).trim_end().to_owned()
    }

    /// Whether people write what the program posts, so that a body without a text is a fault.
    pub fn is_chat(&self) -> bool {
        matches!(self.program, Program::Slack | Program::Mattermost | Program::Discord)
    }

    /// Whether the texts of its bodies may be by anybody who opens an issue or makes a program fail.
    pub fn quotes_strangers(&self) -> bool {
        matches!(self.program, Program::GitHub | Program::GitLab | Program::Gitea | Program::Forgejo | Program::Sentry)
    }

    /// The post of a body. `None` if there is nothing to tell.
    pub fn post(&self, body: &Value) -> Option<Post> {
        let post = match self.program {
            Program::Slack => message::post(body, Dialect::Mrkdwn),
            Program::Mattermost => message::post(body, Dialect::Markdown),
            Program::Discord => discord::post(body),
            Program::GitHub => github::post("GitHub", &self.event, body)?,
            Program::GitLab => gitlab::post(&self.event, body)?,
            Program::Gitea => gitea::post("Gitea", &self.event, body)?,
            Program::Forgejo => gitea::post("Forgejo", &self.event, body)?,
            Program::Grafana => alerts::grafana(body),
            Program::Alertmanager => alerts::alertmanager(body),
            Program::Sentry => sentry::post(&self.event, body)?,
            Program::UptimeKuma => uptime_kuma::post(body),
            Program::Healthchecks => healthchecks::post(body),
            Program::Statuspage => statuspage::post(body)?,
        };
        Some(post).filter(|post| !post.text.trim().is_empty())
    }
}

/// The program whose fields a body has. A body with a `message` is this server's own, unless it has all that another program's has.
fn by_shape(body: &Value, dialect: Dialect) -> Option<Program> {
    let has = |fields: &[&str]| fields.iter().all(|field| body.get(field).is_some_and(|value| !value.is_null()));
    if has(&["alerts", "receiver", "status"]) {
        return Some(if has(&["orgId"]) { Program::Grafana } else { Program::Alertmanager });
    }
    if body["event"].is_object() && has(&["project", "level"]) {
        return Some(Program::Sentry);
    }
    if body.get("message").is_some() {
        return None;
    }
    if has(&["msg"]) && body.get("heartbeat").is_some() && body.get("monitor").is_some() {
        return Some(Program::UptimeKuma);
    }
    if has(&["name", "status", "n_pings"]) {
        return Some(Program::Healthchecks);
    }
    if has(&["page"]) && (has(&["incident"]) || has(&["component"])) {
        return Some(Program::Statuspage);
    }
    // Libraries for Discord send `attachments`, too, for files.
    if !has(&["text"]) && !has(&["blocks"]) && (has(&["content"]) || has(&["embeds"])) {
        return Some(Program::Discord);
    }
    let is_slacks = ["text", "attachments", "blocks"].iter().any(|field| has(&[field]));
    is_slacks.then_some(if dialect == Dialect::Markdown { Program::Mattermost } else { Program::Slack })
}
