//! The messages that the server sends, recorded in a run: for each kind of event the push channels on which it was published,
//! and one example of each event and delivery. The AsyncAPI document embeds the record, and docs/events.md shows it.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{Value, json};
use tidings::{
    domain::{event_schemas, webhooks::delivery::kind::DeliveryKind},
    event::Kind,
};

use super::{
    fields::Fields,
    generated::{agree, check},
    root,
};
use crate::{
    harness::{Client, PASSWORD, Reply, Server, text},
    names::Names,
    operations::by_line,
    receiver::{Received, Receiver},
    shapes::assert_conforms,
    socket::Socket,
};

const KEY: &str = "a-key-for-the-tests";

#[tokio::test]
async fn the_recorded_messages_and_their_catalogue_agree_with_a_run() {
    let server = Server::with(|settings| {
        settings.push_api_key = Some(KEY.into());
        settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let document = server.anonymous().get("/asyncapi.json").await.expect(200);
    let recorded = record(&server).await;
    server.stop().await;
    agree(&root().join("src/api/asyncapi/examples.json"), &by_line(&recorded), "is another than a run's");

    let (messages, schemas) = (&document["components"]["messages"], document["components"]["schemas"].as_object().unwrap());
    let mut fields = Fields::new(schemas);
    let mut parts = Parts { events: String::new(), deliveries: String::new() };
    for key in pushed() {
        let (message, example) = (&messages[key], &recorded["events"][key]);
        assert_conforms(&example["payload"], &message["payload"], schemas);
        let addresses = example["channels"].as_array().unwrap().iter().map(|channel| address(&document, channel));
        let addresses = addresses.collect::<Vec<_>>().join(", ");
        parts.event(message, &format!("Published on {addresses}."), &fields.table(message), &example["payload"]);
    }
    for kind in DeliveryKind::ALL {
        let (message, example) = (&messages[kind.name()], &recorded["deliveries"][kind.name()]);
        assert_conforms(&example["payload"], &message["payload"], schemas);
        parts.delivery(message, &fields.table(message), example);
    }
    let headers = fields.of(&document["components"]["messageTraits"]["delivery"]["headers"]);
    let page = include_str!("events.md").replace("{events}", parts.events.trim_end());
    let page = page.replace("{headers}", headers.trim_end()).replace("{deliveries}", parts.deliveries.trim_end());
    check("events", &page.replace("{types}", fields.types().trim_end()));
}

#[tokio::test]
async fn the_asyncapi_document_has_every_kind_of_event_and_delivery_with_an_example() {
    let server = Server::start().await;
    let document = server.anonymous().get("/asyncapi.json").await.expect(200);
    let (channels, components) = (document["channels"].as_object().unwrap(), &document["components"]);
    let mut wanted = pushed();
    wanted.extend(DeliveryKind::ALL.map(DeliveryKind::name));
    wanted.sort_unstable();
    assert_eq!(components["messages"].as_object().unwrap().keys().collect::<Vec<_>>(), wanted);
    for key in wanted {
        let (message, reference) = (&components["messages"][key], json!({ "$ref": format!("#/components/messages/{key}") }));
        assert!(channels.values().any(|channel| channel["messages"][key] == reference), "{key} is on no channel");
        assert_ne!(message["summary"], "", "{key}");
        assert_conforms(&message["examples"][0]["payload"], &message["payload"], components["schemas"].as_object().unwrap());
    }
    for (name, channel) in channels {
        let reference = json!({ "$ref": format!("#/channels/{name}") });
        let operations = document["operations"].as_object().unwrap().values();
        assert_eq!(operations.filter(|operation| operation["channel"] == reference).count(), 1, "{name}");
        assert!(channel["messages"].is_object() && channel["description"].is_string(), "{name}: {channel}");
    }
}

/// The names of the messages that are pushed.
fn pushed() -> Vec<&'static str> {
    let mut schemas = schemars::SchemaGenerator::default();
    let pushed = Kind::ALL.into_iter().filter(|kind| event_schemas::schema(*kind, &mut schemas).is_some());
    pushed.map(|kind| if kind == Kind::Message { "message" } else { kind.name() }).collect()
}

/// The name of a push channel, as the pages write it.
fn address(document: &Value, channel: &Value) -> String {
    let address = document["channels"][channel.as_str().unwrap()]["address"].as_str().unwrap();
    format!("`{}`", address.replace('{', "<").replace('}', ">"))
}

/// The parts of the page that the run gives.
struct Parts {
    events: String,
    deliveries: String,
}

impl Parts {
    fn event(&mut self, message: &Value, place: &str, table: &str, example: &Value) {
        let said = |field: &str| message[field].as_str().unwrap();
        let (title, summary, recovery) = (said("title"), said("summary"), said("description"));
        _ = write!(self.events, "## {title}\n\n{summary} {place} {recovery}\n\n{table}```json\n{example:#}\n```\n\n");
    }

    fn delivery(&mut self, message: &Value, table: &str, example: &Value) {
        let (title, summary) = (message["title"].as_str().unwrap(), message["summary"].as_str().unwrap());
        let headers = example["headers"].as_object().unwrap().iter();
        let headers: Vec<_> = headers.map(|(name, value)| format!("{name}: {}", value.as_str().unwrap())).collect();
        _ = write!(
            self.deliveries,
            "### {title}\n\n{summary}\n\n{table}```http\n{}\n\n{:#}\n```\n\n",
            headers.join("\n"),
            example["payload"]
        );
    }
}

/// What the server sent in a run, with the same identifiers and times as in any other run.
async fn record(server: &Server) -> Value {
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Harbour").await;
    let grace = server.member(&ada, &organisation, "grace", "manager").await;
    let channel = ada.channel(&organisation, "pilots", &[&grace]).await;
    let personal = grace.personal(&organisation);
    let receiver = Receiver::start(&[200]).await;
    let chosen: Vec<_> = DeliveryKind::CHOSEN.map(DeliveryKind::name).into();
    let body = json!({ "webhook_name": "out", "webhook_url": receiver.url, "events": chosen });
    let hook = ada.hook_with(&channel, body).await;
    let other = server.log_in("grace", PASSWORD).await;
    let socket = Socket::listening(&grace, &[&channel, &organisation, &personal, &grace.user_id]).await;
    let streams = [(&channel, "channel"), (&organisation, "organisation"), (&personal, "personal"), (&grace.user_id, "account")];
    let streams = streams.map(|(stream, name)| (stream.clone(), name)).into();
    let mut run = Run { socket, streams, seen: BTreeMap::new(), receiver, sent: BTreeMap::new() };
    run.act(&ada, &grace, &organisation, &channel).await;
    run.act_alone(&grace, &other).await;
    run.act_by_command(&ada, &grace, (&organisation, &channel)).await;
    run.publish(server).await;
    let reaction = format!("/channels/{channel}/messages/{}/reactions/tada", ada.say(&channel, "She is in").await);
    for (method, kind) in [("PUT", DeliveryKind::ReactionAdded), ("DELETE", DeliveryKind::ReactionRemoved)] {
        ada.call(method, &reaction, None).await.expect(200);
        run.delivered(kind).await;
    }
    let joan = server.member(&ada, &organisation, "joan", "member").await;
    for (kind, who, method, path, body) in [
        (DeliveryKind::MemberJoined, &ada, "POST", "users", json!({ "user_ids": [joan.user_id] })),
        (DeliveryKind::MemberLeft, &joan, "POST", "leave", Value::Null),
        (DeliveryKind::ChannelArchived, &ada, "PUT", "archive", json!({ "archived": true })),
        (DeliveryKind::ChannelUnarchived, &ada, "PUT", "archive", json!({ "archived": false })),
    ] {
        who.call(method, &format!("/channels/{channel}/{path}"), Some(body)).await.expect(200);
        run.delivered(kind).await;
    }
    let question = json!({ "message": "Take her in?", "actions": [{ "label": "I do", "value": "fram" }] });
    ada.post(&hook.feed, question).await.expect(200);
    let asked = ada.get(&format!("/channels/{channel}/messages?limit=1")).await.expect(200)["messages"][0].take();
    let click = format!("{}/actions/{}", text(&asked["id"]), text(&asked["actions"][0]["id"]));
    ada.post(&format!("/channels/{channel}/messages/{click}"), json!({})).await.expect(200);
    ada.put(&hook.path(""), json!({ "all_channels": true })).await.expect(200);
    ada.channel(&organisation, "dry-dock", &[]).await;
    ada.post(&hook.path("/test"), Value::Null).await.expect(200);
    for kind in DeliveryKind::ALL {
        while !run.sent.contains_key(kind.name()) {
            run.receive().await;
        }
    }

    let names = Names::of([
        ("ada", &*ada.user_id),
        ("grace", &*grace.user_id),
        ("joan", &*joan.user_id),
        ("organisation", &*organisation),
        ("channel", &*channel),
        ("webhook", &*hook.id),
    ]);
    let events = pushed().into_iter().map(|key| {
        let (channels, payload) = run.seen.get(key).unwrap_or_else(|| panic!("the run has no {key}")).clone();
        (key, json!({ "channels": channels, "payload": names.clone().replace(payload, key) }))
    });
    let events: BTreeMap<_, _> = events.collect();
    let deliveries = DeliveryKind::ALL.map(|kind| (kind.name(), shown(names.clone(), kind, &run.sent[kind.name()])));
    json!({ "events": events, "deliveries": BTreeMap::from(deliveries) })
}

/// What one member hears, by kind: the streams, and the first publication. What a receiver gets, by kind: the first delivery.
struct Run {
    socket: Socket,
    streams: BTreeMap<String, &'static str>,
    seen: BTreeMap<String, (Vec<&'static str>, Value)>,
    receiver: Receiver,
    sent: BTreeMap<String, Received>,
}

impl Run {
    /// Each step is awaited before the next, and so is its delivery: both tell the state of the moment.
    async fn act(&mut self, ada: &Client, grace: &Client, organisation: &str, channel: &str) {
        let post = ada.say(channel, "The Fram arrives at six, @grace").await;
        self.until(Kind::Unread).await;
        self.socket.subscribe(&post).await;
        self.streams.insert(post.clone(), "thread");
        let reply = ada.reply(channel, &post, "Who takes her in?").await;
        self.until(Kind::ReplyCount).await;

        let [message, below] = [&post, &reply].map(|message| format!("/channels/{channel}/messages/{message}"));
        let chart = ada.upload_one("chart.txt", b"A rock to port\n").await;
        let renamed = json!({ "message_id": reply, "content": "Who brings her in?", "files": [chart] });
        grace.call("POST", &format!("/channels/{channel}/star"), None).await.expect(200);
        self.until(Kind::Star).await;
        grace.call("POST", &format!("/channels/{channel}/mute"), None).await.expect(200);
        self.until(Kind::Mute).await;
        let webhook = text(&grace.webhook(channel, "builds").await["id"]);
        let berth = json!({ "name": "berths", "organisation_id": organisation, "userIds": [grace.user_id] });
        for (kind, method, path, body) in [
            (Kind::Updated, "PUT", format!("/channels/{channel}/messages"), Some(renamed)),
            (Kind::MediaUpdated, "DELETE", format!("/files/file/{chart}"), None),
            (Kind::Reaction, "PUT", format!("{message}/reactions/tada"), None),
            (Kind::Pinned, "PUT", format!("{message}/pin"), None),
            (Kind::Unpinned, "DELETE", format!("{message}/pin"), None),
            (Kind::Reaction, "PUT", format!("{below}/reactions/tada"), None),
            (Kind::Pinned, "PUT", format!("{below}/pin"), None),
            (Kind::Unpinned, "DELETE", format!("{below}/pin"), None),
            (Kind::ThreadStatus, "PUT", format!("/threads/{post}/channels/{channel}"), Some(json!({ "status": "completed" }))),
            (Kind::Channel, "PATCH", format!("/channels/{channel}"), Some(json!({ "topic": "Who brings which ship in" }))),
            (Kind::SidebarTrigger, "POST", "/channels".into(), Some(berth)),
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

    /// What an account's own devices are told.
    async fn act_alone(&mut self, grace: &Client, other: &Client) {
        grace.call("PATCH", "/profile", Some(json!({ "phone": "+47 22 86 22 00" }))).await.expect(200);
        self.until(Kind::Profile).await;
        let reminder = json!({ "text": "Row ashore", "due_at": "2100-01-01T00:00:00Z" });
        grace.post("/reminders", reminder).await.expect(201);
        self.until(Kind::Reminder).await;
        other.post("/auth/logout", Value::Null).await.expect(200);
        self.until(Kind::Session).await;
        grace.organisation("Lighthouse").await;
        self.until(Kind::Membership).await;
    }

    /// A program answers a command later.
    async fn act_by_command(&mut self, ada: &Client, grace: &Client, (organisation, channel): (&str, &str)) {
        let mut program = Receiver::start(&[200]).await;
        let command = json!({ "name": "tide", "url": program.url });
        ada.post(&format!("/organisations/{organisation}/commands"), command).await.expect(201);
        grace.post(&format!("/channels/{channel}/commands"), json!({ "command": "tide" })).await.expect(200);
        let url = text(&program.next().await.json()["data"]["response_url"]);
        let path = &url[url.find("/commands/").unwrap()..];
        grace.post(path, json!({ "text": "High water is at **six**" })).await.expect(200);
        self.until(Kind::CommandAnswer).await;
    }

    /// Another program publishes on every channel.
    async fn publish(&mut self, server: &Server) {
        let channels: Vec<_> = self.streams.keys().cloned().collect();
        let body = json!({ "channels": channels, "data": { "build": "green" } }).to_string();
        let request = server.anonymous().request("POST", "/api/broadcast").header("x-api-key", KEY).body(body.clone());
        Reply::of(request, "/api/broadcast", &body).await.expect(200);
        for _ in channels {
            while self.hear().await["build"] != "green" {}
        }
    }

    async fn until(&mut self, kind: Kind) {
        while self.hear().await["notification_type"] != kind.name() {}
        match kind {
            Kind::Unread | Kind::ReplyCount => self.delivered(DeliveryKind::MessageCreated).await,
            Kind::Updated => self.delivered(DeliveryKind::MessageUpdated).await,
            Kind::Deleted => self.delivered(DeliveryKind::MessageDeleted).await,
            Kind::Reaction => self.delivered(DeliveryKind::ReactionAdded).await,
            Kind::Channel => self.delivered(DeliveryKind::ChannelUpdated).await,
            _ => (),
        }
    }

    async fn delivered(&mut self, kind: DeliveryKind) {
        while self.receive().await != kind.name() {}
    }

    /// Takes a delivery, and gives its kind.
    async fn receive(&mut self) -> String {
        let received = self.receiver.next().await;
        let kind = text(&received.json()["type"]);
        self.sent.entry(kind.clone()).or_insert(received);
        kind
    }

    async fn hear(&mut self) -> Value {
        let (channel, data) = self.socket.next().await;
        let bare = if data["type"] == "message" { "message" } else { Kind::Published.name() };
        let (kind, stream) = (data["notification_type"].as_str().unwrap_or(bare), self.streams[&channel]);
        let (streams, _) = self.seen.entry(kind.to_owned()).or_insert_with(|| (Vec::new(), data.clone()));
        if !streams.contains(&stream) {
            streams.push(stream);
            streams.sort_unstable();
        }
        data
    }
}

/// The form of a signature, which changes with the secret.
const SIGNATURE: &str = "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=";

/// A delivery as an example.
fn shown(mut names: Names, kind: DeliveryKind, received: &Received) -> Value {
    let payload = names.replace(received.json(), kind.name());
    let headers = json!({
        "webhook-id": names.text(received.id(), "webhook-id"),
        "webhook-timestamp": received.header("webhook-timestamp").parse::<u64>().map(|_| "1799168801").unwrap(),
        "webhook-signature": received.header("webhook-signature").strip_prefix("v1,").map(|_| SIGNATURE).unwrap(),
    });
    json!({ "headers": headers, "payload": payload })
}
