//! The schedule of deliveries is kept in memory. It always equals what a query would find: a forgotten webhook would
//! never deliver again.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use crate::{
    harness::{Client, DAY, PASSWORD, Server, blob, text},
    receiver::{self, Receiver},
};
use serde_json::{Value, json};
use tidings::{
    db::Tx,
    domain::{accounts::by_operator, channel_purging, webhooks::delivery::queue},
    error::Result,
    time::Time,
};
use tokio::task::JoinSet;

/// Seeds of the random runs; with these, webhooks have many deliveries to wait for. More seeds search further.
const SEEDS: [u64; 3] = [0, 5, 13];
const THINGS: usize = 250;
/// Kinds of things; each is to succeed now and then.
const KINDS: usize = 23;
const NAMES: [&str; 3] = ["ada", "grace", "bob"];
/// Rows of one write: fewer than there are.
const SLICE: u32 = 5;

/// Whether a webhook `w` sends, by looking: none of those who answer for it is without access.
const SENDS: &str = "w.status = 'active' and w.url <> '' and w.deleted_at is null
    and not exists (select 1 from users u where u.id in (w.owner_id, w.url_by) and not (u.is_active
      and exists (select 1 from channels c join organisation_members m on m.organisation_id = c.organisation_id
        where c.id = w.channel_id and m.user_id = u.id and m.status <> 'deactivated'
          and (c.is_private = 0 or exists (select 1 from channel_members where channel_id = c.id and user_id = u.id)))))";
/// Deliveries `d` of webhooks `w` that send them, and whose channel lives.
const WAITING: &str = "deliveries d join webhooks w on w.id = d.webhook_id
    where d.due_at is not null and d.is_leased = 0 and exists (select 1 from channels c join organisations o on o.id = c.organisation_id
      where c.id = w.channel_id and c.deleted_at is null and o.deleted_at is null)";

struct World {
    server: Server,
    state: u64,
    people: Vec<Client>,
    root: Client,
    urls: Vec<String>,
    organisation: String,
    channels: Vec<String>,
    /// Messages, each with its channel.
    messages: Vec<[String; 2]>,
    hooks: Vec<[String; 2]>,
    /// The kinds of steps that succeeded.
    done: BTreeSet<String>,
    /// How often a webhook of an owner who can lose access had a queued delivery.
    waited: i64,
}

impl World {
    async fn new(seed: u64, receivers: &[Receiver]) -> World {
        let server = receiver::server().await;
        let mut people = Vec::new();
        for name in NAMES {
            people.push(server.user(name).await);
        }
        let root = server.superadmin("root").await;
        let urls = receivers.iter().map(|receiver| receiver.url.clone()).chain([String::new()]).collect();
        let mut world = World {
            server,
            state: seed,
            people,
            root,
            urls,
            organisation: String::new(),
            channels: Vec::new(),
            messages: Vec::new(),
            hooks: Vec::new(),
            done: BTreeSet::new(),
            waited: 0,
        };
        world.found().await;
        world
    }

    /// An organisation with everybody in it, and a channel.
    async fn found(&mut self) {
        self.organisation = self.people[0].organisation("Engines").await;
        for person in &self.people[1..] {
            self.root.post(&self.users(), json!({ "user_id": person.user_id, "role_id": "admin" })).await;
        }
        while self.channels.is_empty() {
            self.open().await;
        }
    }

    async fn open(&mut self) {
        let (name, others) = (format!("channel {}", self.channels.len()), self.people.iter().map(|person| &person.user_id));
        let body = json!({ "organisation_id": self.organisation, "name": name, "userIds": others.collect::<Vec<_>>() });
        let maker = self.below(3);
        if let Some(channel) = self.call("open", maker, "POST", "/channels".into(), body).await {
            self.channels.push(channel);
        }
    }

    fn users(&self) -> String {
        format!("/organisations/{}/users", self.organisation)
    }

    fn below(&mut self, limit: usize) -> usize {
        // SplitMix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        // Rather a late one: the first have often gone.
        of[of.len() - 1 - self.below(of.len().min(8))].clone()
    }

    /// Many are refused; gives the id of what was made.
    async fn call(&mut self, what: &str, who: usize, method: &str, path: String, body: Value) -> Option<String> {
        let body = (!body.is_null()).then_some(body);
        let reply = self.people[who].call(method, &path, body).await;
        assert!(reply.status < 500, "{method} {path}: {} {}", reply.status, reply.body);
        if reply.status >= 300 {
            return None;
        }
        self.done.insert(what.to_owned());
        reply.body["data"]["id"].as_str().map(str::to_owned)
    }

    async fn do_something(&mut self) {
        let (who, other, flag) = (self.below(3), self.below(3), self.below(2) == 0);
        let channel = self.one(&self.channels.clone());
        let in_channel = |end: &str| format!("/channels/{channel}{end}");
        let url = self.one(&self.urls.clone());
        let member = format!("{}/{}", self.users(), self.people[other].user_id);
        if self.hooks.len() < 8 {
            return self.hook(who, &channel, &url).await;
        }
        let [home, hook] = self.one(&self.hooks.clone());
        let at_hook = |end: &str| format!("/webhooks/{home}/{hook}{end}");
        match self.below(45) {
            0..=7 => self.say(who, &home, None).await,
            8..=11 if !self.messages.is_empty() => {
                let [home, message] = self.one(&self.messages.clone());
                self.say(who, &home, Some(message)).await;
            }
            12..=13 if !self.messages.is_empty() => {
                let [home, message] = self.one(&self.messages.clone());
                self.call("erase", who, "DELETE", format!("/channels/{home}/messages/{message}"), Value::Null).await;
            }
            14 => self.hook(who, &channel, &url).await,
            15..=18 => {
                let status = self.one(&["paused", "paused", "inactive", "active", "active", "active", "active"]);
                let body = json!({ "webhook_status": status });
                self.call(&format!("webhook {status}"), who, "PUT", at_hook("/change-status"), body).await;
            }
            19..=20 => _ = self.call("move", who, "PUT", at_hook(""), json!({ "webhook_url": url })).await,
            21 => _ = self.call("rotate", who, "POST", at_hook("/rotate-secret"), Value::Null).await,
            22 => _ = self.call("forget", who, "DELETE", at_hook(""), Value::Null).await,
            23..=24 => {
                let body = json!({ "since": "2020-01-01T00:00:00Z" });
                self.call("replay all", who, "POST", at_hook("/replay"), body).await;
            }
            25..=26 => self.replay(who, &home, &hook).await,
            27 => {
                self.call("archive", who, "PUT", in_channel("/archive"), json!({ "archived": flag })).await;
            }
            28 => self.open().await,
            29 if flag => _ = self.call("close", who, "DELETE", in_channel(""), Value::Null).await,
            30..=32 => {
                let status = self.one(&["deactivated", "inactive", "active"]);
                self.call(&format!("member {status}"), 0, "PUT", member, json!({ "status": status })).await;
            }
            33 if flag => _ = self.call("remove", if other == 1 { 0 } else { other }, "DELETE", member, Value::Null).await,
            34..=36 => self.bring_back(other, &home).await,
            37 => self.disable(other.max(1)),
            38 if self.below(4) == 0 => {
                let path = format!("/organisations/{}", self.organisation);
                self.call("dissolve", 0, "DELETE", path, Value::Null).await;
                (self.channels, self.messages, self.hooks) = Default::default();
                self.found().await;
            }
            39 => {
                // The next attempt is the last.
                let sql = "update deliveries set attempts = 9 where is_leased = 0 and due_at is not null";
                self.write(move |tx| Ok(tx.execute(sql, [])?));
            }
            40 => _ = self.call("leave", who, "POST", format!("/channels/{home}/leave"), Value::Null).await,
            41..=43 => {
                let body = json!({ "is_private": flag });
                self.call(&format!("private {flag}"), who, "PATCH", format!("/channels/{home}"), body).await;
            }
            _ => {}
        }
    }

    async fn say(&mut self, who: usize, channel: &str, thread: Option<String>) {
        let body = json!({ "content": "The engine", "thread_id": thread });
        let made = self.call("say", who, "POST", format!("/channels/{channel}/messages"), body).await;
        if let (Some(message), None) = (made, thread) {
            self.messages.push([channel.to_owned(), message]);
        }
    }

    async fn hook(&mut self, who: usize, channel: &str, url: &str) {
        let body = json!({ "webhook_name": "out", "webhook_url": url });
        if let Some(hook) = self.call("hook", who, "POST", format!("/webhooks/{channel}"), body).await {
            self.hooks.push([channel.to_owned(), hook]);
        }
    }

    async fn replay(&mut self, who: usize, channel: &str, hook: &str) {
        let history = self.people[who].get(&format!("/webhooks/{channel}/history/{hook}")).await;
        if let Some(attempt) = history.body["data"]["webhooks_history"].get(0) {
            let path = format!("/webhooks/{channel}/{hook}/history/{}/replay", text(&attempt["id"]));
            self.call("replay", who, "POST", path, Value::Null).await;
        }
    }

    /// Whatever it was that kept them out.
    async fn bring_back(&mut self, who: usize, channel: &str) {
        let email = self.people[who].email.clone();
        if self.server.number(&format!("select is_active from users where email = '{email}'")) == 0 {
            self.write(|tx| by_operator::set_active(tx, &email, true).map(|()| 1));
            self.people[who] = self.server.log_in(NAMES[who], PASSWORD).await;
        }
        let user = self.people[who].user_id.clone();
        self.root.post(&self.users(), json!({ "user_id": user, "role_id": "admin" })).await;
        let path = format!("{}/{user}", self.users());
        self.call("member active", 0, "PUT", path, json!({ "status": "active" })).await;
        self.people[who].post(&format!("/channels/{channel}/join"), json!({})).await;
    }

    fn disable(&mut self, who: usize) {
        let email = self.people[who].email.clone();
        self.write(|tx| by_operator::set_active(tx, &email, false).map(|()| 1));
        self.done.insert("disable".into());
    }

    fn write(&self, work: impl FnOnce(&mut Tx) -> Result<usize>) -> usize {
        self.server.write(work).unwrap()
    }

    /// Waits until all has left that is due, but for what a target that never answers holds up.
    async fn assert_nothing_is_forgotten(&self) {
        let hanging = &self.urls[2];
        let now = Time::now().unix_seconds() * 1_000_000;
        let forgotten = format!("{WAITING} and {SENDS} and d.due_at <= {now} and w.url <> '{hanging}'");
        let until = Instant::now() + Duration::from_secs(90);
        while self.server.count(&forgotten) > 0 {
            assert!(Instant::now() < until, "{} deliveries are forgotten", self.server.count(&forgotten));
            self.server.anonymous().get("/blogs").await.expect(200);
        }
        assert_eq!(self.server.count("pragma_foreign_key_check"), 0);
    }

    async fn do_much(&mut self) {
        let ada = blob(&self.people[0].user_id);
        for _ in 0..THINGS {
            self.do_something().await;
            assert_eq!(self.server.count("pragma_foreign_key_check"), 0);
            self.waited += self.server.count(&format!("{WAITING} and {SENDS} and w.owner_id <> {ada}"));
        }
    }

    /// Old deliveries go, also those that wait.
    fn prune(&self) {
        self.server.sql("update deliveries set created_at = 1 where id in (select id from deliveries order by id limit 30)");
        while self.write(|tx| queue::prune(tx, Time::now() - DAY, SLICE)) > 0 {}
        while self.write(|tx| queue::prune_unreferenced_events(tx, SLICE)) > 0 {}
    }

    /// Purges deleted channels while attempts are still under way.
    fn purge(&self) {
        self.server.sql("update channels set deleted_at = 1");
        while self.write(|tx| channel_purging::purge(tx, Time::now(), SLICE)) > 0 {
            assert_eq!(self.server.count("pragma_foreign_key_check"), 0);
        }
        for table in ["deliveries", "webhook_events", "webhook_history", "webhooks"] {
            assert_eq!(self.server.count(table), 0, "{table}");
        }
    }
}

async fn try_out(seed: u64) -> (BTreeSet<String>, i64) {
    let receivers = [
        Receiver::start(&[200]).await,
        Receiver::start(&[500]).await,
        Receiver::hanging().await,
        Receiver::start(&[200, 200, 200, 410]).await,
    ];
    let mut world = World::new(seed, &receivers).await;
    world.do_much().await;
    world.assert_nothing_is_forgotten().await;
    world.server = world.server.restart().await;
    world.assert_nothing_is_forgotten().await;
    world.prune();
    world.assert_nothing_is_forgotten().await;
    world.purge();
    (world.done, world.waited)
}

#[tokio::test(flavor = "multi_thread")]
async fn no_delivery_is_forgotten_over_random_events() {
    let tried: JoinSet<_> = SEEDS.into_iter().map(try_out).collect();
    let tried = tried.join_all().await;
    let done: BTreeSet<_> = tried.iter().flat_map(|(done, _)| done.iter().map(String::as_str)).collect();
    assert_eq!(done.len(), KINDS, "{done:?}");
    let waited: i64 = tried.iter().map(|(_, waited)| waited).sum();
    assert!(waited > 100, "too little to look at: {waited}");
}
