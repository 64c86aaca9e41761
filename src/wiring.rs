//! Opens the parts of the server, routes the effects of each commit to their consumers, and closes all parts in order.

use std::{net::SocketAddr, path::Path, sync::Arc, thread::JoinHandle, time::Duration};

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use tokio::{sync::watch, time::timeout};

use crate::{
    archive::backup,
    clock::Clock,
    config::{Settings, Tls},
    connections::{self, certificate::Files, listening::Listeners},
    db::{self, AfterCommit, Db, FolderLock, KeyFile},
    domain::{
        accounts::{address_migration, by_operator, searchable_names},
        base_url,
    },
    error::{Error, Faults, Result},
    event::Queue,
    files::Store,
    issuer::Issuer,
    jobs,
    limits::{Limits, admission::ConnectionSlots, byte_quotas::ByteQuotas},
    mail::transport::Mailer,
    metrics::Metrics,
    net::{origins::Origins, trusted_authorities::Authorities},
    outgoing::Outgoing,
    push::{
        context::Push,
        embedded::{hub::Hub, publisher::Publisher, unsent::Unsent},
        external::Centrifugo,
        last_active::Activity,
        server_api::memory::ServerApi,
    },
    site::{Served, Site},
    state::{
        App, Inner, delivery::DeliveryState, hashing::Hashing, newest_pages::NewestPages, session_cache::SessionCache,
        setup_link::SetupLink, wakeups::Wakeups,
    },
};

/// How long sockets may take to send their last frames and the close.
const SOCKETS_WITHIN: Duration = Duration::from_secs(2);

/// An origin to check the other settings with, if that of the server is wrong.
const NOWHERE: &str = "http://localhost";

/// The parts that are made of the settings alone.
struct Parts {
    links: (String, String),
    mailer: Mailer,
    issuer: Option<Issuer>,
    centrifugo: Option<Centrifugo>,
    outgoing: Outgoing,
    origins: Arc<Origins>,
    server_api: ServerApi,
    metrics: Arc<Metrics>,
}

impl Parts {
    /// Makes all parts, or says of each setting what is wrong with it.
    fn new(settings: &Settings, listening: Option<SocketAddr>) -> Result<Parts> {
        let mut faults = Faults::default();
        // The other settings are checked without the authorities of a file that can't be read.
        let authorities = faults.ok_or_collect(Authorities::read(settings.mail.ca_file.as_deref()));
        let authorities = authorities.map_or_else(|| Authorities::read(None), Ok)?;
        let links = settings.server_and_link_origins(listening);
        let mailer = Mailer::new(&settings.mail.mail_url, &settings.mail.mail_from, &authorities);
        let issuer = Issuer::new(&settings.federated, &authorities);
        let external = settings.push.external();
        let centrifugo = external.and_then(|external| external.map(|it| Centrifugo::new(&it, &authorities)).transpose());
        let outgoing = Outgoing::new(&settings.allow_private_webhooks, &authorities);
        let (base, web) = links.as_ref().map_or((NOWHERE, NOWHERE), |(base, web)| (base, web));
        let origins = Origins::new(&settings.allowed_origin, (base, &settings.listen.domains), web, &settings.trusted_proxy);
        let server_api = ServerApi::new(settings.push_api_key.as_deref());
        let metrics = Metrics::new(settings.metrics_token.as_deref());
        faults.note(&links);
        faults.note(&mailer);
        faults.note(&issuer);
        faults.note(&centrifugo);
        faults.note(&outgoing);
        faults.note(&origins);
        faults.note(&server_api);
        faults.note(&metrics);
        faults.into_result()?;
        Ok(Parts {
            links: links?,
            mailer: mailer?,
            issuer: issuer?,
            centrifugo: centrifugo?,
            outgoing: outgoing?,
            origins: Arc::new(origins?),
            server_api: server_api?,
            metrics: Arc::new(metrics?),
        })
    }
}

/// Checks the settings, and changes nothing.
pub fn check_settings(settings: &Settings, faults: &mut Faults) {
    if let Some(Tls::Files(cert, key)) = faults.ok_or_collect(settings.listen.tls()) {
        faults.ok_or_collect(Files::new(cert, key).check());
    }
    let backups = &settings.backups;
    if backups.every.is_some() || backups.migration.backup_dir.is_some() {
        faults.ok_or_collect(backup::require_writable(&backups.migration.folder(&settings.data_dir)));
    }
    // The pool of connections to a mail server needs a runtime, when it is made and when it is dropped.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::internal);
    let Some(runtime) = faults.ok_or_collect(runtime) else { return };
    let _entered = runtime.enter();
    faults.ok_or_collect(Parts::new(settings, None));
}

/// Opens the data folder, creating it if there is none, and starts the writer and the publisher. `listening` is the first TCP
/// address of the server, if it has one.
pub fn open(settings: &Settings, listening: impl Into<Option<SocketAddr>>, clock: Clock) -> Result<App> {
    let Parts { links, mailer, issuer, centrifugo, outgoing, origins, server_api, metrics } =
        Parts::new(settings, listening.into())?;
    mailer.create_folder()?;
    let served = Served { base_url: links.0.clone(), web_url: links.1.clone(), has_mail_server: !mailer.writes_to_log() };
    let lock = lock_folder(&settings.data_dir, &served)?;
    let keys = KeyFile::open(&settings.data_dir, clock.now())?.keys();
    let site = Arc::new(Site::new(settings, keys, links));
    back_up_before_migration(settings, &clock)?;
    let quotas = Arc::new(ByteQuotas::of(settings));
    let (lag, is_forwarding) = (metrics.publisher_lag.clone(), centrifugo.is_some());
    let Opened { db, hub, sessions, newest, wakeups, delivery, publisher } =
        open_database(settings, (site.clone(), quotas.clone()), clock.clone(), lag, is_forwarding)?;
    let setup = if db.read(|conn| by_operator::has_superadmin(conn))? { None } else { Some(SetupLink::new(clock.now())?) };
    let limits = Arc::new(Limits::new(site.rate_limit, &clock));
    let stopping = watch::Sender::new(false);
    let push = Push {
        db: db.clone(),
        site: site.clone(),
        clock: clock.clone(),
        limits: limits.clone(),
        metrics: metrics.clone(),
        origins: origins.clone(),
        hub,
        unsent: Unsent::new((settings.push_unsent_mib as usize) << 20),
        recent: Default::default(),
        server_api,
        ping_every: Duration::from_secs(settings.push_ping_seconds.into()),
        activity: Activity::new(clock.clone()),
        stopping: stopping.subscribe(),
        sockets: Default::default(),
        turns: Default::default(),
    };
    Ok(App(Arc::new(Inner {
        db,
        limits,
        quotas,
        site,
        data_dir: settings.data_dir.clone(),
        files: Store::open(&settings.data_dir)?,
        clock,
        push: Arc::new(push),
        backups: schedule(settings),
        mailer,
        issuer,
        centrifugo,
        outgoing,
        origins,
        metrics,
        trusted_proxies: settings.trusted_proxy.clone(),
        connection_slots: ConnectionSlots::new(settings.connections_per_address as usize, &settings.trusted_proxy),
        delivery,
        wakeups,
        sessions,
        newest,
        setup,
        hashing: Hashing::new(std::thread::available_parallelism().map_or(2, usize::from)),
        stopping,
        publisher,
        _lock: lock,
    })))
}

/// Makes the data folder if there is none, and keeps other servers from it. Commands read there what is served.
fn lock_folder(folder: &Path, served: &Served) -> Result<FolderLock> {
    db::make_folder(folder)?;
    let lock = db::lock(folder)?;
    lock.publish(&serde_json::to_string(served).map_err(Error::internal)?)?;
    Ok(lock)
}

fn back_up_before_migration(Settings { backups, data_dir, .. }: &Settings, clock: &Clock) -> Result<()> {
    let (folder, no_backup) = (backups.migration.folder(data_dir), backups.migration.no_migration_backup);
    if let Some(path) = backup::before_migration(data_dir, &folder, no_backup, clock.now(), &mut |_, _, _| ())? {
        tracing::info!(path = %path.display(), "made a backup of the database alone before its migration");
    }
    Ok(())
}

/// The backups that a server with these settings makes by itself, if any.
pub(crate) fn schedule(Settings { backups, data_dir, .. }: &Settings) -> Option<backup::Schedule> {
    let (folder, keep) = (backups.migration.folder(data_dir), backups.keep as usize);
    backups.every.map(|every| backup::Schedule { folder, every, keep })
}

/// The database, and the consumers of its commits' effects.
struct Opened {
    db: Db,
    hub: Arc<Hub>,
    sessions: Arc<SessionCache>,
    newest: Arc<NewestPages>,
    wakeups: Arc<Wakeups>,
    delivery: Arc<DeliveryState>,
    /// The publisher's thread; `None` if an external Centrifugo serves live push, since the hub has no subscribers then.
    publisher: Mutex<Option<JoinHandle<()>>>,
}

fn open_database(
    settings: &Settings,
    site_and_quotas: (Arc<Site>, Arc<ByteQuotas>),
    clock: Clock,
    publisher_lag: Gauge,
    is_push_external: bool,
) -> Result<Opened> {
    let (hub, wakeups, delivery) = (Arc::new(Hub::default()), Arc::default(), Arc::default());
    let (sessions, newest) = (Arc::default(), Arc::default());
    let (publisher, waiting) = Publisher::new(publisher_lag);
    let after_commit =
        router((Arc::clone(&sessions), Arc::clone(&newest)), Arc::clone(&wakeups), Arc::clone(&delivery), publisher);
    let db = Db::open(&settings.data_dir, site_and_quotas, clock.clone(), after_commit)?;
    let publisher =
        if is_push_external { Mutex::default() } else { waiting.start_thread(&settings.data_dir, hub.clone(), clock)? };
    Ok(Opened { db, hub, sessions, newest, wakeups, delivery, publisher })
}

/// Makes the router, which hands the effects of each commit to their consumers. It runs before the callers are answered, so
/// that a request after the answer can't find an ended session in the cache; the background jobs are woken after that.
fn router(
    (sessions, newest): (Arc<SessionCache>, Arc<NewestPages>),
    wakeups: Arc<Wakeups>,
    delivery: Arc<DeliveryState>,
    publisher: Publisher,
) -> AfterCommit {
    Box::new(move |committed| {
        let effects = &committed.effects;
        sessions.forget_affected(effects);
        newest.forget(effects);
        delivery.note_commit(effects); // before the job that reads it wakes
        let (wakeups, queues) = (Arc::clone(&wakeups), Queue::fed_by(effects));
        publisher.send(committed);
        Box::new(move || queues.into_iter().for_each(|queue| wakeups.wake(queue)))
    })
}

/// Serves on the listeners until `shutdown` is ready, then stops within some ten seconds: requests finish, queued writes
/// reach the disk, and sockets are closed with code 3001.
pub async fn run(app: App, listeners: impl Into<Listeners>, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    let mut sockets = app.push.sockets.count_from_now();
    app.db.write(address_migration::canonicalise_stored).await?;
    app.db.write(searchable_names::backfill).await?;
    app.db.write(base_url::note).await?;
    let forwarded = jobs::forwarding::start_or_stop_log_retention(&app).await?;
    jobs::deliveries::start_retaining_log(&app).await?;
    let notified = jobs::notifications::start_retaining_log(&app).await?;
    let jobs = tokio::spawn(jobs::run(app.clone(), forwarded, notified));
    let jobs = tokio::spawn(async move {
        if jobs.await.is_err_and(|err| err.is_panic()) {
            std::process::abort(); // without its jobs the server would look well, and send no mail and no delivery
        }
    });
    let stopping = app.clone();
    tokio::spawn(async move {
        shutdown.await;
        stopping.stop();
    });
    connections::serve(&app, listeners.into()).await;
    _ = jobs.await;
    if let Err(err) = jobs::housekeeping::tidy(&app).await {
        tracing::warn!(err = err.log_text(), "the last housekeeping failed");
    }
    let finishing = app.clone();
    tokio::task::spawn_blocking(move || finish_writes(&finishing)).await.map_err(Error::internal)?;
    app.push.sockets.close_all(); // last, so that the events of answered requests are pushed first
    _ = timeout(SOCKETS_WITHIN, sockets.recv()).await;
    Ok(())
}

/// Refuses further writes, puts the queued ones on disk, and pushes their events. Blocks the thread.
pub fn finish_writes(app: &App) {
    app.db.close(); // ends the writer, and with it the publisher's last sender
    if let Some(publisher) = app.publisher.lock().take() {
        _ = publisher.join();
    }
}
