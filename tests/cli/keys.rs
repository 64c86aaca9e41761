//! The secret key is replaced beside a running server, or is missing.

use std::{fs, path::Path};

use reqwest::Method;
use serde_json::{Value, json};

use crate::{
    backups::{back_up, restore, text},
    harness::{PASSWORD, Server, file_in, printed, refused, run, until},
};

async fn status(server: &Server, token: &str) -> u16 {
    server.call(Method::GET, "/profile", token, json!({})).await.unwrap().0
}

fn rotate(data: &Path, more: &[&str]) -> Value {
    let args = [&["token", "rotate", "--json", "--data-dir", text(data)], more].concat();
    serde_json::from_str(&printed(&run(&args))).unwrap()
}

/// Waits until the server refuses a token.
async fn ends(server: &Server, token: &str) {
    until("the token is refused", async || (status(server, token).await == 401).then_some(())).await;
}

#[tokio::test]
async fn a_key_is_replaced_beside_a_running_server() {
    let folder = tempfile::tempdir().unwrap();
    let (data, mails, file) = (folder.path().join("data"), folder.path().join("mails"), folder.path().join("one.tar.zst"));
    let server = Server::start(&data, &["--mail-url", "smtp://127.0.0.1:1"]);
    let (token, channel) = server.poster().await;
    let hooks = channel.replace("channels", "webhooks");
    let hook = server.post(&hooks, &token, json!({ "webhook_name": "ci" })).await;
    let feed = async |server: &Server, hook: &Value| {
        let url = format!("{}/api/v1/webhooks/feed/{}", server.url, hook["webhook_slug"].as_str().unwrap());
        server.http.post(url).json(&json!({ "message": "built" })).send().await.unwrap().status().as_u16()
    };
    let organisation = printed(&run(&["org", "list", "--json", "--data-dir", text(&data)]));
    let organisation = serde_json::from_str::<Value>(&organisation).unwrap()[0]["slug"].as_str().unwrap().to_owned();
    let link = || {
        let invite = ["invite", "link", "--organisation", &organisation, "--email", "grace@x.example", "--data-dir", text(&data)];
        printed(&run(&invite))
    };
    let invitation = link();

    let rotated = rotate(&data, &[]);
    let until: jiff::Timestamp = rotated["former_accepted_until"].as_str().unwrap().parse().unwrap();
    let hours = until.duration_since(jiff::Timestamp::now()).as_secs() / 3600;
    assert!((23..=24).contains(&hours), "{rotated}");
    back_up(&data, &file, &["--verify"]);
    assert_eq!(link(), invitation, "an open invitation keeps its link");
    assert_eq!(status(&server, &token).await, 200);

    let former = rotate(&data, &["--at-once"]);
    assert_eq!(former["former_accepted_until"], Value::Null);
    ends(&server, &token).await;
    let renewed = server.log_in("ada@x.example").await.unwrap();
    assert_eq!(status(&server, &renewed).await, 200);
    let (_, shown) = server.call(Method::GET, &hooks, &renewed, json!({})).await.unwrap();
    assert_eq!(shown["data"]["feed_url"], hook["feed_url"]);
    assert_eq!(feed(&server, &hook).await, 200);
    let made = server.post(&hooks, &renewed, json!({ "webhook_name": "another" })).await;
    assert_eq!(feed(&server, &made).await, 200);
    assert_eq!(link(), invitation);
    drop(server);

    // The mail of the registration was sealed with the first key, two keys ago.
    let server = Server::start(&data, &["--mail-url", &format!("file://{}", mails.display())]);
    printed(&run(&["mail", "retry", "--data-dir", text(&data)]));
    file_in(&mails, ".eml").await;
    assert_eq!(status(&server, &renewed).await, 200);
    drop(server);

    // A backup of that day has the new key and the former one with its time.
    let to = folder.path().join("restored");
    printed(&restore(&file, &to, &[]));
    let copy = Server::start(&to, &[]);
    assert_eq!(status(&copy, &token).await, 200);
    assert_eq!(feed(&copy, &hook).await, 200);
}

#[tokio::test]
async fn a_server_without_its_key_does_not_start_and_goes_on_once_the_key_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let (data, key, kept) = (folder.path().join("data"), folder.path().join("data/secret.key"), folder.path().join("kept"));
    let server = Server::start(&data, &[]);
    let (token, _) = server.poster().await;
    fs::rename(&key, &kept).unwrap();
    let backup = ["backup", text(folder.path()), "--data-dir", text(&data)];
    refused(&run(&backup), "secret.key: No such file");
    assert_eq!(status(&server, &token).await, 200, "a running server has the key in memory");
    drop(server);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--data-dir", text(&data)];
    let create = ["user", "create", "--email", "b@x.example", "--password", PASSWORD, "--data-dir", text(&data)];
    for command in [&serve[..], &create] {
        refused(&run(command), "secret.key is missing: put it back from a backup");
        assert!(!key.exists());
    }
    for bad in ["", "short", "YW5vdGhlcg=="] {
        fs::write(&key, bad).unwrap();
        refused(&run(&serve), "must begin with 32 bytes in base64");
        refused(&run(&backup), "must begin with 32 bytes in base64");
    }
    fs::rename(&kept, &key).unwrap();
    let server = Server::start(&data, &[]);
    assert_eq!(status(&server, &token).await, 200);
    drop(server);

    let lost = ["token", "rotate", "--lost", "--data-dir", text(&data)];
    refused(&run(&lost), "leave --lost out");
    fs::remove_file(&key).unwrap();
    refused(&run(&["token", "rotate", "--data-dir", text(&data)]), "secret.key: No such file");
    assert!(printed(&run(&lost)).contains("everybody must log in again"));
    let server = Server::start(&data, &[]);
    assert_eq!(status(&server, &token).await, 401);
    assert!(server.log_in("ada@x.example").await.is_some());
}
