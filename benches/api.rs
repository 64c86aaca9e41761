//! What the benches say to the server.

use std::time::Duration;

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::sleep;

pub const PASSWORD: &str = "correct horse battery";

#[derive(Clone)]
pub struct Api {
    pub url: String,
    pub http: Client,
    pub token: String,
}

impl Api {
    pub fn new(url: String) -> Api {
        _ = rustls::crypto::ring::default_provider().install_default(); // the client asks for one
        Api { url, http: Client::new(), token: String::new() }
    }

    /// Makes an account and logs in.
    pub async fn person(&self, name: &str) -> Api {
        let account = json!({ "email": format!("{name}@x.example"), "password": PASSWORD });
        self.call(Method::POST, "/auth/register", account.clone()).await;
        let data = self.call(Method::POST, "/auth/login", account).await["data"].take();
        Api { token: text(&data["access_token"]), ..self.clone() }
    }

    /// Makes an organisation with a channel; gives the ids of both.
    pub async fn place(&self) -> (String, String) {
        let organisation = text(&self.call(Method::POST, "/organisations", json!({ "name": "Engines" })).await["data"]["id"]);
        let channel = json!({ "name": "dev", "organisation_id": organisation });
        let channel = text(&self.call(Method::POST, "/channels", channel).await["data"]["id"]);
        (organisation, channel)
    }

    /// The raw client's first message, which subscribes to these channels.
    pub async fn connect(&self, channels: &[&str]) -> String {
        let token = self.call(Method::GET, "/token/connection", Value::Null).await["data"]["token"].take();
        let mut subs = json!({});
        for channel in channels {
            let asked = self.call(Method::POST, "/token/subscription", json!({ "channel": channel })).await;
            subs[channel] = json!({ "token": asked["data"]["token"] });
        }
        json!({ "connect": { "token": token, "subs": subs } }).to_string()
    }

    /// Null for an empty answer. Waits where a rate is used up.
    pub async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let reply = loop {
            let request = self.http.request(method.clone(), format!("{}/api/v1{path}", self.url)).bearer_auth(&self.token);
            let reply = if body.is_null() { request } else { request.json(&body) }.send().await.unwrap();
            if reply.status() != StatusCode::TOO_MANY_REQUESTS {
                break reply;
            }
            sleep(Duration::from_millis(500)).await;
        };
        let (status, answer) = (reply.status(), reply.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status}: {answer}");
        if answer.is_empty() { Value::Null } else { serde_json::from_str(&answer).unwrap() }
    }
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
