//! How a visitor connects and takes in what it missed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{SLUG, Visitor, some};
use crate::{harness::text, socket::Socket};

/// Publications that were missed, in the order of the log.
type Missed = BTreeMap<(u64, String), Value>;

impl Visitor {
    pub(super) async fn connect(&mut self) {
        let token = self.client.get("/token/connection?streams=own").await.expect(200)["data"]["token"].take();
        let (store, me) = (&self.store, &self.client.user_id);
        self.places.retain(|stream, _| stream == me || stream.contains('/') || store.has(stream));
        let is_own = |stream: &String| stream == me || store.organisations.get(stream.split('/').next().unwrap()).is_some();
        let (own, channels): (BTreeMap<_, _>, BTreeMap<_, _>) =
            self.places.clone().into_iter().partition(|(stream, _)| is_own(stream));
        let subs: Value = own.iter().map(|(stream, offset)| (stream.clone(), self.since(*offset))).collect();
        let mut socket = Socket::open(&self.client).await;
        let mut reply = socket.command("connect", json!({ "token": token, "subs": subs })).await;
        assert!(reply["connect"]["client"].is_string(), "{reply}");
        socket.subscribe(&self.beacon).await;
        self.socket = Some(socket);
        let (mut missed, mut lost) = (Missed::new(), BTreeSet::new());
        let granted = reply["connect"]["subs"].take();
        for (stream, sub) in granted.as_object().unwrap() {
            if !self.take(stream, sub, &mut missed) {
                lost.insert(stream.split('/').next().unwrap().to_owned());
            }
        }
        for stream in own.keys().filter(|stream| granted.get(*stream).is_none()) {
            self.places.remove(stream);
            self.store.lose(stream);
        }
        let names: Vec<_> = channels.keys().filter(|name| !name.contains('/')).cloned().collect();
        lost.extend(self.recover(&names, &mut missed).await);
        self.apply(missed).await;
        for record in lost {
            self.anew(&record).await;
        }
    }

    fn since(&self, offset: u64) -> Value {
        json!({ "recover": true, "epoch": self.epoch, "offset": offset })
    }

    /// Subscribes to channels from their places; gives those that can't be recovered.
    async fn recover(&mut self, channels: &[String], missed: &mut Missed) -> Vec<String> {
        if channels.is_empty() {
            return Vec::new();
        }
        let granted = self.client.post("/token/subscription", json!({ "channels": channels })).await.expect(200)["data"].take();
        for refused in granted["refused"].as_array().unwrap() {
            self.places.remove(&text(refused));
            self.store.lose(&text(refused));
        }
        let mut lost = Vec::new();
        for one in granted["tokens"].as_array().unwrap() {
            let channel = text(&one["channel"]);
            let mut request = self.since(self.places[&channel]);
            request["channel"] = one["channel"].clone();
            request["token"] = one["token"].clone();
            let reply = self.socket.as_mut().unwrap().command("subscribe", request).await;
            match reply["error"]["code"].as_u64() {
                // Its user was out and is back, and it heard all that came since.
                Some(105) => {}
                // Its user was put out this moment, which it will be told.
                Some(103) => {}
                Some(_) => panic!("{channel}: {reply}"),
                None if !self.take(&channel, &reply["subscribe"], missed) => lost.push(channel),
                None => {}
            }
        }
        lost
    }

    /// Takes in the result of a subscription: whether nothing is missing.
    fn take(&mut self, stream: &str, sub: &Value, missed: &mut Missed) -> bool {
        assert_eq!(sub["epoch"], self.epoch, "{sub}");
        let is_recovered = sub["was_recovering"] != true || sub["recovered"] == true;
        let mut place = self.places.get(stream).copied().unwrap_or_default();
        let publications = sub["publications"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(is_recovered || publications.is_empty(), "{sub}");
        for publication in publications {
            let offset = publication["offset"].as_u64().unwrap();
            assert!(offset > place, "{stream}: {offset} is not after {place}");
            place = offset;
            missed.insert((offset, stream.to_owned()), publication["data"].clone());
        }
        if publications.is_empty() {
            place = sub["offset"].as_u64().unwrap_or_default();
        }
        self.places.insert(stream.to_owned(), place);
        is_recovered
    }

    async fn apply(&mut self, mut missed: Missed) {
        while let Some(((offset, stream), publication)) = missed.pop_first() {
            self.hear(&stream, offset, &publication).await;
        }
    }

    /// Fetches anew what could not be recovered.
    async fn anew(&mut self, record: &str) {
        self.store.lose(record);
        if record != self.client.user_id && record != self.lighthouse {
            let start = some(&self.client, &format!("/start?slug={SLUG}")).await;
            match start.filter(|(start, ..)| start["data"]["organisation"]["id"] == record) {
                Some((start, _, offset)) => Box::pin(self.reopen(&start["data"], offset)).await,
                None => Box::pin(self.join(record)).await,
            }
        }
    }

    /// Fetches an organisation, whose own streams it hears already, and subscribes to its channels.
    pub(super) async fn reopen(&mut self, start: &Value, offset: u64) {
        let id = text(&start["organisation"]["id"]);
        for stream in [&id, &self.client.personal(&id)] {
            self.places.entry(stream.clone()).or_insert(offset);
        }
        self.open(start, offset, &mut async || {}).await;
        let Some(organisation) = self.store.organisations.get(&id) else { return };
        let channels: Vec<_> = organisation["channels"].as_object().unwrap().keys().cloned().collect();
        let mut missed = Missed::new();
        for lost in self.recover(&channels, &mut missed).await {
            self.anew(&lost).await;
        }
        self.apply(missed).await;
    }

    /// Fetches a channel and subscribes to it from there.
    pub(super) async fn join(&mut self, id: &str) {
        let Some(found) = self.channel(id).await else { return };
        let organisation = text(&found["organisation_id"]);
        let Some(organisation) = self.store.organisations.get_mut(&organisation) else { return };
        organisation["channels"][id] = found;
        let mut missed = Missed::new();
        if !self.recover(&[id.to_owned()], &mut missed).await.is_empty() {
            self.store.lose(id); // put out and taken in again this moment, which it will be told
        }
        self.apply(missed).await;
    }
}
