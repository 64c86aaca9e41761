//! The first administrator, by the link that the server prints at its start.

use std::path::Path;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tidings::error::Code;

use crate::harness::{PASSWORD, Server};

/// Starts a server, and reads the link's token from what it prints.
fn start(folder: &Path) -> (Server, Option<String>) {
    let mut server = Server::start(folder, &[]);
    assert_eq!(server.listening(), [server.url.trim_start_matches("http://")]);
    // Without a link, nothing follows: the next line would never come.
    let has_link = crate::harness::run(&["user", "list", "--json", "--data-dir", folder.to_str().unwrap()]);
    let has_link = !String::from_utf8_lossy(&has_link.stdout).contains("superadmin");
    let mut lines = server.printed.by_ref().map_while(Result::ok);
    let token =
        has_link.then(|| lines.find_map(|line| line.split_once("/setup?token=").map(|(_, token)| token.to_owned())).unwrap());
    (server, token)
}

async fn make(server: &Server, token: &str, email: &str) -> (StatusCode, Value) {
    let body = json!({ "token": token, "email": email, "first_name": "Ada", "last_name": "Lovelace", "password": PASSWORD,
        "organisation": "Engines" });
    let reply = server.http.post(format!("{}/setup/administrator", server.url)).json(&body).send().await.unwrap();
    (reply.status(), reply.json().await.unwrap())
}

/// What the API says of a link; null for an unknown one.
async fn check(server: &Server, token: &str) -> Value {
    let body = json!({ "token": token });
    let reply = server.http.post(format!("{}/api/v1/auth/links/check", server.url)).json(&body).send().await.unwrap();
    reply.json::<Value>().await.unwrap()["data"].take()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_link_makes_one_administrator_even_for_two_people_at_once() {
    _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().unwrap();
    let (server, token) = start(folder.path());
    let token = token.unwrap();
    assert_eq!(server.http.get(format!("{}/setup?token={token}", server.url)).send().await.unwrap().status(), 200);
    assert_eq!(check(&server, &token).await, json!({ "purpose": "setup", "status": "open" }));
    assert_eq!(check(&server, "wrong").await, Value::Null);
    let refused = make(&server, "wrong", "eve@x.example").await;
    assert_eq!((refused.0.as_u16(), refused.1["code"].clone()), (403, Code::SetupOver.name().into()));
    assert_eq!(make(&server, &token, "no address").await.0, 422);
    let both = tokio::join!(make(&server, &token, "ada@x.example"), make(&server, &token, "bob@x.example"));
    let mut statuses = [both.0.0.as_u16(), both.1.0.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 422], "{both:?}");
    let second = if both.0.0 == 422 { &both.0.1 } else { &both.1.1 };
    assert_eq!((statuses[1], second["code"].clone()), (422, Code::SetupOver.name().into()));
    let first = if both.0.0 == 201 { "ada@x.example" } else { "bob@x.example" };
    let access = server.log_in(first).await.unwrap();
    let (_, own) = server.call(reqwest::Method::GET, "/users/organisations", &access, json!({})).await.unwrap();
    assert_eq!(own["data"][0]["name"], "Engines");
    assert_eq!(make(&server, &token, "carol@x.example").await.0, 403, "the link works once");
    assert_eq!(check(&server, &token).await["status"], "used");
    drop(server);
    let (server, again) = start(folder.path());
    assert_eq!(again, None, "no link is printed once there is an administrator");
    assert_eq!(make(&server, &token, "carol@x.example").await.0, 403);
}
