//! TLS of the server's own.

use std::fs::File;

use futures_util::{SinkExt, StreamExt};
use reqwest::Method;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::{
    certificate::Certificate,
    harness::{Server, printed, refused, run, tidings},
    secured::{self, Pair},
};

#[tokio::test]
async fn a_server_with_a_certificate_speaks_https_and_wss_alone() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = Certificate::of("127.0.0.1");
    let server = secured::start(folder.path(), &certificate);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let (token, channel) = server.poster().await;
    let (_, reply) = server.call(Method::GET, "/token/connection", &token, json!({})).await.unwrap();
    let name = channel.trim_start_matches("/channels/");
    let body = json!({ "channel": name });
    let (_, subscription) = server.call(Method::POST, "/token/subscription", &token, body).await.unwrap();

    let mut socket = secured::socket(&server.url, &certificate).await;
    let connect = json!({ "id": 1, "connect": { "token": reply["data"]["token"] } });
    let subscribe = json!({ "id": 2, "subscribe": { "channel": name, "token": subscription["data"]["token"] } });
    socket.send(Message::text(format!("{connect}\n{subscribe}"))).await.unwrap();
    // Longer than a record of TLS.
    let content = "long ".repeat(5000);
    let mut said = String::new();
    while !said.contains("\"subscribe\"") {
        said += socket.next().await.unwrap().unwrap().to_text().unwrap();
    }
    server.post(&format!("{channel}/messages"), &token, json!({ "content": content.trim_end() })).await;
    while !said.contains(content.trim_end()) {
        said += socket.next().await.unwrap().unwrap().to_text().unwrap();
    }

    for (path, status) in [("/health", 200), ("/docs", 200), ("/api/v1/nowhere", 404), ("/api/v1/users/me", 401)] {
        let reply = server.http.get(format!("{}{path}", server.url)).send().await.unwrap();
        assert_eq!(reply.status(), status, "{path}");
        assert_eq!(reply.headers()["strict-transport-security"], "max-age=31536000", "{path}");
    }
    let address = server.url.trim_start_matches("https://");
    assert!(reqwest::get(format!("http://{address}/health")).await.is_err(), "plain HTTP is not answered");
    let pair = Pair::write(folder.path(), &certificate);
    let healthcheck = |flags: &[&str]| run(&[&["healthcheck", "--listen", address], flags].concat());
    assert_eq!(printed(&healthcheck(&pair.flags())), "healthy\n");
    refused(&healthcheck(&[]), "can't be reached");
}

#[tokio::test]
async fn a_new_certificate_is_served_and_a_bad_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (log, [first, second]) = (folder.path().join("log"), [(); 2].map(|()| Certificate::of("127.0.0.1")));
    let pair = Pair::write(folder.path(), &first);
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
    command.arg(folder.path().join("data")).args(pair.flags());
    let server = Server::logging(&mut command, File::create(&log).unwrap().into());
    let health = format!("{}/health", server.url);
    let kept = secured::http(&first);
    assert_eq!(kept.get(&health).send().await.unwrap().status(), 200);

    Pair::write(folder.path(), &second);
    server.signal("HUP");
    while secured::http(&second).get(&health).send().await.is_err() {}
    assert!(secured::http(&first).get(&health).send().await.is_err(), "the former one is served no more");
    assert_eq!(kept.get(&health).send().await.unwrap().status(), 200, "open connections stay");

    for (bad, says) in [(first.key_pem(), "it is not the key of"), ("nothing".to_owned(), "--tls-key")] {
        std::fs::write(&pair.key, bad).unwrap();
        let logged = || std::fs::read_to_string(&log).unwrap();
        let before = logged().len();
        server.signal("HUP");
        while !logged()[before..].contains("the former certificate is served on") {
            assert_eq!(secured::http(&second).get(&health).send().await.unwrap().status(), 200);
        }
        assert!(logged()[before..].contains(says), "{}", logged());
        assert_eq!(secured::http(&second).get(&health).send().await.unwrap().status(), 200);
    }
}

#[test]
fn a_certificate_that_cannot_be_served_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let pair = Pair::write(folder.path(), &Certificate::of("127.0.0.1"));
    let (cert, key) = (pair.cert.to_str().unwrap(), pair.key.to_str().unwrap());
    let other = folder.path().join("other");
    std::fs::write(&other, Certificate::of("127.0.0.1").key_pem()).unwrap();
    let other = other.to_str().unwrap();
    for (flags, says) in [
        (&["--tls-cert", cert][..], "--tls-cert and --tls-key: give both, or neither".to_owned()),
        (&["--tls-key", key], "--tls-cert and --tls-key: give both, or neither".to_owned()),
        (&["--tls-cert", cert, "--tls-key", other], format!("--tls-key {other}: it is not the key of {cert}")),
        (&["--tls-cert", key, "--tls-key", key], format!("--tls-cert {key}: there is no certificate in it")),
        (&["--tls-cert", cert, "--tls-key", cert], format!("--tls-key {cert}: ")),
        (&["--tls-cert", "/nowhere", "--tls-key", key], "--tls-cert /nowhere: No such file".to_owned()),
    ] {
        for command in [&["serve"][..], &["config", "check"]] {
            let output = run(&[command, &["--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()], flags].concat());
            refused(&output, &says);
            assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1, "{output:?}");
        }
    }
    assert!(!data.exists());
}

#[tokio::test]
async fn the_end_of_the_served_certificate_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (Certificate::of("127.0.0.1"), Certificate::until("127.0.0.1", "480101000000Z"));
    let pair = Pair::write(folder.path(), &first);
    let token = "a-token-for-the-tests";
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "error", "--metrics-token", token, "--data-dir"]);
    let server = Server::spawn(command.arg(folder.path().join("data")).args(pair.flags()));
    let end = async |certificate: &Certificate| {
        let reply = secured::http(certificate).get(format!("{}/metrics", server.url)).bearer_auth(token).send().await.ok()?;
        let page = reply.text().await.unwrap();
        let line = page.lines().find_map(|line| line.strip_prefix("tidings_certificate_end_time_seconds ")).unwrap();
        Some(line.parse::<i64>().unwrap())
    };
    assert_eq!(end(&first).await, Some(2_524_607_999)); // 2049-12-31T23:59:59Z
    Pair::write(folder.path(), &second);
    server.signal("HUP");
    let renewed = loop {
        if let Some(end) = end(&second).await {
            break end;
        }
    };
    assert_eq!(renewed, 2_461_449_600); // 2048-01-01T00:00:00Z
}
