//! Answered writes and issued tokens survive a restart.

use serde_json::json;

use crate::{harness::Server, socket::Socket};

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&channel, "before @grace").await;
    ada.reply(&channel, &thread, "a reply").await;
    let invitation = ada.invite(&organisation, "new@example.org", "member").await;
    let (connection, subscription) = (grace.connection_token().await, grace.subscription_token(&channel).await);
    let views = [
        format!("/organisations/{organisation}"),
        format!("/organisations/{organisation}/users"),
        format!("/organisations/{organisation}/user-channels"),
        format!("/threads/organisations/{organisation}"),
        format!("/channels/{channel}/messages"),
        "/channels".to_owned(),
    ];
    let mut before = Vec::new();
    for view in &views {
        before.push(grace.get(view).await.expect(200));
    }

    let server = server.restart().await;

    for (view, before) in views.iter().zip(before) {
        assert_eq!(grace.get(view).await.expect(200), before, "{view}");
    }
    let mut socket = Socket::open(&grace).await;
    assert!(socket.command("connect", json!({ "token": connection })).await["connect"].is_object());
    let subscribe = json!({ "channel": channel, "token": subscription });
    assert!(socket.command("subscribe", subscribe).await["subscribe"].is_object());
    ada.say(&channel, "after").await;
    assert_eq!(socket.on(&channel).await["content"], "after");
    server.anonymous().post("/invite/verify", json!({ "token": invitation })).await.expect(200);
    let request = server.anonymous().request("GET", "/api/v1/realtime/connection");
    let reply = request.header("x-notification-token", &grace.notification_token).send().await.unwrap();
    assert_eq!(reply.status(), 200);
}

#[tokio::test]
async fn an_ended_session_stays_ended() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    ada.call("POST", "/auth/logout", None).await.expect(200);
    let server = server.restart().await;
    ada.get("/users/organisations").await.expect(401);
    server.stop().await;
}
