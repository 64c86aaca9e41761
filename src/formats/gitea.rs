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
        // A push tells of each branch and tag that is made, and of each tag that is deleted.
        "create" => return None,
        "delete" if body["ref_type"] == "tag" => return None,
        // A test, which the settings of a webhook send: a push that moves nothing.
        "push" if body["before"].is_string() && body["before"] == body["after"] => "ping",
        other => other,
    };
    github::post(program, event, body)
}
