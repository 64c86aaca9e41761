//! Metrics for administrators, in the text format of OpenMetrics. [`crate::metrics`] counts what has happened; gauges
//! (connections, queues, lags) are read at each request.

use poem::{Response, handler, web::Data};
use prometheus_client::{
    encoding::text,
    metrics::{
        family::Family,
        gauge::{ConstGauge, Gauge},
    },
    registry::Registry,
};

use crate::{
    db::log,
    domain::{chores, log::cursors, messages::indexing, outbox},
    error::{Error, Result},
    state::App,
};

/// Handles `GET /metrics`.
#[handler]
pub fn show(app: Data<&App>) -> poem::Result<Response> {
    let mut registry = Registry::with_prefix("tidings");
    app.metrics.register(&mut registry);
    push(app.0, &mut registry);
    database(app.0, &mut registry)?;
    let mut page = String::new();
    text::encode(&mut page, &registry).map_err(Error::internal)?;
    Ok(Response::builder().content_type("application/openmetrics-text; version=1.0.0; charset=utf-8").body(page))
}

fn push(app: &App, registry: &mut Registry) {
    let connections: Family<[(&str, &str); 2], Gauge> = Family::default();
    let (mut queued, mut longest) = (0, 0);
    for connection in app.hub.all_connections() {
        let labels = [("transport", connection.transport), ("encoding", connection.encoding.name())];
        connections.get_or_create(&labels).inc();
        let waiting = connection.outbox.bytes();
        queued += waiting;
        longest = longest.max(waiting);
    }
    registry.register("push_connections", "Open connections", connections);
    registry.register("push_publications", "Publications with subscribers", app.hub.publications.clone());
    registry.register("push_deliveries", "Publications times their subscribers", app.hub.deliveries.clone());
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
    let behind = (last - app.delivering.followed()).max(0) as usize;
    gauge(registry, "webhooks_behind", "Rows of the log that webhooks have not followed yet", behind);
    gauge(registry, "webhooks_due", "Webhooks that wait for a free slot to deliver something", app.delivering.due());
    Ok(())
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: usize) {
    registry.register(name, help, ConstGauge::new(value as i64));
}
