//! An organisation with something of everything.

use std::{io::Cursor, path::Path};

use image::{ImageFormat, Rgb, RgbImage};
use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Admin, PASSWORD, Server};

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    let image = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, 90]));
    image.write_to(&mut file, ImageFormat::Png).unwrap();
    file.into_inner()
}

/// The organisation Engines of Ada, with Grace and others.
pub struct Scene {
    pub organisation: String,
    /// Access tokens.
    pub ada: String,
    pub grace: String,
    pub id_of_ada: String,
    /// The path of the channel that both are in.
    pub dev: String,
    /// The direct message of both.
    pub direct: String,
}

impl Scene {
    pub async fn make(server: &Server, folder: &Path) -> Scene {
        let admin = Admin(folder);
        let (ada, dev) = server.poster().await;
        let (_, channel) = server.call(Method::GET, &dev, &ada, json!({})).await.unwrap();
        let (organisation, id_of_ada) = (text(&channel["data"]["organisation_id"]), text(&channel["data"]["owner_id"]));
        let (grace, linus) = (join(server, &admin, "grace").await, join(server, &admin, "linus").await);
        join(server, &admin, "gone").await;
        join(server, &admin, "disabled").await;
        for (token, channel) in [(&grace, &dev), (&linus, &dev)] {
            server.post(&format!("{channel}/join"), token, json!({})).await;
        }
        let scene = Scene { organisation, ada, grace, id_of_ada, dev, direct: String::new() };
        scene.talk(server, &linus).await;
        let direct = scene.channels(server).await;
        scene.pictures(server, &direct).await;
        let of = ["--organisation", "engines", "--name", "Build server", "--description", "Says what was built"];
        admin.print(&[&["bot", "create"][..], &of].concat());
        let token = ["--bot", "build-server", "--name", "ci", "--scope", "post", "--scope", "channels"];
        let token = admin.print(&[&["bot", "token", "create"][..], &token].concat());
        for (path, body) in [("join", json!({})), ("messages", json!({ "content": "Build 7 passed" }))] {
            server.post(&format!("{}/{path}", scene.dev), token.trim(), body).await;
        }
        admin.print(&["user", "delete", "--email", "linus@x.example"]);
        admin.print(&["user", "disable", "--email", "disabled@x.example"]);
        Scene { direct, ..scene }
    }

    /// Threads, reactions, edits, deletions, mentions and pins.
    async fn talk(&self, server: &Server, linus: &str) {
        let Scene { ada, grace, dev, .. } = self;
        let say = async |token: &str, content: &str, thread: Option<&str>| {
            let body = json!({ "content": content, "thread_id": thread });
            text(&server.post(&format!("{dev}/messages"), token, body).await["id"])
        };
        let done = async |method: Method, path: &str, token: &str, body: Value| {
            let (status, reply) = server.call(method, &format!("{dev}{path}"), token, body).await.unwrap();
            assert!(status < 300, "{path}: {status} {reply}");
        };
        let post = say(ada, "the difference engine", None).await;
        let reply = say(grace, "@ada and @gone: look", Some(&post)).await;
        say(linus, "what Linus wrote", Some(&post)).await;
        for (token, emoji) in [(ada, "%F0%9F%8E%89"), (grace, "%F0%9F%8E%89"), (grace, ":shipit:")] {
            done(Method::PUT, &format!("/messages/{post}/reactions/{emoji}"), token, json!({})).await;
        }
        done(Method::PUT, "/messages", grace, json!({ "content": "@ada: look again", "message_id": reply })).await;
        done(Method::PUT, &format!("/messages/{reply}/pin"), ada, json!({})).await;
        let deleted = say(ada, "a mistake", None).await;
        let answer = say(grace, "an answer to a mistake", Some(&deleted)).await;
        let late = say(grace, "a second answer", Some(&deleted)).await;
        for gone in [&deleted, &late] {
            done(Method::DELETE, &format!("/messages/{gone}"), if gone == &deleted { ada } else { grace }, json!({})).await;
        }
        assert_ne!(answer, late);
        say(ada, "@channel a meeting", None).await;
        say(ada, "with @grace", Some(&post)).await;
        done(Method::PUT, "/read", grace, json!({})).await; // up to a reply, which mentions her
        say(ada, "@grace, one more", None).await;
    }

    /// Files in a direct message, of which two have the same content; a face and a logo.
    async fn pictures(&self, server: &Server, direct: &str) {
        let ada = &self.ada;
        let photo = text(&server.upload_bytes(ada, "photo.png", &png(900, 400)).await.unwrap()["id"]);
        let [plan, copy] = [server.upload(ada, "plan.txt", "The plan").await, server.upload(ada, "copy.txt", "The plan").await];
        let described = json!([{ "id": photo, "description": "The engine" }, { "id": plan }]);
        for body in [json!({ "content": "", "media": described }), json!({ "content": "again", "files": [copy] })] {
            server.post(&format!("/channels/{direct}/messages"), ada, body).await;
        }
        for path in ["/profile/avatar".to_owned(), format!("/organisations/{}/logo", self.organisation)] {
            let request = server.http.put(format!("{}/api/v1{path}", server.url)).bearer_auth(ada);
            let reply = request.header("content-type", "application/octet-stream").body(png(300, 300)).send().await.unwrap();
            assert_eq!(reply.status(), 200, "{path}");
        }
    }

    /// A private channel, an archived one, a direct message, a role and a webhook. Returns the direct message.
    async fn channels(&self, server: &Server) -> String {
        let Scene { organisation, ada, grace, id_of_ada, dev, .. } = self;
        let (_, profile) = server.call(Method::GET, "/profile", grace, json!({})).await.unwrap();
        let id_of_grace = profile["data"]["id"].as_str().or(profile["data"]["user"]["id"].as_str()).unwrap().to_owned();
        let make = async |name: &str, is_private: bool| {
            let body =
                json!({ "name": name, "organisation_id": organisation, "is_private": is_private, "userIds": [id_of_grace] });
            format!("/channels/{}", text(&server.post("/channels", ada, body).await["id"]))
        };
        let (secret, old) = (make("secret", true).await, make("old", false).await);
        server.post(&format!("{secret}/messages"), grace, json!({ "content": "between us" })).await;
        let archived = server.call(Method::PUT, &format!("{old}/archive"), ada, json!({ "archived": true })).await.unwrap();
        assert_eq!(archived.0, 200, "{archived:?}");
        let opened = server.post(&format!("/organisations/{organisation}/dms"), grace, json!({ "user_ids": [id_of_ada] })).await;
        let direct = opened["id"].as_str().or(opened["channel_id"].as_str()).unwrap().to_owned();
        server.post(&format!("/channels/{direct}/messages"), grace, json!({ "content": "hello Ada" })).await;
        let events = ["message.created", "message.deleted"];
        let body = json!({ "webhook_name": "builds", "webhook_url": "https://hooks.example/in?token=receivers-secret", "events": events, "trigger_words": ["Build"] });
        let webhook = server.post(&dev.replace("/channels", "/webhooks"), ada, body).await;
        let feed = format!("{}/api/v1/webhooks/feed/{}", server.url, text(&webhook["webhook_slug"]));
        let fed = json!({ "message": "build 7 failed", "username": "ci", "event_name": "build", "status": "error" });
        assert_eq!(server.http.post(feed).json(&fed).send().await.unwrap().status(), 200);
        let role = json!({ "name": "writer", "description": "Writes", "permission_list": { "post:messages": true } });
        server.post(&format!("/organisations/{organisation}/roles"), ada, role).await;
        direct
    }
}

/// A new member of Engines: their access token.
async fn join(server: &Server, admin: &Admin<'_>, name: &str) -> String {
    let email = format!("{name}@x.example");
    server.post("/auth/register", "", json!({ "email": email, "password": PASSWORD, "username": name })).await;
    let link = admin.print(&["invite", "link", "--organisation", "engines", "--email", &email]);
    let token = server.log_in(&email).await.unwrap();
    let invitation = link.trim_end().rsplit_once("invitation_token=").unwrap().1;
    server.post("/invite/verify", &token, json!({ "token": invitation })).await;
    token
}
