//! An organisation with one of everything and callers of every kind, made once and copied for each use.

use serde_json::{Value, json};
use tempfile::TempDir;
use tidings::{config::OrganisationsBy, domain::scopes::Scope};

use crate::{
    harness::{Client, Reply, Server, text},
    names::Names,
    operations::Operation,
};

/// The kinds of callers.
pub const CALLERS: [&str; 10] =
    ["anonymous", "outsider", "removed", "deactivated", "guest", "member", "insider", "admin", "owner", "superadmin"];
pub const GUEST: usize = 4;
pub const MEMBER: usize = 5;
pub const ADMIN: usize = 7;
pub const OWNER: usize = 8;

/// Callers with tokens of the owner.
pub struct Programs {
    /// With all scopes.
    pub all: Client,
    /// With all scopes but one, which stands beside it.
    pub but: Vec<(Scope, Client)>,
    /// With all scopes, in `<channel>` only.
    pub here: Client,
    /// With all scopes, in another channel only.
    pub elsewhere: Client,
}

impl Programs {
    async fn of(owner: &Client, here: &str, elsewhere: &str) -> Programs {
        let with = async |scopes: Vec<Scope>, channels: Value| {
            let scopes: Vec<_> = scopes.into_iter().map(Scope::as_str).collect();
            owner.program(json!({ "name": "program", "scopes": scopes, "channels": channels })).await
        };
        let mut but = Vec::new();
        for scope in Scope::ALL {
            but.push((scope, with(Scope::ALL.into_iter().filter(|other| *other != scope).collect(), Value::Null).await));
        }
        Programs {
            all: with(Scope::ALL.to_vec(), Value::Null).await,
            but,
            here: with(Scope::ALL.to_vec(), json!([here])).await,
            elsewhere: with(Scope::ALL.to_vec(), json!([elsewhere])).await,
        }
    }
}

/// An organisation with one of everything, and one caller of each kind; and another organisation beside it.
/// Made once, and copied for each call, so that no call meets the traces of another.
pub struct Scene {
    pub folder: TempDir,
    /// The callers, in the order of [`CALLERS`].
    pub callers: Vec<Client>,
    /// The owner, by the cookie of a browser.
    pub browser: Client,
    /// The owner's programs.
    pub programs: Programs,
    /// The values of the names in the table: `<org>`, `<channel>`, …
    own: Vec<(&'static str, String)>,
    /// The values of the names in the other organisation.
    pub foreign: Vec<(&'static str, String)>,
    /// The channel and message of a private channel of the organisation, which only the owner is in.
    pub private: Vec<(&'static str, String)>,
    /// The values of the names for a direct message.
    pub direct: Vec<(&'static str, String)>,
}

impl Scene {
    pub async fn make() -> Scene {
        let server = Server::start().await;
        let owner = server.user("owner").await;
        let org = owner.organisation("Engine Works").await;
        let mut of_role = Vec::new();
        for (name, role) in [
            ("removed", "member"),
            ("deactivated", "member"),
            ("guest", "guest"),
            ("member", "member"),
            ("insider", "member"),
            ("admin", "admin"),
            ("target", "member"),
        ] {
            of_role.push(server.member(&owner, &org, name, role).await);
        }
        let [removed, deactivated, guest, member, insider, admin, target] = of_role.try_into().ok().unwrap();
        let own = world(&owner, "engines", &insider, &target, &org, &[&removed, &deactivated]).await;
        // Copies of the scene don't try again, which would change the history at any moment.
        server.sql("update deliveries set due_at = null");
        let id = |client: &Client| format!("/organisations/{org}/users/{}", client.user_id);
        owner.delete(&id(&removed)).await.expect(200);
        owner.put(&id(&deactivated), json!({ "status": "deactivated" })).await.expect(200);

        let outsider = server.user("outsider").await;
        let other = outsider.organisation("Loom Works").await;
        let stranger = server.member(&outsider, &other, "stranger", "member").await;
        let foreign = world(&outsider, "looms", &stranger, &stranger, &other, &[]).await;

        let private = owner.private_channel(&org, "secrets", &[]).await;
        let private = room(&owner, private).await;
        let body = json!({ "user_ids": [target.user_id] });
        let direct = owner.post(&format!("/organisations/{org}/dms"), body).await.expect(201)["data"]["channels_id"].take();
        let direct = room(&owner, text(&direct)).await;

        let programs = Programs::of(&owner, value_of(&own, "channel"), value_of(&private, "channel")).await;
        let superadmin = server.superadmin("superadmin").await;
        let mut own = own;
        own.push(("newcomer", outsider.user_id.clone()));
        own.push(("peer", member.user_id.clone()));
        own.push(("dismissed", deactivated.user_id.clone()));
        for (name, value) in public_content(&superadmin).await {
            own.push((name, value));
        }
        own.push(("owner", owner.user_id.clone()));
        let callers = vec![server.anonymous(), outsider, removed, deactivated, guest, member, insider, admin, owner, superadmin];
        let browser = server.anonymous().with_cookies(&server.log_in_by_cookie("owner").await);
        let folder = server.end_and_keep().await;
        Scene { folder, callers, browser, programs, own, foreign, private, direct }
    }

    /// A server on a copy of the scene, where members create organisations; the callers' sessions are good there.
    pub async fn server(&self) -> Server {
        Server::on_copy_of(self.folder.path(), |settings| settings.organisations_by = Some(OrganisationsBy::Members)).await
    }

    /// The scene with what was done on a server of it, which has ended and left this folder.
    pub fn gone_on(self, folder: TempDir) -> Scene {
        Scene { folder, ..self }
    }

    pub fn named(&self, name: &str) -> &str {
        value_of(&self.own, name)
    }

    /// The path with the scene's identifiers in the places of its parameters; a query may name them, too.
    pub fn path(&self, method: &str, template: &str) -> String {
        let (template, query) = template.split_once('?').unwrap_or((template, ""));
        let names = parameters(method, template);
        let mut names = names.iter();
        let filled = template.split('/').map(|segment| match segment.starts_with('{') {
            true => self.named(names.next().unwrap()),
            false => segment,
        });
        let path = filled.collect::<Vec<_>>().join("/");
        let query = match (query, template) {
            // What a query must have, where anything is required.
            ("", "/channels/{channel_id}/user-exist") => "userId=<user>",
            ("", "/webhooks/feed/{webhook_slug}") => "username=bot&event_name=build&message=done&status=success",
            ("", "/organisations/{org_id}/search") => "q=engine",
            ("", "/organisations/{org_id}/load-org-info") => "invitation_token=<invitation_token>",
            ("", _) => return path,
            (query, _) => query,
        };
        format!("{path}?{}", self.filled(query))
    }

    pub fn body(&self, template: &str) -> Option<Value> {
        let filled = self.filled(template);
        (!filled.is_empty()).then(|| serde_json::from_str(&filled).unwrap_or_else(|err| panic!("{filled}: {err}")))
    }

    /// The scene's own identifiers, which are the same in each recording.
    pub fn names(&self) -> Names {
        let callers = CALLERS.into_iter().zip(&self.callers).map(|(kind, caller)| (kind, &*caller.user_id));
        Names::of(self.own.iter().map(|(name, value)| (*name, &**value)).chain(callers))
    }

    pub fn filled(&self, template: &str) -> String {
        self.own.iter().fold(template.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value))
    }
}

pub fn value_of<'a>(names: &'a [(&'static str, String)], name: &str) -> &'a str {
    let found = names.iter().find(|(known, _)| *known == name);
    &found.unwrap_or_else(|| panic!("the scene has no {name}")).1
}

/// Which thing of the scene each parameter of an operation's path names.
fn parameters(method: &str, template: &str) -> Vec<&'static str> {
    let segments: Vec<_> = template.split('/').collect();
    let kinds = segments.iter().enumerate().filter(|(_, segment)| segment.starts_with('{'));
    kinds
        .map(|(at, segment)| match (segments[at - 1], *segment) {
            ("organisations", _) => "org",
            ("slug" | "switch-org", _) => "org_slug",
            ("channels", _) => "channel",
            ("name", _) => "channel_name",
            ("messages", _) if template.contains("/actions/") => "asked",
            ("messages", _) => "message",
            ("files" | "file", "{file_id}") => "file",
            (_, "{file_name}") => "file_name",
            ("faces", _) => "face",
            ("actions", _) => "action",
            ("threads", "{id}") if method != "POST" => "thread",
            ("threads", "{id}" | "{channel_id}") => "channel",
            ("threads", _) => "thread",
            // Nobody makes a token for another.
            ("users", _) if method == "POST" && template.ends_with("/tokens") => "owner",
            ("users", _) => "user",
            ("tokens", _) => "token",
            ("roles", _) => "role",
            ("reactions" | "pin", "{channel_id}") => "channel",
            ("thread" | "message", _) => "message",
            ("reactions", _) => "emoji",
            ("invite", _) => "invitation",
            ("join-links", _) => "join_link",
            ("bots", _) => "bot",
            ("commands", _) => "command",
            ("reminders", _) => "reminder",
            ("answers", _) => "answer_token",
            ("feed", _) => "slug",
            ("history", "{history_id}") => "attempt",
            ("history", _) => "webhook",
            ("webhooks", _) => "channel",
            ("blogs", _) => "blog",
            ("blog_categories", _) => "category",
            (_, "{webhook_id}") => "webhook",
            _ => panic!("what does {segment} of {template} name?"),
        })
        .collect()
}

/// A channel with a message and a webhook, an invitation and a role of the organisation's own.
async fn world(
    owner: &Client,
    name: &str,
    insider: &Client,
    target: &Client,
    org: &str,
    more: &[&Client],
) -> Vec<(&'static str, String)> {
    let mut members = vec![insider];
    if target.user_id != insider.user_id {
        members.push(target);
    }
    members.extend(more);
    let channel = owner.channel(org, name, &members).await;
    // Allowed as a name, and refused at each attempt: it is this machine's own.
    let body =
        json!({ "webhook_name": "out", "webhook_url": "http://localhost:9/", "events": ["message.created", "action.clicked"] });
    let hook = owner.hook_with(&channel, body).await;
    let file = insider.upload_one("engine.txt", b"A drawing of the engine\n").await;
    let arrival = json!({ "content": "The engine has arrived", "files": [file] });
    let message = insider.post(&format!("/channels/{channel}/messages"), arrival).await.expect(201)["data"]["id"].take();
    let message = text(&message);
    let attempt = text(&hook.history(1).await[0]["id"]);
    owner.reply(&channel, &message, "At last").await;
    hook.history(2).await;
    let question = json!({ "message": "Start it?", "actions": [{ "label": "Start" }] });
    owner.post(&hook.feed, question).await.expect(200);
    hook.history(3).await;
    let asked = owner.get(&format!("/channels/{channel}/messages?limit=1")).await.expect(200)["messages"][0].take();
    let marked = format!("/channels/{channel}/messages/{message}");
    for reader in [insider, owner] {
        reader.call("PUT", &format!("{marked}/reactions/tada"), None).await.expect(200);
    }
    owner.call("PUT", &format!("{marked}/pin"), None).await.expect(200);
    let webhook = owner.get(&format!("/webhooks/{channel}")).await.expect(200);
    let invited = format!("invited-to-{name}@example.org");
    let invitation = owner.post("/invite", json!({ "org_id": org, "emails": [invited], "role": "member" })).await.expect(201);
    let invited_as = &invitation["data"]["invitations"][0];
    let link = owner.post(&format!("/organisations/{org}/join-links"), json!({})).await.expect(201);
    let bot = owner.post(&format!("/organisations/{org}/bots"), json!({ "name": "Builds" })).await.expect(201);
    let bots = format!("/organisations/{org}/bots/{}", bot["data"]["id"].as_str().unwrap());
    let face = owner.put(&format!("{bots}/avatar"), json!("picture")).await.expect(200)["data"]["avatar_url"].take();
    let command = json!({ "name": "deploy", "url": "http://localhost:9/" });
    let command = owner.post(&format!("/organisations/{org}/commands"), command).await.expect(201);
    let reminder = json!({ "text": "Start the engine", "due_at": "2100-01-01T00:00:00Z" });
    let reminder = owner.post("/reminders", reminder).await.expect(201);
    let slug = owner.get(&format!("/organisations/{org}")).await.expect(200)["data"]["organisation_slug"].take();
    let role = owner.post(&format!("/organisations/{org}/roles"), json!({ "name": "reviewer" })).await.expect(201);
    let sessions = target.get(&format!("/users/{}/sessions", target.user_id)).await.expect(200);
    let of_target = format!("/users/{}/tokens", target.user_id);
    let token = target.post(&of_target, json!({ "name": "Build", "scopes": ["read"] })).await.expect(201);
    vec![
        ("org", org.to_owned()),
        ("org_slug", text(&slug)),
        ("channel", channel),
        ("channel_name", name.to_owned()),
        ("message", message.clone()),
        ("thread", message),
        ("file", file),
        ("file_name", "engine.txt".into()),
        ("face", text(&face).rsplit_once('/').unwrap().1.to_owned()),
        ("asked", text(&asked["id"])),
        ("action", text(&asked["actions"][0]["id"])),
        ("webhook", hook.id),
        ("attempt", attempt),
        ("slug", text(&webhook["data"]["webhook_slug"])),
        ("invitation", text(&invited_as["id"])),
        ("invitation_token", text(&invited_as["invite_token"])),
        ("join_link", text(&link["data"]["id"])),
        ("bot", text(&bot["data"]["id"])),
        ("command", text(&command["data"]["id"])),
        ("reminder", text(&reminder["data"]["id"])),
        ("answer_token", "unknown".into()),
        ("invited", invited),
        ("role", text(&role["data"]["uuid"])),
        ("user", target.user_id.clone()),
        ("session", text(&sessions["data"][0]["id"])),
        ("token", text(&token["data"]["id"])),
        ("emoji", "tada".to_owned()),
    ]
}

async fn room(owner: &Client, channel: String) -> Vec<(&'static str, String)> {
    let message = owner.say(&channel, "Nobody else's engine").await;
    vec![("channel", channel), ("message", message.clone()), ("thread", message)]
}

async fn public_content(superadmin: &Client) -> [(&'static str, String); 3] {
    let category =
        async |name: &str| text(&superadmin.post("/blog_categories", json!({ "name": name })).await.expect(201)["data"]["id"]);
    let (used, unused) = (category("News").await, category("Olds").await);
    superadmin.post("/blogs", json!({ "content": "# Engines\nAll of them", "category_id": used })).await.expect(201);
    let blog = text(&superadmin.get("/blogs").await.expect(200)["data"][0]["id"]);
    [("category", unused), ("used_category", used), ("blog", blog)]
}

/// A call of an operation, and its answer.
pub struct Answered {
    /// `GET /channels/{channel_id}`
    pub operation: String,
    /// The path with its parameters, and the query.
    pub path: String,
    pub request: Option<Value>,
    pub status: u16,
    /// The header `Tidings-Position`.
    pub position: Option<String>,
    pub answer: Value,
}

impl Answered {
    pub async fn call(client: &Client, operation: &Operation, path: String, request: Option<Value>) -> Answered {
        let reply = call(client, operation, &path, request.clone()).await;
        let position = reply.position();
        Answered { operation: operation.name(), path, request, status: reply.status, position, answer: reply.body }
    }
}

/// A call with the token that the operation wants.
pub async fn call(client: &Client, operation: &Operation, path: &str, body: Option<Value>) -> Reply {
    let client = match operation.wants_notification_token {
        // The caller's other token, in its own header.
        true => {
            let request = Client { token: None, ..client.clone() }.request(&operation.method, &format!("/api/v1{path}"));
            let request = if client.notification_token.is_empty() {
                request
            } else {
                request.header("X-Notification-Token", &client.notification_token)
            };
            let request = if let Some(body) = &body { request.json(body) } else { request };
            return Reply::of(request, &operation.name(), "").await;
        }
        false => client,
    };
    client.call(&operation.method, path, body).await
}

/// The copy is a whole one: nothing of the scene's server is left in a log beside the database.
#[tokio::test]
async fn a_copied_scene_is_whole() {
    let scene = Scene::make().await;
    let log = std::fs::metadata(scene.folder.path().join("tidings.db-wal"));
    assert!(log.is_err() || log.is_ok_and(|log| log.len() == 0));
    let server = scene.server().await;
    let owner = Client { origin: server.origin.clone(), ..scene.callers[OWNER].clone() };
    let listed = owner.get(&format!("/channels/{}/messages", scene.named("channel"))).await.expect(200);
    assert_eq!(listed["messages"][0]["id"], scene.named("asked"));
    server.stop().await;
}
