//! Numbers for whoever runs the server, in the text format of OpenMetrics. What happens is counted as it happens; how
//! things are (connections, queues, lags) is looked up when somebody asks.

use poem::{Response, handler, web::Data};
use prometheus_client::{
    encoding::{EncodeLabelValue, text},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::{ConstGauge, Gauge},
    },
    registry::Registry,
};
use std::{fmt::Debug, hash::Hash};

use crate::{
    app::App,
    db::log,
    domain::{chores, log::cursors, messages::indexing, outbox},
    error::{Error, Result},
    secret::AccessKey,
};

/// A counter for each value of one label.
type By<V> = Family<[(&'static str, V); 1], Counter>;

/// What has happened since the start.
pub struct Metrics {
    /// Whom they are told; none for nobody.
    pub key: Option<AccessKey>,
    connects: By<&'static str>,
    commands: By<&'static str>,
    errors: By<u32>,
    closes: By<u16>,
    recoveries: By<&'static str>,
    /// Effects of commits that the publisher has not worked off.
    pub publisher_lag: Gauge,
    forwarded: By<&'static str>,
    attempts: By<&'static str>,
}

impl Metrics {
    pub fn new(token: Option<&str>) -> Result<Metrics> {
        Ok(Metrics {
            key: token.map(|token| AccessKey::new("--metrics-token", token)).transpose()?,
            // What an alarm would ask for is there before it happens.
            connects: by("client", ["sdk", "raw", "listener"]),
            commands: By::default(),
            errors: By::default(),
            closes: by("code", [3008, 3012]),
            recoveries: by("recovered", ["true", "false"]),
            publisher_lag: Gauge::default(),
            forwarded: by("outcome", ["taken", "again", "skipped"]),
            attempts: by("delivered", ["true", "false"]),
        })
    }

    /// A client connects: as an SDK does, without numbering its commands (`raw`), or only to listen.
    pub fn connect(&self, client: &'static str) {
        count(&self.connects, "client", client);
    }

    pub fn command(&self, name: &'static str) {
        count(&self.commands, "command", name);
    }

    /// A command was answered with an error.
    pub fn error(&self, code: u32) {
        count(&self.errors, "code", code);
    }

    /// The server ends a connection.
    pub fn close(&self, code: u16) {
        count(&self.closes, "code", code);
    }

    /// A client asked for what it missed.
    pub fn recovery(&self, is_recovered: bool) {
        count(&self.recoveries, "recovered", if is_recovered { "true" } else { "false" });
    }

    /// A request to an external Centrifugo was `taken`, or is to be sent `again`; what it refuses for good is `skipped`.
    pub fn forwarded(&self, outcome: &'static str) {
        count(&self.forwarded, "outcome", outcome);
    }

    /// A webhook's event was sent to its address.
    pub fn attempt(&self, is_delivered: bool) {
        count(&self.attempts, "delivered", if is_delivered { "true" } else { "false" });
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

/// `GET /metrics`
#[handler]
pub fn show(app: Data<&App>) -> poem::Result<Response> {
    let mut registry = Registry::with_prefix("tidings");
    happened(app.0, &mut registry);
    push(app.0, &mut registry);
    database(app.0, &mut registry)?;
    let mut page = String::new();
    text::encode(&mut page, &registry).map_err(Error::internal)?;
    Ok(Response::builder().content_type("application/openmetrics-text; version=1.0.0; charset=utf-8").body(page))
}

fn happened(app: &App, registry: &mut Registry) {
    let (metrics, hub) = (&app.metrics, &app.hub);
    registry.register("push_connects", "Connects, good or bad", metrics.connects.clone());
    registry.register("push_commands", "Commands of clients", metrics.commands.clone());
    registry.register("push_errors", "Commands answered with an error", metrics.errors.clone());
    registry.register("push_closes", "Connections ended by the server; 3008 did not read in time", metrics.closes.clone());
    registry.register("push_recoveries", "Subscriptions that asked for what they missed", metrics.recoveries.clone());
    registry.register("push_forwarded", "Requests to an external Centrifugo", metrics.forwarded.clone());
    registry.register("webhook_attempts", "Attempts to deliver an event of a webhook", metrics.attempts.clone());
    registry.register("push_publications", "Publications with subscribers", hub.publications.clone());
    registry.register("push_deliveries", "Publications times their subscribers", hub.deliveries.clone());
}

fn push(app: &App, registry: &mut Registry) {
    let connections: Family<[(&str, &str); 2], Gauge> = Family::default();
    let (mut queued, mut longest) = (0, 0);
    for connection in app.hub.all_connections() {
        let labels = [("transport", connection.transport), ("encoding", connection.encoding.name())];
        connections.get_or_create(&labels).inc();
        let waiting = connection.queued_bytes();
        queued += waiting;
        longest = longest.max(waiting);
    }
    registry.register("push_connections", "Open connections", connections);
    let channels = app.hub.channels();
    let subscriptions = channels.iter().map(|(_, subscribers)| subscribers).sum();
    gauge(registry, "push_users", "Users with open connections", app.hub.user_count());
    gauge(registry, "push_channels", "Channels that are heard", channels.len());
    gauge(registry, "push_subscriptions", "Subscriptions", subscriptions);
    gauge(registry, "push_queue_bytes", "Bytes that wait to be sent", queued);
    gauge(registry, "push_longest_queue_bytes", "Bytes that wait for one connection", longest);
}

fn database(app: &App, registry: &mut Registry) -> Result<()> {
    let (last, forwarded, unindexed, mails, chores) = app.db.read(|conn| {
        let (last, forwarded) = (log::last_seq(conn)?, cursors::find(conn, cursors::FORWARDER)?);
        Ok((last, forwarded, indexing::behind(conn)?, outbox::count_due(conn)?, chores::count(conn)?))
    })?;
    registry.register("push_publisher_lag", "What is committed and not pushed yet", app.metrics.publisher_lag.clone());
    if let Some(forwarded) = forwarded {
        gauge(
            registry,
            "push_forwarding_lag",
            "Rows of the log that Centrifugo has not taken",
            (last - forwarded).max(0) as usize,
        );
    }
    gauge(registry, "log_last_seq", "The newest row of the event log", last as usize);
    registry.register("writer_job_seconds", "How long a write held up all others", app.db.job_seconds());
    gauge(registry, "chores", "Changes that the background jobs have not worked off yet", chores as usize);
    gauge(registry, "wal_bytes", "What waits to be moved into the database file", app.db.wal_bytes() as usize);
    gauge(registry, "search_behind", "Messages that are not in the search index yet", unindexed as usize);
    gauge(registry, "mails_due", "Mails that are to be sent now", mails as usize);
    let behind = (last - app.deliveries.followed()).max(0) as usize;
    gauge(registry, "webhooks_behind", "Rows of the log that webhooks have not followed yet", behind);
    gauge(registry, "webhooks_due", "Webhooks that wait for a free slot to deliver something", app.deliveries.due());
    Ok(())
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: usize) {
    registry.register(name, help, ConstGauge::new(value as i64));
}
