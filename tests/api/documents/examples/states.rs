//! Calls whose answers need another state than the scene's.

use poem::Response;
use serde_json::{Value, json};
use tidings::config::Registration;

use super::Examples;
use crate::{
    accounts::issuer::Issuer,
    harness::{Client, PASSWORD, Server, text},
    names::Names,
    operations::Operation,
    receiver::{self, Receiver},
    scene::Answered,
};

const NEW_PASSWORD: &str = "quiet harbour at dawn";

impl Examples {
    /// Calls an operation with these values of its path's parameters, in their order.
    async fn call(&mut self, client: &Client, operation: &str, parameters: &[&str], request: Option<Value>) {
        let operation = Operation::named(operation);
        let mut parameters = parameters.iter();
        let segments = operation.path.split('/').map(|segment| match segment.starts_with('{') {
            true => *parameters.next().expect("a value for each parameter"),
            false => segment,
        });
        let path = segments.collect::<Vec<_>>().join("/");
        let answered = Answered::call(client, &operation, path, request).await;
        self.take(&Names::default(), &answered);
    }

    /// Each mailed token is good once.
    pub async fn of_mailed_tokens(&mut self) {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let email = json!({ "email": ada.email });
        let visitor = server.anonymous();
        let tokens = ["/auth/email-request", "/auth/magic-link", "/auth/password-reset"];
        for (mails, path) in tokens.into_iter().enumerate() {
            if mails > 0 {
                visitor.post(path, email.clone()).await.expect(200);
            }
            let mut body = json!({ "token": server.mails(&ada.email, mails + 1).await[mails].parameter("token") });
            if path == "/auth/password-reset" {
                body["new_password"] = NEW_PASSWORD.into();
            }
            self.call(&visitor, "POST /auth/links/check", &[], Some(json!({ "token": body["token"] }))).await;
            for _ in 0..2 {
                self.call(&visitor, &format!("POST {path}/verify"), &[], Some(body.clone())).await;
            }
        }
        self.call(&visitor, "POST /auth/magic-link/code", &[], Some(email.clone())).await;
        let request = visitor.post("/auth/magic-link/code", email.clone()).await.expect(200)["data"]["request"].take();
        let mails = server.mails(&ada.email, 6).await;
        let code: String = mails[5].text.chars().filter(char::is_ascii_digit).take(6).collect();
        for _ in 0..7 {
            let body = json!({ "request": request, "code": code });
            self.call(&visitor, "POST /auth/magic-link/code/verify", &[], Some(body)).await;
        }
        let (ada, grace) = (server.log_in("ada", NEW_PASSWORD).await, server.user("grace").await);
        let organisation = grace.organisation("Engines").await;
        let link = grace.post(&format!("/organisations/{organisation}/join-links"), json!({})).await.expect(201);
        let joining = json!({ "token": link["data"]["token"], "email": "mary@example.org", "password": NEW_PASSWORD });
        for _ in 0..2 {
            self.call(&visitor, "POST /join", &[], Some(joining.clone())).await;
        }
        let token = json!({ "token": grace.invite(&organisation, &ada.email, "member").await });
        for client in [&grace, &ada, &ada] {
            self.call(client, "POST /invite/verify", &[], Some(token.clone())).await;
        }
        self.call(&ada, "POST /auth/email-request", &[], Some(email)).await;
        server.stop().await;
    }

    pub async fn of_federated_log_in(&mut self) {
        let issuer = Issuer::start();
        let server = issuer.server().await;
        let (token, later) = (issuer.token(json!({ "jti": "a" })), issuer.token(json!({ "jti": "b" })));
        for token in [&token, &token] {
            self.call(&server.anonymous(), "POST /auth/google", &[], Some(json!({ "id_token": token }))).await;
        }
        server.sql("update users set is_active = 0");
        self.call(&server.anonymous(), "POST /auth/google", &[], Some(json!({ "id_token": later }))).await;
        server.stop().await;
    }

    /// Accounts that are disabled, and a server that takes no new ones.
    pub async fn of_closed_doors(&mut self) {
        let server = Server::with(|settings| settings.registration = Registration::Invited).await;
        let new = json!({ "email": "new@example.org", "password": PASSWORD });
        self.call(&server.anonymous(), "POST /auth/register", &[], Some(new)).await;
        server.stop().await;

        let server = Server::start().await;
        server.register("ada").await;
        server.anonymous().post("/auth/magic-link", json!({ "email": "ada@example.org" })).await.expect(200);
        let token = server.mails("ada@example.org", 2).await[1].parameter("token");
        server.sql("update users set is_active = 0");
        let credentials = json!({ "email": "ada@example.org", "password": PASSWORD });
        self.call(&server.anonymous(), "POST /auth/login", &[], Some(credentials)).await;
        self.call(&server.anonymous(), "POST /auth/magic-link/verify", &[], Some(json!({ "token": token }))).await;
        server.stop().await;
    }

    pub async fn of_webhooks_without_an_address(&mut self) {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let organisation = ada.organisation("Engines").await;
        let channel = ada.channel(&organisation, "engines", &[]).await;
        let hook = ada.hook(&channel, "http://localhost:9/").await;
        ada.say(&channel, "The engine has arrived").await;
        let attempt = text(&hook.history(1).await[0]["id"]);
        ada.put(&format!("/webhooks/{channel}/{}", hook.id), json!({ "webhook_url": "" })).await.expect(200);
        self.call(&ada, "POST /webhooks/{channel_id}/{webhook_id}/test", &[&channel, &hook.id], None).await;
        let again = "POST /webhooks/{channel_id}/{webhook_id}/history/{history_id}/replay";
        self.call(&ada, again, &[&channel, &hook.id, &attempt], None).await;
        server.stop().await;
    }

    /// A command whose program answers, and answers again.
    pub async fn of_commands(&mut self) {
        let server = receiver::server().await;
        let ada = server.user("ada").await;
        let organisation = ada.organisation("Engines").await;
        let channel = ada.channel(&organisation, "engines", &[]).await;
        let answer = || async { Response::builder().body("Deploying the main branch to production") };
        let mut program = Receiver::answering(move |_| answer()).await;
        let command = json!({ "name": "deploy", "url": program.url });
        ada.post(&format!("/organisations/{organisation}/commands"), command).await.expect(201);
        let called = json!({ "command": "/deploy", "text": "production" });
        self.call(&ada, "POST /channels/{channel_id}/commands", &[&channel], Some(called)).await;
        let url = text(&program.next().await.json()["data"]["response_url"]);
        let token = url.rsplit('/').next().unwrap();
        let later = json!({
            "text": "Deployed in 4 minutes", "response_type": "in_channel",
            "actions": [{ "label": "Undo", "style": "danger", "value": "build 7" }],
        });
        self.call(&server.anonymous(), "POST /commands/answers/{token}", &[token], Some(later)).await;
        let listed = ada.get(&format!("/channels/{channel}/messages?limit=1")).await.expect(200)["messages"][0].take();
        let click = "POST /channels/{channel_id}/messages/{message_id}/actions/{action_id}";
        let ids = [&*channel, &text(&listed["id"]), &text(&listed["actions"][0]["id"])];
        self.call(&ada, click, &ids, Some(json!({}))).await;
        server.stop().await;
    }

    /// A name that was taken while the channel was archived, and a channel with all the pins that it may have.
    pub async fn of_channels(&mut self) {
        let server = Server::start().await;
        let ada = server.user("ada").await;
        let organisation = ada.organisation("Engines").await;
        let channel = ada.channel(&organisation, "engines", &[]).await;
        ada.put(&format!("/channels/{channel}/archive"), json!({ "archived": true })).await.expect(200);
        let other = ada.channel(&organisation, "engines", &[]).await;
        self.call(&ada, "PUT /channels/{channel_id}/archive", &[&channel], Some(json!({ "archived": false }))).await;
        let back = json!({ "channel_id": channel, "archived": false });
        self.call(&ada, "PUT /organisations/{org_id}/archive-channel", &[&organisation], Some(back)).await;
        for _ in 0..=100 {
            let message = ada.say(&other, "The engine has arrived").await;
            let pin = "PUT /channels/{channel_id}/messages/{message_id}/pin";
            self.call(&ada, pin, &[&other, &message], None).await;
        }
        server.stop().await;
    }
}
