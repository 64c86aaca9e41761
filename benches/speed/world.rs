//! What is measured in: people, channels and messages. Those that must be many are written by SQL.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use rusqlite::Connection;
use serde_json::{Value, json};
use tidings::secret::Keys;

use super::{
    http::{self, call},
    server::{Build, Server},
};

/// What messages are made of.
const WORDS: &str = "the of and to in for is on that with as at by we are from be this will can not have it our you all any new \
    report meeting budget release server review Thursday customer invoice question answer draft schedule update numbers \
    deadline design contract travel office printer harbour station morning please thanks before after tomorrow together \
    yesterday version branch commit failed passed green search index channel thread window button colour letter network \
    storage backup restore monday friday quarter revenue support ticket reply urgent waiting approved signed delivered";
const PASSWORD: &str = "correct horse battery";
/// The length of a message of the bench.
pub const TEXT: usize = 120;
/// How many different texts there are.
const TEXTS: usize = 1024;
/// Stands in every ten-thousandth message that is written by SQL.
pub const RARE: &str = "zeppelin";
/// Stands in many messages.
pub const COMMON: &str = "invoice";

/// A data folder with an organisation, its members and one channel that all of them are in.
pub struct World {
    folder: tempfile::TempDir,
    build: Build,
    pub organisation: String,
    pub channel: String,
    /// Access tokens of those members who are logged in; the first owns everything.
    pub tokens: Vec<String>,
}

impl World {
    /// Makes it on a server, which is then ready to be measured.
    pub fn new(build: &Build, members: usize, logged_in: usize) -> (World, Server) {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(build, &folder.path().join("data"));
        let account = json!({ "email": email(0), "password": PASSWORD });
        call(server.address, "", "POST", "/auth/register", &account);
        let owner = log_in(server.address, 0);
        let made = call(server.address, &owner, "POST", "/organisations", &json!({ "name": "Engines" }));
        let organisation = text(&made["data"]["id"]);
        let body = json!({ "name": "dev", "organisation_id": organisation });
        let channel = text(&call(server.address, &owner, "POST", "/channels", &body)["data"]["id"]);
        server.stop();
        let mut world = World { folder, build: build.clone(), organisation, channel, tokens: vec![owner] };
        world.sql(|database| people(database, &world.organisation, &world.channel, members));
        let server = world.serve();
        world.tokens.extend((1..logged_in).map(|n| log_in(server.address, n)));
        (world, server)
    }

    /// A new server on it, which has nothing in memory of former ones.
    pub fn serve(&self) -> Server {
        Server::start(&self.build, &self.data())
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn database(&self) -> PathBuf {
        self.data().join("tidings.db")
    }

    /// Changes the database while no server runs on it.
    pub fn sql<T>(&self, change: impl FnOnce(&Connection) -> T) -> T {
        let database = Connection::open(self.database()).unwrap();
        database.busy_timeout(Duration::from_secs(60)).unwrap();
        let changed = change(&database);
        database.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).unwrap();
        changed
    }

    pub fn messages(&self) -> String {
        format!("/api/v1/channels/{}/messages", self.channel)
    }

    /// Requests of the first members that post different texts.
    pub fn posts(&self, posters: usize) -> Vec<String> {
        let request = |n: usize| {
            let body = json!({ "content": sentence(n) }).to_string();
            http::request("POST", &self.messages(), &self.tokens[n % posters.min(self.tokens.len())], &body)
        };
        (0..TEXTS).map(request).collect()
    }

    /// The owner's request for a path below /api/v1.
    pub fn get(&self, path: &str) -> String {
        http::request("GET", &format!("/api/v1{path}"), &self.tokens[0], "")
    }

    /// The connect commands of the first members, with subscriptions to `channels`.
    pub fn greetings(&self, address: SocketAddr, people: usize, channels: impl Fn(usize) -> Vec<String>) -> Vec<Value> {
        let greeting = |(n, token): (usize, &String)| {
            let connection = call(address, token, "GET", "/token/connection", &Value::Null)["data"]["token"].take();
            let mut subs = json!({});
            for channel in channels(n) {
                let asked = call(address, token, "POST", "/token/subscription", &json!({ "channel": channel }));
                subs[&channel] = json!({ "token": asked["data"]["token"] });
            }
            json!({ "id": 1, "connect": { "token": connection, "subs": subs } })
        };
        self.tokens.iter().enumerate().take(people).map(greeting).collect()
    }

    /// Begins a session for each of so many members besides the owner, which no log-in could do: a hundred thousand passwords take
    /// an hour. Gives their connect commands, with subscriptions to their own streams and to the channel.
    pub fn sessions(&self, people: usize) -> Vec<Value> {
        self.sql(|database| {
            let sql = format!(
                "with recursive k (k) as (select 1 union all select k + 1 from k where k < {people})
                 insert into sessions (id, user_id, notification_hash, created_at, expires_at)
                   select unhex(printf('01900000000070009000%012x', k)), unhex(printf('01900000000070008000%012x', k)), randomblob(32),
                     cast(unixepoch() * 1000000 as integer), cast((unixepoch() + 864000) * 1000000 as integer) from k"
            );
            database.execute_batch(&sql).unwrap();
        });
        let key = std::fs::read_to_string(self.data().join("secret.key")).unwrap();
        let key = BASE64_STANDARD.decode(key.lines().next().unwrap()).unwrap();
        let keys = Keys::derive(key.as_slice().try_into().unwrap());
        let expires = jiff::Timestamp::now().as_second() + 86400;
        let greeting = |n: usize| {
            let (user, session) = (format!("01900000-0000-7000-8000-{n:012x}"), format!("01900000-0000-7000-9000-{n:012x}"));
            let token = json!({ "sub": user, "sid": session, "exp": expires, "own_streams": true });
            let of_channel = json!({ "sub": user, "channel": self.channel, "exp": expires });
            let mut subs = json!({ &user: {}, &self.organisation: {}, format!("{}/{user}", self.organisation): {} });
            subs[&self.channel] = json!({ "token": keys.push.sign(&of_channel).unwrap() });
            json!({ "id": 1, "connect": { "token": keys.push.sign(&token).unwrap(), "subs": subs } })
        };
        (1..=people).map(greeting).collect()
    }
}

pub fn email(n: usize) -> String {
    format!("u{n}@x.example")
}

pub fn credentials(n: usize) -> Value {
    json!({ "email": email(n), "password": PASSWORD })
}

fn log_in(address: SocketAddr, n: usize) -> String {
    text(&call(address, "", "POST", "/auth/login", &credentials(n))["data"]["access_token"])
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// A literal of SQL for an identifier.
pub fn blob(id: &str) -> String {
    format!("x'{}'", id.replace('-', ""))
}

/// Members beside the owner, all with the owner's password, since each hash takes some 30 ms.
fn people(database: &Connection, organisation: &str, channel: &str, members: usize) {
    let (organisation, channel, others) = (blob(organisation), blob(channel), members - 1);
    database
        .execute_batch(&format!(
            "create temp table k as with recursive k (k) as (select 1 union all select k + 1 from k where k < {members}) select k from k;
             insert into users (id, email, username, password_hash, is_verified, created_at, updated_at)
               select unhex(printf('01900000000070008000%012x', k)), 'u' || k || '@x.example', 'u' || k, u.password_hash, 1,
                 u.created_at, u.created_at
               from k, users u where k <= {others} and u.email = 'u0@x.example';
             insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
               select {organisation}, unhex(printf('01900000000070008000%012x', k)), 4, 0, 0 from k where k <= {others};
             insert into channel_members (channel_id, user_id, username, created_at)
               select c.id, unhex(printf('01900000000070008000%012x', k)), 'u' || k, c.created_at
               from k, channels c where k <= {others} and c.organisation_id = {organisation} and (c.id = {channel} or c.is_default);
             update channels set user_count = user_count + {others} where organisation_id = {organisation};
             drop table k;"
        ))
        .unwrap();
}

/// A text of common words, the same for the same number.
pub fn sentence(n: usize) -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let (mut text, mut random) = (String::new(), n as u64 + 1);
    while text.len() <= TEXT {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text.push_str(words[(random >> 33) as usize % words.len()]);
        text.push(' ');
    }
    text.truncate(TEXT - 1);
    text + "."
}

/// Fills a channel with top-level posts of its members, each followed by so many replies. The search index takes them for
/// known until [`unindex`].
pub fn fill(database: &Connection, channel: &str, posts: usize, replies: usize) {
    database.execute_batch("create temp table texts (k integer primary key, text text)").unwrap();
    for n in 0..TEXTS {
        database.execute("insert into texts values (?1, ?2)", (n as i64, sentence(n))).unwrap();
    }
    let (channel, start) = (blob(channel), TEXT - 9);
    let text = |k: &str| {
        format!("(select substr(text, 1, {start}) from texts where texts.k = {k} * 7919 % {TEXTS}) || printf(' %08d', {k})")
    };
    let (post, reply) = (text("k.k"), text("m.n"));
    database
        .execute_batch(&format!(
            "begin;
             create temp table k as with recursive k (k) as (select 1 union all select k + 1 from k where k < {posts}) select k from k;
             create temp table base as select coalesce(max(n), 0) as n, cast(unixepoch('subsec') * 1000000 as integer) as now from messages;
             create temp table author as select row_number() over () - 1 as turn, user_id, username
               from channel_members where channel_id = {channel} limit 20;
             insert into messages (n, id, channel_id, user_id, username, content, reply_count, active_n, last_reply_at, created_at, updated_at)
               select base.n + (k.k - 1) * ({replies} + 1) + 1,
                 unhex(printf('%012x7%s8%s', (base.now / 1000) - {posts} + k.k, substr(hex(randomblob(2)), 2), substr(hex(randomblob(8)), 2))),
                 {channel}, user_id, username, iif(k.k % 10000 = 0, '{RARE} ' || substr({post}, {rare}), {post}),
                 {replies}, base.n + k.k * ({replies} + 1), iif({replies} > 0, base.now, null),
                 base.now - ({posts} - k.k) * 1000, base.now - ({posts} - k.k) * 1000
               from k, base join author on author.turn = k.k % (select count(*) from author);
             insert into messages (n, id, channel_id, root, user_id, username, content, created_at, updated_at)
               select m.n + r.k, unhex(substr(hex(m.id), 1, 13) || substr(hex(randomblob(2)), 2) || '8' || substr(hex(randomblob(8)), 2)),
                 {channel}, m.n, m.user_id, m.username, {reply}, base.now, base.now
               from k r, base join messages m on m.n > base.n and m.root is null where r.k <= {replies};
             update channels set message_count = message_count + {posts} * ({replies} + 1), thread_count = thread_count + {posts},
               last_n = (select max(n) from messages), last_thread = (select max(n) from messages where root is null)
             where id = {channel};
             update meta set value = (select max(n) from messages) where key = 'search_cursor';
             drop table k; drop table base; drop table author; drop table texts;
             commit;",
            rare = RARE.len() + 2
        ))
        .unwrap();
}

/// Makes the search index begin anew at the next start, as after an upgrade that empties it.
pub fn unindex(database: &Connection) {
    database.execute_batch("update meta set value = '0' where key = 'search_cursor'").unwrap();
}

/// How many messages the search index lacks.
pub fn behind(database: &Connection) -> i64 {
    let sql = "select (select coalesce(max(n), 0) from messages) - cast(value as integer) from meta where key = 'search_cursor'";
    database.query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Channels of the owner with some posts in each, that the owner has not read; gives their identifiers.
pub fn channels(database: &Connection, world: &World, count: usize) -> Vec<String> {
    let organisation = blob(&world.organisation);
    let ids: Vec<String> = (0..count).map(|n| format!("0190000000017000800{n:013x}")).collect();
    for (n, id) in ids.iter().enumerate() {
        database
            .execute_batch(&format!(
                "insert into channels (id, organisation_id, name, owner_id, created_by, user_count, created_at, updated_at)
                   select x'{id}', {organisation}, 'project-{n}', owner_id, created_by, 2, created_at, updated_at
                   from channels where id = {channel};
                 insert into channel_members (channel_id, user_id, username, created_at)
                   select x'{id}', user_id, username, created_at from channel_members where channel_id = {channel} limit 2;
                 insert or ignore into channel_members (channel_id, user_id, username, created_at)
                   select x'{id}', owner_id, 'u0', created_at from channels where id = x'{id}';",
                channel = blob(&world.channel)
            ))
            .unwrap();
        fill(database, id, 3, 0);
    }
    ids
}

/// A member's personal stream.
pub fn personal(world: &World, address: SocketAddr, n: usize) -> String {
    let me = call(address, &world.tokens[n], "GET", "/users/me", &Value::Null)["data"]["id"].take();
    format!("{}/{}", world.organisation, text(&me))
}
