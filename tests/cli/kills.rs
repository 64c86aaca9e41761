//! Answered writes, mails and publications survive `kill -9`.

use std::{collections::HashMap, fs, os::unix::fs::MetadataExt};

use reqwest::Method;
use serde_json::json;

use crate::{
    harness::{PASSWORD, Server, file_in},
    stand_in::{Fault, StandIn},
};

/// Every message that was answered 201 is there after a kill, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_no_answered_message() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let (token, channel) = server.poster().await;
    let messages = format!("{channel}/messages");
    let (posters, mut answers) = server.posters(32, &token, &channel, "post");
    let mut counts: HashMap<String, u32> = HashMap::new();
    while counts.len() < 500 {
        counts.insert(answers.recv().await.unwrap(), 0);
    }
    server.signal("KILL");
    server.end();
    while let Some(content) = answers.recv().await {
        counts.insert(content, 0);
    }
    posters.join_all().await;

    let server = Server::start(folder.path(), &[]);
    let mut before = String::new();
    loop {
        let (status, page) = server.call(Method::GET, &format!("{messages}?limit=200{before}"), &token, json!({})).await.unwrap();
        assert_eq!(status, 200, "{page}");
        let page = page["messages"].as_array().unwrap();
        let Some(last) = page.last() else { break };
        before = format!("&before={}", last["id"].as_str().unwrap());
        for message in page {
            *counts.entry(message["content"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        }
    }
    let wrong: Vec<_> = counts.iter().filter(|(_, times)| **times != 1).collect();
    assert!(wrong.is_empty(), "of {} messages: {wrong:?}", counts.len());
}

/// Without a lock on the database, the next program that closes it takes itself for the last one, and deletes the WAL: what is
/// answered afterwards is lost with the server.
#[tokio::test]
async fn the_server_keeps_its_lock_on_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    server.poster().await;
    let inode = fs::metadata(folder.path().join("tidings.db")).unwrap().ino();
    let (pid, file) = (format!(" {} ", server.process.id()), format!(":{inode} "));
    let locks = fs::read_to_string("/proc/locks").unwrap();
    assert!(locks.lines().any(|lock| lock.contains(&pid) && lock.contains(&file)), "{inode} is not in\n{locks}");
}

/// A mail whose server is killed after the answer still leaves after the restart.
#[tokio::test]
async fn a_kill_loses_no_mail() {
    let folder = tempfile::tempdir().unwrap();
    let mails = folder.path().join("mails");
    let mut server = Server::start(&folder.path().join("data"), &["--mail-url", "smtp://127.0.0.1:1"]);
    server.post("/auth/register", "", json!({ "email": "ada@x.example", "password": PASSWORD })).await;
    server.signal("KILL");
    server.end();
    // The kill may fall into the first attempt, whose lease of two minutes would be waited for.
    let database = rusqlite::Connection::open(folder.path().join("data/tidings.db")).unwrap();
    assert_eq!(database.execute("update mails set due_at = created_at where due_at is not null", ()).unwrap(), 1);
    drop(database);
    let _server = Server::start(&folder.path().join("data"), &["--mail-url", &format!("file://{}", mails.display())]);
    let mail = std::fs::read_to_string(file_in(&mails, ".eml").await).unwrap();
    assert!(mail.contains("To: ada@x.example") && mail.contains("/auth/verify-email?token=3D"), "{mail}");
}

/// A push server outside is told what was answered before a kill: all of it, in order, each thing once.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_loses_no_publication_and_no_revocation() {
    let mut stand_in = StandIn::start().await;
    let push = stand_in.settings();
    let [url, api_key, token_key] = [push.centrifugo_url, push.centrifugo_api_key, push.centrifugo_token_key].map(Option::unwrap);
    let settings = [
        "--push",
        "centrifugo",
        "--centrifugo-url",
        &url,
        "--centrifugo-api-key",
        &api_key,
        "--centrifugo-token-key",
        &token_key,
    ];
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &settings);
    let (token, path) = server.poster().await;
    let channel = path.trim_start_matches("/channels/").to_owned();
    let mut heard = 0;
    for fault in [Fault::Dropped, Fault::Status(500), Fault::Partly] {
        stand_in.fail_always(None);
        let (messages, poster) = (format!("{}/api/v1{path}/messages", server.url), (server.http.clone(), token.clone()));
        let first = heard;
        let posting = tokio::spawn(async move {
            let (http, token) = poster;
            for n in first.. {
                let request = http.post(&messages).bearer_auth(&token).json(&json!({ "content": n.to_string() }));
                match request.send().await {
                    Ok(reply) => assert_eq!(reply.status(), 201),
                    Err(_) => return n, // killed
                }
            }
            unreachable!()
        });
        while heard < first + 20 {
            heard = stand_in.message(&channel, heard).await;
        }
        stand_in.fail_always(Some(fault));
        let other = server.log_in("ada@x.example").await.unwrap();
        server.post("/auth/logout", &other, json!({})).await;
        server.signal("KILL");
        server.end();
        let unanswered = posting.await.unwrap();
        server = Server::start(folder.path(), &settings);
        stand_in.fail_always(None);
        while heard < unanswered {
            heard = stand_in.message(&channel, heard).await;
        }
        assert_eq!(stand_in.disconnected().await.1, 3014);
        // The one that was under way may have been written.
        server.post(&format!("{path}/messages"), &token, json!({ "content": "marker" })).await;
        let content = stand_in.content(&channel).await;
        if content != "marker" {
            assert_eq!((content, stand_in.content(&channel).await), (heard.to_string(), "marker".to_owned()));
            heard += 1;
        }
        stand_in.forget();
    }
}

impl StandIn {
    /// The text of the next message on a channel.
    async fn content(&mut self, channel: &str) -> String {
        loop {
            if let Some(content) = self.on(channel).await["content"].as_str() {
                return content.to_owned();
            }
        }
    }

    /// Waits for the message with this number; returns the number after it.
    async fn message(&mut self, channel: &str, number: usize) -> usize {
        assert_eq!(self.content(channel).await, number.to_string());
        number + 1
    }
}
