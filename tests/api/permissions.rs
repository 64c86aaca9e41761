//! Permissions of every operation for every kind of caller, as `tests/api/tables/` says. What a caller may not know of
//! looks exactly like what does not exist.

mod bots;
mod cookies;
mod programs;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use serde_json::Value;
use tokio::{sync::OnceCell, task::JoinSet};

use crate::{
    harness::{Client, Server, unknown_id},
    names::Names,
    operations::{Operation, operations},
    scene::{ADMIN, Answered, CALLERS, OWNER, Scene, call, value_of},
    tables::{areas, rows},
};

pub struct Row {
    pub operation: String,
    /// JSON with `<names>` of the scene; empty for none.
    pub body: String,
    /// The expected statuses, in the order of [`CALLERS`].
    pub expected: Vec<u16>,
}

pub fn table() -> Vec<Row> {
    areas().iter().flat_map(|area| rows(&area.permissions)).map(Row::of).collect()
}

impl Row {
    fn of(cells: Vec<String>) -> Row {
        let status = |cell: &String| cell.parse().unwrap_or_else(|_| panic!("a status: {cells:?}"));
        let expected: Vec<u16> = cells[2..].iter().map(status).collect();
        assert_eq!(expected.len(), CALLERS.len(), "{cells:?}");
        Row { operation: cells[0].clone(), body: cells[1].clone(), expected }
    }
}

/// The operations of the server's document, by their names.
async fn documented() -> Arc<BTreeMap<String, Operation>> {
    let server = Server::start().await;
    let found = operations(&server).await.into_iter().map(|operation| (operation.name(), operation)).collect();
    server.stop().await;
    Arc::new(found)
}

/// What each row's operation answered each caller, in the order of [`CALLERS`].
pub struct Run {
    pub names: Names,
    rows: Vec<(Row, Vec<Answered>)>,
}

impl Run {
    pub fn answers(&self) -> impl Iterator<Item = &[Answered]> {
        self.rows.iter().map(|(_, answers)| &**answers)
    }

    /// The run, which is made once for all tests that look at it.
    pub async fn get() -> &'static Run {
        static RUN: OnceCell<Run> = OnceCell::const_new();
        RUN.get_or_init(Run::make).await
    }

    async fn make() -> Run {
        let stage = Stage::of(Scene::make().await);
        let look = |stage: Arc<Stage>, row: Row| async move {
            let answers = stage.answers(&row, &stage.scene.callers).await;
            (row, answers)
        };
        let rows = stage.each_row(table(), look).await;
        Run { names: stage.scene.names(), rows }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_answers_each_caller_as_the_table_says() {
    let wrong: Vec<_> = Run::get().await.rows.iter().filter_map(|(row, answers)| compare(row, answers)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Operations that need no session, and heed one. The feeds heed `Authorization` alone.
const OPTIONAL: [&str; 5] = ["POST /auth/email-request/verify", "POST /invite/verify", "POST /join", FEEDS[0], FEEDS[1]];
const FEEDS: [&str; 2] = ["GET /webhooks/feed/{webhook_slug}", "POST /webhooks/feed/{webhook_slug}"];
const ANONYMOUS: usize = 0;

impl Row {
    pub fn needs_session(&self) -> bool {
        self.expected[ANONYMOUS] == 401 && self.expected[OWNER] != 401
    }

    /// Whether the operation looks at the caller's session. A token of its own opens those of `/realtime/`, and nothing else.
    fn heeds_session(&self) -> bool {
        (self.needs_session() || OPTIONAL.contains(&self.operation.as_str())) && !self.operation.contains(" /realtime/")
    }

    /// Whether the operation looks at the session in a browser's cookie.
    fn heeds_cookie(&self) -> bool {
        self.heeds_session() && !FEEDS.contains(&self.operation.as_str())
    }
}

/// Servers on copies of a scene. One on which something was done ends, because the next call would meet its traces; the others wait
/// for it.
struct Stage {
    scene: Scene,
    idle: Mutex<Vec<Server>>,
}

impl Stage {
    fn of(scene: Scene) -> Arc<Stage> {
        Arc::new(Stage { scene, idle: Mutex::default() })
    }

    /// What the row's operation answers each of the callers.
    async fn answers(&self, row: &Row, callers: &[Client]) -> Vec<Answered> {
        let operation = Operation::named(&row.operation);
        let path = self.scene.path(&operation.method, &operation.path);
        // No GET writes but that of a feed.
        let may_write = operation.method != "GET" || row.operation == FEEDS[0];
        let mut answers: Vec<Answered> = Vec::new();
        for caller in callers {
            let idle = self.idle.lock().unwrap().pop();
            let server = match idle {
                Some(server) => server,
                None => self.scene.server().await,
            };
            let body = self.scene.body(&row.body);
            let answered = Answered::call(&caller.at(&server.origin), &operation, path.clone(), body).await;
            assert!(answered.status < 500, "{} as {}: {}", row.operation, caller.email, answered.answer);
            if may_write && answered.status < 300 {
                server.stop().await;
            } else {
                self.idle.lock().unwrap().push(server);
            }
            answers.push(answered);
        }
        answers
    }

    /// Looks at rows, some at a time, and ends the servers.
    async fn each_row<T, F>(
        self: &Arc<Self>,
        rows: Vec<Row>,
        look: impl Fn(Arc<Stage>, Row) -> F + Clone + Send + 'static,
    ) -> Vec<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send,
    {
        let left = Arc::new(Mutex::new(rows));
        let mut hands = JoinSet::new();
        for _ in 0..4 {
            let (stage, left, look) = (self.clone(), left.clone(), look.clone());
            hands.spawn(async move {
                let mut found = Vec::new();
                let next = || left.lock().unwrap().pop();
                while let Some(row) = next() {
                    found.push(look(stage.clone(), row).await);
                }
                found
            });
        }
        let found = hands.join_all().await.into_iter().flatten().collect();
        let idle = std::mem::take(&mut *self.idle.lock().unwrap());
        for server in idle {
            server.stop().await;
        }
        found
    }
}

/// Describes what is wrong with a row, if anything.
fn compare(row: &Row, answers: &[Answered]) -> Option<String> {
    let differing: Vec<_> = CALLERS
        .iter()
        .zip(row.expected.iter().zip(answers))
        .filter(|(_, (expected, answered))| **expected != answered.status)
        .map(|(caller, (expected, answered))| format!("{caller}: {expected} expected, {} found", answered.status))
        .collect();
    (!differing.is_empty()).then(|| format!("{}: {}", row.operation, differing.join("; ")))
}

#[tokio::test]
async fn every_operation_has_its_row() {
    let known = BTreeSet::from_iter(documented().await.keys().cloned());
    let rows: Vec<_> = table().into_iter().map(|row| row.operation).collect();
    let listed: BTreeSet<_> = rows.iter().cloned().collect();
    assert_eq!(rows.len(), listed.len(), "one row for each");
    assert_eq!(listed, known);
}

#[tokio::test]
async fn all_rows_of_an_operation_are_in_the_file_of_its_tag() {
    let documented = documented().await;
    for area in areas() {
        for cells in rows(&area.permissions).chain(rows(&area.refusals)) {
            let tag = documented.get(&cells[0]).and_then(|operation| operation.document["tags"][0].as_str());
            let tag = tag.unwrap_or_else(|| panic!("{}: {} is no operation", area.path.display(), cells[0]));
            assert!(area.tags().any(|known| known == tag), "{}: {} has the tag {tag}", area.path.display(), cells[0]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_get_that_succeeds_names_its_place_in_the_log() {
    let mut named = BTreeSet::new();
    for answered in Run::get().await.answers().flatten() {
        let is_get = answered.operation.starts_with("GET ");
        assert_eq!(answered.position.is_some(), is_get && answered.status < 300, "{}: {}", answered.operation, answered.status);
        let Some((epoch, offset)) = answered.position.as_ref().and_then(|position| position.split_once(':')) else { continue };
        assert!(epoch.len() == 16 && offset.parse::<u64>().unwrap() > 0, "{epoch}:{offset}");
        named.insert(&answered.operation);
    }
    let gets: BTreeSet<_> = table().into_iter().map(|row| row.operation).filter(|name| name.starts_with("GET ")).collect();
    assert_eq!(named, gets.iter().collect(), "each of them succeeds for somebody");
}

/// Identifiers that the table's bodies leave out: in optional fields, and in queries.
const FURTHER: [(&str, &str); 20] = [
    ("POST /channels", r#"{"name": "new", "organisation_id": "<org>", "userIds": ["<user>"]}"#),
    ("POST /channels/{channel_id}/messages", r#"{"content": "Hello", "thread_id": "<thread>"}"#),
    ("PUT /channels/{channel_id}/messages", r#"{"content": "Hello", "message_id": "<message>", "thread_id": "<thread>"}"#),
    ("PUT /channels/{channel_id}/read", r#"{"last_message_id": "<message>"}"#),
    ("GET /channels/{channel_id}/messages?before=<message>", ""),
    ("GET /channels/{channel_id}/messages?after=<message>", ""),
    ("GET /channels/{channel_id}/messages?around=<message>", ""),
    ("GET /threads/{thread_id}/channels/{channel_id}?before=<message>", ""),
    ("GET /threads/{thread_id}/channels/{channel_id}?around=<message>", ""),
    ("GET /channels/name/{channel_name}?organisation_id=<org>", ""),
    ("GET /organisations/{org_id}/search?q=engine&channel_id=<channel>", ""),
    ("POST /invite", r#"{"org_id": "<org>", "emails": ["someone@example.org"], "role": "<role>"}"#),
    ("POST /organisations/{org_id}/users", r#"{"user_id": "<newcomer>", "role_Id": "<role>"}"#),
    ("PUT /organisations/{org_id}/users/{user_id}", r#"{"role_id": "<role>"}"#),
    ("POST /token/subscription", r#"{"channel": "<org>/<user>"}"#),
    ("POST /token/subscription", r#"{"channel": "<user>"}"#),
    ("GET /start?slug=<org_slug>", ""),
    ("POST /token/subscription", r#"{"channel": "<thread>"}"#),
    ("POST /realtime/subscription", r#"{"channel": "<channel>"}"#),
    ("POST /threads/{id}", r#"{"content": "Hello"}"#),
];

/// Even the owner of an organisation learns nothing of another organisation, nor of hidden channels in their own.
#[tokio::test]
async fn a_hidden_record_is_answered_exactly_like_a_missing_one() {
    let scene = Scene::make().await;
    let server = scene.server().await;
    let client = |caller: usize| scene.callers[caller].at(&server.origin);
    let mut compared = 0;
    let further = FURTHER.map(|(operation, body)| (operation.to_owned(), body.to_owned()));
    for (name, body) in table().into_iter().map(|row| (row.operation, row.body)).chain(further) {
        let operation = Operation::named(&name);
        let fills = [(&scene.foreign, client(OWNER)), (&scene.private, client(ADMIN)), (&scene.direct, client(ADMIN))];
        for (hidden, client) in fills {
            for kind in BTreeSet::from_iter(hidden.iter().map(|(kind, _)| *kind)) {
                // A webhook's address and names of channels and files are no identifiers; a face is everybody's who has its address.
                if ["slug", "channel_name", "emoji", "invited", "file_name", "face"].contains(&kind) {
                    continue;
                }
                let own = scene.named(kind);
                let (path, body) = (scene.path(&operation.method, &operation.path), scene.body(&body));
                let sent = body.as_ref().map(Value::to_string).unwrap_or_default();
                if !path.contains(own) && !sent.contains(own) {
                    continue;
                }
                let ask = async |id: &str| {
                    let body = (!sent.is_empty()).then(|| serde_json::from_str(&sent.replace(own, id)).unwrap());
                    let reply = call(&client, &operation, &path.replace(own, id), body).await;
                    (reply.status, reply.body.to_string().replace(id, "<id>"))
                };
                let (known, unknown) = (ask(value_of(hidden, kind)).await, ask(&unknown_id()).await);
                assert_eq!(known, unknown, "{name} with a hidden {kind}");
                // Whether a stranger is in the channel is a question with an answer: no.
                let refused = (400..500).contains(&known.0) || name == "GET /channels/{channel_id}/user-exist";
                assert!(refused, "{name} with a hidden {kind}: {}", known.0);
                compared += 1;
            }
        }
    }
    assert!(compared > 150, "only {compared} comparisons");
    server.stop().await;
}
