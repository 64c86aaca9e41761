//! Metrics for administrators, in the text format of OpenMetrics. [`crate::metrics`] counts what has happened; gauges
//! (connections, queues, lags) are read at each request.

use poem::{Response, handler, web::Data};
use prometheus_client::{
    encoding::text,
    metrics::{
        counter::{ConstCounter, Counter},
        family::Family,
        gauge::{ConstGauge, Gauge},
    },
    registry::Registry,
};

use super::job_backlog::Backlog;
use crate::{
    db,
    error::{Error, Result},
    state::App,
};

/// Handles `GET /metrics`.
#[handler]
pub fn show(app: Data<&App>) -> poem::Result<Response> {
    let mut registry = Registry::default();
    app.metrics.register_process(registry.sub_registry_with_prefix("process"));
    let ours = registry.sub_registry_with_prefix("tidings");
    app.metrics.register(ours);
    connections(app.0, ours);
    push(app.0, ours);
    database(app.0, ours)?;
    if let Some(free) = db::free_bytes(&app.data_dir) {
        gauge(ours, "disk_free_bytes", "Free space on the disk of the data folder", free as i64);
    }
    if let Some(free) = db::free_bytes(app.files.folder()) {
        gauge(ours, "files_disk_free_bytes", "Free space on the disk of the files of messages", free as i64);
    }
    let mut page = String::new();
    text::encode(&mut page, &registry).map_err(Error::internal)?;
    Ok(Response::builder().content_type("application/openmetrics-text; version=1.0.0; charset=utf-8").body(page))
}

fn connections(app: &App, registry: &mut Registry) {
    let (open, [closed, refused]) = (app.connection_slots.open_counts(), app.connection_slots.turned_away());
    let connections: Family<[(&str, &str); 1], Gauge> = Family::default();
    for (of, count) in [("users", open.users), ("anonymous", open.strangers), ("others", open.others)] {
        connections.get_or_create(&[("of", of)]).set(count as i64);
    }
    let says = "Open connections: of users, of anonymous clients, of trusted proxies and others";
    registry.register("connections", says, connections);
    let says = "Connections of anonymous clients that were closed for new ones because their address was full";
    registry.register("connections_closed", says, ConstCounter::new(closed));
    registry.register("connections_refused", "New connections of an address that was full and busy", ConstCounter::new(refused));
}

fn push(app: &App, registry: &mut Registry) {
    let connections: Family<[(&str, &str); 2], Gauge> = Family::default();
    let (mut queued, mut longest) = (0, 0);
    for connection in app.push.hub.all_connections() {
        let labels = [("transport", connection.transport), ("encoding", connection.encoding.name())];
        connections.get_or_create(&labels).inc();
        let waiting = connection.outbox.bytes();
        queued += waiting;
        longest = longest.max(waiting);
    }
    registry.register("push_connections", "Open connections", connections);
    registry.register("push_publications", "Publications with subscribers", app.push.hub.publications.clone());
    registry.register("push_deliveries", "Publications times their subscribers", app.push.hub.deliveries.clone());
    let channels = app.push.hub.channels();
    let subscriptions: usize = channels.iter().map(|(_, subscribers)| subscribers).sum();
    gauge(registry, "push_users", "Users with open connections", app.push.hub.user_count() as i64);
    gauge(registry, "push_channels", "Channels that are heard", channels.len() as i64);
    gauge(registry, "push_subscriptions", "Subscriptions", subscriptions as i64);
    gauge(registry, "push_queue_bytes", "Bytes that wait to be sent", queued as i64);
    gauge(registry, "push_longest_queue_bytes", "Bytes that wait for one connection", longest as i64);
    let unsent = &app.push.unsent;
    gauge(registry, "push_unsent_bytes", "Memory that counts towards --push-unsent-mib", unsent.bytes());
    let closed: Family<[(&str, &str); 1], Counter> = Family::default();
    for (budget, count) in ["user", "all"].into_iter().zip(unsent.closed()) {
        closed.get_or_create(&[("budget", budget)]).inc_by(count);
    }
    registry.register(
        "push_unsent_closes",
        "Connections closed because the unread data of their user, or of all users, exceeded the budget",
        closed,
    );
}

fn database(app: &App, registry: &mut Registry) -> Result<()> {
    app.db.register_metrics(registry);
    let backlog = Backlog::read(app)?;
    if let Some(lag) = backlog.forwarder {
        gauge(registry, "push_forwarding_lag", "Rows of the log that Centrifugo has not taken", lag);
    }
    gauge(registry, "push_publisher_lag", "What is committed and not pushed yet", backlog.publisher);
    gauge(registry, "log_last_seq", "The newest row of the event log", backlog.last_seq);
    gauge(registry, "deferred_work", "Changes that the background jobs have not worked off yet", backlog.deferred_work);
    gauge(registry, "chores", "The former name of deferred_work, until the next release", backlog.deferred_work);
    gauge(registry, "search_behind", "Messages that are not in the search index yet", backlog.search);
    gauge(registry, "mails_due", "Mails that are to be sent now", backlog.mails);
    gauge(registry, "webhooks_behind", "Rows of the log that webhooks have not followed yet", backlog.webhooks);
    gauge(registry, "webhooks_due", "Webhooks that wait for a free slot to deliver something", backlog.due_webhooks);
    Ok(())
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: i64) {
    registry.register(name, help, ConstGauge::new(value));
}
