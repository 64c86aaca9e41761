//! A viewer: a client that fetches once and then applies publications.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    fetch,
    store::{Store, Then},
};
use crate::{
    harness::{Client, text},
    socket::Socket,
};

pub struct Viewer {
    pub name: &'static str,
    client: Client,
    socket: Socket,
    store: Store,
    /// The last offset of each stream that it has heard, all of one epoch.
    places: BTreeMap<String, Value>,
    epoch: Value,
    /// Streams that could not be recovered.
    pub unrecovered: u32,
    /// The channel of the markers, which tell that all before them has arrived; its organisation is not looked at.
    beacon: String,
    lighthouse: String,
}

impl Viewer {
    pub async fn new(name: &'static str, client: Client, lighthouse: &str, beacon: &str) -> Viewer {
        let mut socket = Socket::connect(&client).await;
        let epoch = socket.subscribe(beacon).await["epoch"].take();
        let store = Store { me: client.user_id.clone(), organisations: json!({}), mentions: BTreeSet::new(), is_live: true };
        let (lighthouse, beacon) = (lighthouse.to_owned(), beacon.to_owned());
        let places = BTreeMap::new();
        let mut viewer = Viewer { name, client, socket, store, places, epoch, unrecovered: 0, beacon, lighthouse };
        viewer.enter().await;
        viewer
    }

    /// Fetches the organisations that the store does not have.
    pub async fn enter(&mut self) {
        for id in fetch::organisations(&self.client, &self.lighthouse).await {
            if self.store.organisations.get(&id).is_some() {
                continue;
            }
            self.subscribe(&id).await;
            self.subscribe(&self.client.personal(&id)).await;
            let organisation = fetch::organisation(&self.client, &id).await;
            for (id, channel) in organisation["channels"].as_object().unwrap() {
                self.listen(id, channel).await;
            }
            self.store.organisations[&id] = organisation;
        }
    }

    /// Subscribes to a channel and the threads in it.
    async fn listen(&mut self, id: &str, channel: &Value) {
        self.subscribe(id).await;
        for thread in channel["threads"].as_object().unwrap().keys() {
            self.subscribe(thread).await;
        }
    }

    async fn subscribe(&mut self, stream: &str) {
        let mut reply = self.socket.subscribe_with(stream, json!({})).await;
        if reply["error"]["code"] != 105 {
            let offset = reply["subscribe"]["offset"].take();
            assert!(offset.is_u64(), "{stream}: {reply}");
            self.places.insert(stream.to_owned(), offset);
        } // or it was recovered
    }

    /// Takes in what is pushed, up to the marker.
    pub async fn catch_up(&mut self, marker: &str) {
        loop {
            let mut push = self.socket.push(|push| push["pub"].is_object()).await;
            let (stream, mut publication) = (text(&push["channel"]), push["pub"].take());
            if stream != self.beacon {
                self.places.insert(stream.clone(), publication["offset"].take());
                if let Some(then) = self.store.hear(&stream, &publication["data"]) {
                    self.follow(then).await;
                }
            } else if publication["data"]["content"] == marker {
                return;
            }
        }
    }

    /// Takes in what was pushed while it was away, in the order of the log, whose places the offsets are.
    pub async fn come_back(&mut self) {
        self.socket = Socket::listening(&self.client, &[&self.beacon]).await;
        self.store.is_live = false;
        let mut missed = BTreeMap::new();
        for (stream, offset) in self.places.clone() {
            self.recover(&stream, &offset, &mut missed).await;
        }
        while let Some(((offset, stream), publication)) = missed.pop_first() {
            if !self.store.has(&stream) {
                continue; // gone by now; it was fetched anew if it came back
            }
            match self.store.hear(&stream, &publication) {
                Some(Then::Listen(thread)) => self.recover(&thread, &json!(offset), &mut missed).await,
                // It may be gone again.
                Some(Then::Fetch { organisation, channel }) if !self.is_in(&organisation, &channel).await => {}
                Some(then) => self.follow(then).await,
                None => {}
            }
        }
        self.enter().await;
    }

    async fn recover(&mut self, stream: &str, offset: &Value, missed: &mut BTreeMap<(u64, String), Value>) {
        let token = self.client.post("/token/subscription", json!({ "channel": stream })).await;
        if token.status == 403 {
            return self.store.lose(stream);
        }
        let result = self.socket.recover(stream, &self.epoch, offset).await;
        if result["recovered"] != true {
            // What came while its user was out was not theirs: what there is now is fetched.
            self.unrecovered += 1;
            return self.store.lose(stream.split('/').next().unwrap());
        }
        for publication in result["publications"].as_array().into_iter().flatten() {
            let offset = publication["offset"].as_u64().unwrap();
            missed.insert((offset, stream.to_owned()), publication["data"].clone());
        }
    }

    async fn is_in(&self, organisation: &str, channel: &str) -> bool {
        fetch::unread(&self.client, organisation).await.contains_key(channel)
    }

    async fn follow(&mut self, then: Then) {
        match then {
            Then::Listen(thread) => self.subscribe(&thread).await,
            Then::Fetch { organisation, channel } => {
                let unread = self.unread(&organisation, &channel).await;
                let fetched = fetch::channel(&self.client, &channel, unread).await;
                self.listen(&channel, &fetched).await;
                self.store.organisations[&organisation]["channels"][&channel] = fetched;
            }
            Then::Count { organisation, channel } => {
                let unread = self.unread(&organisation, &channel).await;
                self.store.organisations[&organisation]["channels"][&channel]["unread"] = unread;
            }
        }
    }

    async fn unread(&self, organisation: &str, channel: &str) -> Value {
        let all = fetch::unread(&self.client, organisation).await;
        all.get(channel).expect("a channel that the user is in").clone()
    }

    /// The messages that mention its user, as it was told, and that are still there.
    pub fn mentions(&self) -> Vec<&String> {
        self.store.mentions.iter().filter(|id| self.store.has_message(id)).collect()
    }

    /// Where the store differs from what the API answers now.
    pub async fn differences(&self) -> Vec<String> {
        differences(&self.store, &fetch::all(&self.client, &self.lighthouse).await)
    }
}

/// Where the store differs from the organisations as they were fetched.
pub fn differences(store: &Store, fetched: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", &shown(&store.organisations), fetched, &mut found);
    found
}

/// What is unread in an archived channel is kept for later, and not fetched.
fn shown(organisations: &Value) -> Value {
    let mut shown = organisations.clone();
    let organisations = shown.as_object_mut().unwrap().values_mut();
    for channel in organisations.flat_map(|one| one["channels"].as_object_mut().unwrap().values_mut()) {
        if channel["archived"] == true {
            channel["unread"] = Value::Null;
        }
    }
    shown
}

pub fn compare(path: &str, kept: &Value, fetched: &Value, found: &mut Vec<String>) {
    match (kept, fetched) {
        (Value::Object(kept), Value::Object(fetched)) => {
            let names: BTreeSet<_> = kept.keys().chain(fetched.keys()).collect();
            for name in names {
                let of = |map: &serde_json::Map<_, _>| map.get(name).cloned().unwrap_or_default();
                compare(&format!("{path}/{name}"), &of(kept), &of(fetched), found);
            }
        }
        _ if kept != fetched => found.push(format!("{path}: kept {kept}, fetched {fetched}")),
        _ => {}
    }
}
