//! Tools see and do what their user may, and no more.

use serde_json::{Value, json};

use super::{done, each, refusal, result};
use crate::{
    harness::{Client, Server, text},
    messages::search::indexed,
};

/// Each tool, on a message of a channel that is named by its id.
fn calls(organisation: &str, channel: &str, message: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("list_channels", json!({ "organisation": organisation })),
        ("list_threads", json!({ "channel": channel })),
        ("read_messages", json!({ "channel": channel })),
        ("read_thread", json!({ "thread": message })),
        ("search_messages", json!({ "query": "engine", "organisation": organisation })),
        ("post_message", json!({ "channel": channel, "text": "mine" })),
        ("reply", json!({ "thread": message, "text": "mine" })),
        ("react", json!({ "message": message, "emoji": "👍" })),
    ]
}

async fn refused_all(client: &Client, calls: Vec<(&'static str, Value)>) {
    for (tool, arguments) in calls {
        let refusal = refusal(client, tool, arguments).await;
        assert!(refusal.contains("not found") && !refusal.contains("engine"), "{tool}: {refusal}");
    }
}

#[tokio::test]
async fn outsiders_and_removed_members_reach_nothing() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let message = ada.say(&general, "the engine").await;
    indexed(&ada, &organisation).await;
    for (tool, arguments) in calls(&organisation, &general, &message) {
        done(&grace, tool, arguments).await;
    }
    let before = server.count("messages");
    ada.delete(&format!("/organisations/{organisation}/users/{}", grace.user_id)).await.expect(200);
    let outsider = server.user("outsider").await;
    outsider.organisation("Looms").await;
    for client in [&grace, &outsider] {
        refused_all(client, calls(&organisation, &general, &message)).await;
        refused_all(client, calls("engines", &general, &message)).await;
    }
    assert_eq!(server.count("messages"), before);
    let without = refusal(&grace, "list_channels", json!({})).await;
    assert!(without.starts_with("Organisation not found"), "the current one is not theirs any more: {without}");
}

#[tokio::test]
async fn a_private_channel_is_hidden_and_a_public_one_is_read_by_its_members() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (secret, news) = (ada.private_channel(&organisation, "secret", &[]).await, ada.channel(&organisation, "news", &[]).await);
    let (hidden, seen) = (ada.say(&secret, "the engine").await, ada.say(&news, "the engine").await);
    indexed(&ada, &organisation).await;
    let in_channel = |channel: &str, message: &str| {
        let mut calls = calls(&organisation, channel, message);
        calls.retain(|(tool, _)| !matches!(*tool, "list_channels" | "search_messages"));
        calls
    };
    refused_all(&grace, in_channel(&secret, &hidden)).await;
    refused_all(&grace, vec![("read_messages", json!({ "channel": "secret" }))]).await;
    for (tool, arguments) in in_channel(&news, &seen) {
        assert!(refusal(&grace, tool, arguments).await.starts_with("You are not a member of this channel"), "{tool}");
    }
    assert_eq!(done(&grace, "search_messages", json!({ "query": "engine" })).await["messages"], json!([]));
    let listed = done(&grace, "list_channels", json!({})).await["channels"].take();
    assert_eq!(listed.as_array().unwrap().len(), 1, "only what she is in: {listed}");
}

#[tokio::test]
async fn a_guest_reads_what_they_were_added_to_and_posts_nothing() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let (general, news) = (ada.general(&organisation).await, ada.channel(&organisation, "news", &[]).await);
    let message = ada.say(&general, "for all").await;
    ada.say(&news, "for members").await;
    assert_eq!(each(&done(&guest, "read_messages", json!({ "channel": "general" })).await, "text"), ["for all"]);
    refused_all(&guest, vec![("read_messages", json!({ "channel": news })), ("read_messages", json!({ "channel": "news" }))])
        .await;
    for (tool, arguments) in [
        ("post_message", json!({ "channel": general, "text": "x" })),
        ("reply", json!({ "thread": message, "text": "x" })),
        ("react", json!({ "message": message, "emoji": "👍" })),
    ] {
        let refusal = refusal(&guest, tool, arguments).await;
        assert_eq!(refusal, "You do not have permission to do this. Tell the user, and don't try again", "{tool}");
    }
    assert_eq!(server.count("messages"), 2);
}

#[tokio::test]
async fn an_archived_channel_is_read_by_its_id_and_takes_nothing() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[]).await;
    let message = ada.say(&news, "old").await;
    server.sql(&format!("update channels set archived_at = created_at where id = {}", crate::harness::blob(&news)));
    assert_eq!(each(&done(&ada, "read_messages", json!({ "channel": news })).await, "text"), ["old"]);
    for (tool, arguments) in [
        ("post_message", json!({ "channel": news, "text": "x" })),
        ("reply", json!({ "thread": message, "text": "x" })),
        ("react", json!({ "message": message, "emoji": "👍" })),
    ] {
        let refusal = refusal(&ada, tool, arguments).await;
        assert_eq!(refusal, "The channel is archived. Tell the user, and don't try again", "{tool}");
    }
    assert_eq!(text(&done(&ada, "read_thread", json!({ "thread": message })).await["channel"]["name"]), "news");
}

#[tokio::test]
async fn a_token_opens_the_tools_of_its_scopes_and_channels() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let (here, there) = (ada.channel(&organisation, "here", &[]).await, ada.channel(&organisation, "there", &[]).await);
    let tools = async |program: &Client| {
        let listed = result(program, "tools/list", json!({})).await;
        listed["tools"].as_array().unwrap().iter().map(|tool| text(&tool["name"])).collect::<Vec<_>>().join(" ")
    };
    let reader = ada.program(json!({ "name": "reader", "scopes": ["read"] })).await;
    assert_eq!(tools(&reader).await, "list_channels list_threads read_messages read_thread search_messages");
    let refused = refusal(&reader, "post_message", json!({ "channel": here, "text": "hello" })).await;
    assert_eq!(refused, "The token lacks the scope post. Tell the user, and don't try again");
    let bot = ada.program(json!({ "name": "bot", "scopes": ["read", "post"], "channels": [here] })).await;
    assert_eq!(tools(&bot).await, "read_messages read_thread post_message reply react");
    done(&bot, "post_message", json!({ "channel": here, "text": "hello" })).await;
    done(&bot, "read_messages", json!({ "channel": "here", "organisation": organisation })).await;
    for named in [&there, "there", "nowhere"] {
        let refused =
            refusal(&bot, "post_message", json!({ "channel": named, "organisation": organisation, "text": "hello" })).await;
        assert!(refused.starts_with("Channel not found"), "{refused}");
    }
    refusal(&bot, "search_messages", json!({ "query": "hello", "organisation": organisation })).await;
    let builder = ada.program(json!({ "name": "builder", "scopes": ["webhooks"] })).await;
    assert_eq!(tools(&builder).await, "");
}
