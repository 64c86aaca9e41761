//! A visitor: a client that begins with `GET /start` and pages while others go on, then subscribes from the place in the log of
//! what it fetched, as the client of the binary does. It knows the threads of a channel from the channel's own stream.

mod recovery;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    fetch::{self, CHANNEL, CHANNEL_MEMBER, MEMBER, ORGANISATION, OWN, ROLE, UNREAD, by, pick},
    store::{Store, Then},
    viewer::{compare, differences},
};
use crate::{
    harness::{Client, text},
    socket::Socket,
};

/// The organisation that a visitor opens.
const SLUG: &str = "engines";
const USER: &str =
    "email username first_name last_name fullname phone avatar_url custom_status is_verified is_onboarded current_org";
/// What a start shows of a channel as its details do.
const LEAN: &str = "name is_starred thread_count mention_count last_message_at";

pub struct Visitor {
    pub name: &'static str,
    client: Client,
    socket: Option<Socket>,
    store: Store,
    user: Value,
    /// By their identifier.
    reminders: Value,
    epoch: String,
    /// The offset of each stream from which it goes on.
    places: BTreeMap<String, u64>,
    /// The place of each channel's newest fetch: older publications about it are dropped.
    fetched: BTreeMap<String, u64>,
    /// The same for what the sidebar shows of it, which may come from the start.
    listed: BTreeMap<String, u64>,
    /// The organisation of the markers, which is not looked at, and their channel.
    lighthouse: String,
    beacon: String,
}

/// The data of an answer, and its place in the log; none if it was refused because its user is out by now.
async fn some(client: &Client, path: &str) -> Option<(Value, String, u64)> {
    let reply = client.get(path).await;
    if [403, 404].contains(&reply.status) {
        return None;
    }
    let position = reply.position().unwrap_or_else(|| panic!("{path}: no position"));
    let (epoch, offset) = position.split_once(':').unwrap();
    let place = (epoch.to_owned(), offset.parse().unwrap());
    Some((reply.expect(200), place.0, place.1))
}

async fn data(client: &Client, path: &str) -> Option<Value> {
    Some(some(client, path).await?.0["data"].take())
}

impl Visitor {
    /// Fetches its first screen and subscribes, with pauses in which others go on.
    pub async fn enter(name: &'static str, client: Client, beacon: (&str, &str), pause: &mut impl AsyncFnMut()) -> Visitor {
        let store = Store { me: client.user_id.clone(), organisations: json!({}), mentions: BTreeSet::new(), is_live: false };
        let (lighthouse, beacon) = (beacon.0.to_owned(), beacon.1.to_owned());
        let (socket, places, epoch, user, reminders) = (None, BTreeMap::new(), String::new(), Value::Null, Value::Null);
        let (fetched, listed) = (BTreeMap::new(), BTreeMap::new());
        let mut visitor =
            Visitor { name, client, socket, store, user, reminders, epoch, places, fetched, listed, lighthouse, beacon };
        visitor.fetch(pause).await;
        pause().await;
        visitor.connect().await;
        visitor
    }

    /// Fetches what it shows first, and remembers as of where in the log.
    async fn fetch(&mut self, pause: &mut impl AsyncFnMut()) {
        let open = some(&self.client, &format!("/start?slug={SLUG}")).await;
        let (mut start, epoch, offset) = match open {
            Some(found) => found,
            None => some(&self.client, "/start").await.expect("the caller's own"),
        };
        let start = start["data"].take();
        self.epoch = epoch;
        self.user = pick(&start["user"], USER);
        self.reminders = by(&data(&self.client, "/reminders").await.expect("the caller's own"), "id", Value::clone);
        for stream in start["streams"].as_array().unwrap() {
            self.places.insert(text(stream), offset);
        }
        if start["organisation"]["organisation_slug"] == SLUG {
            self.open(&start, offset, pause).await;
        }
    }

    /// Fetches the organisation that the start shows, without what its user was put out of meanwhile.
    async fn open(&mut self, start: &Value, offset: u64, pause: &mut impl AsyncFnMut()) {
        let id = text(&start["organisation"]["id"]);
        let Some(mut organisation) = self.organisation(&id).await else { return };
        organisation["org_role"] = start["organisation"]["role"].clone();
        for list in ["channels", "direct_messages"] {
            for lean in start[list].as_array().unwrap() {
                pause().await;
                if let Some(mut channel) = self.channel(&text(&lean["id"])).await {
                    self.listed.insert(text(&lean["id"]), offset);
                    channel["is_starred"] = lean["is_starred"].clone();
                    channel["is_muted"] = json!(lean["is_muted"] == true);
                    for field in UNREAD.split(' ').filter(|field| *field != "last_read_id") {
                        channel["unread"][field] = lean[field].clone();
                    }
                    if lean["thread_count"] != 0 {
                        channel["unread"]["last_read_id"] = lean.get("last_read_id").cloned().unwrap_or_else(|| json!(""));
                    }
                    organisation["channels"][text(&lean["id"])] = channel;
                }
            }
        }
        pause().await;
        let archived = data(&self.client, &format!("/organisations/{id}/channels/archived")).await.unwrap_or_default();
        for one in archived.as_array().into_iter().flatten() {
            let channel = text(one.get("id").unwrap_or(&one["channels_id"]));
            if one["users"].as_array().unwrap().contains(&json!(self.client.user_id))
                && let Some(found) = self.channel(&channel).await
            {
                organisation["channels"][channel] = found;
            }
        }
        self.store.organisations[id] = organisation;
    }

    async fn organisation(&self, id: &str) -> Option<Value> {
        let path = format!("/organisations/{id}");
        let mut found = pick(&data(&self.client, &path).await?, ORGANISATION);
        found["members"] = by(&data(&self.client, &format!("{path}/users?limit=200")).await?, "id", |one| pick(one, MEMBER));
        found["roles"] = by(&data(&self.client, &format!("{path}/roles")).await?, "id", |role| pick(role, ROLE));
        found["channels"] = json!({});
        Some(found)
    }

    /// Fetches a channel with its newest page, and goes on from the place of that; none if its user is out.
    async fn channel(&mut self, id: &str) -> Option<Value> {
        let path = format!("/channels/{id}");
        let (page, _, offset) = some(&self.client, &format!("{path}/messages?limit=200")).await?;
        let details = data(&self.client, &path).await?;
        let mut found = pick(&details, &format!("{CHANNEL} is_starred is_muted"));
        found["unread"] = if details["archived"] == true { Value::Null } else { pick(&details, UNREAD) };
        let members = some(&self.client, &format!("{path}/users")).await?.0["users"].take();
        found["members"] = by(&members, "user_id", |member| pick(member, CHANNEL_MEMBER));
        found["threads"] = by(&page["messages"], "id", fetch::message);
        for (thread, root) in found["threads"].as_object_mut().unwrap() {
            root["replies"] = json!({});
            if root["message_count"] != 0
                && let Some(replies) = data(&self.client, &format!("/threads/{thread}/channels/{id}?limit=200")).await
            {
                root["replies"] = by(&replies, "id", fetch::message);
            }
        }
        let mine = format!("/threads/organisations/{}?mine=true&messages=0&limit=200", text(&found["organisation_id"]));
        let mut mine = data(&self.client, &mine).await?;
        mine.as_array_mut().unwrap().retain(|thread| thread["channels_id"] == id);
        found["own_threads"] = by(&mine, "thread_id", |thread| pick(thread, OWN));
        let pins = data(&self.client, &format!("{path}/pins")).await?;
        found["pins"] = pins.as_array().unwrap().iter().map(|pin| pin["id"].clone()).collect();
        self.places.insert(id.to_owned(), offset);
        self.fetched.insert(id.to_owned(), offset);
        self.listed.insert(id.to_owned(), offset);
        Some(found)
    }

    /// Connects to the server, wherever it is now, and takes in what it missed since its places.
    pub async fn come_back(&mut self, origin: &str) {
        self.client = self.client.at(origin);
        self.connect().await;
    }

    /// The connection breaks, and it stays away.
    pub fn leave(&mut self) {
        self.socket = None;
    }

    /// Takes in what is pushed, up to the marker.
    pub async fn catch_up(&mut self, marker: &str) {
        loop {
            let Some(socket) = &mut self.socket else { return };
            let mut push = socket.push(|push| push["pub"].is_object()).await;
            let (stream, mut publication) = (text(&push["channel"]), push["pub"].take());
            if stream == self.beacon {
                if publication["data"]["content"] == marker {
                    return;
                }
                continue;
            }
            let offset = publication["offset"].as_u64().unwrap();
            self.places.insert(stream.clone(), offset);
            self.hear(&stream, offset, &publication["data"].take()).await;
        }
    }

    async fn hear(&mut self, stream: &str, offset: u64, publication: &Value) {
        if stream == self.client.user_id {
            return self.account(publication).await;
        }
        if stream.starts_with(&self.lighthouse) || !self.store.has(stream) {
            return; // or it is gone by now
        }
        let (change, ids) = (&publication["data"], &publication["modification_ids"]);
        let channel = publication.get("channel_id").or(change.get("channels_id")).or(ids.get("channel_id"));
        let channel = channel.and_then(Value::as_str).unwrap_or_default();
        let is_listed =
            ["unread_thread_change", "channel_star", "channel_mute"].iter().any(|kind| publication["notification_type"] == *kind);
        let known = if is_listed { &self.listed } else { &self.fetched };
        if known.get(channel).is_some_and(|place| offset <= *place) {
            return;
        }
        match self.store.hear(stream, publication) {
            Some(Then::Fetch { channel, .. }) => Box::pin(self.join(&channel)).await,
            Some(Then::Count { organisation, channel }) => {
                if let Some(details) = data(&self.client, &format!("/channels/{channel}")).await {
                    self.store.organisations[organisation]["channels"][channel]["unread"] = pick(&details, UNREAD);
                }
            }
            Some(Then::Listen(_)) | None => {}
        }
    }

    /// Takes in what its user's account is told.
    async fn account(&mut self, publication: &Value) {
        let change = &publication["data"];
        match (publication["notification_type"].as_str().unwrap(), change["action"].as_str()) {
            ("profile_update", _) => self.user = pick(change, USER),
            ("reminder_update", Some(action)) => {
                let (mut reminder, reminders) = (change.clone(), self.reminders.as_object_mut().unwrap());
                reminder.as_object_mut().unwrap().remove("action");
                match action {
                    "deleted" => _ = reminders.remove(&text(&change["id"])),
                    _ => _ = reminders.insert(text(&change["id"]), reminder),
                }
            }
            ("membership_update", Some("left")) => self.store.lose(&text(&change["organisation_id"])),
            ("membership_update", Some("joined")) if change["organisation_slug"] == SLUG => {
                if self.store.organisations.get(text(&change["organisation_id"])).is_none()
                    && let Some((start, _, offset)) = some(&self.client, &format!("/start?slug={SLUG}")).await
                {
                    Box::pin(self.reopen(&start["data"], offset)).await;
                }
            }
            ("membership_update" | "session_update" | "notification", _) => {}
            (other, _) => panic!("nobody knows of {other}: {publication:#}"),
        }
    }

    pub fn is_away(&self) -> bool {
        self.socket.is_none()
    }

    /// Where it differs from what the API answers now.
    pub async fn differences(&self) -> Vec<String> {
        let mut found = differences(&self.store, &fetch::all(&self.client, &self.lighthouse).await);
        let path = format!("/start?slug={SLUG}");
        let Some(start) = data(&self.client, &path).await else { return found };
        compare("/user", &self.user, &pick(&start["user"], USER), &mut found);
        let reminders = data(&self.client, "/reminders").await.expect("the caller's own");
        compare("/reminders", &self.reminders, &by(&reminders, "id", Value::clone), &mut found);
        let id = text(&start["organisation"]["id"]);
        let kept = &self.store.organisations[&id];
        compare("/role", &kept["org_role"], &start["organisation"]["role"], &mut found);
        let (mut unread, mut mentions) = (0, 0);
        for (is_dm, list) in [(false, "channels"), (true, "direct_messages")] {
            let mut shown = json!({});
            for (id, channel) in kept["channels"].as_object().unwrap() {
                if channel["archived"] == true || channel["is_dm"] != is_dm {
                    continue;
                }
                let counts = &channel["unread"];
                shown[id] =
                    json!({ "name": channel["name"], "is_starred": channel["is_starred"], "is_muted": channel["is_muted"] });
                for field in ["thread_count", "mention_count", "last_message_at"] {
                    shown[id][field] = counts[field].clone();
                }
                if channel["is_muted"] == false {
                    unread += counts["thread_count"].as_i64().unwrap();
                }
                mentions += counts["mention_count"].as_i64().unwrap();
                if counts["thread_count"] != 0 && counts["last_read_id"] != "" {
                    shown[id]["last_read_id"] = counts["last_read_id"].clone();
                }
            }
            let lean = |one: &Value| {
                let mut lean = pick(one, LEAN);
                lean["is_muted"] = json!(one["is_muted"] == true);
                one.get("last_read_id").into_iter().for_each(|id| lean["last_read_id"] = id.clone());
                lean
            };
            compare(&format!("/{list}"), &shown, &by(&start[list], "id", lean), &mut found);
        }
        let sums = start["organisations"].as_array().unwrap().iter().find(|one| one["id"] == id.as_str()).unwrap();
        compare("/unread_count", &json!(unread), &sums["unread_count"], &mut found);
        compare("/mention_count", &json!(mentions), &sums["mention_count"], &mut found);
        found
    }
}
