//! A client that looks on: it fetches once, then lives on pushes.

use serde_json::Value;

use super::{
    fetch,
    store::{Store, Then},
};
use crate::{harness::Client, socket::Socket};

pub struct Viewer {
    pub name: &'static str,
    client: Client,
    socket: Socket,
    store: Store,
    /// The channel of the markers, which tell that all before them has arrived; its organisation is not looked at.
    beacon: String,
    lighthouse: String,
}

impl Viewer {
    pub async fn new(name: &'static str, client: Client, lighthouse: &str, beacon: &str) -> Viewer {
        let socket = Socket::listening(&client, &[beacon]).await;
        let store = Store { me: client.user_id.clone(), organisations: serde_json::json!({}) };
        let (lighthouse, beacon) = (lighthouse.to_owned(), beacon.to_owned());
        let mut viewer = Viewer { name, client, socket, store, beacon, lighthouse };
        viewer.enter().await;
        viewer
    }

    /// Fetches the organisations that the store does not have.
    pub async fn enter(&mut self) {
        for id in fetch::organisations(&self.client, &self.lighthouse).await {
            if self.store.organisations.get(&id).is_some() {
                continue;
            }
            self.socket.subscribe(&id).await;
            self.socket.subscribe(&self.client.personal(&id)).await;
            let organisation = fetch::organisation(&self.client, &id).await;
            for (id, channel) in organisation["channels"].as_object().unwrap() {
                self.listen(id, channel).await;
            }
            self.store.organisations[&id] = organisation;
        }
    }

    /// Subscribes to a channel and the threads in it.
    async fn listen(&mut self, id: &str, channel: &Value) {
        self.socket.subscribe(id).await;
        for thread in channel["threads"].as_object().unwrap().keys() {
            self.socket.subscribe(thread).await;
        }
    }

    /// Takes in what is pushed, up to the marker.
    pub async fn catch_up(&mut self, marker: &str) {
        loop {
            let (stream, publication) = self.socket.next().await;
            if stream != self.beacon {
                if let Some(then) = self.store.hear(&stream, &publication) {
                    self.follow(then).await;
                }
            } else if publication["content"] == marker {
                return;
            }
        }
    }

    async fn follow(&mut self, then: Then) {
        match then {
            Then::Listen(thread) => _ = self.socket.subscribe(&thread).await,
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

    /// Where the store differs from what the API answers now.
    pub async fn differences(&self) -> Vec<String> {
        let fetched = fetch::all(&self.client, &self.lighthouse).await;
        let mut found = Vec::new();
        compare("", &shown(&self.store.organisations), &fetched, &mut found);
        found
    }
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

fn compare(path: &str, kept: &Value, fetched: &Value, found: &mut Vec<String>) {
    match (kept, fetched) {
        (Value::Object(kept), Value::Object(fetched)) => {
            let names: std::collections::BTreeSet<_> = kept.keys().chain(fetched.keys()).collect();
            for name in names {
                let of = |map: &serde_json::Map<_, _>| map.get(name).cloned().unwrap_or_default();
                compare(&format!("{path}/{name}"), &of(kept), &of(fetched), found);
            }
        }
        _ if kept != fetched => found.push(format!("{path}: kept {kept}, fetched {fetched}")),
        _ => {}
    }
}
