//! Coming back to more than a socket may hold: nobody is sent what can't be sent, and nobody is held up by it for ever.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, text},
    socket::Socket,
};

/// The longest message: 320 KB in a publication, which has it twice.
fn longest() -> String {
    "\u{1d11e}".repeat(40_000)
}

/// Ada, and channels of hers with one of the longest messages in each, posted after the place that is given.
async fn away(server: &Server, channels: usize) -> (Client, Vec<String>, Value) {
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let mut made = Vec::new();
    for n in 0..channels {
        made.push(ada.channel(&organisation, &format!("channel {n}"), &[]).await);
    }
    let place = Socket::connect(&ada).await.subscribe(&organisation).await;
    for channel in &made {
        ada.say(channel, &longest()).await;
    }
    (ada, made, place)
}

fn count(result: &Value) -> usize {
    result["publications"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn a_recovery_larger_than_one_frame_is_refused_and_history_pages_through_it() {
    let server = Server::start().await;
    let (ada, channels, place) = away(&server, 1).await;
    let channel = &channels[0];
    for _ in 0..13 {
        ada.say(channel, &longest()).await;
    }
    let mut socket = Socket::connect(&ada).await;
    let result = socket.recover(channel, &place["epoch"], &place["offset"]).await;
    assert_eq!((result["recovered"].as_bool(), count(&result)), (None, 0));
    let (mut found, mut since) = (0, json!({ "offset": place["offset"], "epoch": place["epoch"] }));
    loop {
        let request = json!({ "channel": channel, "limit": -1, "since": since });
        let page = socket.command("history", request).await["history"].take();
        let Some(last) = page["publications"].as_array().and_then(|publications| publications.last()) else { break };
        assert!(page.to_string().len() < 1 << 20, "one page, one mebibyte at the most");
        found += count(&page);
        since["offset"] = last["offset"].clone();
    }
    assert_eq!(found, 14);
    ada.say(channel, "live").await;
    assert_eq!(socket.on(channel).await["content"], "live");
}

#[tokio::test]
async fn many_channels_are_recovered_in_one_frame() {
    let server = Server::start().await;
    let (ada, channels, place) = away(&server, 6).await;
    let mut socket = Socket::connect(&ada).await;
    let mut commands = Vec::new();
    for (n, channel) in channels.iter().enumerate() {
        let token = ada.subscription_token(channel).await;
        let request =
            json!({ "channel": channel, "token": token, "recover": true, "offset": place["offset"], "join_leave": true });
        commands.push(json!({ "id": n + 100, "subscribe": request }).to_string());
    }
    socket.send(&commands.join("\n")).await;
    for n in 0..channels.len() {
        let result = socket.reply(n as u64 + 100).await["subscribe"].take();
        assert_eq!((result["recovered"].as_bool(), count(&result)), (Some(true), 1));
    }
}

#[tokio::test]
async fn the_recovery_of_a_connect_is_bounded_over_all_its_channels() {
    let server = Server::start().await;
    let (ada, channels, place) = away(&server, 4).await;
    let mut subs = json!({});
    for channel in &channels {
        let token = ada.subscription_token(channel).await;
        subs[channel] = json!({ "token": token, "recover": true, "epoch": place["epoch"], "offset": place["offset"] });
    }
    let mut socket = Socket::open(&ada).await;
    let request = json!({ "token": ada.connection_token().await, "subs": subs });
    let mut reply = socket.command("connect", request).await;
    let results: Vec<Value> = channels.iter().map(|channel| reply["connect"]["subs"][channel].take()).collect();
    assert!(results.iter().all(|result| !text(&result["epoch"]).is_empty()), "all are subscribed");
    let recovered = results.iter().filter(|result| result["recovered"] == true);
    assert_eq!(recovered.map(count).collect::<Vec<_>>(), [1], "one fits, two don't");
}
