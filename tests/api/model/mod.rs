//! A client that fetched once and then only listens has what a fresh fetch gives, after every operation of every caller
//! and for every viewer.

mod chance;
mod fetch;
mod script;
mod store;
mod viewer;
mod visitor;
mod visits;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::{
    harness::{Client, PASSWORD, Reply, Server, deferred_work_done},
    operations::operations,
};
use chance::Chance;
use script::{Row, WORLD, filled, sections, silent};
use viewer::Viewer;

/// Everybody looks on, with a device beside the one that they act with.
const PEOPLE: [&str; 5] = ["ada", "grace", "bob", "gus", "root"];

/// After these somebody is in an organisation that was none of theirs: its streams can't have been heard, and a
/// client looks for it where it opens, or where its user is told.
const ENTRANCES: [&str; 5] = [
    "POST /organisations",
    "POST /invite/verify",
    "POST /organisations/{org_id}/users",
    // A deactivated member comes back.
    "PUT /organisations/{org_id}/users/{user_id}",
    "PATCH /organisations/{org_id}/users/{user_id}/status",
];

/// The sections in which somebody goes and comes back.
const RETURNS: [&str; 3] = ["Channels", "Direct messages", "Members"];

/// Seeds of the random runs; more seeds search further.
const SEEDS: std::ops::Range<u64> = 0..2;
const THINGS: u32 = 40;

/// The people before anything happens, made once and copied for each section.
struct Stage {
    folder: TempDir,
    people: Vec<Person>,
    /// Posts the markers.
    keeper: Client,
    lighthouse: String,
    beacon: String,
}

struct Person {
    name: &'static str,
    acting: Client,
    looking: Client,
}

impl Stage {
    async fn make() -> Stage {
        let server = Server::start().await;
        let keeper = server.superadmin("keeper").await;
        let lighthouse = keeper.organisation("Lighthouse").await;
        let beacon = keeper.general(&lighthouse).await;
        let mut people = Vec::new();
        for name in PEOPLE {
            let acting = if name == "root" { server.superadmin(name).await } else { server.user(name).await };
            let looking = server.log_in(name, PASSWORD).await;
            let body = json!({ "user_id": acting.user_id });
            keeper.post(&format!("/organisations/{lighthouse}/users"), body).await.expect(200);
            people.push(Person { name, acting, looking });
        }
        Stage { folder: server.end_and_keep().await, people, keeper, lighthouse, beacon }
    }
}

/// What is done on a server of its own, which has a copy of the stage.
struct Play<'a> {
    stage: &'a Stage,
    /// The server's address and folder.
    origin: String,
    folder: PathBuf,
    /// The values of `<names>`.
    names: BTreeMap<String, String>,
    markers: u32,
}

impl Play<'_> {
    async fn on(stage: &Stage) -> (Play<'_>, Server) {
        // A looker-on reads only when it is its turn, and would miss pings.
        let server = Server::on_copy_of(stage.folder.path(), |settings| settings.push_ping_seconds = 600).await;
        (Play::at(stage, server.origin.clone(), server.folder().to_owned()), server)
    }

    fn at(stage: &Stage, origin: String, folder: PathBuf) -> Play<'_> {
        let names = stage.people.iter().map(|person| (person.name.to_owned(), person.acting.user_id.clone())).collect();
        Play { stage, origin, folder, names, markers: 0 }
    }

    fn here(&self, client: &Client) -> Client {
        client.at(&self.origin)
    }

    async fn audience(&self) -> Vec<Viewer> {
        let mut viewers = Vec::new();
        for person in &self.stage.people {
            let Stage { lighthouse, beacon, .. } = self.stage;
            viewers.push(Viewer::new(person.name, self.here(&person.looking), lighthouse, beacon).await);
        }
        viewers
    }

    async fn act(&mut self, row: &Row) {
        let reply = self.attempt(row).await;
        assert!((200..300).contains(&reply.status), "{row}: {:#}", reply.body);
        row.keep(&reply.body, &mut self.names);
    }

    async fn attempt(&self, row: &Row) -> Reply {
        self.try_attempt(row).await.unwrap_or_else(|err| panic!("{row}: {err:?}"))
    }

    async fn try_attempt(&self, row: &Row) -> reqwest::Result<Reply> {
        let body = filled(&row.body, &self.names);
        let body = (!body.is_empty()).then(|| serde_json::from_str(&body).unwrap_or_else(|err| panic!("{body}: {err}")));
        let person = self.stage.people.iter().find(|person| person.name == row.who);
        let actor = match person {
            Some(person) => self.here(&person.acting),
            None if row.who == "anonymous" => Client { token: None, ..self.here(&self.stage.keeper) },
            None => panic!("nobody is called {}", row.who),
        };
        actor.try_call(&row.method, &filled(&row.path, &self.names), body).await
    }

    /// All that was pushed for what was done up to now has arrived when this has.
    async fn marker(&mut self) -> String {
        deferred_work_done(&self.folder, &self.here(&self.stage.keeper)).await;
        self.markers += 1;
        let marker = format!("marker {}", self.markers);
        self.here(&self.stage.keeper).say(&self.stage.beacon, &marker).await;
        marker
    }
}

/// Does what a section says; gives what somebody missed.
async fn play(stage: &Stage, heading: &'static str, operations: &[String]) -> Vec<String> {
    let ((mut play, server), mut sections) = (Play::on(stage).await, sections());
    let rows = sections.remove(heading).unwrap();
    for row in sections.get(WORLD).into_iter().flatten() {
        play.act(row).await;
    }
    let (mut viewers, mut sleepers) = (play.audience().await, play.audience().await);
    let mut missed = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        play.act(row).await;
        let marker = play.marker().await;
        for viewer in &mut viewers {
            let during = During(format!("{heading}, row {}, {row}, as {} sees it", number + 1, viewer.name));
            viewer.catch_up(&marker).await;
            if ENTRANCES.contains(&row.operation(operations)) {
                viewer.enter().await;
            }
            missed.extend(viewer.differences().await.into_iter().map(|difference| format!("{}: {difference}", during.0)));
        }
        if !missed.is_empty() {
            break; // the rest would only repeat it
        }
    }
    for (viewer, sleeper) in viewers.iter().zip(&mut sleepers) {
        let during = During(format!("{heading}, as {} sees it who was away", sleeper.name));
        sleeper.come_back().await;
        if sleeper.unrecovered > 0 && !RETURNS.contains(&heading) {
            missed.push(format!("{}: {} streams were not recovered", during.0, sleeper.unrecovered));
        }
        // None had a stream before the world began; and mentions that were not theirs are not told later.
        if heading != WORLD && sleeper.unrecovered == 0 && sleeper.mentions() != viewer.mentions() {
            missed.push(format!("{}: mentioned {:?}, not {:?}", during.0, sleeper.mentions(), viewer.mentions()));
        }
        missed.extend(sleeper.differences().await.into_iter().map(|difference| format!("{}: {difference}", during.0)));
    }
    server.stop().await;
    missed
}

/// Does so many things at random; gives what somebody missed.
async fn gamble(stage: &Stage, seed: u64, things: u32) -> Vec<String> {
    let (mut play, server) = Play::on(stage).await;
    for row in &sections()[WORLD] {
        play.act(row).await;
    }
    let mut viewers = play.audience().await;
    let (mut chance, mut done, mut missed) = (Chance::new(seed, &play.names), 0, Vec::new());
    while done < things && missed.is_empty() {
        let row = chance.row();
        let reply = play.attempt(&row).await;
        assert!(reply.status < 500, "{row}: {:#}", reply.body);
        if reply.status >= 300 {
            continue;
        }
        chance.learn(&row, &reply.body);
        done += 1;
        let marker = play.marker().await;
        for viewer in &mut viewers {
            let during = During(format!("seed {seed}, {done}. {row}, as {} sees it", viewer.name));
            viewer.catch_up(&marker).await;
            viewer.enter().await;
            // All of it only now and then.
            let found = if done % 5 == 0 { viewer.differences().await } else { Vec::new() };
            missed.extend(found.into_iter().map(|difference| format!("{}: {difference}", during.0)));
        }
    }
    server.stop().await;
    missed
}

/// Tells where it was when something panics.
struct During(String);

impl Drop for During {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in {}", self.0);
        }
    }
}

async fn names() -> Vec<String> {
    let server = Server::start().await;
    operations(&server).await.iter().map(|operation| operation.name()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listening_client_has_what_a_fetch_gives_after_the_scripted_operations() {
    let (stage, operations) = (Arc::new(Stage::make().await), Arc::new(names().await));
    let mut plays = JoinSet::new();
    for heading in sections().into_keys() {
        let (stage, operations) = (stage.clone(), operations.clone());
        plays.spawn(async move { play(&stage, heading, &operations).await });
    }
    let missed = plays.join_all().await.concat();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listening_client_has_what_a_fetch_gives_after_random_operations() {
    let stage = Arc::new(Stage::make().await);
    let mut plays = JoinSet::new();
    for seed in SEEDS {
        let stage = stage.clone();
        plays.spawn(async move { gamble(&stage, seed, THINGS).await });
    }
    let missed = plays.join_all().await.concat();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// A new operation needs a row in a section, or a line that says why nobody is told.
#[tokio::test]
async fn every_writing_operation_is_in_the_script_or_listed_as_silent() {
    let operations = names().await;
    let sections = sections();
    let played: BTreeSet<_> = sections.values().flatten().map(|row| row.operation(&operations)).collect();
    let silent: BTreeSet<_> = silent().into_keys().collect();
    let changing: BTreeSet<_> = operations.iter().map(String::as_str).filter(|name| changes(name)).collect();
    assert_eq!(played.intersection(&silent).collect::<Vec<_>>(), Vec::<&&str>::new(), "one or the other");
    assert_eq!(played.union(&silent).copied().collect::<BTreeSet<_>>(), changing);
}

/// Whether an operation writes; a GET also feeds a webhook.
fn changes(operation: &str) -> bool {
    !operation.starts_with("GET ") || operation == "GET /webhooks/feed/{webhook_slug}"
}
