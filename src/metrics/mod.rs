//! Counters of events since the start. `api/metrics.rs` shows it, and how things are.

mod process;
mod requests;

use std::{fmt::Debug, hash::Hash, sync::OnceLock, time::Duration};

use prometheus_client::{
    encoding::EncodeLabelValue,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

pub use self::requests::Requests;
use crate::{error::Result, secret::AccessKey, time::Time};

/// A counter for each value of one label.
type By<V> = Family<[(&'static str, V); 1], Counter>;

/// Counters of events since the start.
pub struct Metrics {
    /// Whom they are told; none for nobody.
    pub key: Option<AccessKey>,
    pub requests: Requests,
    started: Time,
    connects: By<&'static str>,
    commands: By<&'static str>,
    errors: By<u32>,
    closes: By<u16>,
    recoveries: By<&'static str>,
    /// Effects of commits that the publisher has not worked off.
    pub publisher_lag: Gauge,
    forwarded: By<&'static str>,
    attempts: By<&'static str>,
    mails: By<&'static str>,
    backups: By<&'static str>,
    backup_every: Gauge,
    backup_time: Gauge,
    backup_bytes: Gauge,
    certificate_end: OnceLock<Gauge>,
}

impl Metrics {
    pub fn new(token: Option<&str>) -> Result<Metrics> {
        Ok(Metrics {
            key: token.map(|token| AccessKey::new("--metrics-token", token)).transpose()?,
            requests: Requests::default(),
            started: Time::now(),
            // What an alarm would ask for is there before it happens.
            connects: by("client", ["sdk", "raw", "listener"]),
            commands: By::default(),
            errors: By::default(),
            closes: by("code", [3008, 3012]),
            recoveries: by("recovered", ["true", "false"]),
            publisher_lag: Gauge::default(),
            forwarded: by("outcome", ["taken", "again", "skipped"]),
            attempts: by("delivered", ["true", "false"]),
            mails: by("sent", ["true", "false"]),
            backups: by("made", ["true", "false"]),
            backup_every: Gauge::default(),
            backup_time: Gauge::default(),
            backup_bytes: Gauge::default(),
            certificate_end: OnceLock::new(),
        })
    }

    /// A client connects: as an SDK does, without numbering its commands (`raw`), or only to listen.
    pub fn connect(&self, client: &'static str) {
        count(&self.connects, "client", client);
    }

    pub fn push_command(&self, name: &'static str) {
        count(&self.commands, "command", name);
    }

    /// A command was answered with an error.
    pub fn command_error(&self, code: u32) {
        count(&self.errors, "code", code);
    }

    /// The server ends a connection.
    pub fn count_close(&self, code: u16) {
        count(&self.closes, "code", code);
    }

    /// A client asked for what it missed.
    pub fn recovery(&self, is_recovered: bool) {
        count(&self.recoveries, "recovered", if is_recovered { "true" } else { "false" });
    }

    /// A request to an external Centrifugo was `taken`, or is to be sent `again`; what it refuses for good is `skipped`.
    pub fn count_centrifugo_request(&self, outcome: &'static str) {
        count(&self.forwarded, "outcome", outcome);
    }

    /// A webhook's event was sent to its address.
    pub fn count_delivery_attempt(&self, is_delivered: bool) {
        count(&self.attempts, "delivered", if is_delivered { "true" } else { "false" });
    }

    /// The mail server took a mail, or didn't.
    pub fn mail(&self, is_sent: bool) {
        count(&self.mails, "sent", if is_sent { "true" } else { "false" });
    }

    /// The server has made a backup, or failed to.
    pub fn backup(&self, is_made: bool) {
        count(&self.backups, "made", if is_made { "true" } else { "false" });
    }

    /// The server makes backups, this often.
    pub fn backups_every(&self, every: Duration) {
        self.backup_every.set(every.as_secs() as i64);
    }

    /// The newest backup in the folder of the server's own, whoever made it.
    pub fn newest_backup(&self, made: Time, bytes: u64) {
        self.backup_time.set(made.unix_seconds());
        self.backup_bytes.set(bytes as i64);
    }

    /// The server shows a certificate. `end` is the Unix time in seconds when it ends, also of those that follow.
    pub fn certificate(&self, end: Gauge) {
        _ = self.certificate_end.set(end); // a server serves once
    }

    pub fn register(&self, registry: &mut Registry) {
        self.requests.register(registry);
        registry.register("push_connects", "Connects, good or bad", self.connects.clone());
        registry.register("push_commands", "Commands of clients", self.commands.clone());
        registry.register("push_errors", "Commands answered with an error", self.errors.clone());
        registry.register("push_closes", "Connections ended by the server; 3008 did not read in time", self.closes.clone());
        registry.register("push_recoveries", "Subscriptions that asked for what they missed", self.recoveries.clone());
        registry.register("push_forwarded", "Requests to an external Centrifugo", self.forwarded.clone());
        registry.register("webhook_attempts", "Attempts to deliver an event of a webhook", self.attempts.clone());
        registry.register("mails", "Attempts to send a mail", self.mails.clone());
        registry.register("backups", "Backups that the server has tried to make", self.backups.clone());
        registry.register(
            "backup_time_seconds",
            "When the newest backup was made; 0 before the first, and without --backup-every",
            self.backup_time.clone(),
        );
        let every = self.backup_every.clone();
        registry.register("backup_every_seconds", "The time between two backups; 0 without --backup-every", every);
        registry.register("backup_bytes", "The size of the newest backup", self.backup_bytes.clone());
        let end = self.certificate_end.get().cloned().unwrap_or_default();
        registry.register("certificate_end_time_seconds", "When the server's certificate ends; 0 without --tls-cert", end);
    }

    /// Registers the figures of the process.
    pub fn register_process(&self, registry: &mut Registry) {
        process::register(registry, self.started);
    }
}

fn by<V: Clone + Debug + Eq + Hash, const N: usize>(label: &'static str, values: [V; N]) -> By<V> {
    let family = By::default();
    values.into_iter().for_each(|value| drop(family.get_or_create(&[(label, value)])));
    family
}

fn count<V: Clone + Debug + Eq + Hash + EncodeLabelValue>(family: &By<V>, label: &'static str, value: V) {
    family.get_or_create(&[(label, value)]).inc();
}
