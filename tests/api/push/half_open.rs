//! A client whose network went away without a word comes back while the server still believes in its old socket.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server},
    socket::Socket,
    wire::Wire,
};

/// The first ping comes after 5 s at the earliest, the last moment of an old socket after 13.2 s at the latest: each
/// return below meets it alive.
const PING_SECONDS: u32 = 10;

#[tokio::test]
async fn a_reconnecting_client_is_not_blocked_by_its_half_open_socket() {
    let server = Server::with(|settings| settings.push_ping_seconds = PING_SECONDS).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let comes_back = async |after: Duration| {
        let channel = ada.channel(&organisation, &format!("after {after:?}"), &[&grace]).await;
        comes_back(&ada, &grace, &channel, after).await;
    };
    let [at_once, soon, late] = [0, 500, 5000].map(Duration::from_millis);
    tokio::join!(comes_back(at_once), comes_back(soon), comes_back(late));
}

async fn comes_back(ada: &Client, grace: &Client, channel: &str, after: Duration) {
    let wire = Wire::to(&grace.origin).await;
    let mut old = Socket::connect(&wire.carrying(grace)).await;
    let epoch = old.subscribe(channel).await["epoch"].take();
    ada.say(channel, "heard").await;
    let heard = old.push(|push| push["pub"].is_object()).await["pub"].take();
    let present = listeners(&mut old, channel).await;
    let [former] = &present[..] else { panic!("{present:?}") };
    wire.cut();

    ada.say(channel, "missed at first").await;
    let waited = tokio::time::timeout(after, old.push(|_| true)).await;
    assert!(waited.is_err(), "it heard something on a wire that is cut: {waited:?}");
    ada.say(channel, "missed at last").await;
    let mut new = Socket::connect(grace).await;
    let request = json!({ "join_leave": true, "recover": true, "epoch": epoch, "offset": heard["offset"] });
    let result = new.subscribe_with(channel, request).await["subscribe"].take();
    assert_eq!(result["recovered"], true, "{result}");
    let missed: Vec<_> = result["publications"].as_array().unwrap().iter().map(|missed| &missed["data"]["content"]).collect();
    assert_eq!(missed, ["missed at first", "missed at last"], "after {after:?}");
    let present = listeners(&mut new, channel).await;
    assert!(present.len() == 2 && present.contains(former), "side by side: {present:?}");
    ada.say(channel, "live beside the old one").await;
    assert_eq!(new.on(channel).await["content"], "live beside the old one");

    let gone = new.push(|push| push["leave"].is_object()).await;
    assert_eq!(gone["leave"]["info"]["client"], *former, "only the old one ends: {gone}");
    assert_eq!(listeners(&mut new, channel).await.len(), 1);
    ada.say(channel, "after its end").await;
    assert_eq!(new.on(channel).await["content"], "after its end");

    wire.mend();
    let (pushes, code) = old.heard_until_closed().await;
    assert_eq!(code, 3012, "no pong");
    let heard: Vec<_> = pushes.iter().map(|push| &push["pub"]["data"]["content"]).collect();
    assert_eq!(heard, ["missed at first", "missed at last", "live beside the old one"], "each once, and nothing after the end");
}

/// The clients that are subscribed to the channel.
async fn listeners(socket: &mut Socket, channel: &str) -> Vec<String> {
    let reply = socket.command("presence", json!({ "channel": channel })).await;
    let presence: &Value = &reply["presence"]["presence"];
    presence.as_object().unwrap_or_else(|| panic!("{reply}")).keys().cloned().collect()
}
