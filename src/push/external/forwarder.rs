//! Feeds an external Centrifugo from the event log, one request at a time, in the order of the log.
//!
//! What a commit wrote arrives there, over failures and kills of either server: each channel's publications in order
//! and, by their idempotency keys, once. Offsets, epochs and recovery are the other server's.
//!
//! **Revocation.** That server knows neither our sessions nor who may hear what: it goes by tokens. Whoever loses a
//! right or a session is disconnected there, on all devices, with a code that has the SDKs come back with new tokens,
//! and these we refuse for what is no longer theirs. A client that comes back with an old token all the same hears on
//! until that expires: within the five minutes that tokens last there.

use std::{
    collections::{HashSet, VecDeque},
    time::{Duration, Instant},
};

use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use crate::{
    db::log,
    domain::{
        log::cursors::{self, FORWARDER},
        streams::forwarding::{self, Slice, Step},
    },
    error::{Error, Result},
    event::Queue,
    push::external::client::{ApiError, Broadcast, Centrifugo, Command, Disconnect, Failure, Reply},
    secret,
    state::App,
};

/// How often the cursor is written, at the most; what came after it is sent again after a kill.
const RECORD_EVERY: Duration = Duration::from_secs(1);
/// Channels in one request.
const CHANNELS: usize = 1000;
const FIRST_RETRY: Duration = Duration::from_millis(100);
/// Between two lines of the log that say the same.
const MINUTE: Duration = Duration::from_secs(60);
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// Has the log kept for a server outside, or no longer: before anything is served. Returns the last row that it took.
pub async fn prepare(app: &App) -> Result<Option<i64>> {
    match (&app.centrifugo, app.db.read(|conn| cursors::find(conn, FORWARDER))?) {
        (Some(_), None) => app.db.write(|tx| cursors::start(tx, FORWARDER)).await.map(Some),
        (Some(_), Some(taken)) => Ok(Some(taken)),
        (None, Some(_)) => app.db.write(|tx| cursors::stop(tx, FORWARDER)).await.map(|()| None),
        (None, None) => Ok(None),
    }
}

pub struct Forwarder<'a> {
    app: &'a App,
    centrifugo: &'a Centrifugo,
    /// The last row of the log that it took, and the last of which the database knows that.
    taken: i64,
    recorded: i64,
    recorded_at: Instant,
    /// When its silence was last logged, while it lasts.
    silence: Option<Instant>,
}

impl<'a> Forwarder<'a> {
    pub fn new(app: &'a App, centrifugo: &'a Centrifugo, taken: i64) -> Forwarder<'a> {
        let recorded_at = Instant::now();
        Forwarder { app, centrifugo, taken, recorded: taken, recorded_at, silence: None }
    }

    pub async fn run(&mut self) {
        loop {
            match self.next().await {
                Ok(Some(slice)) => self.forward(slice).await,
                Ok(None) => self.idle().await,
                Err(err) => {
                    tracing::error!(err = err.detail(), "the event log could not be read for the push server");
                    sleep(LONGEST_RETRY).await;
                }
            }
        }
    }

    /// Writes down how far it got.
    pub async fn record(&mut self) {
        self.recorded_at = Instant::now();
        let taken = self.taken;
        if taken == self.recorded {
            return;
        }
        match self.app.write_in_background(move |tx| cursors::advance(tx, FORWARDER, taken)).await {
            Ok(()) => self.recorded = taken,
            Err(err) => tracing::warn!(err = err.detail(), "it could not be noted what the push server has taken"),
        }
    }

    async fn next(&self) -> Result<Option<Slice>> {
        let (app, taken) = (self.app.clone(), self.taken);
        // Off the runtime's threads: a channel may have many members.
        tokio::task::spawn_blocking(move || app.db.read(|conn| forwarding::next(conn, taken))).await.map_err(Error::internal)?
    }

    /// Until there is more, or the cursor is due.
    async fn idle(&mut self) {
        if self.recorded == self.taken {
            return self.app.wakeups.wait(Queue::Forwarding).await;
        }
        let wait = RECORD_EVERY.saturating_sub(self.recorded_at.elapsed());
        if timeout(wait, self.app.wakeups.wait(Queue::Forwarding)).await.is_err() {
            self.record().await;
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
                    // One of them is at fault.
                    commands.into_iter().rev().for_each(|command| requests.push_front(vec![command]));
                    continue;
                }
                Err(Failure::Refused(reason)) if self.refuses(&commands).await => {
                    commands.iter().for_each(|command| self.skip(&command.name(), &reason));
                    continue;
                }
                Err(Failure::Refused(reason) | Failure::Passing(reason)) => {
                    self.fails(&reason);
                    commands
                }
            };
            if left.is_empty() {
                self.answers();
                self.app.metrics.forwarded("taken");
                wait = FIRST_RETRY;
            } else {
                self.app.metrics.forwarded("again");
                // In front of all that follows: nothing overtakes it.
                requests.push_front(left);
                sleep(wait.mul_f64(0.5 + f64::from(secret::random::<1>()[0]) / 512.0)).await;
                wait = (wait * 2).min(LONGEST_RETRY);
            }
        }
        self.taken = seq;
        if self.recorded_at.elapsed() >= RECORD_EVERY {
            self.record().await;
        }
    }

    /// Whether it is a Centrifugo that refuses these, and again: HTTPS that is spoken to without refuses everything, too.
    async fn refuses(&self, commands: &[Command]) -> bool {
        self.centrifugo.is_there().await && matches!(self.centrifugo.send(commands).await, Err(Failure::Refused(_)))
    }

    /// The commands, or parts of them, that must be sent again.
    fn unsettled(&mut self, commands: Vec<Command>, replies: Vec<Reply>) -> Vec<Command> {
        let mut left = Vec::new();
        for (command, reply) in commands.into_iter().zip(replies) {
            match (command, reply.error) {
                (command, Some(error)) => left.extend(self.again(&error, &command.name()).then_some(command)),
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

    /// Whether what met this error is to be tried again; otherwise it is skipped.
    fn again(&mut self, error: &ApiError, what: &str) -> bool {
        if error.is_temporary() {
            self.fails(&error.to_string())
        } else {
            self.skip(what, &error.to_string())
        }
        error.is_temporary()
    }

    fn skip(&self, what: &str, reason: &str) {
        self.app.metrics.forwarded("skipped");
        tracing::error!(what, reason, "the push server refuses this for good: it is skipped");
    }

    fn fails(&mut self, reason: &str) {
        if self.silence.is_some_and(|logged| logged.elapsed() < MINUTE) {
            return;
        }
        self.silence = Some(Instant::now());
        let waiting = self.app.db.read(|conn| Ok(log::last_seq(conn)?)).unwrap_or_default() - self.recorded;
        tracing::warn!(reason, waiting, "the push server does not take publications: they wait");
    }

    fn answers(&mut self) {
        if self.silence.take().is_some() {
            tracing::info!("the push server takes publications again");
        }
    }
}

/// Groups commands. No two of a group are of one channel, so that one which must be repeated is overtaken by none; and
/// disconnects stand alone, since they divide what their users may hear from what they may not.
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
