//! `tidings serve`

use std::net::SocketAddr;

use tokio::{
    net::{TcpListener, TcpSocket},
    signal::unix::{SignalKind, signal},
};
use tracing_subscriber::EnvFilter;

use crate::{
    clock::Clock,
    config::Settings,
    error::{Error, Result},
    push::external::client::Centrifugo,
    state::{App, setup::LIFETIME},
    wiring,
};

/// How long a shutdown may take before it cuts off what still runs. Nothing that was answered is at risk.
const END_WITHIN: std::time::Duration = std::time::Duration::from_secs(9);

pub fn run(settings: Settings) -> Result<()> {
    let filter = filter(&settings)?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).init();
    raise_file_limit();
    use_small_pages();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::internal)?;
    runtime.block_on(serve(settings))
}

/// The filter of the log.
pub(super) fn filter(settings: &Settings) -> Result<EnvFilter> {
    EnvFilter::try_new(&settings.log).map_err(|err| Error::bad_request(format!("--log {}: {err}", settings.log)))
}

/// Connections that the kernel holds until they are accepted. With the usual 128, clients that come back all at once wait
/// for the retransmission of what the kernel dropped. The kernel cuts it to `net.core.somaxconn`.
const BACKLOG: u32 = 8192;

/// Opens the port. It may be in the state TIME_WAIT, as after a restart.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn serve(settings: Settings) -> Result<()> {
    // Comes first, because a taken port must leave nothing behind.
    let listener = listen(settings.listen.address);
    let listener = listener.map_err(|err| Error::bad_request(format!("can't listen on {}: {err}", settings.listen.address)))?;
    let address = listener.local_addr().map_err(Error::internal)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::internal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::internal)?;
    let app = wiring::open(&settings, address, Clock::default())?;
    announce(&settings, &app);
    if app.mailer.writes_to_log() && !app.site.is_local() {
        tracing::warn!(
            "MAILS GO TO THE LOG, LINKS INCLUDED: anybody who reads it can log in as other users. Name a mail server with --mail-url"
        );
    }
    let shutdown = async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("shutting down");
        std::thread::spawn(|| {
            std::thread::sleep(END_WITHIN);
            tracing::warn!("the shutdown took longer than {} s: what still runs is cut off", END_WITHIN.as_secs());
            std::process::exit(0);
        });
    };
    wiring::run(app, listener, shutdown).await
}

fn announce(settings: &Settings, app: &App) {
    use std::io::Write;
    let url = &app.site.base_url;
    let push = app.centrifugo.as_ref().map_or(url.as_str(), Centrifugo::url).replacen("http", "ws", 1);
    let folder = settings.data_dir.display();
    let mut text = format!(
        "Tidings {} is running; its data is in {folder}
  API    {url}/api/v1
  Docs   {url}/docs
  Push   {push}/connection/websocket
",
        env!("CARGO_PKG_VERSION")
    );
    if let Some(setup) = &app.setup {
        text += &format!(
            "Make the first administrator within {} minutes in a browser:
  {url}/setup?token={}
or later with
  tidings user create --data-dir {folder} --email you@example.org --role superadmin
",
            LIFETIME.as_secs() / 60,
            setup.token
        );
    }
    // Standard output may be closed; the server runs all the same.
    _ = std::io::stdout().write_all(text.as_bytes());
}

/// Raises the limit of open files: each socket is one, and the soft limit is often 1,024.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    _ = setrlimit(Resource::Nofile, limit);
}

/// Turns transparent huge pages off: the heap is sparse, and most of each 2 MiB page would stay empty.
fn use_small_pages() {
    #[cfg(target_os = "linux")]
    if let Err(err) = rustix::thread::disable_transparent_huge_pages(true) {
        tracing::debug!(%err, "can't turn off transparent huge pages");
    }
}
