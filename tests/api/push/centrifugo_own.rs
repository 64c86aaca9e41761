//! The streams of an account and of its organisations, with an external Centrifugo.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    harness::{Client, PASSWORD, Server, text},
    stand_in::{Arrival, StandIn, TOKEN_KEY},
};

async fn server() -> (StandIn, Server) {
    let stand_in = StandIn::start().await;
    let server = Server::with(|settings| settings.push = stand_in.settings()).await;
    (stand_in, server)
}

/// The streams that Centrifugo subscribes a client with this token to.
fn named(token: &Value) -> Vec<String> {
    #[derive(Deserialize)]
    struct Claims {
        #[serde(default)]
        channels: Vec<String>,
    }
    let key = jsonwebtoken::DecodingKey::from_secret(TOKEN_KEY.as_bytes());
    let rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::HS256);
    let mut channels = jsonwebtoken::decode::<Claims>(&text(token), &key, &rules).unwrap().claims.channels;
    channels.sort();
    channels
}

fn own(client: &Client, organisations: &[&String]) -> Vec<String> {
    let mut streams = vec![client.user_id.clone()];
    for organisation in organisations {
        streams.extend([(*organisation).clone(), client.personal(organisation)]);
    }
    streams.sort();
    streams
}

async fn token(client: &Client) -> Value {
    client.get("/token/connection?streams=own").await.expect(200)["data"]["token"].take()
}

impl StandIn {
    /// Waits for a publication of this kind on a stream; whether its user was disconnected before.
    async fn told(&mut self, stream: &str, kind: &str, user: &str) -> (Value, bool) {
        let mut is_disconnected = false;
        loop {
            match self.next().await {
                Arrival::Publication { channel, mut data } if channel == stream && data["notification_type"] == kind => {
                    return (data["data"].take(), is_disconnected);
                }
                Arrival::Publication { .. } => {}
                Arrival::Disconnect { user: who, .. } => is_disconnected |= who == user,
            }
        }
    }
}

#[tokio::test]
async fn a_token_for_own_streams_names_them_for_centrifugo() {
    let (_stand_in, server) = server().await;
    let (ada, grace, engines) = server.ada_and_grace().await;
    server.user("other").await.organisation("Looms").await;
    assert_eq!(named(&token(&grace).await), own(&grace, &[&engines]));
    let start = grace.get("/start").await.expect(200);
    assert_eq!(named(&start["data"]["connection_token"]), own(&grace, &[&engines]), "the start's token, too");
    assert_eq!(named(&grace.connection_token().await.into()), [""; 0], "only a token that asks for them");
    ada.delete(&format!("/organisations/{engines}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(named(&token(&grace).await), own(&grace, &[]), "none that was lost");
}

#[tokio::test]
async fn a_reply_in_a_members_thread_reaches_their_personal_stream() {
    let (mut stand_in, server) = server().await;
    let (ada, grace, engines) = server.ada_and_grace().await;
    let news = ada.channel(&engines, "news", &[&grace]).await;
    let thread = grace.say(&news, "hello").await;
    ada.reply(&news, &thread, "a reply for @grace").await;
    let (told, _) = stand_in.told(&grace.personal(&engines), "thread_unread", "").await;
    assert_eq!(
        json!([told["thread_id"], told["unread_count"], told["mention_count"], told["message_count"]]),
        json!([thread, 1, 1, 1])
    );
    grace.put(&format!("/threads/{thread}/read"), json!({})).await.expect(200);
    let (told, _) = stand_in.told(&grace.personal(&engines), "thread_unread", "").await;
    assert_eq!([&told["unread_count"], &told["mention_count"]], [0, 0], "her other devices, too");
}

#[tokio::test]
async fn an_account_is_told_of_an_ended_session_before_it_is_disconnected() {
    let (mut stand_in, server) = server().await;
    let (_, grace, _) = server.ada_and_grace().await;
    let other = server.log_in("grace", PASSWORD).await;
    other.call("POST", "/auth/logout", None).await.expect(200);
    let (told, is_disconnected) = stand_in.told(&grace.user_id, "session_update", &grace.user_id).await;
    assert_eq!(told, json!({ "action": "ended", "session_ids": [other.session_id()] }));
    assert!(!is_disconnected, "the devices that stay hear it");
    assert_eq!(stand_in.disconnected().await.0, grace.user_id);
}

#[tokio::test]
async fn an_account_is_told_of_its_organisations_and_a_removed_member_hears_no_more() {
    let (mut stand_in, server) = server().await;
    let (ada, grace, engines) = server.ada_and_grace().await;
    let looms = ada.organisation("Looms").await;
    let general = ada.general(&looms).await;
    let invitation = ada.invite(&looms, &grace.email, "member").await;
    grace.post("/invite/verify", json!({ "token": invitation })).await.expect(200);
    let joined = loop {
        let (told, _) = stand_in.told(&grace.user_id, "membership_update", "").await;
        if told["organisation_id"] == *looms {
            break told;
        }
    };
    assert_eq!((&joined["action"], &joined["organisation_slug"]), (&json!("joined"), &json!("looms")));
    assert_eq!(named(&token(&grace).await), own(&grace, &[&engines, &looms]), "the next token has it");
    ada.say(&general, "welcome").await;
    stand_in.told(&grace.personal(&looms), "unread_thread_change", "").await;

    ada.delete(&format!("/organisations/{looms}/users/{}", grace.user_id)).await.expect(200);
    let (left, is_disconnected) = stand_in.told(&grace.user_id, "membership_update", &grace.user_id).await;
    assert_eq!((&left["action"], &left["organisation_id"], is_disconnected), (&json!("left"), &json!(looms), false));
    assert_eq!(stand_in.disconnected().await, (grace.user_id.clone(), 3014), "so that she proves her rights anew");
    for stream in [&looms, &grace.personal(&looms), &general] {
        grace.post("/token/subscription", json!({ "channel": stream })).await.expect(403);
    }
    ada.say(&general, "marker").await;
    loop {
        match stand_in.next().await {
            Arrival::Publication { channel, data } if channel == general && data["content"] == "marker" => break,
            Arrival::Publication { channel, data } => assert_ne!(channel, grace.personal(&looms), "{data}"),
            Arrival::Disconnect { .. } => {}
        }
    }
}
