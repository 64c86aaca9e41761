//! `tidings serve`

use clap::ArgMatches;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{config_command, log_setup::Log, systemd_notify};
use crate::{
    clock::Clock,
    config::{Address, Settings, Tls, unknown_variables},
    connections::{acme::Acme, certificate::Files, listening::Listeners, redirect::PlainHttp},
    error::{Error, Result},
    net::trusted_authorities::Authorities,
    push::external::Centrifugo,
    site::{is_unspecified, reachable_address},
    state::{App, setup_link::LIFETIME},
    wiring,
};

/// How long a shutdown may take before it cuts off what still runs. Nothing that was answered is at risk.
const END_WITHIN: std::time::Duration = std::time::Duration::from_secs(9);

/// Runs the server. The settings are from the command line `matches`; `read_again` reads it with the settings file and the files
/// of secrets as they are then.
pub fn run(settings: Settings, matches: ArgMatches, read_again: fn() -> Result<ArgMatches>) -> Result<()> {
    let log = Log::start(&settings)?;
    unknown_variables(&config_command::all_settings_parser()).iter().for_each(|unknown| tracing::warn!("{unknown}"));
    raise_file_limit();
    use_small_pages();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Error::internal)?;
    runtime.block_on(serve(settings, Reload { log, started_with: matches, read_again }))
}

/// The settings that a SIGHUP reloads.
struct Reload {
    log: Log,
    started_with: ArgMatches,
    read_again: fn() -> Result<ArgMatches>,
}

impl Reload {
    /// Reads the settings again at each SIGHUP.
    async fn run(self, mut hangup: Signal) {
        while hangup.recv().await.is_some() {
            if let Err(err) = self.reload() {
                tracing::error!(err = err.log_text(), "the settings can't be read again, and stay as they are");
            }
        }
    }

    /// Applies the filter of the log, and names the other settings that differ from those at the start.
    fn reload(&self) -> Result<()> {
        let now = (self.read_again)()?;
        let filter = config_command::innermost_command(&now).get_one::<String>("log");
        self.log.set(filter.expect("it has a default"))?;
        let mut changed = config_command::settings_changed_between(&self.started_with, &now);
        changed.retain(|setting| setting != "log");
        tracing::info!("the settings were read again");
        if !changed.is_empty() {
            tracing::warn!(settings = changed.join(", "), "these settings have changed, and need a restart");
        }
        Ok(())
    }
}

async fn serve(settings: Settings, reload: Reload) -> Result<()> {
    // Comes first, because a bad certificate or a taken port must leave nothing behind.
    let (tls, acme) = match settings.listen.tls()? {
        Tls::Off => (None, None),
        Tls::Files(cert, key) => (Some(Files::new(cert, key).follow()?), None),
        Tls::Acme(_) => {
            let acme = Acme::new(&settings, &Authorities::read(settings.mail.ca_file.as_deref())?)?;
            (Some(acme.certificate()?), Some(acme))
        }
    };
    let plain_http = acme.as_ref().map_or_else(PlainHttp::default, |acme| acme.plain_http(&settings));
    let listeners = Listeners::open(&settings.listen.addresses(), tls, plain_http)?;
    let addresses = listeners.addresses();
    tokio::spawn(reload.run(signal(SignalKind::hangup()).map_err(Error::internal)?));
    let app = wiring::open(&settings, addresses.iter().find_map(Address::as_tcp), Clock::default())?;
    if let Some(acme) = acme {
        tokio::spawn(acme.run(app.stopping(), signal(SignalKind::hangup()).map_err(Error::internal)?));
    }
    // Until here SIGTERM and SIGINT end the process at once: a migration and its backup may take long, and are all or nothing.
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::internal)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::internal)?;
    announce(&settings, &app, &addresses);
    if app.mailer.writes_to_log() && !app.site.is_local() {
        tracing::warn!(
            "MAILS GO TO THE LOG, LINKS INCLUDED: anybody who reads it can log in as other users. Name a mail server with --mail-url"
        );
    }
    let is_loopback = |address: &Address| address.as_tcp().is_some_and(|address| address.ip().is_loopback());
    if !settings.listen.domains.is_empty() && settings.listen.addresses().iter().all(is_loopback) {
        tracing::warn!(
            "nobody but this machine reaches the addresses of --listen: leave it out beside --domain, or forward port 443"
        );
    }
    if is_unspecified(&app.site.base_url) {
        tracing::warn!(
            base_url = app.site.base_url,
            "nobody can follow links to this address: name the server's with --base-url"
        );
    }
    let shutdown = async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("shutting down");
        systemd_notify::stopping();
        std::thread::spawn(|| {
            std::thread::sleep(END_WITHIN);
            tracing::warn!("the shutdown took longer than {} s: what still runs is cut off", END_WITHIN.as_secs());
            std::process::exit(0);
        });
    };
    systemd_notify::ready(settings.data_dir.clone());
    wiring::run(app, listeners, shutdown).await
}

fn announce(settings: &Settings, app: &App, addresses: &[Address]) {
    use std::io::Write;
    let url = reachable_address(&app.site.base_url);
    let push = app.centrifugo.as_ref().map_or(&*url, Centrifugo::url).replacen("http", "ws", 1);
    let folder = settings.data_dir.display();
    let listening = addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(", ");
    let client = if app.site.client { format!("\n  Open   {url}") } else { String::new() };
    let mut text = format!(
        "Tidings {} is running; its data is in {folder}{client}
  API    {url}/api/v1
  Docs   {url}/docs
  Push   {push}/connection/websocket
  Listen {listening}
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
