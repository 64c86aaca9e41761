//! The number of sessions of a user, and the rates that they share.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tidings::config::Switch;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{
    harness::{Client, DAY, PASSWORD, Reply, Server},
    socket::Socket,
};

#[tokio::test]
async fn a_session_ends_after_its_days() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    server.clock.advance(DAY * 29);
    ada.get("/profile").await.expect(200);
    server.clock.advance(DAY);
    ada.get("/profile").await.expect(401);
    let again = server.log_in("ada", PASSWORD).await;
    assert_eq!(again.get("/profile").await.expect(200)["data"]["email"], "ada@example.org");
}

/// Sends a request whose body arrives after `meanwhile`; gives the status of the answer.
async fn late(client: &Client, path: &str, body: &Value, meanwhile: impl Future<Output = Reply>) -> u16 {
    let (host, body) = (client.origin.trim_start_matches("http://"), body.to_string());
    let mut stream = TcpStream::connect(host).await.unwrap();
    let head = format!(
        "POST /api/v1{path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        client.token.as_ref().unwrap(),
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut admitted = [0; 25];
    stream.read_exact(&mut admitted).await.unwrap();
    assert_eq!(&admitted, b"HTTP/1.1 100 Continue\r\n\r\n");
    meanwhile.await.expect(200);
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_session_that_has_ended_makes_no_other_and_no_token_and_proves_no_mailbox() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    let link = ada.post(&format!("/organisations/{organisation}/join-links"), json!({})).await.expect(201);
    let verification = server.mails("grace@example.org", 1).await[0].parameter("token");
    let invitation = ada.invite(&organisation, "grace@example.org", "user").await;
    for (path, body) in [
        (format!("/users/{}/tokens", grace.user_id), json!({ "name": "Build server", "scopes": ["read"] })),
        ("/join".to_owned(), json!({ "token": link["data"]["token"] })),
        ("/invite/verify".to_owned(), json!({ "token": invitation })),
        ("/auth/email-request/verify".to_owned(), json!({ "token": verification })),
    ] {
        let grace = server.log_in("grace", PASSWORD).await;
        let sessions = server.count("sessions");
        assert_eq!(late(&grace, &path, &body, grace.post("/auth/logout", json!({}))).await, 401, "{path}");
        assert_eq!(server.count("sessions"), sessions, "{path}");
    }
}

/// The bot passes to the organisation's owner, who may do more than the former one.
#[tokio::test]
async fn a_body_that_arrives_after_a_bots_owner_has_gone_makes_no_way_back() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let member = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&member, json!({ "role_id": "admin" })).await.expect(200);
    let program = grace.bot(&organisation, "member").await;
    let links = format!("/organisations/{organisation}/join-links");
    program.post(&links, json!({})).await.expect(201);
    assert_eq!(late(&program, &links, &json!({}), ada.delete(&member)).await, 401);
    assert_eq!(server.count("join_links"), 0, "and the earlier one has ended");
}

#[tokio::test]
async fn the_51st_session_of_a_user_ends_the_oldest() {
    let server = Server::start().await;
    let (oldest, grace) = (server.user("ada").await, server.user("grace").await);
    let second = server.log_in("ada", PASSWORD).await;
    let mut socket = Socket::connect(&oldest).await;
    for _ in 2..50 {
        server.log_in("ada", PASSWORD).await;
    }
    let live = async |client: &Client| client.get("/profile").await.status == 200;
    assert!(live(&oldest).await, "50 are live");
    assert_eq!(socket.command("unsubscribe", json!({ "channel": "x" })).await["unsubscribe"], json!({}));

    let newest = server.log_in("ada", PASSWORD).await;

    assert!(!live(&oldest).await);
    assert_eq!(socket.closed().await, 3503);
    assert!(live(&second).await && live(&newest).await && live(&grace).await);
    let listed = newest.get(&format!("/users/{}/sessions", newest.user_id)).await.data(200, "Sessions retrieved successfully");
    assert_eq!(listed.as_array().unwrap().len(), 50);
    second.post("/auth/logout", json!({})).await.expect(200);
    let another = server.log_in("ada", PASSWORD).await;
    assert!(live(&another).await && live(&newest).await, "an ended one makes room");
    let open = "select count(*) from sessions s join users u on u.id = s.user_id where username = 'ada' and ended_at is null";
    assert_eq!(server.number(open), 50);
}

#[tokio::test]
async fn the_rate_of_requests_is_per_user_and_not_per_session() {
    let server = Server::with(|settings| {
        settings.rate_limit = Switch::On;
        settings.connections_per_address = 1000;
    })
    .await;
    let mut sessions = vec![server.user("ada").await];
    for _ in 1..4 {
        sessions.push(server.log_in("ada", PASSWORD).await);
    }
    // For each session a burst.
    let requests = sessions.iter().flat_map(|session| std::iter::repeat_n(session, 120));
    let replies = join_all(requests.map(|session| session.get("/users/organisations"))).await;
    let refused = replies.iter().filter(|reply| reply.status == 429).count();
    assert!(refused > 60, "of 480 at once {refused} were refused");
}

#[tokio::test]
async fn the_rate_of_commands_on_sockets_is_per_user() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let (one, other) = (server.user("ada").await, server.log_in("ada", PASSWORD).await);
    let mut sockets = [Socket::connect(&one).await, Socket::connect(&other).await];
    // For each session less than a burst.
    let ids = 1000..1370;
    let commands = ids.clone().map(|id| json!({ "id": id, "unsubscribe": { "channel": "x" } }).to_string());
    let frames: Vec<_> = commands.collect::<Vec<_>>().chunks(185).map(|commands| commands.join("\n")).collect();
    let mut refused = 0;
    for socket in &mut sockets {
        for frame in &frames {
            socket.send(frame).await;
        }
    }
    for socket in &mut sockets {
        for id in ids.clone() {
            refused += usize::from(socket.reply(id).await["error"]["code"] == 111);
        }
    }
    assert!(refused > 0, "all of 740 were answered");
}
