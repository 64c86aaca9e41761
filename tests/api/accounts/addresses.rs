//! Addresses that people give, and that other people's clients open or show: http and https only, in every field.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server, text, unknown_id},
    operations::{document, operations},
};

/// Every field of a request that takes an address, with the status of a bad one.
const FIELDS: &[(&str, &str, u16)] = &[
    ("POST /organisations", "logo_url", 400),
    ("PUT /organisations/{org_id}", "logo_url", 400),
    ("PATCH /profile", "avatar_url", 422),
    ("POST /organisations/{org_id}/bots", "avatar_url", 422),
    ("PATCH /organisations/{org_id}/bots/{bot_id}", "avatar_url", 422),
    ("POST /organisations/{org_id}/bots", "url", 422),
    ("PATCH /organisations/{org_id}/bots/{bot_id}", "url", 422),
    ("POST /organisations/{org_id}/commands", "url", 422),
    ("PATCH /organisations/{org_id}/commands/{command_id}", "url", 422),
    ("POST /blogs", "image_url", 400),
    ("POST /webhooks/{channel_id}", "webhook_url", 422),
    ("PUT /webhooks/{channel_id}/{webhook_id}", "webhook_url", 422),
    ("POST /webhooks/feed/{webhook_slug}", "avatar_url", 422),
    ("GET /webhooks/feed/{webhook_slug}", "avatar_url", 422),
    ("POST /webhooks/feed/backend-queue", "avatar_url", 422),
];

struct Scene {
    _server: Server,
    root: Client,
    organisation: String,
    channel: String,
    category: String,
    bot: String,
    command: String,
    webhook: Value,
}

impl Scene {
    async fn new() -> Scene {
        let server = Server::start().await;
        let root = server.superadmin("root").await;
        let organisation = root.organisation("Engines").await;
        let channel = root.general(&organisation).await;
        let made = root.post("/blog_categories", json!({ "name": "Engines" })).await.expect(201);
        let category = text(&made["data"]["id"]);
        let bots = format!("/organisations/{organisation}/bots");
        let bot = text(&root.post(&bots, json!({ "name": "Builds" })).await.expect(201)["data"]["id"]);
        let commands = format!("/organisations/{organisation}/commands");
        let command = root.post(&commands, json!({ "name": "deploy", "url": "https://x.example/" })).await.expect(201);
        let command = text(&command["data"]["id"]);
        let webhook = root.webhook(&channel, "builds").await;
        Scene { _server: server, root, organisation, channel, category, bot, command, webhook }
    }

    /// Sends a request that only the address can be wrong with.
    async fn send(&self, operation: &str, field: &str, address: &str) -> Reply {
        let feed = json!({ "message": "main is green" });
        let mut body = match operation {
            "POST /organisations" => json!({ "name": "Engines" }),
            "POST /organisations/{org_id}/bots" => json!({ "name": "Builds" }),
            "POST /organisations/{org_id}/commands" => json!({ "name": unknown_id()[24..] }),
            "POST /blogs" => json!({ "content": "Text", "category_id": self.category }),
            "POST /webhooks/{channel_id}" => json!({ "webhook_name": "mirror" }),
            "POST /webhooks/feed/{webhook_slug}" => feed,
            "POST /webhooks/feed/backend-queue" => json!({ "message": "main is green", "channel_id": self.channel }),
            _ => json!({}),
        };
        body[field] = address.into();
        let (method, path) = operation.split_once(' ').unwrap();
        let path = path
            .replace("{org_id}", &self.organisation)
            .replace("{channel_id}", &self.channel)
            .replace("{bot_id}", &self.bot)
            .replace("{command_id}", &self.command)
            .replace("{webhook_id}", &text(&self.webhook["id"]))
            .replace("{webhook_slug}", &text(&self.webhook["webhook_slug"]));
        if method != "GET" {
            return self.root.call(method, &path, Some(body)).await;
        }
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs([("username", "ci"), ("event_name", "build"), ("message", "green"), ("status", "success")]);
        query.append_pair(field, address);
        self.root.get(&format!("{path}?{}", query.finish())).await
    }
}

#[tokio::test]
async fn every_field_of_an_address_takes_http_and_https_only() {
    let scene = Scene::new().await;
    for &(operation, field, status) in FIELDS {
        for address in [
            "javascript:alert(1)",
            " JavaScript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "ftp://x.example/a.png",
            "file:///etc/passwd",
            "//x.example/a.png",
            "picture",
            "https://ada:secret@x.example/a.png",
            "https://x.example/a\nb.png",
            &format!("https://x.example/{}", "a".repeat(2001 - "https://x.example/".len())),
        ] {
            let reply = scene.send(operation, field, address).await;
            assert_eq!(reply.status, status, "{operation} {field} {address}: {}", reply.body);
        }
        for address in ["http://x.example/a.png", &format!("https://x.example/{}", "a".repeat(2000 - "https://x.example/".len()))]
        {
            let reply = scene.send(operation, field, address).await;
            assert!(reply.status < 300, "{operation} {field} {address}: {} {}", reply.status, reply.body);
        }
    }
}

/// The table above has every field of the document that is named as an address.
#[tokio::test]
async fn the_test_covers_every_field_that_is_an_address() {
    let server = Server::start().await;
    let schemas = document(&server).await["components"]["schemas"].take();
    let mut found = BTreeSet::new();
    for operation in operations(&server).await {
        let content = operation.document["requestBody"]["content"].as_object().into_iter().flatten();
        let names = content.filter_map(|(_, content)| content["schema"]["$ref"].as_str());
        let fields = names.flat_map(|name| {
            schemas[name.rsplit('/').next().unwrap()]["properties"].as_object().into_iter().flat_map(|fields| fields.keys())
        });
        let parameters = operation.document["parameters"].as_array().into_iter().flatten();
        let parameters = parameters.filter_map(|parameter| parameter["name"].as_str()).map(str::to_owned);
        for field in fields.cloned().chain(parameters).filter(|field| field.to_lowercase().ends_with("url")) {
            found.insert((operation.name(), field));
        }
    }
    let listed: BTreeSet<_> = FIELDS.iter().map(|(operation, field, _)| ((*operation).to_owned(), (*field).to_owned())).collect();
    assert_eq!(found, listed);
}
