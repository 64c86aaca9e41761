//! A bot that answers whoever mentions it together with the word "status":
//!
//!     TIDINGS_TOKEN=tdg_... cargo run --example bot -- http://127.0.0.1:8080
//!
//! See docs/bots.md for the token, which needs the scopes read and post.

use centrifuge::{Client, TokenError};
use reqwest::{RequestBuilder, header};
use serde_json::{Value, json};
use tokio::sync::mpsc::unbounded_channel;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Sends a request, and returns the data of its answer. A refusal is an error with the server's own words.
async fn answer(request: RequestBuilder) -> Result<Value> {
    let response = request.send().await?;
    let (success, mut body) = (response.status().is_success(), response.json::<Value>().await?);
    if success { Ok(body["data"].take()) } else { Err(body["message"].as_str().unwrap_or("refused").into()) }
}

#[tokio::main]
#[expect(clippy::disallowed_methods, reason = "the server's own rule; a bot has its token in the environment")]
async fn main() -> Result<()> {
    _ = rustls::crypto::ring::default_provider().install_default(); // the HTTP client asks for one
    let base = std::env::args().nth(1).unwrap_or_else(|| "http://127.0.0.1:8080".into());
    let (api, bearer) = (format!("{base}/api/v1"), format!("Bearer {}", std::env::var("TIDINGS_TOKEN")?));
    let http =
        reqwest::Client::builder().default_headers([(header::AUTHORIZATION, bearer.parse()?)].into_iter().collect()).build()?;

    // Before the SDK, which would try again and again with a wrong token.
    let user = answer(http.get(format!("{api}/users/me"))).await?;
    // The SDK reconnects by itself, asks for a new token, and receives what it missed meanwhile.
    let (heard, mut events) = unbounded_channel();
    let to_connect = http.get(format!("{api}/token/connection?streams=own"));
    let push = Client::builder(format!("{}/connection/websocket", base.replacen("http", "ws", 1)))
        .get_token(move |_| {
            let request = to_connect.try_clone().expect("a request without a body");
            async { Ok(answer(request).await.map_err(TokenError::Other)?["token"].as_str().map(str::to_owned)) }
        })
        .on_publication(move |_, event| _ = heard.send(event.publication.data))
        .build()?;
    push.connect()?;
    push.ready(None).await?;
    println!("listening as {}", user["username"].as_str().unwrap_or_default());

    while let Some(event) = events.recv().await {
        let event: Value = serde_json::from_slice(&event)?;
        let message = &event["data"];
        let asks = message["content"].as_str().is_some_and(|content| content.to_lowercase().contains("status"));
        // Bots that answer bots would never end.
        if event["notification_type"] == "channel_mention" && message["user_type"] == "user" && asks {
            let messages = format!("{api}/channels/{}/messages", message["channel_id"].as_str().unwrap_or_default());
            let body = json!({ "content": "All engines are running.", "thread_id": message["thread_id"] });
            answer(http.post(messages).json(&body)).await?;
        }
    }
    Ok(())
}
