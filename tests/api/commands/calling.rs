//! Calls of commands: what the program gets, and what becomes of its answers.

use std::time::Duration;

use poem::Response;
use serde_json::{Value, json};
use tidings::{domain::accounts::by_operator, error::Code};

use crate::{
    harness::{Client, Server, text, unknown_id},
    receiver::{self, Received, Receiver},
    socket::Socket,
};

struct Scene {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
    secret: String,
    program: Receiver,
}

impl Scene {
    /// A command `/deploy` whose program answers this, with this content type.
    async fn answering(content_type: &'static str, answer: impl Into<String>) -> Scene {
        let answer = answer.into();
        let program = Receiver::answering(move |_| {
            let response = Response::builder().content_type(content_type).body(answer.clone());
            async move { response }
        });
        Scene::with(program.await).await
    }

    async fn with(program: Receiver) -> Scene {
        let server = receiver::server().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let channel = ada.channel(&organisation, "news", &[&grace]).await;
        let body = json!({ "name": "deploy", "url": program.url });
        let made = ada.post(&format!("/organisations/{organisation}/commands"), body).await.expect(201);
        let secret = text(&made["data"]["secret"]);
        Scene { server, ada, grace, organisation, channel, secret, program }
    }

    async fn command(&self) -> String {
        let listed = self.ada.get(&format!("/organisations/{}/commands", self.organisation)).await.expect(200);
        format!("/organisations/{}/commands/{}", self.organisation, text(&listed["data"][0]["id"]))
    }

    async fn call(&self, body: Value) -> crate::harness::Reply {
        self.grace.post(&format!("/channels/{}/commands", self.channel), body).await
    }

    async fn answered(&self, body: Value) -> Value {
        self.call(body).await.data(200, "Command called successfully")
    }

    async fn messages(&self) -> Value {
        self.ada.get(&format!("/channels/{}/messages", self.channel)).await.expect(200)["messages"].take()
    }
}

/// The path at which a call takes later answers.
fn later(call: &Received) -> String {
    let url = text(&call.json()["data"]["response_url"]);
    url[url.find("/commands/answers/").unwrap()..].to_owned()
}

#[tokio::test]
async fn the_program_gets_a_signed_call_and_its_text_is_for_the_caller_alone() {
    let mut scene = Scene::answering("text/plain", "Deploying…").await;
    let thread = scene.ada.say(&scene.channel, "Is it out?").await;
    let answered = scene.answered(json!({ "command": "/Deploy", "text": "production now", "thread_id": thread })).await;
    assert_eq!((&answered["text"], &answered["message_id"]), (&json!("Deploying…"), &Value::Null));
    let call = scene.program.next().await;
    assert!(call.is_signed_with(&scene.secret));
    let body = call.json();
    assert_eq!(body["type"], "command.called");
    let data = &body["data"];
    assert_eq!([&data["command"], &data["text"]], ["/deploy", "production now"]);
    assert_eq!([&data["channel_id"], &data["thread_id"]], [&scene.channel, &thread]);
    assert_eq!([&data["user_id"], &data["username"], &data["channel_name"]], [&scene.grace.user_id, "grace", "news"]);
    assert_eq!(scene.messages().await.as_array().unwrap().len(), 1, "nobody else sees the answer");
}

#[tokio::test]
async fn an_answer_for_all_is_posted_where_the_command_was_called() {
    let answer = json!({ "response_type": "in_channel", "text": "**Deployed** by [ci.example](https://evil.example)" });
    let scene = Scene::answering("application/json", answer.to_string()).await;
    let answered = scene.answered(json!({ "command": "deploy" })).await;
    let messages = scene.messages().await;
    assert_eq!((&messages[0]["id"], &answered["text"]), (&answered["message_id"], &json!("")));
    assert_eq!([&messages[0]["username"], &messages[0]["user_type"], &messages[0]["user_id"]], ["deploy", "webhook", ""]);
    assert_eq!(messages[0]["content"], "**Deployed** by [ci.example] (https://evil.example)", "no link hides where it leads");
    let thread = scene.ada.say(&scene.channel, "Again").await;
    let reply = scene.answered(json!({ "command": "deploy", "thread_id": thread })).await;
    let replies = scene.ada.get(&format!("/threads/{thread}/channels/{}", scene.channel)).await.expect(200);
    assert_eq!(replies["data"][0]["id"], reply["message_id"]);
}

#[tokio::test]
async fn a_program_of_slack_gets_form_fields_and_answers_in_its_markup() {
    let answer = json!({ "response_type": "ephemeral", "text": "*Deployed* <https://ci.example/7|build 7>" });
    let mut scene = Scene::answering("application/json; charset=utf-8", answer.to_string()).await;
    scene.ada.patch(&scene.command().await, json!({ "form": "slack" })).await.expect(200);
    let answered = scene.answered(json!({ "command": "deploy", "text": "a=1&b" })).await;
    assert_eq!(answered["text"], "**Deployed** [build 7](https://ci.example/7)");
    let call = scene.program.next().await;
    assert_eq!(call.header("content-type"), "application/x-www-form-urlencoded");
    assert!(call.is_signed_with(&scene.secret));
    let fields: std::collections::HashMap<_, _> = url::form_urlencoded::parse(call.body.as_bytes()).into_owned().collect();
    assert_eq!([&fields["command"], &fields["text"], &fields["user_name"]], ["/deploy", "a=1&b", "grace"]);
    let url = &fields["response_url"];
    let path = &url[url.find("/commands/answers/").unwrap()..];
    let mut socket = Socket::listening(&scene.grace, &[&scene.grace.user_id]).await;
    let later = json!({ "text": "*Up* since <https://ci.example/7|build 7>" });
    scene.server.anonymous().post(path, later).await.expect(200);
    let told = socket.on(&scene.grace.user_id).await;
    assert_eq!(told["data"]["text"], "**Up** since [build 7](https://ci.example/7)");
}

#[tokio::test]
async fn later_answers_are_taken_five_times_within_half_an_hour() {
    let mut scene = Scene::answering("text/plain", "").await;
    let mut socket = Socket::listening(&scene.grace, &[&scene.grace.user_id]).await;
    let answered = scene.answered(json!({ "command": "deploy" })).await;
    assert_eq!((&answered["text"], &answered["message_id"]), (&json!(""), &Value::Null));
    let path = later(&scene.program.next().await);
    let program = scene.server.anonymous();
    program.post(&path, json!({ "text": "for *you*" })).await.done(200, "Answer sent successfully");
    let told = socket.on(&scene.grace.user_id).await;
    assert_eq!(told["notification_type"], "command_answer");
    assert_eq!([&told["data"]["command"], &told["data"]["text"]], ["/deploy", "for *you*"]);
    assert_eq!(told["data"]["channel_id"], scene.channel);
    for n in 0..4 {
        let body = json!({ "text": format!("step {n}"), "response_type": "in_channel", "username": "CI" });
        program.post(&path, body).await.expect(200);
    }
    let messages = scene.messages().await;
    assert_eq!((messages.as_array().unwrap().len(), &messages[0]["username"]), (4, &json!("CI")));
    program.post(&path, json!({ "text": "a sixth" })).await.refused(404, Code::CallNotFound);
    program.post("/commands/answers/unknown", json!({ "text": "x" })).await.refused(404, Code::CallNotFound);

    scene.call(json!({ "command": "deploy" })).await.expect(200);
    let path = later(&scene.program.next().await);
    program.post(&path, json!({ "text": "x", "response_type": "all" })).await.refused(422, Code::InvalidValue);
    scene.server.clock.advance(Duration::from_secs(30 * 60));
    program.post(&path, json!({ "text": "late" })).await.refused(404, Code::CallNotFound);
}

#[tokio::test]
async fn whoever_may_not_post_calls_nothing_and_their_calls_are_answered_no_more() {
    let mut scene = Scene::answering("text/plain", "ok").await;
    let outsider = scene.server.user("outsider").await;
    let calls = format!("/channels/{}/commands", scene.channel);
    outsider.post(&calls, json!({ "command": "deploy" })).await.refused(404, Code::ChannelNotFound);
    scene.call(json!({ "command": "deploy", "thread_id": unknown_id() })).await.refused(404, Code::ThreadNotFound);
    scene.call(json!({ "command": "nothing" })).await.refused(404, Code::CommandNotFound);
    scene.call(json!({ "command": "deploy", "text": "x".repeat(4001) })).await.refused(422, Code::TooLong);
    scene.call(json!({ "command": "deploy", "text": "x".repeat(4000) })).await.expect(200);
    let path = later(&scene.program.next().await);
    scene.grace.call("POST", &format!("/channels/{}/leave", scene.channel), None).await.expect(200);
    let body = json!({ "text": "x", "response_type": "in_channel" });
    scene.server.anonymous().post(&path, body).await.refused(403, Code::NotInChannel);
    scene.server.anonymous().post(&path, json!({ "text": "x" })).await.refused(403, Code::NotInChannel);
    let archived = format!("/channels/{}/archive", scene.channel);
    scene.ada.put(&archived, json!({ "archived": true })).await.expect(200);
    scene.ada.post(&calls, json!({ "command": "deploy" })).await.refused(403, Code::ChannelArchived);
}

#[tokio::test]
async fn a_command_works_while_whoever_answers_for_it_may_manage_it() {
    let scene = Scene::answering("text/plain", "ok").await;
    let member = |user: &Client| format!("/organisations/{}/users/{}", scene.organisation, user.user_id);
    scene.ada.put(&member(&scene.grace), json!({ "role_id": "admin" })).await.expect(200);
    scene.grace.patch(&scene.command().await, json!({ "hint": "mine now" })).await.expect(200);
    scene.call(json!({ "command": "deploy" })).await.expect(200);
    scene.ada.put(&member(&scene.grace), json!({ "role_id": "member" })).await.expect(200);
    scene.call(json!({ "command": "deploy" })).await.refused(403, Code::CommandOwnerBarred);
    scene.ada.patch(&scene.command().await, json!({})).await.expect(200);
    scene.call(json!({ "command": "deploy" })).await.expect(200);
}

#[tokio::test]
async fn a_call_is_answered_no_more_from_a_former_address_and_for_a_disabled_account() {
    let mut scene = Scene::answering("text/plain", "").await;
    let body = json!({ "text": "x", "response_type": "in_channel" });
    let (mut paths, program) = (Vec::new(), scene.server.anonymous());
    for _ in 0..2 {
        scene.call(json!({ "command": "deploy" })).await.expect(200);
        paths.push(later(&scene.program.next().await));
    }
    scene.ada.patch(&scene.command().await, json!({ "hint": "a hint" })).await.expect(200);
    program.post(&paths[0], body.clone()).await.expect(200);
    let set_active = |is_active| scene.server.write(|tx| by_operator::set_active(tx, &scene.grace.email, is_active)).unwrap();
    set_active(false);
    program.post(&paths[0], body.clone()).await.expect(404);
    set_active(true);
    program.post(&paths[0], body.clone()).await.expect(200);
    scene.ada.patch(&scene.command().await, json!({ "url": "http://127.0.0.1:9/other" })).await.expect(200);
    for path in paths {
        program.post(&path, body.clone()).await.refused(404, Code::CallNotFound);
    }
}

#[tokio::test]
async fn a_program_that_fails_is_told_to_the_caller() {
    for (program, words) in [
        (Receiver::start(&[500]).await, "answered 500"),
        (Receiver::start(&[302]).await, "answered 302: redirects are not followed"),
        (Receiver::hanging().await, "no answer within 3 s"),
    ] {
        let scene = Scene::with(program).await;
        let refused = scene.call(json!({ "command": "deploy" })).await.refused(422, Code::CommandFailed);
        assert_eq!(refused["message"], format!("The program failed: {words}"));
        assert_eq!(scene.messages().await, json!([]));
    }
    let scene = Scene::answering("application/json", "{").await;
    scene.call(json!({ "command": "deploy" })).await.refused(422, Code::CommandFailed);
    let long = json!({ "response_type": "in_channel", "text": "x".repeat(15_000) });
    let scene = Scene::answering("application/json", long.to_string()).await;
    scene.call(json!({ "command": "deploy" })).await.expect(200);
    assert_eq!(text(&scene.messages().await[0]["content"]).len(), 15_000);
}
