//! An office whose server is killed and started again.

use std::{path::PathBuf, sync::Arc, time::Duration};

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use crate::harness::{PASSWORD, Server};

/// Ada has the organisation, Bob and Eve are its members, and Mallory has another one.
pub const PEOPLE: [&str; 4] = ["ada", "bob", "eve", "mallory"];
pub const ADA: usize = 0;
pub const BOB: usize = 1;
pub const EVE: usize = 2;
pub const MALLORY: usize = 3;

pub struct Office {
    pub folder: tempfile::TempDir,
    server: Mutex<Server>,
    origin: watch::Sender<String>,
    http: reqwest::Client,
    tokens: Vec<String>,
    pub bob: String,
    pub organisation: String,
}

impl Office {
    pub async fn open() -> Arc<Office> {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&folder.path().join("data"), &[]);
        let (mut tokens, mut ids) = (Vec::new(), Vec::new());
        for name in PEOPLE {
            let account = json!({ "email": format!("{name}@x.example"), "password": PASSWORD });
            server.post("/auth/register", "", account.clone()).await;
            let session = server.post("/auth/login", "", account).await;
            let [id, token] = [&session["user"]["id"], &session["access_token"]].map(|text| text.as_str().unwrap().to_owned());
            tokens.push(token);
            ids.push(id);
        }
        let made = server.post("/organisations", &tokens[ADA], json!({ "name": "Engines" })).await;
        let organisation = made["id"].as_str().unwrap().to_owned();
        server.post("/organisations", &tokens[MALLORY], json!({ "name": "Looms" })).await;
        let emails = ["bob@x.example", "eve@x.example"];
        let invitation = json!({ "org_id": organisation, "emails": emails, "role": "member" });
        let invited = server.post("/invite", &tokens[ADA], invitation).await;
        for (person, invitation) in [BOB, EVE].into_iter().zip(invited["invitations"].as_array().unwrap()) {
            server.post("/invite/verify", &tokens[person], json!({ "token": invitation["invite_token"] })).await;
        }
        let (origin, http, bob) = (watch::channel(server.url.clone()).0, server.http.clone(), ids.swap_remove(BOB));
        Arc::new(Office { folder, server: Mutex::new(server), origin, http, tokens, bob, organisation })
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Where the server listens now, without the scheme.
    pub fn address(&self) -> String {
        self.origin.borrow().trim_start_matches("http://").to_owned()
    }

    pub fn token(&self, person: usize) -> &str {
        &self.tokens[person]
    }

    pub async fn stop(&self, signal: &str) {
        let mut server = self.server.lock().await;
        server.signal(signal);
        tokio::task::block_in_place(|| server.end());
    }

    pub async fn start(&self) {
        let mut server = self.server.lock().await;
        *server = tokio::task::block_in_place(|| Server::start(&self.data(), &[]));
        self.origin.send_replace(server.url.clone());
    }

    pub async fn restart(&self, signal: &str) {
        self.stop(signal).await;
        self.start().await;
    }

    /// A request to a path of the API or to a whole address; none if the server did not answer, or not with all of its answer.
    pub async fn try_once(
        &self,
        person: usize,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Option<(u16, reqwest::header::HeaderMap, Vec<u8>)> {
        let path = path.find("/api/v1").map_or(path, |at| &path[at + "/api/v1".len()..]);
        let address = format!("{}/api/v1{path}", *self.origin.borrow());
        let request = self.http.request(method, address).bearer_auth(self.token(person));
        let answer: Response = with(request).send().await.ok()?;
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        Some((status, headers, answer.bytes().await.ok()?.to_vec())).filter(|_| status != 503)
    }

    /// The same again and again until a server answers it.
    pub async fn call(
        &self,
        person: usize,
        method: Method,
        path: &str,
        with: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> (u16, reqwest::header::HeaderMap, Vec<u8>) {
        loop {
            if let Some(answer) = self.try_once(person, method.clone(), path, &with).await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await; // a restart tells nobody
        }
    }

    /// The same with JSON.
    pub async fn ask(&self, person: usize, method: Method, path: &str, body: &Value) -> (u16, Value) {
        let (status, _, answer) = self.call(person, method, path, |request| request.json(body)).await;
        (status, serde_json::from_slice(&answer).unwrap_or_default())
    }

    /// The same where only these statuses are right: the second one where an earlier try was done but not answered.
    pub async fn expect(&self, person: usize, method: Method, path: &str, body: Value, right: [u16; 2]) -> Value {
        let (status, answer) = self.ask(person, method.clone(), path, &body).await;
        assert!(right.contains(&status), "{method} {path}: {status} {answer}");
        answer["data"].clone()
    }
}
