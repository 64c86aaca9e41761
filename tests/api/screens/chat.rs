//! The open screens of a chat: the channel list, a channel and a thread, kept by what is pushed.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, text},
    socket::Socket,
};

const COUNTS: &str = "thread_count mention_count";
/// The fields of a message that are shown.
const MESSAGE: &str =
    "content message user_id username full_name avatar_url user_type media is_pinned mentions reactions created_at updated_at";
/// Further fields of a post in the channel.
const POST: &str = "message_count last_reply current_status";
const NEVER: &str = "0001-01-01T00:00:00Z";

/// What one client shows.
#[derive(Debug, Default, PartialEq)]
struct Screens {
    /// The unread counts of the channel in the list.
    counts: Value,
    /// The channel's posts, newest first, each with its id.
    posts: Vec<(String, Value)>,
    /// The replies of the open thread, newest first.
    replies: Vec<(String, Value)>,
}

fn pick(from: &Value, fields: &str) -> Value {
    let one = |field: &str| (field.to_owned(), from.get(field).unwrap_or_else(|| panic!("no {field}: {from:#}")).clone());
    Value::Object(fields.split_whitespace().map(one).collect())
}

/// The rows of a list, each with its id and the fields that are shown.
fn rows(list: &Value, id: &str, fields: &str) -> Vec<(String, Value)> {
    list.as_array().expect("a list").iter().map(|row| (text(&row[id]), pick(row, fields))).collect()
}

impl Screens {
    async fn fetch(client: &Client, organisation: &str, channel: &str, thread: &str) -> Screens {
        let own = client.get(&format!("/organisations/{organisation}/user-channels")).await.expect(200);
        let own = own["data"].as_array().unwrap().iter().find(|one| one["channels_id"] == channel).unwrap();
        let posts = client.get(&format!("/threads/channels/{channel}")).await.expect(200);
        let replies = client.get(&format!("/threads/{thread}/channels/{channel}")).await.expect(200);
        Screens {
            counts: pick(own, COUNTS),
            posts: rows(&posts["data"], "thread_id", &format!("{MESSAGE} {POST}")),
            replies: rows(&replies["data"], "id", MESSAGE),
        }
    }

    /// Takes a publication in.
    fn hear(&mut self, stream: &str, publication: &Value) {
        let Some(kind) = publication.get("notification_type") else { return self.posted(stream, publication) };
        let (ids, data, change) = (&publication["modification_ids"], &publication["data"], &publication["update_change"]);
        match kind.as_str().unwrap() {
            "unread_thread_change" => self.counts = pick(data, COUNTS),
            "reply_count_change" => self.count(ids, change),
            "updated" => self.change(ids, &pick(data, "content message mentions updated_at")),
            "deleted" => {
                let id = text(&ids["message_id"]);
                self.posts.retain(|(post, _)| *post != id);
                self.replies.retain(|(reply, _)| *reply != id);
                self.count(ids, change);
            }
            "reaction_event" => self.change(ids, &pick(data, "reactions")),
            "pinned_message_event" => self.change(ids, &json!({ "is_pinned": true })),
            "unpinned_message_event" => self.change(ids, &json!({ "is_pinned": false })),
            "status_update" => self.change(ids, &pick(data, "current_status")),
            _ => {}
        }
    }

    fn posted(&mut self, stream: &str, message: &Value) {
        let id = text(&message["id"]);
        let mut shown = message.clone();
        shown["reactions"] = json!([]);
        let mut shown = pick(&shown, MESSAGE);
        if message["thread_id"] == stream {
            return self.replies.insert(0, (id, shown));
        }
        for (field, value) in [("message_count", json!(0)), ("last_reply", json!(NEVER)), ("current_status", json!("pending"))] {
            shown[field] = value;
        }
        self.posts.insert(0, (id, shown));
    }

    /// Takes the number of a thread's replies in.
    fn count(&mut self, ids: &Value, change: &Value) {
        if let Some((_, post)) = self.posts.iter_mut().find(|(id, _)| ids["thread_id"] == **id) {
            post["message_count"] = change["thread_count"].clone();
            post["last_reply"] = change["last_reply"].clone();
        }
    }

    fn change(&mut self, ids: &Value, fields: &Value) {
        let all = self.posts.iter_mut().chain(&mut self.replies);
        for (_, message) in all.filter(|(id, _)| ids["message_id"] == **id) {
            message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        }
    }
}

#[tokio::test]
async fn open_screens_equal_a_fresh_fetch_after_each_step() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Harbour").await;
    let grace = server.member(&ada, &organisation, "grace", "manager").await;
    let channel = ada.channel(&organisation, "pilots", &[&grace]).await;
    let thread = ada.say(&channel, "The Fram arrives at six").await;
    let personal = grace.personal(&organisation);
    let mut socket = Socket::listening(&grace, &[&channel, &thread, &personal]).await;
    let fetch = async || Screens::fetch(&grace, &organisation, &channel, &thread).await;
    let mut screens = fetch().await;

    let mut hear = async |what: &str, until: &str| {
        loop {
            let (stream, publication) = socket.next().await;
            screens.hear(&stream, &publication);
            // The personal stream comes last.
            let kind = publication["notification_type"].as_str().unwrap_or("");
            if kind == until {
                break;
            }
        }
        assert_eq!(screens, fetch().await, "{what}");
    };
    let post = ada.say(&channel, "Tugs are ready, @grace").await;
    hear("a post", "unread_thread_change").await;
    let reply = ada.reply(&channel, &thread, "Who takes her in?").await;
    hear("a reply", "unread_thread_change").await;
    let (message, answer) = (format!("/channels/{channel}/messages/{post}"), format!("/channels/{channel}/messages/{reply}"));
    let renamed = json!({ "message_id": reply, "content": "Who brings her in?" });
    for (method, path, body, until) in [
        ("PUT", format!("/channels/{channel}/messages"), Some(renamed), "updated"),
        ("PUT", format!("{message}/reactions/tada"), None, "reaction_event"),
        ("PUT", format!("{message}/reactions/%F0%9F%91%8D"), None, "reaction_event"),
        ("DELETE", format!("{message}/reactions/tada"), None, "reaction_event"),
        ("PUT", format!("{message}/pin"), None, "pinned_message_event"),
        ("DELETE", format!("{message}/pin"), None, "unpinned_message_event"),
        ("PUT", format!("/threads/{post}/channels/{channel}"), Some(json!({ "status": "completed" })), "status_update"),
        ("DELETE", answer, None, "deleted"),
        ("DELETE", message, None, "unread_thread_change"),
    ] {
        let reply = ada.call(method, &path, body).await;
        assert!((200..300).contains(&reply.status), "{method} {path}: {}", reply.body);
        hear(&format!("{method} {path}"), until).await;
    }
    let read = grace.put(&format!("/channels/{channel}/read"), json!({})).await;
    assert_eq!(read.status, 200);
    hear("a read channel", "unread_thread_change").await;
}
