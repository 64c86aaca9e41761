//! Clicks on the actions of messages: who may post actions, what the program gets, and what becomes of its answers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use poem::Response;
use serde_json::{Value, json};
use tidings::error::Code;
use tokio::sync::Notify;

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    receiver::{self, Receiver},
    socket::Socket,
};

/// A bot in a channel of Ada and Grace, whose program takes clicks.
struct Scene {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
    bot: String,
    /// The bot's token.
    program: Client,
    secret: String,
    receiver: Receiver,
}

fn answer(body: &Value) -> Response {
    Response::builder().content_type("application/json").body(body.to_string())
}

impl Scene {
    async fn answering(body: Value) -> Scene {
        Scene::with(Receiver::answering(move |_| std::future::ready(answer(&body))).await).await
    }

    async fn with(receiver: Receiver) -> Scene {
        let server = receiver::server().await;
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let channel = ada.channel(&organisation, "news", &[&grace]).await;
        let body = json!({ "name": "Builds", "username": "builds", "url": receiver.url });
        let made = ada.post(&format!("/organisations/{organisation}/bots"), body).await.expect(201);
        let (bot, secret) = (text(&made["data"]["id"]), text(&made["data"]["secret"]));
        ada.post(&format!("/channels/{channel}/users"), json!({ "user_ids": [bot] })).await.expect(200);
        let body = json!({ "name": "ci", "scopes": ["read", "post"] });
        let token = ada.post(&format!("/users/{bot}/tokens"), body).await.expect(201);
        let program = ada.with_token(&text(&token["data"]["token"]));
        Scene { server, ada, grace, organisation, channel, bot, program, secret, receiver }
    }

    fn messages(&self) -> String {
        format!("/channels/{}/messages", self.channel)
    }

    /// The bot asks whether to deploy. Returns the message.
    async fn asked(&self) -> Value {
        let actions =
            json!([{ "label": "Deploy", "style": "primary", "value": "build 7" }, { "label": "Not now", "style": "danger" }]);
        let body = json!({ "content": "Build 7 passed", "actions": actions });
        self.program.post(&self.messages(), body).await.data(201, "Message created successfully")
    }

    async fn message(&self, id: &Value) -> Value {
        self.grace.get(&format!("/messages/{}", text(id))).await.expect(200)["data"].take()
    }

    async fn click(&self, who: &Client, message: &Value, body: Value) -> Reply {
        let path = format!("{}/{}/actions/{}", self.messages(), text(&message["id"]), text(&message["actions"][0]["id"]));
        who.post(&path, body).await
    }

    async fn clicked(&self, message: &Value) -> Value {
        self.click(&self.grace, message, json!({})).await.data(200, "Action clicked successfully")
    }
}

#[tokio::test]
async fn a_click_is_a_signed_call_of_the_bot_and_its_text_is_for_whoever_clicks() {
    let mut scene = Scene::answering(json!({ "text": "On its way" })).await;
    let mut socket = Socket::listening(&scene.grace, &[&scene.channel]).await;
    let message = scene.asked().await;
    let [deploy, wait] = &message["actions"].as_array().unwrap()[..] else { panic!("{message}") };
    assert_eq!([&deploy["label"], &deploy["style"], &wait["label"], &wait["style"]], ["Deploy", "primary", "Not now", "danger"]);
    assert_eq!(deploy.as_object().unwrap().len(), 3, "the value is not shown: {deploy}");
    let heard = socket.push(|push| push["pub"]["data"]["content"] == "Build 7 passed").await;
    assert_eq!(heard["pub"]["data"]["actions"], message["actions"]);
    let listed = scene.grace.get(&scene.messages()).await.expect(200);
    assert_eq!(listed["messages"][0]["actions"], message["actions"]);
    let plain = scene.grace.say(&scene.channel, "Fine").await;
    assert_eq!(scene.message(&json!(plain)).await["actions"], json!([]));

    let answered = scene.clicked(&message).await;
    assert_eq!((&answered["text"], &answered["message_id"]), (&json!("On its way"), &Value::Null));
    let call = scene.receiver.next().await;
    assert!(call.is_signed_with(&scene.secret));
    let body = call.json();
    assert_eq!(body["type"], "action.clicked");
    let data = &body["data"];
    assert_eq!([&data["action_id"], &data["label"], &data["value"]], [&deploy["id"], &json!("Deploy"), &json!("build 7")]);
    assert_eq!([&data["message_id"], &data["thread_id"]], [&message["id"], &Value::Null]);
    assert_eq!([&data["channel_id"], &data["channel_name"]], [&scene.channel, "news"]);
    assert_eq!(
        [&data["organisation_id"], &data["user_id"], &data["username"]],
        [&scene.organisation, &scene.grace.user_id, "grace"]
    );

    let url = text(&data["response_url"]);
    let later = &url[url.find("/commands/answers/").unwrap()..];
    let mut socket = Socket::listening(&scene.grace, &[&scene.grace.user_id]).await;
    scene.server.anonymous().post(later, json!({ "text": "Half way" })).await.expect(200);
    let told = socket.on(&scene.grace.user_id).await;
    assert_eq!([&told["notification_type"], &told["data"]["text"]], ["command_answer", "Half way"]);
    assert_eq!([&told["data"]["message_id"], &told["data"]["command"]], [&message["id"], &json!("builds")]);
    let done = json!({ "text": "Deployed", "replace_original": true, "actions": [{ "label": "Undo" }] });
    scene.server.anonymous().post(later, done).await.expect(200);
    let replaced = scene.message(&message["id"]).await;
    assert_eq!([&replaced["content"], &replaced["actions"][0]["label"]], ["Deployed", "Undo"]);
    scene.clicked(&replaced).await;
}

#[tokio::test]
async fn an_answer_may_replace_the_message_or_be_posted_by_the_bot() {
    let scene = Scene::answering(json!({ "replace_original": true, "text": "Deploying for @ada" })).await;
    let mut socket = Socket::listening(&scene.ada, &[&scene.channel]).await;
    let message = scene.asked().await;
    let answered = scene.clicked(&message).await;
    assert_eq!((&answered["text"], &answered["message_id"]), (&json!(""), &message["id"]));
    let heard = socket.push(|push| push["pub"]["data"]["data"]["content"] == "Deploying for @ada").await;
    assert_eq!(heard["pub"]["data"]["data"]["id"], message["id"]);
    let replaced = scene.message(&message["id"]).await;
    assert_eq!((&replaced["actions"], &replaced["edited"]), (&json!([]), &json!(true)));
    assert_eq!(replaced["mentions"][0]["username"], "ada");
    scene.click(&scene.grace, &message, json!({})).await.refused(404, Code::ActionNotFound);

    let scene = Scene::answering(json!({ "response_type": "in_channel", "text": "Deployed" })).await;
    let message = scene.asked().await;
    let posted = scene.message(&scene.clicked(&message).await["message_id"]).await;
    assert_eq!([&posted["content"], &posted["user_id"], &posted["user_type"]], ["Deployed", &scene.bot, "bot"]);
    let thread = scene.ada.say(&scene.channel, "Is it out?").await;
    let body = json!({ "content": "Build 7", "thread_id": thread, "actions": [{ "label": "Deploy" }] });
    let reply = scene.program.post(&scene.messages(), body).await.data(201, "Message created successfully");
    let posted = scene.message(&scene.clicked(&reply).await["message_id"]).await;
    assert_eq!(posted["thread_id"], thread, "in the thread of the message");
}

#[tokio::test]
async fn a_repeated_click_calls_once_and_answers_what_the_first_did() {
    let (go_on, is_held) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(true)));
    let is_failing = Arc::new(AtomicBool::new(false));
    let (go, held, failing) = (go_on.clone(), is_held.clone(), is_failing.clone());
    let receiver = Receiver::answering(move |n| {
        let (go, held, failing) = (go.clone(), held.clone(), failing.clone());
        async move {
            if held.load(SeqCst) {
                go.notified().await;
            }
            if failing.swap(false, SeqCst) {
                Response::builder().status(500.try_into().unwrap()).finish()
            } else {
                answer(&json!({ "text": n }))
            }
        }
    });
    let mut scene = Scene::with(receiver.await).await;
    let message = scene.asked().await;
    let body = json!({ "id": unknown_id() });
    let first = async { scene.click(&scene.grace, &message, body.clone()).await };
    let repeat = async {
        while scene.receiver.is_empty() {
            tokio::task::yield_now().await;
        }
        scene.click(&scene.grace, &message, body.clone()).await.refused(422, Code::ClickUnderWay);
        go_on.notify_one();
    };
    let (first, ()) = tokio::join!(first, repeat);
    is_held.store(false, SeqCst);
    let first = first.data(200, "Action clicked successfully");
    let again = scene.click(&scene.grace, &message, body.clone()).await.data(200, "Action clicked successfully");
    assert_eq!(first, again);
    assert_eq!(scene.receiver.next().await.id(), text(&body["id"]));
    assert!(scene.receiver.is_empty(), "the program was called once");
    scene.click(&scene.ada, &message, body.clone()).await.refused(422, Code::IdTaken);

    // A server that was killed meanwhile has recorded no answer.
    scene.server.sql("update calls set reply = null");
    scene.click(&scene.grace, &message, body.clone()).await.refused(422, Code::ClickUnderWay);
    scene.server.clock.advance(Duration::from_secs(10));
    is_failing.store(false, SeqCst);
    scene.click(&scene.grace, &message, body.clone()).await.expect(200);
    assert_eq!(scene.receiver.next().await.id(), text(&body["id"]));

    is_failing.store(true, SeqCst);
    let failing = json!({ "id": unknown_id() });
    scene.click(&scene.grace, &message, failing.clone()).await.refused(422, Code::CommandFailed);
    scene.click(&scene.grace, &message, failing.clone()).await.expect(200);
    let ids = [scene.receiver.next().await.id().to_owned(), scene.receiver.next().await.id().to_owned()];
    assert_eq!(ids, [text(&failing["id"]), text(&failing["id"])], "the program knows the second as the same");
}

#[tokio::test]
async fn only_programs_with_an_address_post_actions_within_bounds() {
    let scene = Scene::answering(json!({})).await;
    let post = async |who: &Client, actions: Value| {
        who.post(&scene.messages(), json!({ "content": "Choose", "actions": actions })).await
    };
    let many = |count: usize| json!(vec![json!({ "label": "Go" }); count]);
    assert_eq!(post(&scene.program, many(10)).await.expect(201)["data"]["actions"].as_array().unwrap().len(), 10);
    post(&scene.program, many(11)).await.refused(422, Code::TooManyItems);
    post(&scene.program, json!([{ "label": "x".repeat(75), "value": "x".repeat(2000) }])).await.expect(201);
    post(&scene.program, json!([{ "label": "x".repeat(76) }])).await.refused(422, Code::TooLong);
    post(&scene.program, json!([{ "label": "Go", "value": "x".repeat(2001) }])).await.refused(422, Code::TooLong);
    post(&scene.program, json!([{ "label": "" }])).await.refused(422, Code::Empty);
    post(&scene.program, json!([{ "label": "Go", "style": "loud" }])).await.refused(422, Code::InvalidValue);
    post(&scene.ada, many(1)).await.refused(422, Code::ProgramUnavailable);
    post(&scene.ada, json!([])).await.expect(201);
    let bot = format!("/organisations/{}/bots/{}", scene.organisation, scene.bot);
    let answered = scene.ada.patch(&bot, json!({ "url": "" })).await.data(200, "Bot updated successfully");
    assert_eq!((&answered["url"], &answered["secret"]), (&json!(""), &Value::Null));
    post(&scene.program, many(1)).await.refused(422, Code::ProgramUnavailable);
    scene.ada.patch(&bot, json!({ "url": "https://" })).await.refused(422, Code::InvalidUrl);
    let again = scene.ada.patch(&bot, json!({ "url": scene.receiver.url, "new_secret": true })).await.expect(200);
    assert_ne!(again["data"]["secret"], scene.secret);
    let body = json!({ "name": "reader", "scopes": ["read"] });
    let token = scene.ada.post(&format!("/users/{}/tokens", scene.ada.user_id), body).await.expect(201);
    let reader = scene.ada.with_token(&text(&token["data"]["token"]));
    for (who, url) in [(&scene.ada, &*scene.receiver.url), (&scene.grace, ""), (&reader, "")] {
        let listed = who.get(&format!("/organisations/{}/bots", scene.organisation)).await.expect(200);
        assert_eq!(listed["data"][0]["url"], url, "only managers see the address");
    }

    let message = scene.asked().await;
    let edit = |body: Value| async { scene.program.put(&scene.messages(), body).await.expect(200) };
    let id = &message["id"];
    let kept = edit(json!({ "content": "Build 7 passed at last", "message_id": id })).await;
    assert_eq!(kept["data"]["actions"], message["actions"]);
    let gone = edit(json!({ "content": "Too late", "message_id": id, "actions": [] })).await;
    assert_eq!(gone["data"]["actions"], json!([]));
}

#[tokio::test]
async fn a_webhook_gets_the_clicks_on_what_it_was_fed_while_it_works() {
    let mut scene = Scene::answering(json!({ "response_type": "in_channel", "text": "Acknowledged" })).await;
    let body = json!({ "webhook_name": "Alerts", "webhook_url": scene.receiver.url, "events": ["action.clicked"] });
    let hook = scene.ada.hook_with(&scene.channel, body).await;
    let feed = hook.feed.clone();
    let body = json!({ "message": "Disk is full", "actions": [{ "label": "Acknowledge", "value": "disk" }] });
    scene.server.anonymous().post(&feed, body).await.expect(200);
    let message = scene.grace.get(&scene.messages()).await.expect(200)["messages"][0].take();
    let posted = scene.message(&scene.clicked(&message).await["message_id"]).await;
    assert_eq!([&posted["username"], &posted["user_type"]], ["Alerts", "webhook"]);
    let call = scene.receiver.next().await;
    assert!(call.is_signed_with(&hook.secret));
    assert_eq!(call.json()["data"]["value"], "disk");
    scene.ada.put(&hook.path(""), json!({ "events": ["message.created"] })).await.expect(200);
    scene.click(&scene.grace, &message, json!({})).await.refused(403, Code::ProgramUnavailable);
    let chosen = json!({ "events": ["message.created", "action.clicked"], "webhook_url": "" });
    scene.ada.put(&hook.path(""), chosen).await.expect(200);
    scene.click(&scene.grace, &message, json!({})).await.refused(403, Code::ProgramUnavailable);
    let body = json!({ "message": "Disk is full", "actions": [{ "label": "Acknowledge" }] });
    scene.server.anonymous().post(&feed, body).await.refused(422, Code::ProgramUnavailable);
    scene.ada.delete(&hook.path("")).await.expect(204);
    scene.click(&scene.grace, &message, json!({})).await.refused(403, Code::ProgramUnavailable);
}

#[tokio::test]
async fn a_command_gets_the_clicks_on_what_it_has_answered() {
    let body = json!({ "response_type": "in_channel", "text": "Really?", "actions": [{ "label": "Yes", "value": "sure" }] });
    let mut scene = Scene::answering(body).await;
    let commands = format!("/organisations/{}/commands", scene.organisation);
    let made = scene.ada.post(&commands, json!({ "name": "deploy", "url": scene.receiver.url })).await.expect(201);
    let called = format!("/channels/{}/commands", scene.channel);
    let answered = scene.grace.post(&called, json!({ "command": "deploy" })).await.expect(200);
    let message = scene.message(&answered["data"]["message_id"]).await;
    assert_eq!([&message["username"], &message["actions"][0]["label"]], ["deploy", "Yes"]);
    scene.clicked(&message).await;
    scene.receiver.next().await;
    let call = scene.receiver.next().await;
    assert!(call.is_signed_with(&text(&made["data"]["secret"])));
    assert_eq!(call.json()["data"]["value"], "sure");

    let scene = Scene::answering(json!({ "text": "Again", "actions": "none" })).await;
    let message = scene.asked().await;
    scene.click(&scene.grace, &message, json!({})).await.refused(422, Code::CommandFailed);
}

#[tokio::test]
async fn clicks_end_with_the_rights_of_whoever_clicks_and_answers() {
    let scene = Scene::answering(json!({ "text": "ok" })).await;
    let message = scene.asked().await;
    let outsider = scene.server.user("outsider").await;
    scene.click(&outsider, &message, json!({})).await.refused(404, Code::ChannelNotFound);
    let path = |message: &Value| format!("{}/{}/actions/{}", scene.messages(), text(&message["id"]), unknown_id());
    scene.grace.post(&path(&message), json!({})).await.refused(404, Code::ActionNotFound);
    let own = json!({ "id": scene.grace.say(&scene.channel, "Mine").await });
    scene.grace.post(&path(&own), json!({})).await.refused(404, Code::ActionNotFound);
    scene.grace.post(&path(&json!({ "id": unknown_id() })), json!({})).await.refused(404, Code::MessageNotFound);
    let elsewhere = scene.ada.channel(&scene.organisation, "elsewhere", &[&scene.grace]).await;
    let moved = format!("/channels/{elsewhere}/messages/{}/actions/{}", text(&message["id"]), text(&message["actions"][0]["id"]));
    scene.grace.post(&moved, json!({})).await.refused(404, Code::MessageNotFound);

    let member = format!("/organisations/{}/users/{}", scene.organisation, scene.grace.user_id);
    let bot = format!("/organisations/{}/bots/{}", scene.organisation, scene.bot);
    scene.ada.put(&member, json!({ "role_id": "admin" })).await.expect(200);
    scene.grace.patch(&bot, json!({ "url": scene.receiver.url })).await.expect(200);
    scene.click(&scene.ada, &message, json!({})).await.expect(200);
    scene.ada.put(&member, json!({ "role_id": "member" })).await.expect(200);
    scene.click(&scene.ada, &message, json!({})).await.refused(403, Code::ProgramUnavailable);
    scene.ada.patch(&bot, json!({ "url": scene.receiver.url })).await.expect(200);
    scene.click(&scene.ada, &message, json!({})).await.expect(200);
    scene.ada.delete(&format!("/channels/{}/users/{}", scene.channel, scene.bot)).await.expect(200);
    scene.click(&scene.ada, &message, json!({})).await.refused(403, Code::ProgramUnavailable);
    scene.ada.delete(&bot).await.expect(200);
    scene.click(&scene.ada, &message, json!({})).await.refused(403, Code::ProgramUnavailable);
    scene.ada.delete(&format!("{}/{}", scene.messages(), text(&message["id"]))).await.expect(200);
    scene.click(&scene.ada, &message, json!({})).await.refused(404, Code::MessageNotFound);
}

#[tokio::test]
async fn a_deleted_message_leaves_no_label_in_any_of_its_events() {
    let scene = Scene::answering(json!({ "text": "ok" })).await;
    let events = json!(["message.created", "message.updated", "message.deleted"]);
    let body = json!({ "webhook_name": "mirror", "webhook_url": scene.receiver.url, "events": events });
    let hook = scene.ada.hook_with(&scene.channel, body).await;
    hook.set("paused").await;
    let message = scene.asked().await;
    let edit = json!({ "content": "Build 8 passed", "message_id": message["id"] });
    scene.program.put(&scene.messages(), edit).await.expect(200);
    let labels = |table: &str, column: &str| scene.server.count(&format!("{table} where {column} like '%Not now%'"));
    scene.server.followed().await;
    assert_eq!([labels("webhook_events", "payload"), labels("messages", "actions")], [2, 1]);
    assert!(labels("events", "body") > 0);
    scene.ada.delete(&format!("{}/{}", scene.messages(), text(&message["id"]))).await.expect(200);
    scene.server.followed().await;
    assert_eq!([labels("webhook_events", "payload"), labels("messages", "actions"), labels("events", "body")], [0, 0, 0]);
}

#[tokio::test]
async fn a_program_replaces_only_what_it_has_posted_itself() {
    let scene = Scene::answering(json!({ "replace_original": true, "text": "I resign" })).await;
    let body = json!({ "webhook_name": "Alerts", "webhook_url": scene.receiver.url, "events": ["action.clicked"] });
    let hook = scene.ada.hook_with(&scene.channel, body).await;
    let feed = json!({ "message": "Disk is full", "actions": [{ "label": "Acknowledge" }] });
    scene.grace.post(&hook.feed, feed.clone()).await.expect(200);
    let newest = async || scene.grace.get(&scene.messages()).await.expect(200)["messages"][0].take();
    let message = newest().await;
    assert_eq!(message["user_id"], scene.grace.user_id, "her bearer makes it hers");
    scene.click(&scene.ada, &message, json!({})).await.refused(403, Code::AuthorOnly);
    assert_eq!(newest().await["content"], "Disk is full");
    scene.server.anonymous().post(&hook.feed, feed).await.expect(200);
    scene.click(&scene.ada, &newest().await, json!({})).await.expect(200);
    assert_eq!(newest().await["content"], "I resign");
}

#[tokio::test]
async fn an_address_gets_clicks_where_whoever_has_set_it_may_know_of_them() {
    let scene = Scene::answering(json!({ "text": "ok" })).await;
    let plans = scene.ada.private_channel(&scene.organisation, "plans", &[]).await;
    scene.ada.post(&format!("/channels/{plans}/users"), json!({ "user_ids": [scene.bot] })).await.expect(200);
    let body = json!({ "content": "Build 7 passed", "actions": [{ "label": "Deploy" }] });
    let hidden = scene.program.post(&format!("/channels/{plans}/messages"), body).await.data(201, "Message created successfully");
    let path = format!("/channels/{plans}/messages/{}/actions/{}", text(&hidden["id"]), text(&hidden["actions"][0]["id"]));
    let seen = scene.asked().await;
    let member = format!("/organisations/{}/users/{}", scene.organisation, scene.grace.user_id);
    scene.ada.put(&member, json!({ "role_id": "admin" })).await.expect(200);
    let bot = format!("/organisations/{}/bots/{}", scene.organisation, scene.bot);
    scene.grace.patch(&bot, json!({ "url": scene.receiver.url })).await.expect(200);
    scene.ada.post(&path, json!({})).await.refused(403, Code::ProgramUnavailable);
    scene.click(&scene.ada, &seen, json!({})).await.expect(200);
    scene.server.sql("update users set is_active = 0 where username = 'grace'");
    scene.click(&scene.ada, &seen, json!({})).await.refused(403, Code::ProgramUnavailable);
    scene.ada.patch(&bot, json!({ "url": scene.receiver.url })).await.expect(200);
    scene.ada.post(&path, json!({})).await.expect(200);
}
