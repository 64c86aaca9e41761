//! Many people behind one address, and an attacker among them.

use futures_util::future::join_all;
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::json;
use tidings::{
    config::{Settings, Switch},
    domain::accounts::{
        self, New,
        sessions::{self, Device},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::connections::{asks_health, dial, to_the_end};
use crate::{
    harness::{Client, PASSWORD, Server, email, plain_http},
    socket::Socket,
};

/// People at the address, each with a socket, these connections and one of their client of HTTP.
const PEOPLE: usize = 100;
const CONNECTIONS: usize = 3;

/// A request with a session on a connection that stays open.
async fn asks(stream: &mut TcpStream, person: &Client) -> String {
    let token = person.token.as_ref().unwrap();
    let request = format!("GET /api/v1/users/organisations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut said = vec![0; 4096];
    let read = stream.read(&mut said).await.unwrap();
    String::from_utf8_lossy(&said[..read]).into_owned()
}

/// Holds a connection that never gets to a request, and comes back whenever the server hangs up.
async fn hold(origin: String, says: &'static [u8]) {
    loop {
        let Ok(mut stream) = TcpStream::connect(origin.trim_start_matches("http://")).await else { continue };
        _ = stream.write_all(says).await;
        while stream.read(&mut [0; 512]).await.is_ok_and(|read| read > 0) {}
    }
}

/// Accounts without a password, each with a session that the rules begin: hashing passwords would take most of the test's time.
fn people(server: &Server) -> Vec<Client> {
    let begin = |tx: &mut tidings::db::Tx, n: usize| {
        let new = New::check(&email(&format!("person{n}")), None, "", "").unwrap();
        let id = accounts::create(tx, &new, "")?;
        let user = accounts::find(tx, id)?.unwrap();
        sessions::start(tx, user, &Device::default())
    };
    let begun = server.write(|tx| (0..PEOPLE).map(|n| begin(tx, n)).collect::<tidings::error::Result<Vec<_>>>()).unwrap();
    let person =
        |session: sessions::Started| Client { http: plain_http(), ..server.anonymous().with_token(&session.access_token) };
    begun.into_iter().map(person).collect()
}

/// Both ends of each connection are files of this process, and the soft limit is often 1,024.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

#[tokio::test]
async fn an_office_of_100_gets_in_and_stays_beside_an_attacker_who_fills_its_address() {
    raise_file_limit();
    let server = Server::start().await;
    let (people, places) = (people(&server), Settings::for_folder(server.folder()).connections_per_address as usize);
    let (whole, half): (&[u8], &[u8]) = (b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n", b"GET /health HTTP/1.1\r\nhost: x\r\n");
    let says = [whole, b"", b"", half, half];
    let attackers: Vec<_> = (0..5 * places).map(|n| tokio::spawn(hold(server.origin.clone(), says[n % 5]))).collect();
    let mut full = dial(&server).await;
    to_the_end(&mut full).await; // it goes for an attacker who comes back: the address is full
    let mut office = Vec::new();
    for person in &people {
        let mut streams = Vec::new();
        for _ in 0..CONNECTIONS {
            let mut stream = dial(&server).await;
            assert!(asks(&mut stream, person).await.starts_with("HTTP/1.1 200"));
            streams.push(stream);
        }
        office.push((person, streams, Socket::connect(person).await));
    }
    for (person, streams, socket) in &mut office {
        for stream in streams {
            assert!(asks(stream, person).await.starts_with("HTTP/1.1 200"), "it was hung up on");
        }
        assert_eq!(socket.command("unsubscribe", json!({ "channel": "none" })).await["unsubscribe"], json!({}));
    }
    assert!(asks_health(&mut dial(&server).await).await.starts_with("HTTP/1.1 200"), "and a visitor gets in, too");
    attackers.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn a_full_address_hangs_up_on_its_oldest_idle_stranger() {
    let server = Server::with(|settings| settings.connections_per_address = 4).await;
    let ada = Client { http: plain_http(), ..server.user("ada").await };
    let server = server.restart().await; // without the connections that made the account
    let socket = Socket::connect(&ada).await;
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(dial(&server).await);
        assert!(asks_health(held.last_mut().unwrap()).await.starts_with("HTTP/1.1 200"));
    }
    for stream in &mut held {
        assert!(asks_health(stream).await.starts_with("HTTP/1.1 200"), "four strangers fit beside a user's connections");
    }
    let mut newcomer = dial(&server).await;
    assert!(asks_health(&mut newcomer).await.starts_with("HTTP/1.1 200"));
    assert_eq!(to_the_end(&mut held[0]).await, "");
    for stream in held[1..].iter_mut().chain([&mut newcomer]) {
        assert!(asks_health(stream).await.starts_with("HTTP/1.1 200"));
    }
    drop(socket);
}

#[tokio::test]
async fn of_many_sockets_that_only_shook_hands_the_oldest_goes_for_a_newcomer_and_is_told() {
    let server = Server::with(|settings| settings.connections_per_address = 1).await;
    let ada = server.user("ada").await;
    let token = json!({ "token": ada.connection_token().await });
    let mut sockets = Vec::new();
    for _ in 0..5 {
        sockets.push(Socket::open(&ada).await);
    }
    assert_eq!(sockets.remove(0).closed().await, 3013, "its client comes back later");
    for mut socket in sockets {
        assert!(socket.command("connect", token.clone()).await["connect"].is_object(), "four may be on their way in");
    }
}

#[tokio::test]
async fn whoever_is_turned_away_before_a_request_is_told_when_to_come_back() {
    let server = Server::with(|settings| settings.connections_per_address = 1).await;
    let mut silent = Vec::new();
    for _ in 0..5 {
        silent.push(dial(&server).await);
    }
    let said = to_the_end(&mut silent[0]).await;
    assert!(said.starts_with("HTTP/1.1 503") && said.contains("\r\nretry-after: 1\r\n"), "{said}");
}

/// By default it would be an office of a thousand.
#[tokio::test]
async fn an_office_comes_back_at_once_after_a_restart() {
    let server = Server::with(|settings| settings.connections_per_address = 10).await;
    let ada = server.user("ada").await;
    let channel = ada.general(&ada.organisation("Engines").await).await;
    let subscription = ada.subscription_token(&channel).await;
    let place = Socket::connect(&ada).await.subscribe(&channel).await;
    ada.say(&channel, "missed").await;
    let subs =
        json!({ &channel: { "token": subscription, "recover": true, "epoch": place["epoch"], "offset": place["offset"] } });
    let request = json!({ "token": ada.connection_token().await, "subs": subs });
    let server = server.restart().await;
    // All have shaken hands before the first of them connects.
    let mut office = join_all((0..40).map(|_| Socket::open(&ada))).await;
    let replies = join_all(office.iter_mut().map(|socket| socket.command("connect", request.clone()))).await;
    assert!(replies.iter().all(|reply| reply["connect"]["subs"][&channel]["recovered"] == true), "{replies:?}");
    let mut strangers = Vec::new();
    for _ in 0..60 {
        strangers.push(dial(&server).await);
    }
    to_the_end(&mut strangers[0]).await;
    for socket in &mut office {
        assert_eq!(socket.command("unsubscribe", json!({ "channel": "none" })).await["unsubscribe"], json!({}), "it stays");
    }
}

#[tokio::test]
async fn a_connected_socket_is_closed_for_no_newcomer_whatever_its_user_holds_besides() {
    let server = Server::with(|settings| settings.connections_per_address = 1).await;
    let ada = Client { http: plain_http(), ..server.user("ada").await };
    let token = json!({ "token": ada.connection_token().await });
    let mut hers = Vec::new();
    for _ in 0..128 {
        hers.push(dial(&server).await);
        assert!(asks(hers.last_mut().unwrap(), &ada).await.starts_with("HTTP/1.1 200"));
    }
    let mut socket = Socket::open(&ada).await;
    assert!(socket.command("connect", token).await["connect"].is_object());
    let mut strangers = Vec::new();
    for _ in 0..6 {
        strangers.push(dial(&server).await);
    }
    to_the_end(&mut strangers[0]).await;
    assert_eq!(socket.command("unsubscribe", json!({ "channel": "none" })).await["unsubscribe"], json!({}));
}

#[tokio::test]
async fn an_invalid_token_makes_nobody_a_user() {
    let server = Server::with(|settings| settings.connections_per_address = 1).await;
    let ada = server.user("ada").await;
    let (mut stream, forged) = (dial(&server).await, ada.with_token("invented"));
    assert!(asks(&mut stream, &forged).await.starts_with("HTTP/1.1 401"));
    assert!(asks_health(&mut dial(&server).await).await.starts_with("HTTP/1.1 200"));
    to_the_end(&mut stream).await;
}

#[tokio::test]
async fn a_hundred_right_log_ins_at_once_succeed_and_count_for_no_rate() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    server.register("ada").await;
    let body = json!({ "email": "ada@example.org", "password": PASSWORD });
    let http = server.anonymous();
    for reply in join_all((0..100).map(|_| http.post("/auth/login", body.clone()))).await {
        reply.expect(200);
    }
    // The address still has its whole rate: 20 a second.
    for reply in join_all((0..20).map(|_| http.get("/blogs"))).await {
        reply.expect(200);
    }
}

/// A log-in takes one of the hundred that a network may have in progress only once its body has arrived.
#[tokio::test]
async fn log_ins_whose_bodies_never_arrive_keep_nobody_out() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    server.register("ada").await;
    let head = b"POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 60\r\n\r\n{";
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut stream = dial(&server).await;
        stream.write_all(head).await.unwrap();
        slow.push(stream);
    }
    server.anonymous().post("/auth/login", json!({ "email": "ada@example.org", "password": PASSWORD })).await.expect(200);
}

#[tokio::test]
async fn failed_log_ins_count_for_the_rate_of_the_address() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let body = |n: u32| json!({ "token": format!("invented{n}") });
    let http = server.anonymous();
    let replies = join_all((0..60).map(|n| http.post("/auth/magic-link/verify", body(n)))).await;
    let refused = replies.iter().filter(|reply| reply.status == 429).count();
    assert!((1..=40).contains(&refused) && replies.iter().all(|reply| [400, 429].contains(&reply.status)), "{refused}");
}

#[tokio::test]
async fn requests_with_a_session_count_for_no_rate_of_the_address() {
    let server = Server::with(|settings| settings.rate_limit = Switch::On).await;
    let (ada, anybody) = (server.user("ada").await, server.anonymous());
    let refused = async |client: &Client| {
        let replies = join_all((0..60).map(|_| client.post("/invite/verify", json!({ "token": "invented" })))).await;
        replies.iter().filter(|reply| reply.status == 429).count()
    };
    assert_eq!(refused(&ada).await, 0);
    assert!(refused(&anybody).await > 0, "those without one do");
    assert_eq!(refused(&ada).await, 0, "though the address has no more");
}
