//! docs/events.md: each kind of event, with the streams on which a run published it and one example from that run.

use std::{collections::BTreeMap, fmt::Write};

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use tidings::{
    domain::payloads,
    event::{Kind, Recovery},
};

use super::generated::check;
use crate::{
    harness::{Client, Server, text},
    names::Names,
    shapes::assert_conforms,
    socket::Socket,
};

#[tokio::test]
async fn the_event_catalogue_agrees_with_a_run() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Harbour").await;
    let grace = server.member(&ada, &organisation, "grace", "manager").await;
    let channel = ada.channel(&organisation, "pilots", &[&grace]).await;
    let personal = grace.personal(&organisation);
    let socket = Socket::listening(&grace, &[&channel, &organisation, &personal]).await;
    let streams =
        BTreeMap::from([(channel.clone(), "<channel_id>"), (organisation.clone(), "<org_id>"), (personal, "<org_id>/<user_id>")]);
    let mut run = Run { socket, streams, seen: BTreeMap::new() };
    run.act(&ada, &grace, &organisation, &channel).await;
    server.stop().await;

    let mut schemas = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut names = Names::default();
    let mut described = String::new();
    // The others are never pushed, or are in another program's words.
    for kind in Kind::ALL.into_iter().filter(|kind| *kind == Kind::Message || kind.section(false).is_some()) {
        let (streams, example) = &run.seen[kind.name()];
        let schema = payloads::schema(kind, &mut schemas).expect("it is pushed").to_value();
        assert_conforms(example, &schema, schemas.definitions());
        let example = serde_json::to_string_pretty(&names.replace(example.clone())).unwrap();
        let name = if kind == Kind::Message { "The message object" } else { kind.name() };
        let streams = streams.iter().map(|stream| format!("`{stream}`")).collect::<Vec<_>>().join(", ");
        _ = write!(described, "## {name}\n\nPublished on {streams}. {}\n\n```json\n{example}\n```\n\n", recovered(kind));
    }
    check("events", &include_str!("events.md").replace("{events}", described.trim_end()));
}

/// How a client that was away recovers these events.
fn recovered(kind: Kind) -> &'static str {
    match kind.recovery() {
        _ if kind == Kind::Unread => "Recovery sends the latest counts of each channel.",
        Some(Recovery::UnreadState) => {
            "Recovery sends each event. The unread counts that it changes are published on `<org_id>/<user_id>`."
        }
        Some(Recovery::ChannelState) => {
            "Recovery sends each event on `<channel_id>`, and a channel's latest change on `<org_id>/<user_id>`."
        }
        Some(Recovery::Each) | None => "Recovery sends each event.",
    }
}

/// What one member hears, by kind: the streams, and the first publication.
struct Run {
    socket: Socket,
    streams: BTreeMap<String, &'static str>,
    seen: BTreeMap<String, (Vec<&'static str>, Value)>,
}

impl Run {
    /// Each step is awaited before the next: counts are those of the moment.
    async fn act(&mut self, ada: &Client, grace: &Client, organisation: &str, channel: &str) {
        let post = ada.say(channel, "The Fram arrives at six, @grace").await;
        self.until(Kind::Unread).await;
        self.socket.subscribe(&post).await;
        self.streams.insert(post.clone(), "<thread_id>");
        let reply = ada.reply(channel, &post, "Who takes her in?").await;
        self.until(Kind::ReplyCount).await;

        let message = format!("/channels/{channel}/messages/{post}");
        let renamed = json!({ "message_id": reply, "content": "Who brings her in?" });
        grace.call("POST", &format!("/channels/{channel}/star"), None).await.expect(200);
        self.until(Kind::Star).await;
        let webhook = text(&grace.webhook(channel, "builds").await["id"]);
        for (kind, method, path, body) in [
            (Kind::Updated, "PUT", format!("/channels/{channel}/messages"), Some(renamed)),
            (Kind::Reaction, "PUT", format!("{message}/reactions/tada"), None),
            (Kind::Pinned, "PUT", format!("{message}/pin"), None),
            (Kind::Unpinned, "DELETE", format!("{message}/pin"), None),
            (Kind::ThreadStatus, "PUT", format!("/threads/{post}/channels/{channel}"), Some(json!({ "status": "completed" }))),
            (Kind::Channel, "PATCH", format!("/channels/{channel}"), Some(json!({ "topic": "Who brings which ship in" }))),
            (Kind::Webhook, "POST", format!("/webhooks/{channel}/{webhook}/rotate-slug"), None),
            (Kind::Member, "PATCH", "/profile".into(), Some(json!({ "first_name": "Ada" }))),
            (Kind::Role, "POST", format!("/organisations/{organisation}/roles"), Some(json!({ "name": "pilot" }))),
            (Kind::Organisation, "PUT", format!("/organisations/{organisation}"), Some(json!({ "country": "Norway" }))),
            (Kind::Deleted, "DELETE", format!("/channels/{channel}/messages/{reply}"), None),
        ] {
            let reply = ada.call(method, &path, body).await;
            assert!((200..300).contains(&reply.status), "{method} {path}: {}", reply.body);
            self.until(kind).await;
        }
        // What the last step published on other streams arrives before this.
        ada.say(channel, "marker").await;
        while self.hear().await["content"] != "marker" {}
    }

    async fn until(&mut self, kind: Kind) {
        while self.hear().await["notification_type"] != kind.name() {}
    }

    async fn hear(&mut self) -> Value {
        let (channel, data) = self.socket.next().await;
        let (kind, stream) = (data["notification_type"].as_str().unwrap_or_default(), self.streams[&channel]);
        let (streams, _) = self.seen.entry(kind.to_owned()).or_insert_with(|| (Vec::new(), data.clone()));
        if !streams.contains(&stream) {
            streams.push(stream);
            streams.sort_unstable();
        }
        data
    }
}
