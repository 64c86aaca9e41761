//! A server with Ada, who has an organisation with two channels.

use std::{net::TcpListener, time::Duration};

use centrifuge::{Client, ClientBuilder, Protocol, ProxyConfig, SubscriptionBuilder};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::listening::Connection;
use crate::harness::{PASSWORD, Server, tidings};

/// A user who asks for tokens.
#[derive(Clone)]
pub struct Person {
    http: reqwest::Client,
    api: String,
    pub id: String,
    pub bearer: String,
}

impl Person {
    async fn ask(&self, method: Method, path: &str, body: Value) -> Result<String, u16> {
        let request = self.http.request(method, format!("{}{path}", self.api)).bearer_auth(&self.bearer).json(&body);
        let reply = request.send().await.unwrap();
        let status = reply.status().as_u16();
        let body: Value = reply.json().await.unwrap();
        body["data"]["token"].as_str().map(str::to_owned).ok_or(status)
    }

    pub async fn connection_token(&self) -> String {
        self.ask(Method::GET, "/token/connection", json!({})).await.unwrap()
    }

    pub async fn subscription_token(&self, channel: &str) -> Result<String, u16> {
        self.ask(Method::POST, "/token/subscription", json!({ "channel": channel })).await
    }
}

pub struct Harbour {
    pub server: Server,
    pub port: u16,
    pub ada: Person,
    pub quay: String,
    pub pier: String,
    protocol: Protocol,
    folder: TempDir,
}

impl Harbour {
    pub async fn open(protocol: Protocol, settings: &[&str]) -> Harbour {
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = launch(&folder, port, settings);
        let ada = register(&server, "ada").await;
        let organisation = server.post("/organisations", &ada.bearer, json!({ "name": "Harbour" })).await;
        let mut channels = Vec::new();
        for name in ["quay", "pier"] {
            let body = json!({ "name": name, "organisation_id": organisation["id"] });
            channels.push(server.post("/channels", &ada.bearer, body).await["id"].as_str().unwrap().to_owned());
        }
        let [quay, pier] = channels.try_into().unwrap();
        Harbour { server, port, ada, quay, pier, protocol, folder }
    }

    /// Ends the server, and launches it again on the same folder and port.
    pub fn relaunch(&mut self, signal: &str) {
        self.server.signal(signal);
        tokio::task::block_in_place(|| self.server.end());
        self.server = launch(&self.folder, self.port, &[]);
    }

    pub async fn person(&self, name: &str) -> Person {
        register(&self.server, name).await
    }

    /// Posts the texts one after the other.
    pub async fn say(&self, channel: &str, texts: &[&str]) {
        for text in texts {
            self.server.post(&format!("/channels/{channel}/messages"), &self.ada.bearer, json!({ "content": text })).await;
        }
    }

    /// A client that comes back soon, since every test waits for it.
    pub fn client(&self, port: u16, person: &Person) -> ClientBuilder {
        let person = person.clone();
        Client::builder(format!("ws://127.0.0.1:{port}/connection/websocket"))
            .protocol(self.protocol)
            .proxy(ProxyConfig::None)
            .min_reconnect_delay(Duration::from_millis(10))
            .max_reconnect_delay(Duration::from_millis(100))
            .get_token(move |_| {
                let person = person.clone();
                async move { Ok(Some(person.connection_token().await)) }
            })
    }

    /// A subscription with Ada's tokens.
    pub fn subscription(&self, connection: &Connection, channel: &str) -> SubscriptionBuilder {
        let ada = self.ada.clone();
        connection.client.new_subscription(channel).get_token(move |asked| {
            let ada = ada.clone();
            async move { Ok(ada.subscription_token(&asked.channel).await.unwrap()) }
        })
    }

    pub async fn connect(&self) -> Connection {
        Connection::open(self.client(self.port, &self.ada)).await
    }
}

fn launch(folder: &TempDir, port: u16, settings: &[&str]) -> Server {
    let (folder, listen) = (folder.path().to_str().unwrap(), format!("127.0.0.1:{port}"));
    let mut command = tidings(&["serve", "--listen", &listen, "--rate-limit", "off", "--log", "error", "--data-dir", folder]);
    Server::spawn(command.args(settings))
}

async fn register(server: &Server, name: &str) -> Person {
    let account = json!({ "email": format!("{name}@x.example"), "password": PASSWORD });
    server.post("/auth/register", "", account.clone()).await;
    let session = server.post("/auth/login", "", account).await;
    let [id, bearer] = [&session["user"]["id"], &session["access_token"]].map(|text| text.as_str().unwrap().to_owned());
    Person { http: server.http.clone(), api: format!("{}/api/v1", server.url), id, bearer }
}
