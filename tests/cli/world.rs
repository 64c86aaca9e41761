//! A server that is ended, killed and started again, with subscribers and actors.

use std::sync::{Arc, Mutex};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
};

use crate::{
    entitled::{self, Log},
    harness::{PASSWORD, Server},
    subscriber::{Heard, Order, Ordered, Stream, Subscriber},
};

pub const SUBSCRIBERS: usize = 6;

#[derive(Clone, Copy, Debug)]
pub enum Cut {
    Server(&'static str),
    /// The log is pruned.
    Prune,
    Subscriber(usize, Order),
}

/// The server, and everybody.
pub struct World {
    pub folder: tempfile::TempDir,
    server: tokio::sync::Mutex<Server>,
    url: watch::Sender<String>,
    http: reqwest::Client,
    organisation: String,
    pub ada: String,
    /// The id of Bob, whose role changes.
    bob: String,
    /// Ids and access tokens.
    pub subscribers: Vec<(String, String)>,
    pub rooms: Vec<Room>,
    orders: Vec<mpsc::UnboundedSender<Ordered>>,
    /// How many cuts there were.
    pub cuts: watch::Sender<usize>,
    pub log: Mutex<Log>,
    pub deleted: Arc<Mutex<Vec<String>>>,
    /// Streams, and ids of messages on them whose post was answered.
    pub posted: Mutex<Vec<(String, String)>>,
}

/// A channel with a thread in it.
pub struct Room {
    pub channel: String,
    pub thread: String,
    reply: String,
}

impl World {
    pub async fn make() -> World {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), &[]);
        let (url, http) = (watch::channel(server.url.clone()).0, server.http.clone());
        let account = async |name: &str| {
            let body = json!({ "email": format!("{name}@x.example"), "password": PASSWORD, "username": name });
            server.post("/auth/register", "", body.clone()).await;
            let data = server.post("/auth/login", "", body).await;
            (data["user"]["id"].as_str().unwrap().to_owned(), data["access_token"].as_str().unwrap().to_owned())
        };
        let (_, ada) = account("ada").await;
        let organisation =
            server.post("/organisations", &ada, json!({ "name": "Engines" })).await["id"].as_str().unwrap().to_owned();
        let member = async |name: &str| {
            let (id, token) = account(name).await;
            let body = json!({ "org_id": organisation, "emails": [format!("{name}@x.example")], "role": "member" });
            let invited = server.post("/invite", &ada, body).await;
            server.post("/invite/verify", &token, json!({ "token": invited["invitations"][0]["invite_token"] })).await;
            (id, token)
        };
        let bob = member("bob").await.0;
        let mut subscribers = Vec::new();
        for n in 0..SUBSCRIBERS {
            subscribers.push(member(&format!("s{n}")).await);
        }
        let mut rooms = Vec::new();
        for (name, every) in [("one", 1), ("two", 2)] {
            let users: Vec<_> = subscribers.iter().step_by(every).map(|(id, _)| id).collect();
            let body = json!({ "name": name, "organisation_id": organisation, "userIds": users });
            let id = |made: Value| made["id"].as_str().unwrap().to_owned();
            let channel = id(server.post("/channels", &ada, body).await);
            let path = format!("/channels/{channel}/messages");
            let thread = id(server.post(&path, &ada, json!({ "content": "a thread" })).await);
            let reply = id(server.post(&path, &ada, json!({ "content": "a reply", "thread_id": thread })).await);
            rooms.push(Room { channel, thread, reply });
        }
        let server = tokio::sync::Mutex::new(server);
        let (orders, cuts, log, deleted, posted) = Default::default();
        World { folder, server, url, http, organisation, ada, bob, subscribers, rooms, orders, cuts, log, deleted, posted }
    }

    /// Subscriber `n` listens: those with an even number to both channels and threads, the others to one.
    pub async fn listen(&mut self, n: usize, listening: &mut JoinSet<Subscriber>) {
        let (id, token) = &self.subscribers[n];
        let mut names = vec![self.organisation.clone(), format!("{}/{id}", self.organisation)];
        for room in &self.rooms[..2 - n % 2] {
            names.extend([room.channel.clone(), room.thread.clone()]);
        }
        let mut streams = Vec::new();
        for name in names {
            let (_, reply) = self.call(Method::POST, "/token/subscription", token, json!({ "channel": name })).await;
            streams.push(Stream::new(&name, reply["data"]["token"].as_str().unwrap().to_owned()));
        }
        let (_, reply) = self.call(Method::GET, "/token/connection", token, json!({})).await;
        let connection = reply["data"]["token"].as_str().unwrap().to_owned();
        let subscriber = Subscriber::new(&format!("s{n}"), connection, streams, self.deleted.clone(), is_end);
        let (orders, ordered) = mpsc::unbounded_channel();
        let (is_ready, ready) = oneshot::channel();
        listening.spawn(subscriber.run(self.url.subscribe(), ordered, is_ready));
        ready.await.expect("it listens");
        self.orders.push(orders);
    }

    /// A request, again and again until the server that is there answers it.
    async fn call(&self, method: Method, path: &str, token: &str, body: Value) -> (u16, Value) {
        let mut url = self.url.subscribe();
        loop {
            let address = format!("{}/api/v1{path}", *url.borrow_and_update());
            let sent = self.http.request(method.clone(), address).bearer_auth(token).json(&body).send().await;
            if let Ok(reply) = sent {
                let status = reply.status().as_u16();
                if let (true, Ok(text)) = (status != 503, reply.text().await) {
                    return (status, serde_json::from_str(&text).unwrap_or_default());
                }
            }
            url.changed().await.expect("the server comes back");
        }
    }

    /// The same where only these statuses are right: the second one where an earlier try was done but not answered.
    pub async fn expect(&self, method: Method, path: &str, token: &str, body: Value, right: [u16; 2]) -> Value {
        let (status, reply) = self.call(method, path, token, body).await;
        assert!(right.contains(&status), "{path}: {status} {reply}");
        reply["data"].clone()
    }

    pub async fn cut(&self, cut: Cut) {
        match cut {
            Cut::Server(signal) => {
                let mut server = self.server.lock().await;
                tokio::task::block_in_place(|| {
                    server.signal(signal);
                    server.end();
                    *server = Server::start(self.folder.path(), &[]);
                });
                self.url.send_replace(server.url.clone());
            }
            Cut::Prune => {
                tokio::task::block_in_place(|| self.log.lock().unwrap().prune(&mut entitled::open(self.folder.path())));
            }
            Cut::Subscriber(subscriber, order) => self.order(subscriber, order).await,
        }
    }

    pub async fn order(&self, subscriber: usize, order: Order) {
        let (done, is_done) = oneshot::channel();
        self.orders[subscriber].send((order, done)).expect("it listens");
        is_done.await.expect("it does as ordered");
    }

    /// The last thing on every stream; none of it changes a count.
    pub async fn end(&self) {
        for Room { channel, reply, .. } in &self.rooms {
            let path = format!("/channels/{channel}/messages/{reply}/reactions/end");
            self.expect(Method::PUT, &path, &self.ada, json!({}), [200, 200]).await;
        }
        self.change_role("manager").await;
        self.add("end", &self.subscribers.iter().map(|(id, _)| &**id).collect::<Vec<_>>()).await;
    }

    pub async fn change_role(&self, role: &str) {
        let path = format!("/organisations/{}/users/{}", self.organisation, self.bob);
        self.expect(Method::PUT, &path, &self.ada, json!({ "role_id": role }), [200, 200]).await;
    }

    /// Adds them to a new channel: each is told on their own stream.
    pub async fn add(&self, name: &str, users: &[&str]) {
        let body = json!({ "name": name, "organisation_id": self.organisation });
        let made = self.expect(Method::POST, "/channels", &self.ada, body, [201, 422]).await;
        let Some(channel) = made["id"].as_str() else { return };
        let path = format!("/channels/{channel}/users");
        self.expect(Method::POST, &path, &self.ada, json!({ "user_ids": users }), [200, 200]).await;
    }

    /// What the subscriber heard, against the log; and what it would show, against what it would fetch.
    pub async fn check(&self, subscriber: &Subscriber, token: &str) {
        self.log.lock().unwrap().check(subscriber);
        let personal = subscriber.streams.iter().find(|stream| stream.name.contains('/')).unwrap();
        let path = format!("/organisations/{}/user-channels", self.organisation);
        let channels = self.expect(Method::GET, &path, token, json!({}), [200, 200]).await;
        let (counts, edits) =
            (entitled::last_state(personal, "unread_thread_change"), entitled::last_state(personal, "channel_update"));
        for channel in channels.as_array().unwrap() {
            let (name, id) = (&subscriber.name, channel["id"].as_str().unwrap());
            if let Some(shown) = counts.get(id) {
                let fetched = [&channel["thread_count"], &channel["mention_count"]];
                assert_eq!([&shown["thread_count"], &shown["mention_count"]], fetched, "{name}: {channel}");
            } else if personal.gaps.is_empty() {
                assert_eq!([&channel["thread_count"], &channel["mention_count"]], [0, 0], "{name} was not told: {channel}");
            }
            let fetched = self.expect(Method::GET, &format!("/channels/{id}"), token, json!({}), [200, 200]).await;
            if let Some(shown) = edits.get(id) {
                assert_eq!(shown["topic"], fetched["topic"], "{name}");
            } else if personal.gaps.is_empty() {
                assert_eq!(fetched["topic"], "", "{name} was not told");
            }
        }
    }
}

/// Whether the last thing on a stream was heard. Who is added to a channel is told of it, and then that the list of channels changed.
fn is_end(heard: &[Heard]) -> bool {
    let is_last = |heard: &Heard| heard.data["data"]["emoji"] == "end" || heard.data["data"]["role"] == "manager";
    let added = heard.iter().position(|heard| heard.data["data"]["name"] == "end");
    let is_list = |heard: &Heard| heard.data["notification_type"] == "trigger_notification";
    heard.iter().any(is_last) || added.is_some_and(|added| heard[added..].iter().any(is_list))
}
