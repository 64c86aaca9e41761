//! The tools that read.

use serde_json::{Value, json};

use super::{done, each, refusal};
use crate::{
    harness::{Server, text, unknown_id},
    messages::search::indexed,
};

#[tokio::test]
async fn channels_are_listed_with_what_is_unread() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (general, secret) = (ada.general(&organisation).await, ada.private_channel(&organisation, "secret", &[&grace]).await);
    ada.channel(&organisation, "elsewhere", &[]).await;
    ada.say(&general, "one").await;
    ada.say(&general, "@grace two").await;
    let direct =
        ada.post(&format!("/organisations/{organisation}/dms"), json!({ "user_ids": [grace.user_id] })).await.expect(201);
    let direct = text(&direct["data"]["id"]);
    ada.say(&direct, "three").await;

    let listed = done(&grace, "list_channels", json!({})).await;
    let of = |list: &Value| {
        list.as_array().unwrap().iter().map(|row| (row["name"].clone(), row["unread"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(&listed["channels"]), [(json!("general"), json!(2)), (json!("secret"), json!(0))]);
    assert_eq!((&listed["channels"][0]["mentions"], &listed["channels"][1]["id"]), (&json!(1), &json!(secret)));
    assert_eq!(of(&listed["direct_messages"]), [(json!("ada, grace"), json!(1))]);
    assert_eq!((&listed["organisation_id"], &listed["organisations"][0]["slug"]), (&json!(organisation), &json!("engines")));
    assert!(listed.get("more").is_none());

    let looms = grace.organisation("Looms").await;
    for named in [json!("looms"), json!(looms)] {
        assert_eq!(done(&grace, "list_channels", json!({ "organisation": named })).await["organisation_id"], looms);
    }
    let both = done(&grace, "list_channels", json!({ "organisation": "engines", "offset": 1 })).await;
    assert_eq!((both["organisations"].as_array().unwrap().len(), both["channels"].as_array().unwrap().len()), (2, 1));
}

#[tokio::test]
async fn messages_are_read_oldest_first_around_and_on() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let mut ids = Vec::new();
    for number in 0..6 {
        ids.push(ada.say(&general, &number.to_string()).await);
    }
    ada.reply(&general, &ids[5], "a reply").await;
    grace.put(&format!("/channels/{general}/messages/{}/reactions/tada", ids[5]), json!({})).await.expect(200);
    let read = async |more: Value| {
        let mut arguments = json!({ "channel": "#general" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        done(&grace, "read_messages", arguments).await
    };
    let all = read(json!({})).await;
    assert_eq!(
        (each(&all, "text"), &all["channel"]),
        (["0", "1", "2", "3", "4", "5"].map(str::to_owned).into(), &json!({ "id": general, "name": "general" }))
    );
    let last = &all["messages"][5];
    assert_eq!([&last["author"], &last["author_id"], &last["reactions"]], ["ada", &ada.user_id, "tada 1"]);
    assert_eq!((&last["replies"], last["written_at"].is_string(), last.get("state")), (&json!(1), true, None));
    assert!(all.get("more").is_none());

    let newest = read(json!({ "limit": 2 })).await;
    assert_eq!(
        (each(&newest, "text"), &newest["more"][0]),
        (vec!["4".into(), "5".into()], &json!(format!("There are more: call again with before {}", ids[4])))
    );
    assert_eq!(each(&read(json!({ "limit": 2, "before": ids[4] })).await, "text"), ["2", "3"]);
    let after = read(json!({ "limit": 2, "after": ids[0] })).await;
    assert_eq!(
        (each(&after, "text"), &after["more"][0]),
        (vec!["1".into(), "2".into()], &json!(format!("There are more: call again with after {}", ids[2])))
    );
    let around = read(json!({ "limit": 3, "around": ids[2] })).await;
    assert_eq!((each(&around, "text"), around["more"].as_array().unwrap().len()), (["1", "2", "3"].map(str::to_owned).into(), 2));
    assert!(
        refusal(&grace, "read_messages", json!({ "channel": general, "before": unknown_id() }))
            .await
            .starts_with("Message not found")
    );
}

#[tokio::test]
async fn a_thread_is_read_with_its_first_message() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let thread = ada.say(&general, "first").await;
    let mut replies = Vec::new();
    for number in 0..4 {
        replies.push(grace.reply(&general, &thread, &number.to_string()).await);
    }
    let read = done(&ada, "read_thread", json!({ "thread": thread })).await;
    assert_eq!((each(&read, "text"), &read["thread"]["text"]), (["0", "1", "2", "3"].map(str::to_owned).into(), &json!("first")));
    assert_eq!((&read["thread"]["replies"], &read["messages"][0]["thread_id"]), (&json!(4), &json!(thread)));
    let newest = done(&ada, "read_thread", json!({ "thread": thread, "limit": 1 })).await;
    assert_eq!((each(&newest, "text"), newest["more"].is_array()), (vec!["3".into()], true));
    assert_eq!(each(&done(&ada, "read_thread", json!({ "thread": thread, "before": replies[1] })).await, "text"), ["0"]);
    assert_eq!(
        each(&done(&ada, "read_thread", json!({ "thread": thread, "after": thread, "limit": 2 })).await, "text"),
        ["0", "1"]
    );
    assert!(refusal(&ada, "read_thread", json!({ "thread": replies[0] })).await.starts_with("Thread not found"));

    ada.call("DELETE", &format!("/channels/{general}/messages/{thread}"), None).await.expect(200);
    let read = done(&ada, "read_thread", json!({ "thread": thread })).await;
    assert_eq!([&read["thread"]["state"], &read["thread"]["text"]], ["deleted", ""]);
}

#[tokio::test]
async fn threads_are_listed_of_a_channel_and_of_ones_own() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (general, news) = (ada.general(&organisation).await, ada.channel(&organisation, "news", &[&grace]).await);
    let first = ada.say(&general, "first").await;
    ada.say(&general, "second").await;
    ada.say(&news, "third").await;
    grace.reply(&general, &first, "reply").await;

    let of_channel = done(&ada, "list_threads", json!({ "channel": "general" })).await;
    assert_eq!(each(&of_channel, "text"), ["second", "first"]);
    let own = done(&ada, "list_threads", json!({})).await;
    assert_eq!((each(&own, "text"), each(&own, "channel")), (vec!["first".into()], vec!["general".into()]));
    assert_eq!((&own["messages"][0]["unread_replies"], own["messages"][0]["last_reply_at"].is_string()), (&json!(1), true));
    let page = done(&ada, "list_threads", json!({ "channel": general, "limit": 1 })).await;
    assert_eq!(
        (each(&page, "text"), &page["more"][0]),
        (vec!["second".into()], &json!("There are more: call again with offset 1"))
    );
    assert_eq!(each(&done(&ada, "list_threads", json!({ "channel": general, "offset": 1 })).await, "text"), ["first"]);
}

#[tokio::test]
async fn messages_are_found_by_words_place_author_and_time() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (general, news) = (ada.general(&organisation).await, ada.channel(&organisation, "news", &[&grace]).await);
    let post = ada.say(&general, "the engine weaves").await;
    grace.reply(&general, &post, "an engine of patterns").await;
    ada.say(&news, "engine news").await;
    indexed(&grace, &organisation).await;
    let found = async |more: Value| {
        let mut arguments = json!({ "query": "engine" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        done(&grace, "search_messages", arguments).await
    };
    let all = found(json!({})).await;
    assert_eq!(each(&all, "text"), ["engine news", "an engine of patterns", "the engine weaves"]);
    assert_eq!([&all["messages"][0]["channel_id"], &all["messages"][1]["thread_id"]], [&news, &post]);
    assert_eq!(each(&found(json!({ "channel": "news" })).await, "text"), ["engine news"]);
    assert_eq!(each(&found(json!({ "author": grace.user_id })).await, "text"), ["an engine of patterns"]);
    assert_eq!(found(json!({ "before": "2020-01-01T00:00:00Z" })).await["messages"], json!([]));
    assert_eq!(each(&found(json!({ "after": "2020-01-01T00:00:00Z", "organisation": organisation })).await, "text").len(), 3);
    let page = found(json!({ "limit": 1, "offset": 1 })).await;
    assert_eq!(
        (each(&page, "text"), &page["more"][0]),
        (vec!["an engine of patterns".into()], &json!("There are more: call again with offset 2"))
    );
}

#[tokio::test]
async fn a_message_tells_of_its_files() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let general = ada.general(&organisation).await;
    let file = ada.upload_one("plan.txt", b"The plan").await;
    let media = json!([{ "id": file, "description": "Where the ships lie" }]);
    ada.post(&format!("/channels/{general}/messages"), json!({ "content": "It", "media": media })).await.expect(201);
    let read = done(&grace, "read_messages", json!({ "channel": "#general" })).await;
    let address = format!("{}/api/v1/files/{file}/plan.txt", server.origin);
    assert_eq!(
        read["messages"][0]["files"],
        json!([{ "name": "plan.txt", "mime_type": "text/plain", "bytes": 8, "description": "Where the ships lie", "address": address }])
    );
    let program = grace.program(json!({ "name": "assistant", "scopes": ["read"] })).await;
    let opened = program.http.get(&address).bearer_auth(program.token.as_ref().unwrap()).send().await.unwrap();
    assert_eq!(opened.text().await.unwrap(), "The plan");
}
