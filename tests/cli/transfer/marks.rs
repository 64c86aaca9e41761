//! What members have read moves with their organisation, and what they have not.

use reqwest::Method;
use serde_json::{Value, json};

use super::{empty, export, is_sound, log_in_anew, scene::Scene, text_of};
use crate::{
    harness::{Admin, Server},
    transfer::scene::text,
};

/// What a member sees of what they have read: their channels, direct messages and threads.
async fn seen(server: &Server, organisation: &str, token: &str) -> Value {
    let list = async |path: &str, fields: &[&str]| -> Value {
        let (status, mut answer) = server.call(Method::GET, path, token, json!({})).await.unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
        let rows = answer["data"].take();
        rows.as_array().unwrap().iter().map(|row| fields.iter().map(|field| row[*field].clone()).collect::<Value>()).collect()
    };
    let of_channel = ["name", "thread_count", "mention_count", "last_read_id"];
    let of_thread = ["id", "unread_count", "mention_count", "last_read_id", "message_count", "participant_count"];
    json!([
        list(&format!("/organisations/{organisation}/user-channels"), &of_channel).await,
        list(&format!("/organisations/{organisation}/dms"), &of_channel).await,
        list(&format!("/threads/organisations/{organisation}?mine=true&messages=0"), &of_thread).await,
    ])
}

#[tokio::test]
async fn what_was_read_and_what_was_not_moves_with_the_organisation() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there, file] = ["here", "there", "file"].map(|name| folder.path().join(name));
    let server = Server::start(&here, &[]);
    let scene = Scene::make(&server, &here).await;
    let Scene { organisation, ada, grace, dev, .. } = &scene;
    let say = async |token: &str, content: &str, thread: Option<&str>| {
        let body = json!({ "content": content, "thread_id": thread });
        text(&server.post(&format!("{dev}/messages"), token, body).await["id"])
    };
    let mark = async |token: &str, path: &str, body: Value| {
        let (status, answer) = server.call(Method::PUT, &format!("{path}/read"), token, body).await.unwrap();
        assert_eq!(status, 200, "{path}: {answer}");
    };
    let mut posts = Vec::new();
    for n in 0..4 {
        posts.push(say(ada, &format!("post {n}"), None).await);
    }
    let mut replies = Vec::new();
    for (thread, author) in [(0, grace), (1, ada), (2, ada), (3, ada)] {
        for content in ["one, @grace", "two, @grace", "three"] {
            replies.push(say(author, content, Some(&posts[thread])).await);
        }
    }
    let thread = |n: usize| format!("/threads/{}", posts[n]);
    mark(ada, &thread(0), json!({ "last_message_id": replies[0] })).await;
    mark(grace, &thread(1), json!({ "last_message_id": replies[3] })).await;
    mark(grace, &thread(2), json!({})).await;
    mark(grace, &thread(2), json!({ "unread_from": replies[8] })).await;
    // She takes part, and has read everything.
    mark(grace, &thread(3), json!({})).await;
    let of_others = say(ada, "a talk of ada's", None).await;
    say(ada, "with herself", Some(&of_others)).await;
    let path = format!("/threads/{of_others}");
    mark(grace, &path, json!({ "unread_from": of_others })).await;
    mark(grace, &path, json!({})).await;
    mark(ada, dev, json!({ "unread_from": posts[2] })).await;
    mark(grace, dev, json!({ "last_message_id": posts[1] })).await;
    let of_channel = json!({ "notify_about": "all_new_messages", "at_channel": false });
    server.post(&format!("{dev}/notification-preference"), grace, of_channel).await;
    let of_organisation = json!({ "notify_about": "nothing" });
    server.post(&format!("/organisations/{organisation}/notification-preference"), grace, of_organisation).await;

    let before = [seen(&server, organisation, ada).await, seen(&server, organisation, grace).await];
    let threads = |of: &Value| -> Vec<Value> { posts.iter().map(|post| row(&of[2], post)).collect() };
    let number = |row: &Value| (row[1].as_i64().unwrap(), row[2].as_i64().unwrap());
    assert_eq!(threads(&before[0]).iter().map(number).collect::<Vec<_>>(), [(2, 0), (0, 0), (0, 0), (0, 0)], "the premise");
    assert_eq!(threads(&before[1]).iter().map(number).collect::<Vec<_>>(), [(0, 0), (2, 1), (1, 0), (0, 0)], "the premise");
    assert_eq!(number(&row(&before[1][2], &of_others)), (0, 0));

    export(&here, "engines", &file);
    empty(&there);
    Admin(&there).print(&["org", "import", text_of(&file)]);
    let server = Server::start(&there, &[]);
    let ada = log_in_anew(&server, &Admin(&there), "ada@x.example").await;
    let grace = log_in_anew(&server, &Admin(&there), "grace@x.example").await;
    let after = [seen(&server, organisation, &ada).await, seen(&server, organisation, &grace).await];
    assert_eq!(after, before);
    let (_, chosen) = server.call(Method::GET, &format!("{dev}/notification-preference"), &grace, json!({})).await.unwrap();
    let chosen = ["notify_about", "in_organisation", "at_channel"].map(|field| chosen["data"][field].clone());
    assert_eq!(chosen, [json!("all_new_messages"), json!("nothing"), json!(false)]);
    is_sound(&there);
}

#[tokio::test]
async fn threads_that_somebody_left_or_waits_for_move_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there, file] = ["here", "there", "file"].map(|name| folder.path().join(name));
    let server = Server::start(&here, &[]);
    let Scene { organisation, ada, grace, dev, .. } = Scene::make(&server, &here).await;
    let say = async |server: &Server, token: &str, content: &str, thread: Option<&str>| {
        let body = json!({ "content": content, "thread_id": thread });
        text(&server.post(&format!("{dev}/messages"), token, body).await["id"])
    };
    let left = say(&server, &ada, "a talk that goes on", None).await;
    say(&server, &grace, "good bye", Some(&left)).await;
    let quiet = say(&server, &ada, "a talk that nobody has joined", None).await;
    for (method, thread) in [(Method::DELETE, &left), (Method::PUT, &quiet)] {
        let (status, _) = server.call(method, &format!("/threads/{thread}/follow"), &grace, json!({})).await.unwrap();
        assert_eq!(status, 200);
    }

    export(&here, "engines", &file);
    empty(&there);
    Admin(&there).print(&["org", "import", text_of(&file)]);
    let server = Server::start(&there, &[]);
    let ada = log_in_anew(&server, &Admin(&there), "ada@x.example").await;
    let grace = log_in_anew(&server, &Admin(&there), "grace@x.example").await;
    for thread in [&left, &quiet] {
        say(&server, &ada, "one more", Some(thread)).await;
    }
    let own = seen(&server, &organisation, &grace).await[2].take();
    assert!(own.as_array().unwrap().iter().all(|row| row[0] != left.as_str()), "{own:#}");
    assert_eq!(row(&own, &quiet)[1], 1, "one reply that she has not read");
    is_sound(&there);
}

/// The row of a thread.
fn row(rows: &Value, id: &str) -> Value {
    rows.as_array().unwrap().iter().find(|row| row[0] == id).unwrap_or_else(|| panic!("{id} is not in {rows:#}")).clone()
}
