//! Feeds in the formats of other programs: what stands in the channel, the answers, and what the history keeps.

mod hostile;
mod received;
mod signed;

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use tidings::error::Code;

use super::scene::fed;
use crate::{
    harness::{Client, Reply, text},
    receiver::Hook,
    socket::Socket,
};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// The bodies of each program, with what becomes of them.
fn cases() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/hooks");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let read = |file: PathBuf| {
        let program = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let cases: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        cases.into_iter().map(move |case| (program.clone(), case))
    };
    files.into_iter().flat_map(read).collect()
}

/// The whole paths of a webhook: the feed's, and Mattermost's.
fn feed(hook: &Hook) -> String {
    format!("/api/v1{}", hook.feed)
}

fn mattermosts(hook: &Hook) -> String {
    hook.feed.replace("/webhooks/feed/", "/hooks/")
}

async fn send(client: &Client, path: &str, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Reply {
    let request = client.request("POST", path).body(body.into());
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    Reply::of(request, &format!("POST {path}"), "").await
}

/// The status, the content type and the text of an answer.
async fn answer(client: &Client, path: &str, body: &Value) -> (u16, String, String) {
    let answer = client.request("POST", path).json(body).send().await.unwrap();
    let kind = answer.headers().get("content-type").map_or_else(String::new, |kind| kind.to_str().unwrap().to_owned());
    (answer.status().as_u16(), kind, answer.text().await.unwrap())
}

fn form(payload: &Value) -> String {
    url::form_urlencoded::Serializer::new(String::new()).append_pair("payload", &payload.to_string()).finish()
}

#[tokio::test]
async fn what_other_programs_send_stands_in_the_channel() {
    let (scene, hook) = fed().await;
    let mut posts = 0;
    for (program, case) in cases() {
        let path = if program == "mattermost" { mattermosts(&hook) } else { feed(&hook) };
        let headers = case["headers"].as_object().unwrap().iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
        let headers: Vec<_> = headers.chain([("content-type", JSON)]).collect();
        let answer = send(&scene.anybody, &path, &headers, case["body"].to_string()).await;
        assert!(matches!(answer.status, 200 | 204), "{program}: {} {}", answer.status, answer.body);
        assert_eq!(hook.history(0).await[0]["read_as"], case["read_as"], "{program}");
        posts += usize::from(!case["text"].is_null());
        let threads = scene.threads(&scene.grace).await;
        let thread = &threads[0];
        if case["text"].is_null() {
            continue; // the program has no news
        }
        assert_eq!([&thread["content"], &thread["status"]], [&case["text"], &case["status"]], "{program}: {}", case["body"]);
        let author = if case["author"] == "" { "builder" } else { case["author"].as_str().unwrap() };
        assert_eq!([&thread["username"], &thread["event_name"], &thread["type"]], [author, "build", "thread"], "{program}");
        assert_eq!(thread["avatar_url"], case.get("picture").cloned().unwrap_or(json!("")), "{program}");
    }
    let path = format!("/channels/{}/messages?limit=100", scene.channel);
    let messages = scene.grace.get(&path).await.expect(200)["messages"].as_array().unwrap().clone();
    assert_eq!(
        messages.iter().filter(|message| message["type"] == "thread").count(),
        posts,
        "an event without news posts nothing"
    );
}

#[tokio::test]
async fn each_program_gets_the_answer_that_it_expects() {
    let (scene, hook) = fed().await;
    let plain = "text/plain; charset=utf-8";
    for body in [json!({ "text": "done" }), json!({ "attachments": [{ "fallback": "done" }] })] {
        for path in [feed(&hook), mattermosts(&hook), format!("{}/", mattermosts(&hook))] {
            assert_eq!(answer(&scene.anybody, &path, &body).await, (200, plain.into(), "ok".into()));
        }
    }
    let discord = json!({ "content": "done", "attachments": [] });
    assert_eq!(answer(&scene.anybody, &feed(&hook), &discord).await, (204, String::new(), String::new()));
    for (wait, waits) in [("wait=true", true), ("x=1&wait=True", true), ("wait=1", true), ("wait=false", false), ("wait", false)]
    {
        let (status, _, text) = answer(&scene.anybody, &format!("{}?{wait}", feed(&hook)), &discord).await;
        let id = scene.threads(&scene.grace).await[0]["thread_id"].take();
        let expected = if waits { (200, json!({ "id": id, "type": 0 }).to_string()) } else { (204, String::new()) };
        assert_eq!((status, text), expected, "{wait}");
    }
    let headers = [("content-type", JSON), ("x-github-event", "ping")];
    let reply = send(&scene.anybody, &feed(&hook), &headers, json!({ "zen": "Simple." }).to_string()).await;
    assert_eq!(reply.expect(200)["message_id"], scene.threads(&scene.grace).await[0]["thread_id"]);
    // Own bodies have the envelope at both addresses.
    let reply =
        send(&scene.anybody, &mattermosts(&hook), &[("content-type", JSON)], json!({ "message": "done" }).to_string()).await;
    assert_eq!(reply.expect(200)["message_id"], scene.threads(&scene.grace).await[0]["thread_id"]);
}

#[tokio::test]
async fn forms_and_plain_text_are_read() {
    let (scene, hook) = fed().await;
    let slack = json!({ "text": "a & b = <https://x.example|c>" });
    let push =
        json!({ "ref": "refs/tags/v1", "created": true, "sender": { "login": "ada" }, "repository": { "full_name": "loom" } });
    for (headers, body, shown, read_as) in [
        (vec![("content-type", FORM)], form(&slack), "a & b = [c](https://x.example)", "Slack"),
        (vec![("content-type", FORM), ("x-github-event", "push")], form(&push), "ada pushed tag v1 to loom", "GitHub push"),
        (vec![("content-type", FORM)], form(&json!({ "message": "own" })), "own", "Tidings"),
        (vec![("content-type", FORM)], r#"{"text": "as curl -d sends it"}"#.into(), "as curl -d sends it", "Slack"),
        (vec![("content-type", "text/plain; charset=utf-8")], "caf\u{e9}\nis open".into(), "caf\u{e9}\nis open", "plain text"),
        (
            vec![("content-type", "text/plain")],
            "[bank.example](https://evil.example)".into(),
            "[bank.example] (https://evil.example)",
            "plain text",
        ),
        (vec![("content-type", "text/plain")], r#" {"content": "as JSON"}"#.into(), "as JSON", "Discord"),
        (vec![], r#"{"message": "without a type"}"#.into(), "without a type", "Tidings"),
    ] {
        let status = send(&scene.anybody, &feed(&hook), &headers, body).await.status;
        assert!(matches!(status, 200 | 204), "{status} for {shown}");
        assert_eq!(scene.threads(&scene.grace).await[0]["content"], shown);
        assert_eq!(hook.history(0).await[0]["read_as"], read_as);
    }
}

#[tokio::test]
async fn what_is_not_understood_is_told_what_is_expected() {
    let (scene, hook) = fed().await;
    let kinds = "The request body must be JSON with the content type application/json, a form with JSON in its field payload, or text \
                 with the content type text/plain";
    let slack = "text, attachments or blocks must have a text";
    let fields = "message is required; the fields are message, username, event_name, status, action_type, avatar_url, actions";
    let refused = [
        (JSON, &br#"{"text": ""}"#[..], Code::Empty, slack),
        (JSON, br#"{"blocks": [{"type": "divider"}]}"#, Code::Empty, slack),
        (JSON, br#"{"content": " \n"}"#, Code::Empty, "content or embeds must have a text"),
        (JSON, br#"{"title": "done"}"#, Code::Required, fields),
        (JSON, b"[]", Code::InvalidValue, "The request body must be a JSON object"),
        (FORM, b"payload=%7B", Code::NotJson, "The request body is not JSON: EOF while parsing an object at line 1 column 1"),
        (FORM, b"text=done", Code::NotJson, kinds),
        ("application/xml", b"<a/>", Code::NotJson, kinds),
        ("multipart/form-data; boundary=x", b"--x--", Code::NotJson, kinds),
        ("text/plain", b"\xff", Code::NotJson, kinds),
    ];
    for (kind, body, code, says) in refused {
        for path in [feed(&hook), mattermosts(&hook)] {
            let reply = send(&scene.anybody, &path, &[("content-type", kind)], body).await.refused(400, code);
            assert_eq!(reply["message"], says, "{}", body.escape_ascii());
            let record = &hook.history(1).await[0];
            assert_eq!([&record["read_as"], &record["error"], &record["status_code"]], ["not understood", says, "400"]);
        }
    }
    assert_eq!(scene.threads(&scene.grace).await.len(), 0);
}

#[tokio::test]
async fn mattermosts_path_is_a_feed_and_nothing_else() {
    let (scene, hook) = fed().await;
    let (path, body) = (mattermosts(&hook), json!({ "text": "*done*" }).to_string());
    let unknown =
        send(&scene.anybody, "/hooks/unknown", &[("content-type", JSON)], body.clone()).await.refused(404, Code::WebhookNotFound);
    assert_eq!(unknown["status"], "error", "the usual envelope");
    for other in ["/hooks/", "/hooks", &format!("{path}/slack")] {
        assert_ne!(send(&scene.anybody, other, &[("content-type", JSON)], body.clone()).await.status, 200, "{other}");
    }
    for method in ["GET", "HEAD", "PUT", "DELETE"] {
        let answer =
            scene.anybody.request(method, &format!("{path}?message=done&username=ci&event_name=x&status=success")).send().await;
        assert_ne!(
            answer.unwrap().headers().get("content-type").map(|kind| kind.as_bytes().to_vec()),
            Some(b"application/json; charset=utf-8".to_vec())
        );
    }
    assert_eq!(scene.threads(&scene.grace).await.len(), 0);
    hook.set("inactive").await;
    send(&scene.anybody, &path, &[("content-type", JSON)], body.clone()).await.refused(403, Code::WebhookInactive);
    hook.set("paused").await;
    assert_eq!(answer(&scene.anybody, &path, &json!({ "text": "done" })).await.2, "ok");
    assert_eq!([&hook.history(1).await[0]["action_type"], &hook.history(1).await[0]["read_as"]], ["paused", "Mattermost"]);
    assert_eq!(scene.threads(&scene.grace).await.len(), 0);
}

#[tokio::test]
async fn only_names_in_the_text_are_mentioned() {
    let (scene, hook) = fed().await;
    let own = scene.grace.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.grace, &[&own]).await;
    for (body, mentions) in [
        (json!({ "text": "<@U1|grace> and <@U2|@grace>, <!subteam^S1|@grace>, <#C1|@channel>" }), 0),
        (json!({ "content": "<@123> <#4>" }), 0),
        (json!({ "text": "hello @grace" }), 1),
        (json!({ "text": "<!here> look" }), 1),
    ] {
        assert!(answer(&scene.anybody, &feed(&hook), &body).await.0 < 300);
        assert_eq!(scene.threads(&scene.grace).await[0]["mentions"].as_array().unwrap().len(), mentions, "{body}");
        let pushed = if mentions == 0 { 1 } else { 2 };
        let mut kinds = Vec::new();
        for _ in 0..pushed {
            kinds.push(text(&socket.on(&own).await["notification_type"]));
        }
        assert_eq!(kinds.iter().filter(|kind| *kind == "channel_mention").count(), mentions, "{body}");
    }
}

#[tokio::test]
async fn a_text_of_another_program_is_cut_to_the_length_of_a_post_and_an_own_one_is_refused() {
    let (scene, hook) = fed().await;
    let content = async |text: String| {
        assert_eq!(answer(&scene.anybody, &feed(&hook), &json!({ "text": text })).await.0, 200);
        crate::harness::text(&scene.threads(&scene.grace).await[0]["content"])
    };
    let most = "\u{e9}".repeat(40_000);
    assert_eq!(content(most.clone()).await, most);
    assert_eq!(content(most.clone() + "e").await, "\u{e9}".repeat(39_999) + "\u{2026}");
    assert_eq!(content("word ".repeat(8_001)).await, "word ".repeat(7_999) + "word\u{2026}");
    let body = json!({ "message": most + "e" });
    scene.anybody.post(&hook.feed, body).await.refused(422, Code::TooLong);
    let name =
        json!({ "text": "done", "username": format!("A\u{200b}da\n{}", "x".repeat(80)), "icon_url": "javascript:alert(1)" });
    assert_eq!(answer(&scene.anybody, &feed(&hook), &name).await.0, 200);
    let thread = &scene.threads(&scene.grace).await[0];
    assert_eq!([&thread["username"], &thread["avatar_url"]], [&format!("Ada {}\u{2026}", "x".repeat(59)), ""]);
}

/// Anybody may open an issue, and must not call all members of a channel with its title.
#[tokio::test]
async fn a_name_in_the_title_of_an_issue_mentions_nobody_and_one_in_a_text_for_slack_does() {
    let (scene, hook) = fed().await;
    let newest = async || {
        let newest = &scene.threads(&scene.grace).await[0];
        (text(&newest["content"]), newest["mentions"].as_array().unwrap().len())
    };
    let issue = json!({
        "action": "opened",
        "issue": { "number": 7, "title": "@channel look here", "html_url": "https://git.example/harbour/issues/7" },
        "repository": { "full_name": "harbour/lights" },
        "sender": { "login": "stranger" }
    });
    let headers = [("content-type", JSON), ("x-github-event", "issues")];
    send(&scene.anybody, &feed(&hook), &headers, issue.to_string()).await.expect(200);
    let (content, mentions) = newest().await;
    assert!(content.contains("@channel look here") && mentions == 0, "{content}: {mentions}");
    let slack = json!({ "text": "<!channel> the tide is high" });
    assert_eq!(answer(&scene.anybody, &feed(&hook), &slack).await.0, 200);
    assert_eq!(newest().await, ("@channel the tide is high".to_owned(), 1));
}
