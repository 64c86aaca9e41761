//! The protocol's own clocks: pings, pongs, and clients that never say who they are. They are sockets' deadlines in real
//! time, which a short interval of pings makes short, and all of them run at once.

use std::time::Instant;

use crate::{
    harness::{Client, Server},
    socket::Socket,
};

const PING_SECONDS: u32 = 2;

#[tokio::test]
async fn a_connection_is_pinged_and_closed_for_missing_or_extra_pongs_and_for_silence() {
    let server = Server::with(|settings| settings.push_ping_seconds = PING_SECONDS).await;
    let ada = server.user("ada").await;
    tokio::join!(an_extra_pong_is_a_bad_request(&ada), a_missing_pong_is_the_end(&ada), a_silent_client_is_stale(&ada));
}

/// The first ping comes within the interval of pings from the connect on.
async fn an_extra_pong_is_a_bad_request(client: &Client) {
    let mut socket = Socket::connect(client).await;
    socket.ping().await;
    socket.send("{}").await;
    socket.send("{}").await;
    assert_eq!(socket.closed().await, 3501);
}

async fn a_missing_pong_is_the_end(client: &Client) {
    let mut socket = Socket::connect(client).await;
    socket.ping().await;
    assert_eq!(socket.closed().await, 3012);
}

async fn a_silent_client_is_stale(client: &Client) {
    let opened = Instant::now();
    assert_eq!(Socket::open(client).await.closed().await, 3502);
    assert!((3..9).contains(&opened.elapsed().as_secs()), "{:?}", opened.elapsed());
}
