//! A client of the API with an identity.

#[path = "reply.rs"]
mod reply;

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tidings::domain::scopes::Scope;

pub use self::reply::Reply;

/// A picture of one pixel by two.
pub const PNG: &[u8] =
    b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x02\x08\x06\x00\x00\x00\x99\x81\xb6'\
      \x00\x00\x00\x11IDATx\xdac\xf8\xcf\xc0\x00D\x0c\xff\xff\x03\x00\x11\xf8\x03\xfd\x08\xed\xb1V\x00\x00\x00\x00IE\
      ND\xaeB`\x82";

/// A client of HTTP without TLS: it reads no certificates, which takes longer than most requests. It leaves a connection before the
/// server closes it after 75 idle seconds, for a request that is sent at that moment would fail.
pub fn plain_http() -> reqwest::Client {
    reqwest::Client::builder().tls_certs_only([]).pool_idle_timeout(Duration::from_secs(60)).build().unwrap()
}

#[derive(Clone)]
pub struct Client {
    pub origin: String,
    pub http: reqwest::Client,
    pub token: Option<String>,
    pub notification_token: String,
    pub user_id: String,
    pub email: String,
    /// Further headers of each request.
    pub headers: Vec<(&'static str, String)>,
}

impl Client {
    /// The same client with the session that a log-in answered.
    pub fn with_session(self, data: &Value) -> Client {
        Client {
            token: Some(text(&data["access_token"])),
            notification_token: text(&data["notification_token"]),
            user_id: text(&data["user"]["id"]),
            email: text(&data["user"]["email"]),
            ..self
        }
    }

    pub fn with_token(&self, token: &str) -> Client {
        Client { token: Some(token.into()), ..self.clone() }
    }

    /// The same client with this header in place of all of its name.
    pub fn with(&self, name: &'static str, value: &str) -> Client {
        let mut client = self.without(name);
        client.headers.push((name, value.to_owned()));
        client
    }

    pub fn without(&self, name: &str) -> Client {
        let mut client = self.clone();
        client.headers.retain(|(have, _)| *have != name);
        client
    }

    /// The same client of another server on the same data.
    pub fn at(&self, origin: &str) -> Client {
        let mut client = Client { origin: origin.to_owned(), ..self.clone() };
        for (name, value) in &mut client.headers {
            if *name == "origin" && *value == self.origin {
                *value = origin.to_owned();
            }
        }
        client
    }

    /// A page of this server in a browser.
    pub fn own_page(&self) -> Client {
        self.with("origin", &self.origin).with("sec-fetch-site", "same-origin")
    }

    /// A page of this server in a browser whose log-in got these cookies.
    pub fn with_cookies(&self, reply: &Reply) -> Client {
        self.own_page().with("cookie", &reply.kept_cookies())
    }

    /// The session's id, from the access token.
    pub fn session_id(&self) -> String {
        use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
        let claims = self.token.as_ref().unwrap().split('.').nth(1).unwrap();
        let claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        text(&claims["sid"])
    }

    /// The name of the client's own stream in an organisation.
    pub fn personal(&self, organisation: &str) -> String {
        format!("{organisation}/{}", self.user_id)
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.call("GET", path, None).await
    }
    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.call("POST", path, Some(body)).await
    }
    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.call("PUT", path, Some(body)).await
    }
    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.call("PATCH", path, Some(body)).await
    }
    pub async fn delete(&self, path: &str) -> Reply {
        self.call("DELETE", path, None).await
    }

    /// Calls an operation, with a JSON body or without a body.
    pub async fn call(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.try_call(method, path, body).await.unwrap_or_else(|err| panic!("{method} {path}: {err:?}"))
    }

    /// [`Client::call`] of a server that may be killed meanwhile. An upload takes an object of names and
    /// contents, or the contents of `files`; a face the text `picture`.
    pub async fn try_call(&self, method: &str, path: &str, body: Option<Value>) -> reqwest::Result<Reply> {
        let request = self.request(method, &format!("/api/v1{path}"));
        let request = match &body {
            Some(Value::Object(files)) if path.starts_with("/files/upload-files") => {
                let mut sent: Vec<(&str, &[u8])> = Vec::new();
                for (name, value) in files {
                    match value {
                        Value::Array(several) => sent.extend(several.iter().map(|content| ("notes.txt", bytes(content)))),
                        one => sent.push((name, bytes(one))),
                    }
                }
                form(request, &sent)
            }
            Some(Value::String(picture)) if path.ends_with("/avatar") || path.ends_with("/logo") => {
                request.body(if picture == "picture" { PNG.to_vec() } else { picture.clone().into_bytes() })
            }
            Some(body) => request.json(body),
            None => request,
        };
        let sent = body.map_or_else(String::new, |body| body.to_string());
        Reply::try_of(request, &format!("{method} {path}"), &sent).await
    }

    /// Calls an operation with this text as the body, declared to be JSON.
    pub async fn call_text(&self, method: &str, path: &str, body: &str) -> Reply {
        let request = self.request(method, &format!("/api/v1{path}")).header("content-type", "application/json");
        Reply::of(request.body(body.to_owned()), &format!("{method} {path}"), body).await
    }

    /// A request for the caller to finish; `path` is the whole path.
    pub fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), format!("{}{path}", self.origin));
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

/// Files.
impl Client {
    /// Uploads files with these names and contents.
    pub async fn upload(&self, files: &[(&str, &[u8])]) -> Reply {
        let path = "/api/v1/files/upload-files";
        Reply::of(form(self.request("POST", path), files), &format!("POST {path}"), "").await
    }

    /// Uploads one file; gives its id.
    pub async fn upload_one(&self, name: &str, content: &[u8]) -> String {
        text(&self.upload(&[(name, content)]).await.data(200, "Files uploaded successfully")[0]["id"])
    }

    /// Opens a file, with these further headers.
    pub async fn open(&self, id: &str, headers: &[(&str, &str)]) -> reqwest::Response {
        let request = self.request("GET", &format!("/api/v1/files/{id}/name"));
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)).send().await.unwrap()
    }
}

fn bytes(content: &Value) -> &[u8] {
    content.as_str().unwrap_or_default().as_bytes()
}

/// A request with files in a form (RFC 7578).
pub fn form(request: reqwest::RequestBuilder, files: &[(&str, &[u8])]) -> reqwest::RequestBuilder {
    const BOUNDARY: &str = "-boundary-of-the-tests-";
    let mut body = Vec::new();
    for (name, content) in files {
        let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"files\"; filename=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
    request.header("content-type", format!("multipart/form-data; boundary={BOUNDARY}")).body(body)
}

/// Steps that many tests take, each through the API.
impl Client {
    pub async fn organisation(&self, name: &str) -> String {
        text(&self.post("/organisations", json!({ "name": name })).await.expect(201)["data"]["id"])
    }

    /// A program with a new token of this user.
    pub async fn program(&self, token: Value) -> Client {
        let made = self.post(&format!("/users/{}/tokens", self.user_id), token).await.data(201, "Token created successfully");
        self.with_token(&text(&made["token"]))
    }

    /// The program of a bot that this user makes, which has all scopes.
    pub async fn bot(&self, organisation: &str, role: &str) -> Client {
        let body = json!({ "name": "Helper", "role": role });
        let made = self.post(&format!("/organisations/{organisation}/bots"), body).await.expect(201);
        let all: Vec<_> = Scope::ALL.into_iter().map(Scope::as_str).collect();
        let token = json!({ "name": "ci", "scopes": all });
        let made = self.post(&format!("/users/{}/tokens", text(&made["data"]["id"])), token).await.expect(201);
        self.with_token(&text(&made["data"]["token"]))
    }

    /// Invites an address; gives the token that the inviter is shown.
    pub async fn invite(&self, organisation: &str, email: &str, role: &str) -> String {
        let body = json!({ "org_id": organisation, "emails": [email], "role": role });
        let data = self.post("/invite", body).await.data(201, "Invitations created successfully");
        assert_eq!(data["errors"], json!([]));
        text(&data["invitations"][0]["invite_token"])
    }

    /// A public channel with these other members.
    pub async fn channel(&self, organisation: &str, name: &str, others: &[&Client]) -> String {
        self.channel_with(json!({ "organisation_id": organisation, "name": name, "userIds": ids(others) })).await
    }

    pub async fn private_channel(&self, organisation: &str, name: &str, others: &[&Client]) -> String {
        let body = json!({ "organisation_id": organisation, "name": name, "userIds": ids(others), "is_private": true });
        self.channel_with(body).await
    }

    async fn channel_with(&self, body: Value) -> String {
        text(&self.post("/channels", body).await.expect(201)["data"]["id"])
    }

    /// The channel that the organisation began with.
    pub async fn general(&self, organisation: &str) -> String {
        let body = self.get(&format!("/organisations/{organisation}/channels")).await.expect(200);
        let channels = body["channels"].as_array().unwrap();
        text(&channels.iter().find(|channel| channel["name"] == "general").expect("a channel `general`")["channels_id"])
    }

    /// Posts a top-level message; gives its id.
    pub async fn say(&self, channel: &str, content: &str) -> String {
        let reply = self.post(&format!("/channels/{channel}/messages"), json!({ "content": content })).await;
        text(&reply.expect(201)["data"]["id"])
    }

    /// Replies in a thread; gives the reply's id.
    pub async fn reply(&self, channel: &str, thread: &str, content: &str) -> String {
        let body = json!({ "content": content, "thread_id": thread });
        text(&self.post(&format!("/channels/{channel}/messages"), body).await.expect(201)["data"]["id"])
    }

    /// Makes a webhook; gives it as it was answered.
    pub async fn webhook(&self, channel: &str, name: &str) -> Value {
        let reply = self.post(&format!("/webhooks/{channel}"), json!({ "webhook_name": name })).await;
        reply.data(201, "Webhook created successfully")
    }

    pub async fn subscription_token(&self, channel: &str) -> String {
        let reply = self.post("/token/subscription", json!({ "channel": channel })).await;
        text(&reply.data(200, "Subscription token generated successfully")["token"])
    }

    pub async fn connection_token(&self) -> String {
        text(&self.get("/token/connection").await.data(200, "Connection token retrieved successfully")["token"])
    }
}

fn ids(clients: &[&Client]) -> Vec<String> {
    clients.iter().map(|client| client.user_id.clone()).collect()
}

#[track_caller]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("not a string: {value}")).to_owned()
}
