//! Every setting once: a flag, the environment variable `TIDINGS_…`, for secrets a file that `TIDINGS_…_FILE` names, and a line
//! of the settings file, in that order of precedence. Nothing else reads the environment.

mod domains;
mod federated;
mod file;
mod files;
mod listen;
mod push;
mod setting_names;
mod sources;
mod values;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{ArgAction, Args, Command, ValueEnum, builder::BoolishValueParser};
use ipnet::IpNet;

use self::values::{network, operator_address, origin, span};
pub use self::{
    domains::Acme,
    federated::Federated,
    file::secrets_in,
    files::{Files, PictureDetails},
    listen::{Address, Listen, Tls},
    push::{External, Push, PushServer},
    sources::{error_in_one_line, unknown_variables, with_file_defaults},
};
use crate::error::{Error, Faults, Result};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);

/// Where the server keeps everything.
#[derive(Args, Clone, Debug)]
pub struct Folder {
    /// Folder of the database and the secret key; created if it is missing
    #[arg(long, env = "TIDINGS_DATA_DIR", default_value = "./tidings-data", value_name = "DIR", global = true)]
    pub data_dir: PathBuf,

    /// TOML file with settings: the names of the flags, with underscores
    #[arg(long, env = "TIDINGS_CONFIG", value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// The server's addresses, for all commands that make links.
#[derive(Args, Clone, Debug, Default)]
pub struct Links {
    /// Public address of the server, scheme and host, as in `https://chat.example.org` [default: the first TCP address of `--listen`; for a link that a command prints, that of the folder's server]
    #[arg(long, env = "TIDINGS_BASE_URL", value_name = "URL")]
    pub base_url: Option<String>,

    /// Address of the web client, where links in mails lead; the server has its own pages for them [default: the base URL]
    #[arg(long, env = "TIDINGS_WEB_URL", value_name = "URL")]
    pub web_url: Option<String>,
}

/// Quotas of mailed invitations per day, in UTC; those sent again count, too.
#[derive(Args, Clone, Copy, Debug)]
pub struct Invitations {
    /// Invitations that an account may mail per day (UTC), over all its organisations
    #[arg(
        id = "invitations_per_account",
        long = "invitations-per-account",
        env = "TIDINGS_INVITATIONS_PER_ACCOUNT",
        default_value_t = 200,
        value_name = "COUNT"
    )]
    pub per_account: u32,

    /// Invitations that an account may mail per day until it has proved its mailbox
    #[arg(
        id = "invitations_per_account_unverified",
        long = "invitations-per-account-unverified",
        env = "TIDINGS_INVITATIONS_PER_ACCOUNT_UNVERIFIED",
        default_value_t = 20,
        value_name = "COUNT"
    )]
    pub per_account_unverified: u32,

    /// Invitations that an organisation may mail per day
    #[arg(
        id = "invitations_per_organisation",
        long = "invitations-per-organisation",
        env = "TIDINGS_INVITATIONS_PER_ORGANISATION",
        default_value_t = 200,
        value_name = "COUNT"
    )]
    pub per_organisation: u32,

    /// Invitations that the whole server may mail per day
    ///
    /// All accounts that have not proved their mailbox may together mail a tenth of them, rounded up
    #[arg(
        id = "invitations_per_server",
        long = "invitations-per-server",
        env = "TIDINGS_INVITATIONS_PER_SERVER",
        default_value_t = 2000,
        value_name = "COUNT"
    )]
    pub per_server: u32,
}

/// How many bytes may be written. A fifth of an hour's may be written at once.
#[derive(Args, Clone, Copy, Debug)]
pub struct Bytes {
    /// Bytes that a person and their bots and webhooks may write per hour, a fifth of it at once
    #[arg(
        id = "bytes_per_user_hour",
        long = "bytes-per-user-hour",
        env = "TIDINGS_BYTES_PER_USER_HOUR",
        default_value_t = 100_000_000,
        value_name = "BYTES",
        value_parser = clap::value_parser!(u32).range(10_000_000..=4_000_000_000)
    )]
    pub per_user_hour: u32,

    /// Bytes of messages that the members and programs of an organisation may write per hour, a fifth of it at once
    #[arg(
        id = "bytes_per_organisation_hour",
        long = "bytes-per-organisation-hour",
        env = "TIDINGS_BYTES_PER_ORGANISATION_HOUR",
        default_value_t = 1_000_000_000,
        value_name = "BYTES",
        value_parser = clap::value_parser!(u32).range(10_000_000..=4_000_000_000)
    )]
    pub per_organisation_hour: u32,
}

/// How to reach the mail server.
#[derive(Args, Clone, Debug)]
pub struct MailServer {
    /// How mails are sent: log:, file:///DIR, smtp://USER:PASSWORD@HOST[?tls=opportunistic|none] or smtps://…
    #[arg(long, env = "TIDINGS_MAIL_URL", default_value = "log:", value_name = "URL", hide_env_values = true)]
    pub mail_url: String,

    /// Sender of mails
    #[arg(long, env = "TIDINGS_MAIL_FROM", default_value = "Tidings <tidings@localhost>", value_name = "ADDRESS")]
    pub mail_from: String,

    /// PEM file of certificate authorities to trust besides the public ones, at the mail server, the issuer and webhooks
    #[arg(long, env = "TIDINGS_CA_FILE", value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

/// The backup before a migration.
#[derive(Args, Clone, Debug)]
pub struct MigrationBackup {
    /// Folder of the server's own backups, and of no other server's [default: `backups` in the data folder]
    #[arg(long, env = "TIDINGS_BACKUP_DIR", value_name = "DIR")]
    pub backup_dir: Option<PathBuf>,

    /// Migrate the database of an older version without a backup before it
    #[arg(long, env = "TIDINGS_NO_MIGRATION_BACKUP", default_value = "false", value_name = "true|false",
        action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub no_migration_backup: bool,
}

impl MigrationBackup {
    /// The folder of the backups of a data folder.
    pub fn folder(&self, data: &Path) -> PathBuf {
        self.backup_dir.clone().unwrap_or_else(|| data.join("backups"))
    }
}

/// The backups that the server makes by itself.
#[derive(Args, Clone, Debug)]
pub struct Backups {
    #[command(flatten)]
    pub migration: MigrationBackup,

    /// Time between two backups that the server makes by itself, as in 24h, at least 1m; it makes none without
    #[arg(id = "backup_every", long = "backup-every", env = "TIDINGS_BACKUP_EVERY", value_name = "TIME", value_parser = span)]
    pub every: Option<Duration>,

    /// The server's own backups that are kept; older ones are deleted after each new one
    #[arg(id = "backup_keep", long = "backup-keep", env = "TIDINGS_BACKUP_KEEP", default_value_t = 14, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: u32,
}

/// The credentials that a request to a webhook's feed must present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FeedAuth {
    /// The secret address only.
    Slug,
    /// The secret address and a member's bearer token.
    Bearer,
}

/// Who may register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Registration {
    Open,
    /// Only addresses with an open invitation.
    Invited,
    Closed,
}

/// Who may found organisations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OrganisationsBy {
    Superadmins,
    /// Active members of an organisation.
    Members,
    Anyone,
}

/// The settings of `tidings serve`.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Set from [`Folder`], which all commands share.
    #[arg(skip)]
    pub data_dir: PathBuf,

    #[command(flatten)]
    pub listen: Listen,

    #[command(flatten)]
    pub acme: Acme,

    #[command(flatten)]
    pub links: Links,

    #[command(flatten)]
    pub push: Push,

    #[command(flatten)]
    pub mail: MailServer,

    /// Whether the server's own web client is served; off leaves plain pages for what links in mails lead to
    #[arg(long, env = "TIDINGS_CLIENT", default_value = "on", value_name = "on|off")]
    pub client: Switch,

    /// Address that receives the messages of the contact form
    #[arg(long, env = "TIDINGS_CONTACT_TO", value_name = "ADDRESS", value_parser = operator_address)]
    pub contact_to: Option<String>,

    /// Whether the rates of requests, written bytes, log-ins, mails and invitations are limited, and floods of posts slowed; off is for tests and imports
    #[arg(long, env = "TIDINGS_RATE_LIMIT", default_value = "on", value_name = "on|off")]
    pub rate_limit: Switch,

    #[command(flatten)]
    pub bytes: Bytes,

    #[command(flatten)]
    pub files: Files,

    #[command(flatten)]
    pub invitations: Invitations,

    /// Who may register
    ///
    /// With `invited`, addresses with an open invitation may. With `closed`, only `tidings user create` makes accounts, and people
    /// with an account still accept invitations
    #[arg(long, env = "TIDINGS_REGISTRATION", default_value = "open", value_name = "open|invited|closed")]
    pub registration: Registration,

    /// Who may create organisations, besides superadmins and `tidings org create`; members are the active ones of any organisation [default: anyone with `--registration open`, otherwise members]
    #[arg(long, env = "TIDINGS_ORGANISATIONS_BY", value_name = "superadmins|members|anyone")]
    pub organisations_by: Option<OrganisationsBy>,

    /// Require a verified e-mail address for every session
    ///
    /// Until the address is verified, log-in is refused, and only the link in its mail accepts an invitation
    #[arg(long, env = "TIDINGS_REQUIRE_VERIFIED_EMAIL", default_value = "false", value_name = "true|false",
        action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true", value_parser = BoolishValueParser::new())]
    pub require_verified_email: bool,

    /// What a webhook's feed needs: its secret address alone, or also a member's token
    #[arg(long, env = "TIDINGS_FEED_AUTH", default_value = "slug", value_name = "slug|bearer")]
    pub feed_auth: FeedAuth,

    /// Origins of web pages that may call the API and open sockets, besides those of the base URL and the web URL; several, or * for all
    #[arg(long, env = "TIDINGS_ALLOWED_ORIGIN", value_delimiter = ',', value_name = "ORIGIN")]
    pub allowed_origin: Vec<String>,

    /// Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto are believed, as in 10.0.0.0/8; several
    #[arg(long, env = "TIDINGS_TRUSTED_PROXY", value_delimiter = ',', value_name = "CIDR", value_parser = network)]
    pub trusted_proxy: Vec<IpNet>,

    /// Open connections of one client address that have no live session, and four times as many on their way in; those of trusted proxies don't count
    #[arg(long, env = "TIDINGS_CONNECTIONS_PER_ADDRESS", default_value_t = 256, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    pub connections_per_address: u32,

    /// Networks outside the public internet that webhooks may reach, as in 10.1.2.0/24; several
    #[arg(long, env = "TIDINGS_ALLOW_PRIVATE_WEBHOOKS", value_delimiter = ',', value_name = "CIDR", value_parser = network)]
    pub allow_private_webhooks: Vec<IpNet>,

    /// Lifetime of a session
    #[arg(long, env = "TIDINGS_SESSION_DAYS", default_value_t = 30, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub session_days: u32,

    /// Lifetime of a link that logs in
    #[arg(long, env = "TIDINGS_MAGIC_LINK_MINUTES", default_value_t = 10, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub magic_link_minutes: u32,

    /// Lifetime of a link that sets a new password
    #[arg(long, env = "TIDINGS_PASSWORD_RESET_MINUTES", default_value_t = 30, value_name = "MINUTES", value_parser = clap::value_parser!(u32).range(1..=1440))]
    pub password_reset_minutes: u32,

    /// Lifetime of a link that verifies an e-mail address
    #[arg(long, env = "TIDINGS_VERIFICATION_HOURS", default_value_t = 24, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(1..=720))]
    pub verification_hours: u32,

    #[command(flatten)]
    pub federated: Federated,

    /// Lifetime of a push token; at most five minutes with an external Centrifugo
    #[arg(long, env = "TIDINGS_PUSH_TOKEN_SECONDS", default_value_t = 3600, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub push_token_seconds: u32,

    /// Seconds between two pings of a socket; it is closed if a third of that passes without an answer
    #[arg(long, env = "TIDINGS_PUSH_PING_SECONDS", default_value_t = 25, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=300))]
    pub push_ping_seconds: u32,

    /// Memory for what sockets have not read, in MiB, of which a user has an eighth; past it, who holds the most is closed
    #[arg(long, env = "TIDINGS_PUSH_UNSENT_MIB", default_value_t = 64, value_name = "MIB", value_parser = clap::value_parser!(u32).range(8..=65_536))]
    pub push_unsent_mib: u32,

    /// Key with which other programs use the server API under /api, at least 16 characters; the API is off without it
    #[arg(long, env = "TIDINGS_PUSH_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub push_api_key: Option<String>,

    /// Lifetime of events in the log, from which clients recover what they missed
    #[arg(long, env = "TIDINGS_EVENT_RETENTION_HOURS", default_value_t = 72, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(1..=87600))]
    pub event_retention_hours: u32,

    /// Days that a deleted channel is kept before it is erased
    #[arg(long, env = "TIDINGS_PURGE_DAYS", default_value_t = 30, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub purge_days: u32,

    /// Live channels of one organisation, without direct messages
    #[arg(long, env = "TIDINGS_CHANNELS_PER_ORGANISATION", default_value_t = 2000, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub channels_per_organisation: u32,

    /// Organisations that one account may be a member of
    #[arg(long, env = "TIDINGS_ORGANISATIONS_PER_USER", default_value_t = 200, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub organisations_per_user: u32,

    #[command(flatten)]
    pub backups: Backups,

    /// Bearer token for /metrics, at least 16 characters; metrics are off without it
    #[arg(long, env = "TIDINGS_METRICS_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub metrics_token: Option<String>,

    /// Log level: error, warn, info, debug, or a filter such as info,tidings=debug; read again at SIGHUP
    #[arg(long, env = "TIDINGS_LOG", default_value = "info", value_name = "FILTER")]
    pub log: String,

    /// Form of the log's lines: text for people, or json, an object a line
    #[arg(long, env = "TIDINGS_LOG_FORMAT", default_value = "text", value_name = "text|json")]
    pub log_format: LogFormat,
}

/// The form of the log's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl Settings {
    /// The origins of the server and of links in mails ([`Links`]), both without a trailing slash or `/api/v1`. `listening` is the
    /// server's own address, which is known better than from the settings while it runs.
    pub fn server_and_link_origins(&self, listening: Option<SocketAddr>) -> Result<(String, String)> {
        let given = |flag, url: &Option<String>| url.as_deref().map(|url| origin(flag, url)).transpose();
        let (base, web) = (given("--base-url", &self.links.base_url), given("--web-url", &self.links.web_url));
        let mut faults = Faults::default();
        faults.note(&base);
        faults.note(&web);
        faults.into_result()?;
        let own = listening.or_else(|| self.listen.first_tcp_address()).map(|address| self.listen.origin(address));
        let base = base?.or(own);
        let base = base.ok_or_else(|| Error::failed("a server without a TCP address to listen on needs --base-url"))?;
        if !self.listen.domains.is_empty() && base.starts_with("http:") {
            return Err(Error::failed(format!("--base-url {base}: with --domain the server speaks https")));
        }
        Ok((base.clone(), web?.unwrap_or(base)))
    }

    /// Who may found organisations, by the setting or by who may register.
    pub fn founders(&self) -> OrganisationsBy {
        self.organisations_by.unwrap_or(match self.registration {
            Registration::Open => OrganisationsBy::Anyone,
            Registration::Invited | Registration::Closed => OrganisationsBy::Members,
        })
    }

    /// The default settings, for the given data folder.
    pub fn for_folder(folder: &Path) -> Settings {
        use clap::FromArgMatches;
        let command = Settings::augment_args(Command::new("settings")).mut_args(|arg| arg.env(None::<&str>));
        let matches = command.get_matches_from(["settings"]);
        let settings = Settings::from_arg_matches(&matches).expect("every setting has a default");
        Settings { data_dir: folder.to_owned(), ..settings }
    }
}
