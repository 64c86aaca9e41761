//! A client that lost a right while away does not recover what followed the loss, not even if it gets the right back.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, text},
    socket::Socket,
};

const OUT: &str = "out of sight @channel @grace";
const IN: &str = "back in sight @channel @grace";

/// Ada, Grace and Bob in an organisation, and Grace away: she was heard of on each of her streams.
struct Scene {
    _server: Server,
    ada: Client,
    grace: Client,
    bob: Client,
    organisation: String,
    channel: String,
    thread: String,
    direct: String,
    streams: Vec<Stream>,
}

/// A stream: its name, Grace's token from before she lost access, and her position.
struct Stream {
    name: String,
    token: String,
    position: Value,
}

impl Stream {
    async fn recover(&self, socket: &mut Socket) -> Value {
        let (epoch, offset) = (&self.position["epoch"], &self.position["offset"]);
        let request = json!({ "channel": self.name, "token": self.token, "recover": true, "epoch": epoch, "offset": offset });
        socket.command("subscribe", request).await
    }
}

async fn scene() -> Scene {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let thread = ada.say(&channel, "post").await;
    let body = json!({ "user_ids": [grace.user_id] });
    let direct = text(&ada.post(&format!("/organisations/{organisation}/dms"), body).await.expect(201)["data"]["channels_id"]);
    let mut socket = Socket::connect(&grace).await;
    let mut streams = Vec::new();
    for name in [&channel, &thread, &direct, &organisation, &grace.personal(&organisation)] {
        let position = socket.subscribe(name).await;
        streams.push(Stream { name: name.clone(), token: grace.subscription_token(name).await, position });
    }
    let scene = Scene { _server: server, ada, grace, bob, organisation, channel, thread, direct, streams };
    scene.happens("missed @channel @grace", "project-lead").await;
    scene
}

impl Scene {
    fn member(&self, client: &Client) -> String {
        format!("/organisations/{}/users/{}", self.organisation, client.user_id)
    }

    /// Publishes on every stream: these words, and Bob's new role.
    async fn happens(&self, words: &str, role: &str) {
        self.ada.say(&self.channel, words).await;
        self.ada.reply(&self.channel, &self.thread, words).await;
        self.ada.say(&self.direct, words).await;
        self.ada.put(&self.member(&self.bob), json!({ "role_id": role })).await.expect(200);
    }

    /// Grace comes back to all of it. What she recovers tells nothing of the time when it was not hers; what she
    /// recovers completely has what came since; and she hears what comes.
    async fn she_returns(&self) {
        let mut socket = Socket::connect(&self.grace).await;
        for stream in &self.streams {
            let reply = stream.recover(&mut socket).await;
            let (name, result) = (&stream.name, &reply["subscribe"]);
            assert_eq!([&result["recoverable"], &result["was_recovering"]], [true, true], "{name}: {reply}");
            let heard = result["publications"].to_string();
            assert!(!heard.contains(OUT) && !heard.contains(r#""role":"guest""#), "{name}: {reply:#}");
            if result["recovered"] == true {
                assert!(heard.contains(IN) || heard.contains(r#""role":"manager""#), "{name}: {reply:#}");
            }
        }
        self.happens("live @channel @grace", "member").await;
        for Stream { name, .. } in &self.streams {
            let publication = socket.on(name).await.to_string();
            assert!(!publication.contains(OUT), "{name}: {publication}");
        }
    }
}

#[tokio::test]
async fn a_member_who_rejoins_a_channel_receives_nothing_from_between() {
    let scene = scene().await;
    let step = |step: &str| format!("/channels/{}/{step}", scene.channel);
    scene.grace.call("POST", &step("leave"), None).await.expect(200);
    scene.ada.say(&scene.channel, OUT).await;
    scene.ada.reply(&scene.channel, &scene.thread, OUT).await;
    scene.grace.call("POST", &step("join"), None).await.expect(200);
    scene.happens(IN, "manager").await;
    scene.she_returns().await;
}

#[tokio::test]
async fn a_member_who_is_added_again_to_a_channel_receives_nothing_from_between() {
    let scene = scene().await;
    let users = format!("/channels/{}/users", scene.channel);
    scene.ada.delete(&format!("{users}/{}", scene.grace.user_id)).await.expect(200);
    scene.ada.say(&scene.channel, OUT).await;
    scene.ada.reply(&scene.channel, &scene.thread, OUT).await;
    scene.ada.post(&users, json!({ "user_ids": [scene.grace.user_id] })).await.expect(200);
    scene.happens(IN, "manager").await;
    scene.she_returns().await;
}

#[tokio::test]
async fn a_member_who_is_activated_again_receives_nothing_from_between() {
    let scene = scene().await;
    let grace = scene.member(&scene.grace);
    scene.ada.put(&grace, json!({ "status": "deactivated" })).await.expect(200);
    scene.happens(OUT, "guest").await;
    scene.ada.put(&grace, json!({ "status": "active" })).await.expect(200);
    scene.happens(IN, "manager").await;
    scene.she_returns().await;
}

#[tokio::test]
async fn a_member_who_is_invited_again_to_the_organisation_receives_nothing_from_between() {
    let scene = scene().await;
    scene.ada.delete(&scene.member(&scene.grace)).await.expect(200);
    scene.happens(OUT, "guest").await;
    let token = scene.ada.invite(&scene.organisation, &scene.grace.email, "member").await;
    scene.grace.post("/invite/verify", json!({ "token": token })).await.expect(200);
    let body = json!({ "user_ids": [scene.grace.user_id] });
    scene.ada.post(&format!("/channels/{}/users", scene.channel), body).await.expect(200);
    scene.happens(IN, "manager").await;
    scene.she_returns().await;
}

#[tokio::test]
async fn a_member_removed_from_a_channel_recovers_that_event_alone() {
    let scene = scene().await;
    scene.ada.delete(&format!("/channels/{}/users/{}", scene.channel, scene.grace.user_id)).await.expect(200);
    scene.ada.say(&scene.channel, OUT).await;
    scene.ada.reply(&scene.channel, &scene.thread, OUT).await;
    let mut socket = Socket::connect(&scene.grace).await;
    for stream in &scene.streams[..2] {
        let reply = stream.recover(&mut socket).await;
        assert_eq!(reply["error"], json!({ "code": 103, "message": "permission denied" }));
    }
    let reply = scene.streams[4].recover(&mut socket).await;
    assert_eq!(reply["subscribe"]["recovered"], true, "{reply}");
    assert!(!reply.to_string().contains(OUT), "{reply:#}");
    let publications = reply["subscribe"]["publications"].as_array().expect("there are some");
    let of_channel = publications.iter().map(|publication| &publication["data"]);
    let of_channel =
        of_channel.filter(|data| data.to_string().contains(&scene.channel) && data["notification_type"] != "channel_mention");
    let actions: Vec<_> = of_channel.map(|data| &data["data"]["action"]).collect();
    assert_eq!(actions, ["left"], "{reply:#}");
}

#[tokio::test]
async fn a_member_removed_from_the_organisation_recovers_none_of_its_streams() {
    let scene = scene().await;
    scene.ada.delete(&scene.member(&scene.grace)).await.expect(200);
    scene.happens(OUT, "guest").await;
    let mut socket = Socket::connect(&scene.grace).await;
    for stream in &scene.streams {
        let reply = stream.recover(&mut socket).await;
        assert_eq!(reply["error"], json!({ "code": 103, "message": "permission denied" }), "{}", stream.name);
        scene.grace.post("/token/subscription", json!({ "channel": stream.name })).await.expect(403);
    }
}
