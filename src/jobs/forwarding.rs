//! Feeds an external Centrifugo from the event log, one request at a time, in the order of the log.
//!
//! Every committed event arrives there, even if either server fails or is killed: each channel's publications in order and,
//! because of their idempotency keys, once. Offsets, epochs and recovery are Centrifugo's own.
//!
//! **Revocation.** Centrifugo knows neither sessions nor rights, only tokens. When a user loses a right or a session, the
//! forwarder disconnects all of the user's clients with a code after which SDKs fetch new tokens, and this server issues none
//! for lost rights. A client that reconnects with an old token keeps its subscriptions until the token expires, at most five
//! minutes later.

use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, Instant},
};

use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use crate::{
    db::log_reader,
    domain::{
        log::cursors::{self, FORWARDER},
        streams::centrifugo_forwarding::{self, Slice, Step},
    },
    error::{Error, Result},
    event::Queue,
    push::external::{ApiError, Broadcast, Centrifugo, Command, Disconnect, Failure, Reply},
    secret,
    state::App,
};

/// Shortest time between two writes of the cursor. After a kill, rows after the written cursor are sent again.
const RECORD_EVERY: Duration = Duration::from_secs(1);
/// Most channels in one request.
const CHANNELS: usize = 1000;
const FIRST_RETRY: Duration = Duration::from_millis(100);
/// Shortest time between two log lines about the same failure.
const MINUTE: Duration = Duration::from_secs(60);
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// Starts or stops retaining the event log for an external Centrifugo, before the server serves anything. Returns the
/// cursor: the last row that Centrifugo has.
pub async fn start_or_stop_log_retention(app: &App) -> Result<Option<i64>> {
    match (&app.centrifugo, app.db.read(|conn| cursors::find(conn, FORWARDER))?) {
        (Some(_), None) => app.db.write(|tx| cursors::create(tx, FORWARDER)).await.map(Some),
        (Some(_), Some(taken)) => Ok(Some(taken)),
        (None, Some(_)) => app.db.write(|tx| cursors::remove(tx, FORWARDER)).await.map(|()| None),
        (None, None) => Ok(None),
    }
}

pub struct Forwarder<'a> {
    app: &'a App,
    centrifugo: &'a Centrifugo,
    /// The cursor, in memory and as written to the database: the last row that Centrifugo has.
    taken: i64,
    recorded: i64,
    recorded_at: Instant,
    /// When the present outage was last logged; `None` without an outage.
    outage: Option<Instant>,
}

impl<'a> Forwarder<'a> {
    pub fn new(app: &'a App, centrifugo: &'a Centrifugo, taken: i64) -> Forwarder<'a> {
        let recorded_at = Instant::now();
        Forwarder { app, centrifugo, taken, recorded: taken, recorded_at, outage: None }
    }

    pub async fn run(&mut self) {
        loop {
            match self.next().await {
                Ok(Some(slice)) => self.forward(slice).await,
                Ok(None) => self.idle().await,
                Err(err) => {
                    tracing::error!(
                        err = err.log_text(),
                        "the event log could not be read for the push server, next try in five seconds"
                    );
                    sleep(LONGEST_RETRY).await;
                }
            }
        }
    }

    /// Writes the cursor to the database.
    pub async fn save_cursor(&mut self) {
        self.recorded_at = Instant::now();
        let taken = self.taken;
        if taken == self.recorded {
            return;
        }
        match self.app.write_with_retry(move |tx| cursors::advance(tx, FORWARDER, taken)).await {
            Ok(()) => self.recorded = taken,
            Err(err) => {
                tracing::warn!(
                    err = err.log_text(),
                    "the cursor of the push server could not be written, next try within a second"
                )
            }
        }
    }

    async fn next(&self) -> Result<Option<Slice>> {
        let (app, taken) = (self.app.clone(), self.taken);
        // Off the runtime's threads: a channel may have many members.
        tokio::task::spawn_blocking(move || app.db.read(|conn| centrifugo_forwarding::next(conn, taken)))
            .await
            .map_err(Error::internal)?
    }

    /// Waits for further rows, and writes the cursor if that is due first.
    async fn idle(&mut self) {
        if self.recorded == self.taken {
            return self.app.wakeups.wait(Queue::Forwarding).await;
        }
        let wait = RECORD_EVERY.saturating_sub(self.recorded_at.elapsed());
        if timeout(wait, self.app.wakeups.wait(Queue::Forwarding)).await.is_err() {
            self.save_cursor().await;
        }
    }

    async fn forward(&mut self, slice: Slice) {
        if slice.lost > 0 {
            tracing::error!(rows = slice.lost, "rows of the event log were pruned before the push server took them");
        }
        let seq = slice.seq;
        let mut requests = requests(slice);
        let mut wait = FIRST_RETRY;
        while let Some(commands) = requests.pop_front() {
            let left = match self.centrifugo.send(&commands).await {
                Ok(replies) => self.unsettled(commands, replies),
                Err(Failure::Refused(_)) if commands.len() > 1 => {
                    // One of the commands is at fault: each is sent by itself.
                    commands.into_iter().rev().for_each(|command| requests.push_front(vec![command]));
                    continue;
                }
                Err(Failure::Refused(reason)) if self.refuses(&commands).await => {
                    commands.iter().for_each(|command| self.skip(&command.log_name(), &reason));
                    continue;
                }
                Err(Failure::Refused(reason) | Failure::Temporary(reason)) => {
                    self.fails(&reason);
                    commands
                }
            };
            if left.is_empty() {
                self.answers();
                self.app.metrics.count_centrifugo_request("taken");
                wait = FIRST_RETRY;
            } else {
                self.app.metrics.count_centrifugo_request("again");
                // To the front of the queue, so that no later command overtakes it.
                requests.push_front(left);
                sleep(wait.mul_f64(0.5 + f64::from(secret::random::<1>()[0]) / 512.0)).await;
                wait = (wait * 2).min(LONGEST_RETRY);
            }
        }
        self.taken = seq;
        if self.recorded_at.elapsed() >= RECORD_EVERY {
            self.save_cursor().await;
        }
    }

    /// Whether a Centrifugo refuses these commands a second time. A server that expects HTTPS also refuses every request by
    /// plain HTTP, and that is no reason to skip a command.
    async fn refuses(&self, commands: &[Command]) -> bool {
        self.centrifugo.is_there().await && matches!(self.centrifugo.send(commands).await, Err(Failure::Refused(_)))
    }

    /// The commands, or the channels of them, that must be sent again.
    fn unsettled(&mut self, commands: Vec<Command>, replies: Vec<Reply>) -> Vec<Command> {
        let mut left = Vec::new();
        for (command, reply) in commands.into_iter().zip(replies) {
            match (command, reply.error) {
                (command, Some(error)) => left.extend(self.again(&error, &command.log_name()).then_some(command)),
                (Command::Broadcast(mut broadcast), None) => {
                    let channels = std::mem::take(&mut broadcast.channels);
                    let key = &broadcast.idempotency_key;
                    for (channel, error) in channels.into_iter().zip(reply.channels) {
                        if error.is_some_and(|error| self.again(&error, &format!("{key} on {channel}"))) {
                            broadcast.channels.push(channel);
                        }
                    }
                    left.extend((!broadcast.channels.is_empty()).then_some(Command::Broadcast(broadcast)));
                }
                (Command::Disconnect(_), None) => {}
            }
        }
        left
    }

    /// Whether a command is sent again after this error. Otherwise it is skipped.
    fn again(&mut self, error: &ApiError, what: &str) -> bool {
        if error.is_temporary() {
            self.fails(&error.to_string())
        } else {
            self.skip(what, &error.to_string())
        }
        error.is_temporary()
    }

    fn skip(&self, what: &str, reason: &str) {
        self.app.metrics.count_centrifugo_request("skipped");
        tracing::error!(what, reason, "the push server refuses a command permanently, so it is skipped");
    }

    fn fails(&mut self, reason: &str) {
        if self.outage.is_some_and(|logged| logged.elapsed() < MINUTE) {
            return;
        }
        self.outage = Some(Instant::now());
        let waiting = self.app.db.read(|conn| Ok(log_reader::last_seq(conn)?)).unwrap_or_default() - self.recorded;
        tracing::warn!(reason, waiting, "the push server does not accept publications, which wait in the event log");
    }

    fn answers(&mut self) {
        if self.outage.take().is_some() {
            tracing::info!("the push server accepts publications again");
        }
    }
}

/// Groups commands into requests. A group has at most one command for a channel, so that no other overtakes a command that
/// is sent again. Disconnects have groups of their own, because they separate publications that their users may receive from
/// those that they may not.
fn requests(slice: Slice) -> VecDeque<Vec<Command>> {
    let (mut requests, mut group) = (VecDeque::new(), Vec::new());
    let mut channels: HashSet<String> = HashSet::new();
    for command in slice.steps.into_iter().flat_map(|step| commands(step, &slice.epoch)) {
        let fits = match (&command, group.last()) {
            (_, None) => true,
            (Command::Broadcast(new), Some(Command::Broadcast(_))) => {
                channels.len() + new.channels.len() <= CHANNELS && !new.channels.iter().any(|channel| channels.contains(channel))
            }
            (Command::Disconnect(_), Some(Command::Disconnect(_))) => group.len() < CHANNELS,
            _ => false,
        };
        if !fits {
            requests.push_back(std::mem::take(&mut group));
            channels.clear();
        }
        if let Command::Broadcast(broadcast) = &command {
            channels.extend(broadcast.channels.iter().cloned());
        }
        group.push(command);
    }
    requests.push_back(group);
    requests.retain(|group| !group.is_empty());
    requests
}

fn commands(step: Step, epoch: &str) -> Vec<Command> {
    match step {
        Step::Revocation { user } => vec![Command::Disconnect(Disconnect::to_prove_rights(user))],
        Step::Publication { streams, seq, body } => {
            let data = RawValue::from_string(body).expect("the log holds JSON");
            let one = |channels: &[String]| {
                Command::Broadcast(Broadcast {
                    channels: channels.to_vec(),
                    data: data.clone(),
                    idempotency_key: format!("{epoch}:{seq}"),
                    version: seq,
                    version_epoch: epoch.to_owned(),
                })
            };
            streams.chunks(CHANNELS).map(one).collect()
        }
    }
}
