//! Has servers do all that they can do, so that their statements are noted.

use serde_json::{Value, json};
use tidings::{
    db,
    domain::{
        accounts::{
            self,
            mailbox_proof::{self, Proof},
        },
        organisations, streams,
        webhooks::{self, delivery::following},
    },
    id::UserId,
    time::Time,
};

use crate::{
    harness::{Client, Server},
    operations::Operation,
    scene::{OWNER, Scene, call},
    socket::Socket,
    tables::{areas, rows},
};

/// How often the operations that users wait for are repeated.
pub const OFTEN: i32 = 30;
/// The places of the channel's member and of the superadmin in [`CALLERS`](crate::scene::CALLERS).
const INSIDER: usize = 6;
const SUPERADMIN: usize = 9;

/// Calls beside the rows of the permissions, for statements that depend on what is asked.
const FURTHER: [(usize, &str, &str); 20] = [
    (OWNER, "GET /blogs?category=<used_category>", ""),
    (OWNER, "GET /blogs?search=engines", ""),
    (OWNER, "GET /channels/{channel_id}/messages?before=<message>", ""),
    (OWNER, "GET /channels/{channel_id}/messages?after=<message>", ""),
    (OWNER, "GET /channels/{channel_id}/messages?around=<message>", ""),
    (OWNER, "GET /channels/{channel_id}/messages?around=unread", ""),
    (OWNER, "GET /threads/{thread_id}/channels/{channel_id}?after=<message>", ""),
    (OWNER, "GET /organisations/{org_id}/search?q=engine&channel_id=<channel>", ""),
    (OWNER, "GET /organisations/{org_id}/users?search=example&role=member", ""),
    (OWNER, "POST /realtime/subscription", r#"{"channel": "<thread>"}"#),
    (OWNER, "POST /channels/{channel_id}/messages", r#"{"content": "Hello @target, @channel", "thread_id": "<thread>"}"#),
    (OWNER, "PUT /channels/{channel_id}/read", r#"{"last_message_id": "<message>"}"#),
    (OWNER, "PUT /channels/{channel_id}/read", r#"{"unread_from": "<message>"}"#),
    (OWNER, "PUT /threads/{id}/read", r#"{"unread_from": "<message>"}"#),
    (OWNER, "GET /threads/organisations/{org_id}?mine=true", ""),
    (OWNER, "POST /organisations/{org_id}/roles", r#"{"name": "editor"}"#),
    (OWNER, "PUT /organisations/{org_id}/users/{user_id}", r#"{"role_id": 4}"#),
    (OWNER, "PUT /organisations/{org_id}/users/{user_id}", r#"{"role_id": "<role>"}"#),
    (OWNER, "POST /channels/{channel_id}/leave", ""),
    (SUPERADMIN, "GET /blogs?category=<used_category>&search=engines", ""),
];

pub async fn everything() {
    let scene = Scene::make().await;
    each_operation(&scene).await;
    further(&scene).await;
    reclaim(&scene).await;
    // The server API asks for streams by their names.
    let found = db::read_once(scene.folder.path(), |conn| streams::find(conn, scene.named("thread"))).unwrap();
    assert!(found.is_some(), "a thread has a stream");
    // What only commands ask for.
    let listed = db::read_once(scene.folder.path(), |conn| {
        let webhooks = webhooks::by_operator::list(conn, None, 10)?.len();
        let organisations = organisations::by_operator::list(conn, 10)?;
        organisations::by_operator::show(conn, organisations[0].id)?;
        organisations::bots::named(conn, "nobody")?;
        let accounts = accounts::by_operator::list(conn, "", 10)?;
        accounts::by_operator::show(conn, &accounts[0].email, Time::now())?;
        Ok(webhooks.min(organisations.len()).min(accounts.len()))
    });
    assert!(listed.is_ok_and(|least| least > 0));
    what_users_wait_for(&scene).await;
}

fn client(scene: &Scene, server: &Server, caller: usize) -> Client {
    Client { origin: server.origin.clone(), ..scene.callers[caller].clone() }
}

/// Each row of the permissions, by a caller who may.
async fn each_operation(scene: &Scene) {
    let mut server = scene.server().await;
    for cells in areas().iter().flat_map(|area| rows(&area.permissions)) {
        let operation = Operation::named(&cells[0]);
        for caller in [INSIDER, OWNER, SUPERADMIN] {
            let path = scene.path(&operation.method, &operation.path);
            if call(&client(scene, &server, caller), &operation, &path, scene.body(&cells[1])).await.status < 300 {
                break;
            }
        }
        // What was done changed the scene.
        if operation.method != "GET" {
            // Webhooks follow what was done, even if the server's own job comes too late for it.
            server.write(|tx| following::queue_from_log(tx, 0)).unwrap();
            server.stop().await;
            server = scene.server().await;
        }
    }
    server.stop().await;
}

async fn further(scene: &Scene) {
    let server = scene.server().await;
    for (caller, operation, body) in FURTHER {
        let operation = Operation::named(operation);
        let path = scene.path(&operation.method, &operation.path);
        let reply = call(&client(scene, &server, caller), &operation, &path, scene.body(body)).await;
        assert!(reply.status < 300, "{}: {}", operation.name(), reply.body);
    }
    server.stop().await;
}

/// A mailbox is proved for the first time, and the webhooks of its account are paused.
async fn reclaim(scene: &Scene) {
    let server = scene.server().await;
    let owner = UserId(scene.callers[OWNER].user_id.parse().unwrap());
    let followed = server.write(|tx| {
        let owner = accounts::get(tx, owner)?;
        mailbox_proof::prove(tx, owner, Proof::Mailbox)?;
        following::queue_from_log(tx, 0)
    });
    followed.unwrap();
    server.stop().await;
}

/// Posts, lists and recoveries, each time with other values.
async fn what_users_wait_for(scene: &Scene) {
    let server = scene.server().await;
    let owner = client(scene, &server, OWNER);
    let insider = client(scene, &server, INSIDER);
    let [org, channel, thread] = ["org", "channel", "thread"].map(|name| scene.named(name));
    let mut socket = Socket::listening(&insider, &[]).await;
    let streams = [org, channel, thread].map(str::to_owned);
    let streams = [&streams[..], &[insider.personal(org), insider.user_id.clone()]].concat();
    let mut places: Vec<Value> = Vec::new();
    for stream in &streams {
        places.push(socket.subscribe(stream).await);
    }
    for n in 1..=OFTEN {
        let said = owner.say(channel, &format!("Post {n}, @channel and @insider")).await;
        owner.reply(channel, if n % 2 == 0 { thread } else { &said }, &format!("Reply {n}, @insider")).await;
        owner.put(&format!("/channels/{channel}/messages/{said}/reactions/tada"), Value::Null).await;
        owner
            .put(&format!("/channels/{channel}/messages"), json!({ "content": "Changed", "message_id": said }))
            .await
            .expect(200);
        insider.put(&format!("/channels/{channel}/read"), json!({ "last_message_id": said })).await.expect(200);
        insider.put(&format!("/channels/{channel}/read"), json!({ "unread_from": said })).await.expect(200);
        let own = if n % 2 == 0 { thread } else { &said };
        insider.put(&format!("/threads/{own}/read"), json!({})).await.expect(200);
        insider.put(&format!("/threads/{own}/read"), json!({ "unread_from": own })).await.expect(200);
        for list in [
            format!("/channels/{channel}/messages?limit={n}"),
            format!("/channels/{channel}/messages?limit={n}&before={said}"),
            format!("/channels/{channel}/messages?limit={n}&after={thread}"),
            format!("/threads/channels/{channel}?limit={n}"),
            format!("/threads/organisations/{org}?limit={n}"),
            format!("/threads/organisations/{org}?mine=true&limit={n}&before={}", 1000 + n),
            format!("/threads/{said}/channels/{channel}?limit={n}"),
            format!("/threads/{thread}"),
            format!("/channels?limit={n}"),
            format!("/channels/{channel}"),
            format!("/channels/{channel}/users?limit={n}"),
            format!("/channels/{channel}/pins?limit={n}"),
            format!("/channels/{channel}/files?limit={n}"),
            format!("/channels/{channel}/files?type=document&limit={n}"),
            format!("/organisations/{org}/channels?limit={n}"),
            format!("/organisations/{org}/user-channels?limit={n}&preview=3"),
            format!("/organisations/{org}/dms?limit={n}"),
            format!("/organisations/{org}/users?limit={n}"),
            format!("/organisations/{org}"),
            format!("/users/organisations?limit={n}"),
            "/profile".to_owned(),
        ] {
            insider.get(&list).await.expect(200);
        }
        for (stream, place) in streams.iter().zip(&places) {
            socket.command("unsubscribe", json!({ "channel": stream })).await;
            let recovered = socket.recover(stream, &place["epoch"], &place["offset"]).await;
            assert!(recovered["epoch"].is_string(), "{stream}: {recovered}");
            socket.command("history", json!({ "channel": stream, "limit": n, "reverse": n % 2 == 0 })).await;
        }
    }
    server.stop().await;
}
