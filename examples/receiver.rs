//! Receives what a webhook delivers, verifies it, and prints it:
//!
//!     cargo run --example receiver -- 127.0.0.1:9000 whsec_…
//!
//! The webhook's `webhook_url` leads here; its `webhook_secret` was shown when it was made. An address like this one
//! is reached only when the server was started with `--allow-private-webhooks 127.0.0.0/8`.

use std::{
    collections::HashSet,
    error::Error,
    sync::{Arc, Mutex},
};

use poem::{
    EndpointExt, Server, handler,
    http::{HeaderMap, StatusCode},
    listener::TcpListener,
    middleware::SizeLimit,
    web::Data,
};
use serde_json::Value;
use standardwebhooks::Webhook;

/// Bytes of a body, which is read before it is known who sent it.
const LARGEST: usize = 1 << 20;

struct Receiver {
    webhook: Webhook,
    /// Events that came before: each comes at least once, always under the same id. A real receiver keeps these where
    /// it keeps what it makes of the events, and for as long as events are sent again.
    seen: Mutex<HashSet<String>>,
}

#[handler]
fn receive(receiver: Data<&Arc<Receiver>>, headers: &HeaderMap, body: String) -> StatusCode {
    // Over the body as it came: read and written anew, it would have other bytes. A time that is more than five minutes
    // away is refused, too, so that nobody can send a delivery again later.
    if let Err(err) = receiver.webhook.verify(body.as_bytes(), headers) {
        eprintln!("refused: {err}");
        return StatusCode::UNAUTHORIZED;
    }
    let id = headers["webhook-id"].to_str().unwrap_or_default();
    if receiver.seen.lock().expect("nothing panics while it holds this").insert(id.to_owned()) {
        show(&body);
    }
    StatusCode::NO_CONTENT // any other status than 2xx, and it comes again
}

fn show(body: &str) {
    let event: Value = serde_json::from_str(body).unwrap_or_default();
    let text = |field: &str| event["data"][field].as_str().unwrap_or_default().to_owned();
    match event["type"].as_str() {
        Some("message.created") => println!("{}: {}", text("username"), text("content")),
        Some(other) => println!("{other}: {}", event["data"]),
        None => println!("no event: {body}"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [address, secret] = args.as_slice() else { return Err("usage: receiver ADDRESS:PORT SECRET".into()) };
    let receiver = Arc::new(Receiver { webhook: Webhook::new(secret)?, seen: Mutex::default() });
    println!("receiving on http://{address}");
    Server::new(TcpListener::bind(address)).run(receive.data(receiver).with(SizeLimit::new(LARGEST))).await?;
    Ok(())
}
