//! Events of Gitea and Forgejo, which are GitHub's but for a few names: <https://docs.gitea.com/usage/webhooks>.

use serde_json::Value;

use super::{Post, github};

/// The post of an event of `program`, Gitea or Forgejo; `None` for one of no news.
pub fn post(program: &str, event: &str, body: &Value) -> Option<Post> {
    let event = match event {
        "pull_request_approved" | "pull_request_rejected" | "pull_request_comment" if body["review"].is_object() => {
            "pull_request_review"
        }
        "pull_request_comment" => "issue_comment",
        other => other,
    };
    github::post(program, event, body)
}
