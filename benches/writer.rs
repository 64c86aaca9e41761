//! How long each writing operation holds the writer, and with it everybody else, with the database filled to the bounds
//! that are documented: `cargo bench --bench writer`. The worst come first; 10 ms is the aim.
//!
//! What an operation leaves to the background jobs counts as its own.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use reqwest::Method;
use serde_json::{Value, json};
use tidings::{
    app::App,
    config::{Settings, Switch},
    domain::{chores, search},
};
use tokio::net::TcpListener;

use self::api::{Api, text};

#[allow(dead_code, reason = "other benches open sockets, too")]
mod api;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Members of the organisation, of its default channel and of the channel of the measurements. They have no bound.
const MEMBERS: u32 = 2000;
/// Live channels of an organisation.
const CHANNELS: u32 = 2000;
/// Webhooks that one member owns, 50 in a channel.
const WEBHOOKS: u32 = 20_000;
/// Organisations of a person.
const ORGANISATIONS: u32 = 200;
/// Posts that a reader has not seen.
const UNREAD: u32 = 100_000;
/// Edits of one message.
const EDITS: u32 = 2000;

struct Bench {
    app: App,
    api: Api,
    /// The longest job of the operation itself, the longest of those in the background, and the operation.
    took: Vec<(Duration, Duration, String)>,
}

impl Bench {
    /// Calls as `who`; what is done from here on until nothing is left to do is the operation's.
    async fn call(&mut self, what: &str, who: &Api, method: Method, path: &str, body: Value) -> Value {
        self.settle().await;
        self.app.db.take_longest_job();
        let answer = who.call(method, path, body).await;
        let own = self.app.db.take_longest_job();
        self.settle().await;
        self.took.push((own, self.app.db.take_longest_job(), what.to_owned()));
        answer
    }

    async fn settle(&self) {
        let until = Instant::now() + Duration::from_secs(120);
        while self.app.db.read(|conn| Ok(chores::count(conn)? + search::behind(conn)?)).unwrap() > 0 {
            assert!(Instant::now() < until, "the jobs do not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::main]
async fn main() {
    // The least of three: what other programs take from this machine meanwhile is not the operation's.
    let mut took = round().await;
    for again in [round().await, round().await] {
        for (least, (own, later, _)) in took.iter_mut().zip(again) {
            (least.0, least.1) = (least.0.min(own), least.1.min(later));
        }
    }
    took.sort_unstable_by_key(|(own, later, _)| std::cmp::Reverse(*own.max(later)));
    let milliseconds = |took: Duration| took.as_secs_f64() * 1000.0;
    println!("the longest write of the request, and in the background");
    for (own, later, what) in took {
        println!("{:8.2} ms {:8.2} ms  {what}", milliseconds(own), milliseconds(later));
    }
}

/// All operations, once each.
async fn round() -> Vec<(Duration, Duration, String)> {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::for_folder(folder.path());
    settings.rate_limit = Switch::Off;
    settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = App::open(&settings, address).unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(tidings::run(app.clone(), listener, async { _ = stopped.await }));
    let mut bench = Bench { app, api: Api::new(format!("http://{address}")), took: Vec::new() };

    let ada = bench.api.person("ada").await;
    let grace = bench.api.person("grace").await;
    let world = World::make(&ada, &grace).await;
    fill(folder.path(), &world);
    messages(&mut bench, &ada, &world).await;
    channels(&mut bench, &ada, &grace, &world).await;
    organisations(&mut bench, &ada, &grace, &world, folder.path()).await;

    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
    bench.took
}

/// What all is measured in.
struct World {
    organisation: String,
    channel: String,
    /// A post in it, edited often.
    post: String,
    webhook: String,
    role: Value,
    grace: String,
    ada: String,
}

impl World {
    async fn make(ada: &Api, grace: &Api) -> World {
        let (organisation, channel) = ada.place().await;
        let role = json!({ "name": "poster", "permission_list": { "post:messages": true, "create:channels": true } });
        let role = ada.call(Method::POST, &format!("/organisations/{organisation}/roles"), role).await["data"]["id"].take();
        let body = json!({ "org_id": organisation, "emails": ["grace@x.example"], "role": "poster" });
        let token = ada.call(Method::POST, "/invite", body).await["data"]["invitations"][0]["invite_token"].take();
        grace.call(Method::POST, "/invite/verify", json!({ "token": token })).await;
        grace.call(Method::POST, &format!("/channels/{channel}/join"), Value::Null).await;
        let post = ada.call(Method::POST, &format!("/channels/{channel}/messages"), json!({ "content": "x" })).await;
        let hook = json!({ "webhook_name": "out", "webhook_url": "http://127.0.0.1:9/" });
        let hook = ada.call(Method::POST, &format!("/webhooks/{channel}"), hook).await;
        let me = async |api: &Api| text(&api.call(Method::GET, "/users/me", Value::Null).await["data"]["id"]);
        World {
            organisation,
            channel,
            post: text(&post["data"]["id"]),
            webhook: text(&hook["data"]["id"]),
            role,
            grace: me(grace).await,
            ada: me(ada).await,
        }
    }
}

fn database(folder: &Path) -> rusqlite::Connection {
    let database = rusqlite::Connection::open(folder.join("tidings.db")).unwrap();
    database.busy_timeout(Duration::from_secs(60)).unwrap();
    database
}

fn blob(id: &str) -> String {
    format!("x'{}'", id.replace('-', ""))
}

/// Fills the database to its bounds, as another process.
fn fill(folder: &Path, world: &World) {
    let database = database(folder);
    let [organisation, channel, post, webhook, grace, ada] =
        [&world.organisation, &world.channel, &world.post, &world.webhook, &world.grace, &world.ada].map(|id| blob(id));
    let role = &world.role;
    let sql = format!(
        "begin;
         create temp table k as with recursive k (k) as (select 1 union all select k + 1 from k where k < 200000) select k from k;
         -- members, each with the role that is to be deleted, in both channels
         insert into users (id, email, username, created_at, updated_at)
           select unhex(printf('%032x', k)), 'u' || k || '@x.example', 'u' || k, 0, 0 from k where k <= {MEMBERS};
         insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
           select {organisation}, unhex(printf('%032x', k)), {role}, 0, 0 from k where k <= {MEMBERS};
         insert into channel_members (channel_id, user_id, username, created_at)
           select c.id, unhex(printf('%032x', k)), 'u' || k, 0 from k, channels c where k <= {MEMBERS} and c.organisation_id = {organisation};
         update channels set user_count = user_count + {MEMBERS};
         -- channels of the leaver, who is in them with others, and their webhooks
         insert into channels (id, organisation_id, name, owner_id, created_by, user_count, created_at, updated_at)
           select unhex(printf('02%030x', k)), {organisation}, 'c' || k, {grace}, {grace}, 2, 0, 0 from k where k <= {CHANNELS};
         insert into channel_members (channel_id, user_id, username, created_at)
           select unhex(printf('02%030x', k)), {grace}, 'grace', 0 from k where k <= {CHANNELS};
         insert into channel_members (channel_id, user_id, username, created_at)
           select unhex(printf('02%030x', k)), unhex(printf('%032x', k % {MEMBERS} + 1)), 'other', 1 from k where k <= {CHANNELS};
         insert into webhooks (id, channel_id, owner_id, name, url, url_by, target, slug_hash, secret, created_at, updated_at)
           select unhex(printf('03%030x', k)), unhex(printf('02%030x', (k - 1) / 50 + 1)), {grace}, 'w' || k, 'http://127.0.0.1:9/',
             {grace}, '127.0.0.1:9', unhex(printf('%064x', k)), w.secret, 0, 0 from k, webhooks w where k <= {WEBHOOKS} and w.id = {webhook};
         -- 49 more webhooks of the channel, and what one of them can send again
         insert into webhooks (id, channel_id, owner_id, name, url, url_by, target, slug_hash, secret, created_at, updated_at)
           select unhex(printf('04%030x', k)), {channel}, {ada}, 'x' || k, 'http://127.0.0.1:9/', {ada},
             '127.0.0.1:9', unhex(printf('f%063x', k)), w.secret, 0, 0 from k, webhooks w where k <= 49 and w.id = {webhook};
         update webhooks set status = 'paused' where channel_id = {channel};
         insert into webhook_events (message_n, payload) select 1000000 + k, '{{}}' from k where k <= 1000;
         insert into deliveries (id, webhook_id, message_n, created_at)
           select unhex(printf('05%030x', k)), {webhook}, 1000000 + k, k from k where k <= 1000;
         -- what was posted, and the log of a post that was edited often
         insert into messages (id, channel_id, user_id, username, content, created_at, updated_at)
           select unhex(printf('06%030x', k)), {channel}, {ada}, 'ada', 'x', k, k from k where k <= {UNREAD};
         update channels set thread_count = thread_count + {UNREAD}, message_count = message_count + {UNREAD},
           last_n = (select max(n) from messages), last_thread = (select max(n) from messages) where id = {channel};
         insert into events (stream, audience, type, channel_id, message_n, body, created_at)
           select e.stream, 'subscribers', 'updated', e.channel_id, e.message_n,
             json_object('data', json_object('content', hex(zeroblob(20000)), 'message', hex(zeroblob(20000)))), 0
           from k, events e where k <= {EDITS} and e.message_n = (select n from messages where id = {post}) and e.type = '';
         insert into reactions (n, emoji, user_id, created_at)
           select m.n, 'e' || (k % 50), unhex(printf('%032x', k)), 0 from k, messages m where k <= {MEMBERS} and m.id = {post};
         -- organisations of one person
         insert into organisations (id, name, owner_id, created_at, updated_at)
           select unhex(printf('07%030x', k)), 'o' || k, {ada}, 0, 0 from k where k < {ORGANISATIONS};
         insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
           select unhex(printf('07%030x', k)), {ada}, 1, 0, 0 from k where k < {ORGANISATIONS};
         update users set current_org = {organisation};
         commit;"
    );
    database.execute_batch(&sql).unwrap();
    database.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).unwrap();
}

/// The id of the record that `fill` made.
fn made(kind: u32, k: u32) -> String {
    uuid::Uuid::from_u128((u128::from(kind) << 120) + u128::from(k)).to_string()
}

async fn messages(bench: &mut Bench, ada: &Api, world: &World) {
    let World { channel, post, webhook, .. } = world;
    let messages = format!("/channels/{channel}/messages");
    let path = format!("/channels/{channel}/read");
    bench.call("100,000 posts marked read", ada, Method::PUT, &path, json!({ "last_message_id": made(6, UNREAD) })).await;
    let names: String = (1..=20).map(|k| format!("@u{k} ")).collect();
    // No word twice, as the search index has the least to share then.
    let long = |first: u32, letters: u32| {
        let text =
            (0..39_990 - names.len() as u32).map(|k| char::from_u32(first + k.wrapping_mul(2_654_435_761) % letters).unwrap());
        names.chars().chain(text).collect::<String>()
    };
    bench
        .call(
            "post of 40,000 characters, 20 mentions, 50 webhooks",
            ada,
            Method::POST,
            &messages,
            json!({ "content": long(0x61, 26) }),
        )
        .await;
    let wide = bench
        .call("the same in wide characters", ada, Method::POST, &messages, json!({ "content": long(0x20000, 40_000) }))
        .await;
    let wide = text(&wide["data"]["id"]);
    bench.call("post, short", ada, Method::POST, &messages, json!({ "content": "x" })).await;
    let edited = json!({ "message_id": wide, "content": long(0x21000, 30_000).replacen("@u1 ", "@all ", 1) });
    bench.call("edit that mentions @channel", ada, Method::PUT, &messages, edited).await;
    let reply = json!({ "content": "x", "thread_id": post });
    bench.call("reply", ada, Method::POST, &messages, reply).await;
    bench.call("reaction", ada, Method::PUT, &format!("{messages}/{post}/reactions/e1"), Value::Null).await;
    bench.call("pin", ada, Method::PUT, &format!("{messages}/{post}/pin"), Value::Null).await;
    let span = json!({ "since": "1970-01-01T00:00:00Z", "until": "1970-01-02T00:00:00Z" });
    bench.call("1,000 deliveries again", ada, Method::POST, &format!("/webhooks/{channel}/{webhook}/replay"), span).await;
    bench.call("delete of a post with mentions", ada, Method::DELETE, &format!("{messages}/{wide}"), Value::Null).await;
    bench
        .call("delete of a post with 2,000 edits and reactions", ada, Method::DELETE, &format!("{messages}/{post}"), Value::Null)
        .await;
}

async fn channels(bench: &mut Bench, ada: &Api, grace: &Api, world: &World) {
    let World { organisation, channel, webhook, .. } = world;
    let users: Vec<String> = (1..=100).map(|k| made(0, k)).collect();
    let new = json!({ "name": "new", "organisation_id": organisation, "userIds": users });
    bench.call("channel with 100 users", ada, Method::POST, "/channels", new).await;
    let empty = json!({ "name": "empty", "organisation_id": organisation });
    let empty = text(&bench.call("channel", ada, Method::POST, "/channels", empty).await["data"]["id"]);
    bench.call("100 users added", ada, Method::POST, &format!("/channels/{empty}/users"), json!({ "user_ids": users })).await;
    bench.call("join by who owns 20,000 webhooks", grace, Method::POST, &format!("/channels/{empty}/join"), Value::Null).await;
    bench.call("leave by who owns 20,000 webhooks", grace, Method::POST, &format!("/channels/{empty}/leave"), Value::Null).await;
    let dm = json!({ "user_ids": users[..8] });
    bench.call("direct message of nine", ada, Method::POST, &format!("/organisations/{organisation}/dms"), dm).await;
    let private = json!({ "is_private": true });
    bench.call("channel with 50 webhooks made private", ada, Method::PATCH, &format!("/channels/{channel}"), private).await;
    bench.call("archive", ada, Method::PUT, &format!("/channels/{channel}/archive"), json!({ "archived": true })).await;
    let path = format!("/webhooks/{channel}/{webhook}");
    bench.call("webhook's secret rotated", ada, Method::POST, &format!("{path}/rotate-secret"), Value::Null).await;
    bench.call("webhook deleted", ada, Method::DELETE, &path, Value::Null).await;
    bench.call("channel with 2,000 members deleted", ada, Method::DELETE, &format!("/channels/{channel}"), Value::Null).await;
}

async fn organisations(bench: &mut Bench, ada: &Api, grace: &Api, world: &World, folder: &Path) {
    let World { organisation, role, .. } = world;
    let path = format!("/organisations/{organisation}");
    let emails: Vec<String> = (0..50).map(|k| format!("new{k}@x.example")).collect();
    let invite = json!({ "emails": emails, "role": "member", "org_id": organisation });
    bench.call("50 invitations", ada, Method::POST, "/invite", invite).await;
    bench.call("name, told to 200 organisations", ada, Method::PATCH, "/profile", json!({ "first_name": "Ada" })).await;
    let member = format!("{path}/users/{}", world.grace);
    let status = |status: &str| json!({ "status": status });
    bench.call("deactivation of who owns 20,000 webhooks", ada, Method::PUT, &member, status("deactivated")).await;
    bench.call("reactivation of who owns 20,000 webhooks", ada, Method::PUT, &member, status("active")).await;
    bench.call("role with 2,000 holders deleted", ada, Method::DELETE, &format!("{path}/roles/{role}"), Value::Null).await;
    bench.call("member with 2,000 channels and 20,000 webhooks removed", ada, Method::DELETE, &member, Value::Null).await;
    for _ in 0..49 {
        bench.api.call(Method::POST, "/auth/login", json!({ "email": "grace@x.example", "password": api::PASSWORD })).await;
    }
    let password = json!({ "old_password": api::PASSWORD, "new_password": "quiet harbour at dawn" });
    bench.call("password, which ends 49 sessions", grace, Method::PUT, "/auth/change-password", password).await;
    let heir = json!({ "user_id": made(0, 1) });
    bench.call("organisation passed on", ada, Method::PUT, &format!("{path}/owner"), heir).await;
    let back = format!("update organisations set owner_id = {} where id = {}", blob(&world.ada), blob(organisation));
    database(folder).execute(&back, []).unwrap();
    bench.call("organisation with 2,000 members deleted", ada, Method::DELETE, &path, Value::Null).await;
}
