//! Files in posts, replies and edits, and wherever messages are shown.

use serde_json::{Value, json};
use tidings::error::Code;

use super::PNG;
use crate::{
    harness::{Client, Server, text},
    socket::Socket,
};

async fn post(client: &Client, channel: &str, body: Value) -> Value {
    client.post(&format!("/channels/{channel}/messages"), body).await.expect(201)["data"].take()
}

fn names(media: &Value) -> Vec<String> {
    media.as_array().unwrap().iter().map(|media| text(&media["file_name"])).collect()
}

#[tokio::test]
async fn a_post_of_files_alone_is_shown_the_same_everywhere() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "pictures", &[&grace]).await;
    let mut socket = Socket::listening(&grace, &[&channel]).await;
    let (photo, notes) = (ada.upload_one("photo.png", PNG).await, ada.upload_one("notes.txt", b"Notes").await);
    let body = json!({ "content": "", "media": [{ "id": photo, "description": "A pixel" }], "files": [photo, notes] });
    let posted = post(&ada, &channel, body).await;
    let (media, id) = (posted["media"].clone(), text(&posted["id"]));
    assert_eq!(names(&media), ["photo.png", "notes.txt"]);
    assert_eq!(
        [&media[0]["description"], &media[0]["width"], &media[1]["description"]],
        [&json!("A pixel"), &json!(1), &json!("")]
    );
    assert_eq!(
        [&media[0]["message_id"], &media[0]["channel_id"], &media[0]["user_id"]],
        [&posted["id"], &json!(channel), &json!(ada.user_id)]
    );
    assert_eq!(socket.on(&channel).await["media"], media);
    grace.call("PUT", &format!("/channels/{channel}/messages/{id}/pin"), None).await.expect(200);
    let listed = grace.get(&format!("/channels/{channel}/messages")).await.expect(200);
    let pinned = grace.get(&format!("/channels/{channel}/pins")).await.expect(200);
    let alone = grace.get(&format!("/messages/{id}")).await.expect(200);
    let thread = grace.get(&format!("/threads/{id}")).await.expect(200);
    let threads = grace.get(&format!("/threads/channels/{channel}")).await.expect(200);
    for (where_, shown) in [
        ("list", &listed["messages"][0]["media"]),
        ("pins", &pinned["data"][0]["media"]),
        ("link", &alone["data"]["media"]),
        ("thread", &thread["data"]["media"]),
        ("threads", &threads["data"][0]["media"]),
    ] {
        assert_eq!(*shown, media, "{where_}");
    }
    assert_eq!(grace.open(&photo, &[]).await.bytes().await.unwrap(), PNG);
}

#[tokio::test]
async fn replies_and_threads_have_files_and_a_repeat_takes_none_again() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "pictures", &[&grace]).await;
    let (first, second) = (ada.upload_one("first.txt", b"1").await, grace.upload_one("second.txt", b"2").await);
    let thread = ada.post(&format!("/threads/{channel}"), json!({ "content": "<p></p>", "media": [{ "id": first }] })).await;
    let thread = thread.expect(201)["data"].take();
    assert_eq!(names(&thread["media"]), ["first.txt"]);
    let id = uuid::Uuid::now_v7().to_string();
    let reply = json!({ "content": "Mine", "thread_id": thread["thread_id"], "files": [second], "id": id });
    let (once, again) = (post(&grace, &channel, reply.clone()).await, post(&grace, &channel, reply).await);
    assert_eq!((names(&once["media"]), &once["media"]), (vec!["second.txt".to_owned()], &again["media"]));
    assert_eq!(ada.open(&second, &[]).await.status(), 200);
}

#[tokio::test]
async fn a_message_takes_only_files_that_its_author_has_uploaded_and_has_not_posted() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "pictures", &[&grace]).await;
    let path = format!("/channels/{channel}/messages");
    let own = ada.upload_one("own.txt", b"1").await;
    let refused = async |client: &Client, files: Value, code| {
        client.post(&path, json!({ "content": "It", "files": files })).await.refused(422, code);
    };
    refused(&grace, json!([own]), Code::FileUnusable).await;
    refused(&ada, json!([uuid::Uuid::now_v7()]), Code::FileUnusable).await;
    refused(&ada, json!([own, own]), Code::FileUnusable).await;
    post(&ada, &channel, json!({ "content": "It", "files": [own] })).await;
    refused(&ada, json!([own]), Code::FileUnusable).await;
    let other = ada.organisation("Loom Works").await;
    let elsewhere = ada.upload_one("elsewhere.txt", b"1").await; // founding it has made it the current one
    refused(&ada, json!([elsewhere]), Code::FileUnusable).await;
    let general = ada.general(&other).await;
    post(&ada, &general, json!({ "content": "", "files": [elsewhere] })).await;
    ada.post("/organisations/switch-org", json!({})).await;
    // Ten, and one more.
    let mut many = Vec::new();
    for n in 0..11 {
        many.push(grace.upload_one(&format!("{n}.txt"), b"x").await);
    }
    let refusal = grace.post(&path, json!({ "content": "It", "files": many })).await;
    assert_eq!(refusal.refused(422, Code::TooManyItems)["limit"], 10);
    assert_eq!(
        post(&grace, &channel, json!({ "content": "", "files": many[..10] })).await["media"].as_array().unwrap().len(),
        10
    );
    // Without files a text is needed.
    grace.post(&path, json!({ "content": " ", "files": [] })).await.refused(422, Code::Empty);
    let described = json!({ "content": "", "media": [{ "id": many[10], "description": "x".repeat(1001) }] });
    grace.post(&path, described).await.refused(422, Code::TooLong);
    let described = json!({ "content": "", "media": [{ "id": many[10], "description": "x".repeat(1000) }] });
    post(&grace, &channel, described).await;
}

#[tokio::test]
async fn an_edit_changes_the_files_or_leaves_them() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "pictures", &[&grace]).await;
    let path = format!("/channels/{channel}/messages");
    let [first, second] = [ada.upload_one("first.txt", b"1").await, ada.upload_one("second.txt", b"2").await];
    let message = text(&post(&ada, &channel, json!({ "content": "It", "files": [first] })).await["id"]);
    let edit = async |mut body: Value| {
        body["message_id"] = json!(message);
        ada.put(&path, body).await
    };
    let mut socket = Socket::listening(&grace, &[&channel]).await;
    assert_eq!(names(&edit(json!({ "content": "Still it" })).await.expect(200)["data"]["media"]), ["first.txt"]);
    let both = edit(json!({ "content": "", "files": [second, first] })).await.expect(200);
    assert_eq!(names(&both["data"]["media"]), ["second.txt", "first.txt"]);
    socket.on(&channel).await;
    assert_eq!(names(&socket.on(&channel).await["data"]["media"]), ["second.txt", "first.txt"]);
    assert_eq!(names(&edit(json!({ "content": "", "files": [second] })).await.expect(200)["data"]["media"]), ["second.txt"]);
    assert_eq!([grace.open(&first, &[]).await.status(), grace.open(&second, &[]).await.status()], [404, 200]);
    edit(json!({ "content": "", "files": [] })).await.refused(422, Code::Empty);
    edit(json!({ "content": "Words", "files": [] })).await.expect(200);
    assert_eq!(grace.open(&second, &[]).await.status(), 404);
}

#[tokio::test]
async fn a_channels_files_are_listed_by_kind_the_newest_first() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "pictures", &[&grace]).await;
    for (name, content) in [("photo.png", PNG), ("notes.txt", b"x"), ("data.bin", b"\0\x01")] as [(&str, &[u8]); 3] {
        let file = ada.upload_one(name, content).await;
        post(&ada, &channel, json!({ "content": "", "files": [file] })).await;
    }
    ada.upload_one("untaken.txt", b"x").await;
    let list = async |query: &str| grace.get(&format!("/channels/{channel}/files{query}")).await.expect(200);
    let all = list("").await;
    assert_eq!(names(&all["data"]), ["data.bin", "notes.txt", "photo.png"]);
    assert_eq!([&all["data"][0]["username"], &all["pagination"]["current_page"]], [&json!("ada"), &json!(1)]);
    assert_eq!(all["data"][0]["thread_id"], all["data"][0]["message_id"]);
    for (query, found) in [
        ("?type=image", vec!["photo.png"]),
        ("?type=images", vec!["photo.png"]),
        ("?type=documents", vec!["notes.txt"]),
        ("?type=file", vec!["data.bin"]),
        ("?type=video", vec![]),
        ("?type=all&limit=2", vec!["data.bin", "notes.txt"]),
        ("?limit=2&page=2", vec!["photo.png"]),
    ] {
        assert_eq!(names(&list(query).await["data"]), found, "{query}");
    }
    let pages = |body: &Value| [body["pagination"]["current_page"].clone(), body["pagination"]["total_pages_count"].clone()];
    assert_eq!(
        [pages(&list("?limit=2").await), pages(&list("?limit=2&page=2").await)],
        [[json!(1), json!(2)], [json!(2), json!(2)]]
    );
}

#[tokio::test]
async fn messages_are_found_by_the_names_and_descriptions_of_their_files() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "pictures", &[]).await;
    let [picture, plan] = [ada.upload_one("harbour.png", PNG).await, ada.upload_one("plan.txt", b"x").await];
    let post = async |content: &str, media: Value| {
        let body = json!({ "content": content, "media": media });
        text(&ada.post(&format!("/channels/{channel}/messages"), body).await.expect(201)["data"]["id"])
    };
    let shown = post("", json!([{ "id": picture, "description": "Fog over the quay" }])).await;
    let second = post("The harbour, as a plan", json!([{ "id": plan }])).await;
    let plain = post("The harbour in words", json!([])).await;
    let find = async |query: &str| {
        let found = ada.get(&format!("/organisations/{organisation}/search?{query}")).await.expect(200);
        found["data"].as_array().unwrap().iter().map(|message| text(&message["id"])).collect::<Vec<_>>()
    };
    let mut look = tokio::time::interval(std::time::Duration::from_millis(20));
    while find("q=harbour").await.len() < 3 {
        look.tick().await;
    }
    assert_eq!(find("q=harbour").await, [&*plain, &second, &shown]);
    assert_eq!(find("q=harbour&has=file").await, [&*second, &shown]);
    assert_eq!(find("q=harbour.png").await, [&*shown]);
    assert_eq!(find("q=fog%20quay").await, [&*shown]);
    ada.delete(&format!("/files/file/{plan}")).await.expect(200);
    assert_eq!(find("q=plan.txt").await, [""; 0]);
    assert_eq!(find("q=harbour&has=file").await, [&*shown]);
}
