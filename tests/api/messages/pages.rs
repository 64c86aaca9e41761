//! Pages around a message, and the links that lead on from a page.

use serde_json::{Value, json};

use crate::harness::{Client, Server, blob, text, unknown_id};

/// A page: the contents, newest first, and the paths of the pages behind it (`next`) and before it (`prev`).
#[derive(Debug)]
struct Page {
    contents: String,
    next: Option<String>,
    prev: Option<String>,
}

async fn page(client: &Client, path: &str) -> Page {
    let reply = client.get(path).await;
    let links = reply.headers.get("link").map(|links| links.to_str().unwrap().to_owned()).unwrap_or_default();
    let link = |relation: &str| {
        let link = links.split(", ").find_map(|link| link.strip_suffix(&format!(">; rel=\"{relation}\"")))?;
        Some(link.split_once("/api/v1").unwrap().1.to_owned())
    };
    let (next, prev) = (link("next"), link("prev"));
    let body = reply.expect(200);
    let messages = body.get("messages").or(body.get("data")).unwrap().as_array().unwrap();
    let contents: Vec<String> = messages.iter().map(|message| text(&message["content"])).collect();
    Page { contents: contents.join(" "), next, prev }
}

/// Ten posts of Ada's in a channel with Grace, their ids, and the path of their list.
async fn scene() -> (Server, Client, Client, String, Vec<String>) {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "engines", &[&grace]).await;
    let mut posts = Vec::new();
    for n in 0..10 {
        posts.push(ada.say(&channel, &n.to_string()).await);
    }
    (server, ada, grace, channel, posts)
}

#[tokio::test]
async fn a_page_around_a_post_has_it_and_links_to_both_sides() {
    let (server, _ada, grace, channel, posts) = scene().await;
    let list = format!("/channels/{channel}/messages");
    let around = async |n: usize, limit: u32| page(&grace, &format!("{list}?around={}&limit={limit}", posts[n])).await;
    let middle = around(5, 4).await;
    assert_eq!(middle.contents, "7 6 5 4");
    let (next, prev) = (page(&grace, &middle.next.unwrap()).await, page(&grace, &middle.prev.unwrap()).await);
    assert_eq!((next.contents.as_str(), prev.contents.as_str()), ("3 2 1 0", "9 8"));
    assert!(next.next.is_none() && prev.next.is_none());

    assert_eq!(around(5, 1).await.contents, "5");
    let newest = around(9, 4).await;
    assert_eq!((newest.contents.as_str(), newest.prev.is_none(), newest.next.is_some()), ("9 8 7 6", true, true));
    let oldest = around(0, 4).await;
    assert_eq!((oldest.contents.as_str(), oldest.prev.is_some(), oldest.next.is_none()), ("2 1 0", true, true));
    let whole = around(4, 200).await;
    assert_eq!((whole.contents.as_str(), whole.next, whole.prev), ("9 8 7 6 5 4 3 2 1 0", None, None));

    // A link to a deleted post opens where it was.
    server.sql(&format!("update messages set deleted_at = created_at where id = {}", blob(&posts[5])));
    assert_eq!(around(5, 4).await.contents, "7 6 4 3");
}

#[tokio::test]
async fn a_page_around_a_reply_has_its_post() {
    let (_server, ada, grace, channel, posts) = scene().await;
    let reply = ada.reply(&channel, &posts[3], "a reply").await;
    assert_eq!(page(&grace, &format!("/channels/{channel}/messages?around={reply}&limit=3")).await.contents, "4 3 2");
}

#[tokio::test]
async fn a_page_around_what_is_unread_begins_where_the_reader_left_off() {
    let (_server, ada, grace, channel, posts) = scene().await;
    let list = format!("/channels/{channel}/messages?around=unread&limit=4");
    assert_eq!(page(&grace, &list).await.contents, "2 1 0", "nothing was read");
    grace.put(&format!("/channels/{channel}/read"), json!({ "last_message_id": posts[5] })).await.expect(200);
    let unread = page(&grace, &list).await;
    assert_eq!(unread.contents, "8 7 6 5");
    assert!(unread.next.is_some() && unread.prev.is_some());
    grace.put(&format!("/channels/{channel}/read"), json!({})).await.expect(200);
    for reader in [&grace, &ada] {
        let newest = page(reader, &list).await;
        assert_eq!((newest.contents.as_str(), newest.prev.is_none(), newest.next.is_some()), ("9 8 7 6", true, true));
    }
}

#[tokio::test]
async fn a_threads_replies_have_cursors_and_pages_around_one() {
    let (_server, ada, grace, channel, posts) = scene().await;
    let (thread, mut replies) = (&posts[0], Vec::new());
    for n in 0..7 {
        replies.push(ada.reply(&channel, thread, &format!("r{n}")).await);
    }
    ada.reply(&channel, &posts[1], "elsewhere").await;
    let list = format!("/threads/{thread}/channels/{channel}");
    let first = page(&grace, &format!("{list}?limit=3")).await;
    assert_eq!(first.contents, "r6 r5 r4");
    // New replies shift no rows.
    ada.reply(&channel, thread, "r7").await;
    let second = page(&grace, &first.next.unwrap()).await;
    assert_eq!(second.contents, "r3 r2 r1");
    assert_eq!(page(&grace, &second.next.unwrap()).await.contents, "r0");
    assert_eq!(page(&grace, &format!("{list}?before={}&limit=2", replies[3])).await.contents, "r2 r1");
    let after = page(&grace, &format!("{list}?after={thread}&limit=2")).await;
    assert_eq!(after.contents, "r1 r0", "from the first on");
    assert_eq!(page(&grace, &after.next.unwrap()).await.contents, "r3 r2");
    let around = page(&grace, &format!("{list}?around={}&limit=4", replies[3])).await;
    assert_eq!(around.contents, "r5 r4 r3 r2");
    assert_eq!(page(&grace, &around.next.unwrap()).await.contents, "r1 r0");
    assert_eq!(page(&grace, &around.prev.unwrap()).await.contents, "r7 r6");
    let numbered = page(&grace, &format!("{list}?page=2&limit=3")).await;
    assert_eq!(numbered.contents, "r4 r3 r2");
    assert!(numbered.next.unwrap().ends_with("limit=3&offset=6"), "numbered pages go on by number");
    let foreign = &posts[1];
    for cursor in ["before", "after", "around"] {
        grace.get(&format!("{list}?{cursor}={foreign}")).await.expect(404);
    }
}

#[tokio::test]
async fn a_page_around_nothing_is_refused() {
    let (server, ada, grace, channel, posts) = scene().await;
    let organisation = text(&ada.get(&format!("/channels/{channel}")).await.expect(200)["data"]["organisation_id"]);
    let other = ada.channel(&organisation, "other", &[]).await;
    let foreign = ada.say(&other, "elsewhere").await;
    let list = format!("/channels/{channel}/messages");
    for unknown in [unknown_id(), foreign] {
        grace.get(&format!("{list}?around={unknown}")).await.expect(404);
    }
    for query in ["around=x".into(), "around=".into(), format!("around=unread&before={}", posts[3])] {
        grace.get(&format!("{list}?{query}")).await.expect(400);
    }
    let outsider = server.user("outsider").await;
    for around in ["unread", &posts[3]] {
        outsider.get(&format!("{list}?around={around}")).await.expect(404);
    }
}

/// Each side of a page may take half an answer, so both together fit.
#[tokio::test]
async fn a_page_around_long_posts_fits_into_an_answer() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let mut posts = Vec::new();
    for _ in 0..7 {
        posts.push(ada.say(&channel, &"\u{1d11e}".repeat(40_000)).await);
    }
    let path = format!("/channels/{channel}/messages?around={}", posts[3]);
    let reply = ada.get(&path).await;
    assert!(reply.headers["link"].to_str().unwrap().contains("rel=\"prev\""));
    let body = reply.expect(200);
    let listed: Vec<&Value> = body["messages"].as_array().unwrap().iter().map(|message| &message["id"]).collect();
    assert_eq!(listed, [&json!(posts[4]), &json!(posts[3])]);
    assert!(body.to_string().len() < 1_000_000);
}
