//! A client that fetched by `GET /start` and pages while others went on, and that then only listens, has what a fresh fetch
//! gives: over random operations, `kill -9` of the real server among them, lost connections and absences.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tempfile::TempDir;
use tokio::{runtime::Handle, task::JoinSet, time::timeout};

use super::{
    Chance, During, Play, Stage,
    script::{Row, WORLD, sections},
    visitor::Visitor,
};
use crate::harness::Reply;

#[allow(dead_code)] // the tests of the binary use all of it
#[path = "../../cli/harness.rs"]
mod process;

/// Random runs beside each other, and the operations of each. `TIDINGS_VISITS_SEED` is the seed of the first, and
/// `TIDINGS_VISITS_THINGS` makes them longer.
const RUNS: u64 = 4;
const THINGS: usize = 500;
/// Visitors at a time.
const MOST: usize = 3;
/// Operations that a failure shows.
const LAST: usize = 60;
/// Operations under way when the server is killed.
const UNDER_WAY: usize = 6;
/// A killed server's requests fail at once.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

#[expect(clippy::disallowed_methods, reason = "a seed is no setting")]
fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |value| value.parse().unwrap())
}

/// A random run on a server of its own, which is a process.
struct Run<'a> {
    play: Play<'a>,
    server: process::Server,
    folder: TempDir,
    chance: Chance,
    seed: u64,
    done: usize,
    missed: Vec<String>,
    /// What was done, for a failure.
    told: Vec<String>,
}

fn serve(folder: &TempDir) -> process::Server {
    // A visitor reads only when it is its turn, and would miss pings.
    process::Server::start(folder.path(), &["--push-ping-seconds", "300", "--mail-url", "smtp://127.0.0.1:1"])
}

impl Run<'_> {
    async fn begin(stage: &Stage, seed: u64) -> Run<'_> {
        let folder = tempfile::tempdir().unwrap();
        for file in ["tidings.db", "secret.key"] {
            std::fs::copy(stage.folder.path().join(file), folder.path().join(file)).unwrap();
        }
        let server = serve(&folder);
        let mut play = Play::at(stage, server.url.clone(), folder.path().to_owned());
        for row in &sections()[WORLD] {
            play.act(row).await;
        }
        let chance = Chance::new(seed, &play.names);
        Run { play, server, folder, chance, seed, done: 0, missed: Vec::new(), told: Vec::new() }
    }

    /// Does one thing at random. What is refused changes nothing, and doesn't count.
    async fn act(&mut self) {
        let row = self.chance.row();
        let _during = During(format!("seed {}, {}. {row}", self.seed, self.done));
        let reply = self.play.attempt(&row).await;
        self.learn(&row, &reply);
    }

    fn learn(&mut self, row: &Row, reply: &Reply) {
        assert!(reply.status < 500, "{row}: {:#}", reply.body);
        if reply.status < 300 {
            self.chance.learn(row, &reply.body);
            self.told.push(format!("{row}"));
            self.done += 1;
        }
    }

    /// Somebody comes, and fetches while others go on.
    async fn welcome(&mut self) -> Visitor {
        let stage = self.play.stage;
        let people: Vec<_> = stage.people.iter().filter(|person| person.name != "root").collect();
        let person = people[self.chance.below(people.len())];
        let _during = self.during("comes", person.name);
        let client = self.play.here(&person.looking);
        let mut pause = async || {
            for _ in 0..self.chance.below(3) {
                self.act().await;
            }
        };
        Visitor::enter(person.name, client, (&stage.lighthouse, &stage.beacon), &mut pause).await
    }

    /// Kills the server while operations are under way, and starts it again.
    async fn kill(&mut self, visitors: &mut [Visitor]) {
        let rows: Vec<_> = (0..UNDER_WAY).map(|_| self.chance.row()).collect();
        let play = &self.play;
        let mut answers: FuturesUnordered<_> = rows.iter().map(|row| async move { (row, play.try_attempt(row).await) }).collect();
        let mut answered: Vec<_> = answers.next().await.into_iter().collect();
        self.server.signal("KILL");
        // Not without a bound: another test's server may get the port, and a request that connects again then waits for its answer.
        while let Ok(Some(answer)) = timeout(ANSWERED_WITHIN, answers.next()).await {
            answered.push(answer);
        }
        drop(answers);
        for (row, reply) in answered {
            if let Ok(reply) = reply {
                self.learn(row, &reply);
            }
        }
        self.server.end();
        self.server = serve(&self.folder);
        self.play.origin.clone_from(&self.server.url);
        for visitor in visitors.iter_mut().filter(|visitor| !visitor.is_away()) {
            let _during = self.during("comes back after a kill", visitor.name);
            visitor.come_back(&self.play.origin).await;
        }
    }

    /// Compares what the visitors have with what they would fetch.
    async fn compare(&mut self, visitors: &mut [Visitor]) {
        for visitor in visitors.iter_mut().filter(|visitor| visitor.is_away()) {
            let _during = self.during("comes back", visitor.name);
            visitor.come_back(&self.play.origin).await;
        }
        let marker = self.play.marker().await;
        for visitor in visitors {
            let _during = self.during("is compared", visitor.name);
            visitor.catch_up(&marker).await;
            let found = visitor.differences().await.into_iter();
            self.missed.extend(found.map(|found| format!("seed {}, after {}, {}: {found}", self.seed, self.done, visitor.name)));
        }
    }

    fn during(&mut self, what: &str, name: &str) -> During {
        self.told.push(format!("{name} {what}"));
        During(format!("seed {}, after {} operations, as {name} {what}", self.seed, self.done))
    }

    async fn play_on(mut self, things: usize) -> Vec<String> {
        let mut visitors: Vec<Visitor> = Vec::new();
        while self.done < things && self.missed.is_empty() {
            match self.chance.below(100) {
                0..2 => {
                    if visitors.len() == MOST {
                        visitors.remove(0);
                    }
                    visitors.push(self.welcome().await);
                }
                2 => self.kill(&mut visitors).await,
                3 if !visitors.is_empty() => {
                    let away = self.chance.below(visitors.len());
                    visitors[away].leave();
                    self.told.push(format!("{} goes away", visitors[away].name));
                }
                4 => self.compare(&mut visitors).await,
                _ => self.act().await,
            }
        }
        if self.missed.is_empty() {
            self.kill(&mut visitors).await;
            self.compare(&mut visitors).await;
        }
        if !self.missed.is_empty() {
            let last = self.told.len().saturating_sub(LAST);
            self.missed.push(format!(
                "seed {}, where {:?}, and at last\n{}",
                self.seed,
                self.play.names,
                self.told[last..].join("\n")
            ));
        }
        self.missed
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::disallowed_methods, reason = "each run stops a thread of its own")]
async fn a_client_that_fetched_while_others_went_on_has_what_a_fetch_gives_whatever_is_killed() {
    let stage = Arc::new(Stage::make().await);
    let (first, things) = (setting("TIDINGS_VISITS_SEED", 0), setting("TIDINGS_VISITS_THINGS", THINGS as u64) as usize);
    let mut runs = JoinSet::new();
    for seed in first..first + RUNS {
        let stage = stage.clone();
        // On a thread of its own, which waits for the process.
        let run = move || Handle::current().block_on(async { Run::begin(&stage, seed).await.play_on(things).await });
        runs.spawn_blocking(run);
    }
    let missed = runs.join_all().await.concat();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
