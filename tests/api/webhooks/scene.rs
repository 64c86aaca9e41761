//! The world in which webhooks are tried.

use serde_json::{Value, json};
use tidings::domain::accounts::by_operator;

use crate::{
    harness::{Client, Server},
    receiver::{self, Hook, Receiver},
};

/// A team with a channel, in which webhooks are tried.
pub struct Scene {
    pub server: Server,
    /// The owner of the organisation, who has made the channel.
    pub ada: Client,
    /// A plain member, who is in the channel.
    pub grace: Client,
    /// Somebody without an account.
    pub anybody: Client,
    pub organisation: String,
    pub channel: String,
}

/// The scene on a server whose webhooks may reach the tests' receivers.
pub async fn scene() -> Scene {
    Scene::on(receiver::server().await).await
}

/// The scene with Ada's webhook `builder`, which is fed.
pub async fn fed() -> (Scene, Hook) {
    let scene = scene().await;
    let hook = scene.builder().await;
    (scene, hook)
}

/// The scene in a private channel of Ada's with Mallory, who manages webhooks there.
pub async fn plans() -> (Scene, Client) {
    let mut scene = scene().await;
    let mallory = scene.member("mallory", "admin").await;
    scene.channel = scene.ada.private_channel(&scene.organisation, "plans", &[&mallory]).await;
    (scene, mallory)
}

impl Scene {
    /// The scene on this server.
    pub async fn on(server: Server) -> Scene {
        let (ada, grace, organisation) = server.ada_and_grace().await;
        let channel = ada.channel(&organisation, "engines", &[&grace]).await;
        Scene { anybody: server.anonymous(), server, ada, grace, organisation, channel }
    }

    /// A further member of the organisation.
    pub async fn member(&self, name: &str, role: &str) -> Client {
        self.server.member(&self.ada, &self.organisation, name, role).await
    }

    /// The path of a member of the organisation.
    pub fn member_path(&self, member: &Client) -> String {
        format!("/organisations/{}/users/{}", self.organisation, member.user_id)
    }

    /// Ada changes a member's status or role.
    pub async fn set_member(&self, member: &Client, body: Value) {
        self.ada.put(&self.member_path(member), body).await.expect(200);
    }

    /// Enables or disables an account, as the server's administrator does.
    pub fn set_active(&self, account: &Client, is_active: bool) {
        self.server.write(|tx| by_operator::set_active(tx, &account.email, is_active)).unwrap();
    }

    /// Ada removes a member from the channel.
    pub async fn remove(&self, member: &Client) {
        self.ada.delete(&format!("/channels/{}/users/{}", self.channel, member.user_id)).await.expect(200);
    }

    /// Ada adds a member to the channel.
    pub async fn add(&self, member: &Client) {
        let body = json!({ "user_ids": [member.user_id] });
        self.ada.post(&format!("/channels/{}/users", self.channel), body).await.expect(200);
    }

    /// Ada's webhook that is fed.
    pub async fn builder(&self) -> Hook {
        self.ada.hook_with(&self.channel, json!({ "webhook_name": "builder", "event_name": "build" })).await
    }

    /// Ada's webhook that delivers to the receiver.
    pub async fn hook(&self, receiver: &Receiver) -> Hook {
        self.ada.hook(&self.channel, &receiver.url).await
    }

    /// A receiver that answers so, and Ada's webhook that delivers to it.
    pub async fn receiver(&self, statuses: &'static [u16]) -> (Receiver, Hook) {
        let receiver = Receiver::start(statuses).await;
        let hook = self.hook(&receiver).await;
        (receiver, hook)
    }

    /// The channel's first webhook as Ada reads it.
    pub async fn first_webhook(&self) -> Value {
        self.ada.get(&format!("/webhooks/{}", self.channel)).await.expect(200)["data"].take()
    }

    /// Ada posts in the channel; gives the post's id.
    pub async fn say(&self, content: &str) -> String {
        self.ada.say(&self.channel, content).await
    }

    /// Ada posts; it has arrived at the witness, and the webhook has not begun to deliver it to its receiver.
    pub async fn say_unheard(&self, content: &str, hook: &Hook, receiver: &Receiver, witness: &mut Receiver) {
        self.say(content).await;
        assert_eq!(witness.next().await.content(), content);
        // Both were due at once, and the same write has looked at both.
        assert!(!self.server.has_begun(&hook.id, content), "nothing is to leave");
        assert!(receiver.is_empty());
    }

    /// The channel's threads as this member reads them, newest first.
    pub async fn threads(&self, reader: &Client) -> Vec<Value> {
        let path = format!("/threads/channels/{}", self.channel);
        reader.get(&path).await.data(200, "Data retrieved successfully").as_array().unwrap().clone()
    }
}
