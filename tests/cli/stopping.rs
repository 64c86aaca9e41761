//! SIGTERM under load: what was taken is answered, and what was answered is pushed before the sockets are closed.

use std::{collections::BTreeSet, process::Stdio};

use futures_util::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::JoinSet,
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

use crate::{
    certificate::Certificate,
    harness::{Server, tidings},
    secured,
};

const LANES: u32 = 16;
const SOCKETS: usize = 10;

#[tokio::test]
async fn a_server_that_is_ended_under_load_leaves_no_request_unanswered() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let url = format!("{}/connection/websocket", server.url.replacen("http", "ws", 1));
    let connect = async || tokio_tungstenite::connect_async(&url).await.unwrap().0;
    ends_under_load(server, connect, &folder.path().join("tidings.db")).await;
}

#[tokio::test]
async fn a_server_with_tls_that_is_ended_under_load_leaves_no_request_unanswered() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of("127.0.0.1");
    let server = secured::start(folder.path(), &certificate);
    let url = server.url.clone();
    let connect = async || secured::socket(&url, &certificate).await;
    ends_under_load(server, connect, &folder.path().join("data/tidings.db")).await;
}

#[test]
fn a_server_whose_log_nobody_reads_any_more_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--data-dir", folder.path().to_str().unwrap()]);
    let mut server = Server::logging(&mut command, Stdio::piped());
    drop(server.process.stderr.take());
    server.signal("TERM");
    assert_eq!(server.end().code(), Some(0));
}

async fn ends_under_load<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    mut server: Server,
    connect: impl AsyncFn() -> WebSocketStream<S>,
    database: &std::path::Path,
) {
    let (token, channel) = server.poster().await;
    let name = channel.trim_start_matches("/channels/");
    let (_, connection) = server.call(Method::GET, "/token/connection", &token, json!({})).await.unwrap();
    let body = json!({ "channel": name });
    let (_, subscription) = server.call(Method::POST, "/token/subscription", &token, body).await.unwrap();
    let first = json!({ "id": 1, "connect": { "token": connection["data"]["token"] } });
    let second = json!({ "id": 2, "subscribe": { "channel": name, "token": subscription["data"]["token"] } });
    let mut listening = JoinSet::new();
    for _ in 0..SOCKETS {
        let mut socket = connect().await;
        socket.send(Message::text(format!("{first}\n{second}"))).await.unwrap();
        let mut said = String::new();
        while !said.contains("\"subscribe\"") {
            said += socket.next().await.unwrap().unwrap().to_text().unwrap();
        }
        listening.spawn(heard(socket));
    }

    let (mut posters, mut answers) = server.posters(LANES, &token, &channel, "lane");
    let mut answered = BTreeSet::new();
    while answered.len() < 300 {
        answered.insert(answers.recv().await.unwrap());
    }
    server.signal("TERM");
    while posters.join_next().await.transpose().unwrap().is_some() {}
    let closed: Vec<_> = listening.join_all().await;
    assert_eq!(server.end().code(), Some(0));
    while let Some(content) = answers.recv().await {
        answered.insert(content);
    }
    let database = rusqlite::Connection::open(database).unwrap();
    let mut all = database.prepare("select content from messages").unwrap();
    let kept: BTreeSet<String> = all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(kept.difference(&answered).collect::<Vec<_>>(), Vec::<&String>::new(), "taken, but not answered");
    assert_eq!(answered.difference(&kept).collect::<Vec<_>>(), Vec::<&String>::new(), "answered, but not kept");
    for (code, heard) in closed {
        assert_eq!(code, 3001);
        assert_eq!(answered.difference(&heard).collect::<Vec<_>>(), Vec::<&String>::new(), "not pushed before the close");
    }
}

/// What a socket is pushed until it is closed, and the code of the close.
async fn heard<S: AsyncRead + AsyncWrite + Unpin>(mut socket: WebSocketStream<S>) -> (u16, BTreeSet<String>) {
    let mut heard = BTreeSet::new();
    loop {
        match socket.next().await.unwrap().unwrap() {
            Message::Close(close) => return (close.unwrap().code.into(), heard),
            Message::Text(text) => heard.extend(text.lines().filter_map(content)),
            _ => {}
        }
    }
}

/// The text of a message that a line pushes.
fn content(line: &str) -> Option<String> {
    let reply: Value = serde_json::from_str(line).unwrap();
    find(&reply["push"]["pub"]["data"])
}

fn find(value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    let own = fields.get("content").and_then(Value::as_str).map(str::to_owned);
    own.or_else(|| fields.values().find_map(find))
}
