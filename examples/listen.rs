//! Logs in, listens to everything that the account may hear, and prints what arrives:
//!
//!     cargo run --example listen -- http://127.0.0.1:8080 ada@example.org 'her password'
//!
//! This is the raw way: one message after the socket opens, and nothing to answer. A program that must
//! not miss anything uses one of the SDKs for the Centrifugo client protocol instead.

use std::error::Error;

use futures_util::{SinkExt, StreamExt};
use reqwest::{Client, RequestBuilder};
use serde_json::{Map, Value, json};
use tokio_tungstenite::{connect_async, tungstenite::Message};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Sends a request; an answer that is no success is an error with the server's own words.
async fn answer(request: RequestBuilder) -> Result<Value> {
    let response = request.send().await?;
    let (success, body) = (response.status().is_success(), response.json::<Value>().await?);
    if success { Ok(body) } else { Err(body["error"].as_str().unwrap_or("the server refused").into()) }
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| "the answer lacks a field".into())
}

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [base, email, password] = args.as_slice() else { return Err("usage: listen BASE_URL EMAIL PASSWORD".into()) };
    let base = base.trim_end_matches('/');
    let api = format!("{base}/api/v1");
    _ = rustls::crypto::ring::default_provider().install_default(); // the client asks for one
    let http = Client::new();

    let login = answer(http.post(format!("{api}/auth/login")).json(&json!({"email": email, "password": password}))).await?;
    let bearer = text(&login["data"]["access_token"])?;
    let user = text(&login["data"]["user"]["id"])?;
    let get = |path: &str| answer(http.get(format!("{api}{path}")).bearer_auth(bearer));

    // 1. What there is to hear: one personal channel in each organisation, and the channels themselves.
    let mut names = Vec::new();
    for organisation in get("/users/organisations").await?["data"].as_array().into_iter().flatten() {
        names.push(format!("{}/{user}", text(&organisation["id"])?));
    }
    for channel in get("/channels").await?["channels"].as_array().into_iter().flatten() {
        names.push(text(&channel["channels_id"])?.to_owned());
    }

    // 2. A token for each of them, and one for the connection.
    let mut subs = Map::new();
    for name in names {
        let request = http.post(format!("{api}/token/subscription")).bearer_auth(bearer).json(&json!({"channel": name}));
        subs.insert(name, json!({"token": answer(request).await?["data"]["token"]}));
    }
    let token = get("/token/connection").await?["data"]["token"].clone();

    // 3. The socket, and one message.
    let address = format!("{}/connection/websocket", base.replacen("http", "ws", 1));
    let (mut socket, _) = connect_async(address).await?;
    socket.send(Message::text(json!({"connect": {"token": token, "subs": subs}}).to_string())).await?;

    while let Some(message) = socket.next().await {
        let Message::Text(frame) = message? else { continue };
        // A frame holds one object a line; `{}` only tells that the server is there.
        for line in frame.lines().filter(|line| *line != "{}") {
            let object: Value = serde_json::from_str(line)?;
            let push = &object["push"];
            if let Some(connected) = object.get("connect") {
                println!("listening to {} channels", connected["subs"].as_object().map_or(0, Map::len));
            } else if push["pub"].is_object() {
                println!("{} {}", text(&push["channel"])?, push["pub"]["data"]);
            } else {
                println!("{object}");
            }
        }
    }
    Err("the server closed the connection".into())
}
