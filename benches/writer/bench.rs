//! What measures: a call or a write, how long its longest job took, and which operations were walked.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::api::Api;
use reqwest::Method;
use rusqlite::Connection;
use serde_json::Value;
use tidings::{
    db::{Tx, View},
    domain::{deferred_work, mail_queue, messages::indexing},
    error::Result,
    state::App,
};

/// Operations that write nothing, though their method says so.
const READING: [&str; 2] = ["POST /token/subscription", "POST /realtime/subscription"];
/// And one that does, though its method does not.
const WRITING: &str = "GET /webhooks/feed/{webhook_slug}";

pub struct Case {
    /// Of the operation itself.
    pub own: Longest,
    /// Of what it left to the background.
    pub later: Longest,
    pub what: String,
}

/// The longest job, and the longest commit with its fsync: together the most that another write waited.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Longest {
    pub job: Duration,
    pub commit: Duration,
}

impl Longest {
    pub fn min(self, other: Longest) -> Longest {
        Longest { job: self.job.min(other.job), commit: self.commit.min(other.commit) }
    }

    pub fn both(self) -> Duration {
        self.job + self.commit
    }
}

pub struct Bench {
    pub app: App,
    pub api: Api,
    pub took: Vec<Case>,
    folder: PathBuf,
    /// Of the document, as `POST /channels/{channel_id}/join`.
    operations: BTreeSet<String>,
    walked: BTreeSet<String>,
}

impl Bench {
    pub async fn new(app: App, api: Api, folder: &Path) -> Bench {
        let document = api.call(Method::GET, "/openapi.json", Value::Null).await;
        let paths = document["paths"].as_object().unwrap().iter();
        let operations = paths
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
            })
            .filter(|name| name == WRITING || !name.starts_with("GET ") && !READING.contains(&name.as_str()))
            .collect();
        Bench { app, api, took: Vec::new(), folder: folder.to_owned(), operations, walked: BTreeSet::new() }
    }

    /// Calls as `who`; what is done from here on until nothing is left to do is the operation's.
    pub async fn call(&mut self, what: &str, who: &Api, method: Method, path: &str, body: Value) -> Value {
        self.begin().await;
        let answer = who.call(method.clone(), path, body).await;
        self.end(what).await;
        self.walk(&method, path);
        answer
    }

    /// A write that no call reaches here, of this operation of the document.
    pub async fn write<T: Send + 'static>(
        &mut self,
        (what, operation): (&str, &str),
        write: impl FnOnce(&mut Tx) -> Result<T> + Send + 'static,
    ) {
        self.begin().await;
        self.app.db.write(write).await.unwrap();
        self.end(what).await;
        assert!(self.operations.contains(operation), "{operation}");
        self.walked.insert(operation.into());
    }

    /// Work of the background jobs, in slices until nothing is left to do.
    pub async fn slices(&mut self, what: &str, slice: impl Fn(&mut Tx) -> Result<usize> + Clone + Send + 'static) {
        self.begin().await;
        let mut slices = 0;
        while self.app.db.write(slice.clone()).await.unwrap() > 0 {
            slices += 1;
        }
        assert!(slices > 0, "{what}: there was nothing to do");
        self.took.push(Case { own: Longest::default(), later: self.longest(), what: format!("{what}, in {slices} slices") });
    }

    pub async fn begin(&self) {
        self.settle().await;
        self.longest();
    }

    pub async fn end(&mut self, what: &str) {
        let own = self.longest();
        self.settle().await;
        self.took.push(Case { own, later: self.longest(), what: what.into() });
    }

    /// Since it was last asked.
    pub fn longest(&self) -> Longest {
        let (job, commit) = self.app.db.take_longest();
        Longest { job, commit }
    }

    async fn settle(&self) {
        let left = |conn: &View| Ok(deferred_work::count(conn)? + indexing::behind(conn)? + mail_queue::count_due(conn)?);
        let until = Instant::now() + Duration::from_secs(120);
        let deliveries = || self.app.delivery.count_waiting_webhooks();
        while self.app.db.read(left).unwrap() > 0 || deliveries() > 0 {
            assert!(Instant::now() < until, "the jobs do not end");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // Merging what was indexed is behind nothing, and would be taken for the next operation's.
        while self.app.db.write(|tx| indexing::run_step(tx, i64::MAX)).await.unwrap() > 0 {}
    }

    /// Changes the database as another process.
    pub fn sql(&self, sql: &str) {
        let database = Connection::open(self.folder.join("tidings.db")).unwrap();
        database.busy_timeout(Duration::from_secs(60)).unwrap();
        database.execute_batch(&format!("begin; {sql}; commit;")).unwrap();
        database.query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(())).unwrap();
    }

    fn walk(&mut self, method: &Method, path: &str) {
        let called = format!("{method} {}", path.split('?').next().unwrap());
        let fits = |template: &&String| {
            let (template, called): (Vec<_>, Vec<_>) = (template.split('/').collect(), called.split('/').collect());
            let is_same = |(part, called): (&&str, &&str)| part == called || part.starts_with('{');
            template.len() == called.len() && template.iter().zip(&called).all(is_same)
        };
        // Of `feed/backend-queue` and `feed/{webhook_slug}` the first.
        let operation = self.operations.iter().filter(fits).min_by_key(|template| template.matches('{').count());
        self.walked.insert(operation.unwrap_or_else(|| panic!("{called} is no operation that writes")).clone());
    }

    /// Operations without a case.
    pub fn missing(&self) -> Vec<String> {
        self.operations.difference(&self.walked).cloned().collect()
    }
}

/// The time as it stands in SQL. What is older than the server keeps things, its own jobs would delete.
pub const NOW: &str = "cast(unixepoch('subsec') * 1000000 as integer)";

/// An identifier as it stands in SQL.
pub fn blob(id: &str) -> String {
    format!("x'{}'", id.replace('-', ""))
}

/// The id of the k-th record of a kind that [`super::world`] made.
pub fn made(kind: u32, k: u32) -> String {
    uuid::Uuid::from_u128((u128::from(kind) << 120) + u128::from(k)).to_string()
}

/// Of 40,000 letters, twenty mentions among them. No run of letters comes twice, as the search index has the least to share
/// then.
pub fn long(first: u32, letters: u32) -> String {
    let names: String = (1..=20).map(|k| format!("@u{k} ")).collect();
    let letter = |k: u32| char::from_u32(first + k.wrapping_mul(2_654_435_761) % letters).unwrap();
    names.chars().chain((0..39_990 - names.len() as u32).map(letter)).collect()
}

/// [`long`], each letter of four bytes.
pub fn wide() -> String {
    long(0x20000, 40_000)
}
