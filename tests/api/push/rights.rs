//! Revoked rights end at once: sockets close, subscriptions stop.

use serde_json::json;

use crate::{
    harness::{PASSWORD, Server, blob},
    socket::Socket,
};

#[tokio::test]
async fn log_out_closes_the_sessions_sockets_and_no_others() {
    let server = Server::start().await;
    let here = server.user("ada").await;
    let there = server.log_in("ada", PASSWORD).await;
    let channel = here.general(&here.organisation("Engines").await).await;
    let (one, two) = (Socket::connect(&here).await, Socket::connect(&here).await);
    let mut other = Socket::listening(&there, &[&channel]).await;

    here.call("POST", "/auth/logout", None).await.expect(200);

    assert_eq!([one.closed().await, two.closed().await], [3503, 3503]);
    there.say(&channel, "still here").await;
    assert_eq!(other.on(&channel).await["content"], "still here");
}

#[tokio::test]
async fn a_changed_password_closes_the_other_sessions_sockets() {
    let server = Server::start().await;
    let here = server.user("ada").await;
    let there = server.log_in("ada", PASSWORD).await;
    let channel = here.general(&here.organisation("Engines").await).await;
    let (mut mine, other) = (Socket::listening(&here, &[&channel]).await, Socket::connect(&there).await);
    let body = json!({ "old_password": PASSWORD, "new_password": "a quite different one" });
    here.put("/auth/change-password", body).await.expect(200);
    assert_eq!(other.closed().await, 3503);
    here.say(&channel, "still here").await;
    assert_eq!(mine.on(&channel).await["content"], "still here");
}

#[tokio::test]
async fn leaving_a_channel_ends_its_subscription_and_its_threads() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (left, kept) = (ada.channel(&organisation, "left", &[&grace]).await, ada.channel(&organisation, "kept", &[&grace]).await);
    let thread = ada.say(&left, "post").await;
    let mut socket = Socket::listening(&grace, &[&left, &thread, &kept]).await;

    grace.call("POST", &format!("/channels/{left}/leave"), None).await.expect(200);

    assert_eq!(socket.unsubscribed(&left).await, 2000);
    assert_eq!(socket.unsubscribed(&thread).await, 2000);
    ada.say(&left, "not for her").await;
    ada.reply(&left, &thread, "nor this").await;
    ada.say(&kept, "marker").await;
    loop {
        let (channel, data) = socket.next().await;
        if channel == kept {
            break assert_eq!(data["content"], "marker");
        }
        assert_eq!(data["notification_type"], "channel_update", "her leaving is the last that she hears: {data}");
    }
}

#[tokio::test]
async fn a_subscription_token_opens_nothing_after_its_user_lost_access() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let token = grace.subscription_token(&channel).await;
    grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
    let mut socket = Socket::connect(&grace).await;
    let reply = socket.command("subscribe", json!({ "channel": channel, "token": token })).await;
    assert_eq!(reply["error"], json!({ "code": 103, "message": "permission denied" }));

    let subs = json!({ &channel: { "token": token } });
    let mut socket = Socket::open(&grace).await;
    let reply = socket.command("connect", json!({ "token": grace.connection_token().await, "subs": subs })).await;
    assert!(reply["connect"]["subs"].get(&channel).is_none(), "{reply}");
}

#[tokio::test]
async fn a_deleted_channel_ends_its_subscriptions() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let mut socket = Socket::listening(&grace, &[&channel]).await;
    ada.delete(&format!("/channels/{channel}")).await.expect(204);
    assert_eq!(socket.unsubscribed(&channel).await, 2000);
}

#[tokio::test]
async fn a_deleted_organisation_ends_all_its_subscriptions() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (general, personal) = (ada.general(&organisation).await, grace.personal(&organisation));
    let mut socket = Socket::listening(&grace, &[&general, &personal, &organisation]).await;
    ada.delete(&format!("/organisations/{organisation}")).await.expect(204);
    for channel in [&general, &personal, &organisation] {
        assert_eq!(socket.unsubscribed(channel).await, 2000);
    }
}

#[tokio::test]
async fn a_revocation_by_a_command_beside_the_server_takes_effect() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let hers = Socket::connect(&grace).await;
    let mut his = Socket::listening(&bob, &[&organisation]).await;
    grace.get("/users/organisations").await.expect(200);

    server.sql("update users set is_active = 0 where username = 'grace'");
    server.sql(&format!("update organisation_members set status = 'deactivated' where user_id = {}", blob(&bob.user_id)));

    assert_eq!(hers.closed().await, 3503);
    assert_eq!(his.unsubscribed(&organisation).await, 2000);
    grace.get("/users/organisations").await.expect(401);
}
