//! Every setting once: a flag, the environment variable `TIDINGS_…`, and a line of the settings file,
//! in that order of precedence. Nothing else reads the environment.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{Args, Command, ValueEnum};

use crate::{
    error::{Error, Result},
    site::Registration,
};

/// Where the server keeps everything.
#[derive(Args, Clone, Debug)]
pub struct Folder {
    /// The folder with the database and the secret key; made when there is none
    #[arg(long, env = "TIDINGS_DATA_DIR", default_value = "./tidings-data", value_name = "DIR", global = true)]
    pub data_dir: PathBuf,

    /// A TOML file with settings: the flags' names, with underscores
    #[arg(long, env = "TIDINGS_CONFIG", value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// The settings of `tidings serve`.
#[derive(Args, Clone, Debug)]
pub struct Settings {
    /// Set from [`Folder`], which all commands share.
    #[arg(skip)]
    pub data_dir: PathBuf,

    /// The address to listen on
    #[arg(long, env = "TIDINGS_LISTEN", default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    pub listen: SocketAddr,

    /// The origin under which the server is reached, scheme and host [default: `http://` and the address]
    #[arg(long, env = "TIDINGS_BASE_URL", value_name = "URL")]
    pub base_url: Option<String>,

    /// Where links in mails lead [default: the base URL]
    #[arg(long, env = "TIDINGS_WEB_URL", value_name = "URL")]
    pub web_url: Option<String>,

    /// How mails leave: log:, file:///DIR, smtp://USER:PASSWORD@HOST[?tls=required] or smtps://…
    #[arg(long, env = "TIDINGS_MAIL_URL", default_value = "log:", value_name = "URL", hide_env_values = true)]
    pub mail_url: String,

    /// The sender of mails
    #[arg(long, env = "TIDINGS_MAIL_FROM", default_value = "Tidings <tidings@localhost>", value_name = "ADDRESS")]
    pub mail_from: String,

    /// Whether requests, log-ins, mails and invitations are limited in rate
    #[arg(long, env = "TIDINGS_RATE_LIMIT", default_value = "on", value_name = "on|off")]
    pub rate_limit: Switch,

    /// Who may make an account
    #[arg(long, env = "TIDINGS_REGISTRATION", default_value = "open", value_name = "POLICY")]
    pub registration: Registration,

    /// Refuse log-in before the e-mail address is verified
    #[arg(long, env = "TIDINGS_REQUIRE_VERIFIED_EMAIL")]
    pub require_verified_email: bool,

    /// Origins of pages that may call the API and open sockets, or * [default: the server's own]
    #[arg(long, env = "TIDINGS_ALLOWED_ORIGIN", value_delimiter = ',', value_name = "ORIGIN")]
    pub allowed_origin: Vec<String>,

    /// How long a log-in lasts
    #[arg(long, env = "TIDINGS_SESSION_DAYS", default_value_t = 30, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub session_days: u32,

    /// How long pushed events are kept
    #[arg(long, env = "TIDINGS_EVENT_RETENTION_HOURS", default_value_t = 72, value_name = "HOURS", value_parser = clap::value_parser!(u32).range(1..=87600))]
    pub event_retention_hours: u32,

    /// How long deleted channels are kept before they are gone for good
    #[arg(long, env = "TIDINGS_PURGE_DAYS", default_value_t = 30, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub purge_days: u32,

    /// What is logged: error, warn, info, debug, or a filter as tracing-subscriber takes it
    #[arg(long, env = "TIDINGS_LOG", default_value = "info", value_name = "FILTER")]
    pub log: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl Settings {
    /// The defaults, for the given data folder.
    pub fn for_folder(folder: &Path) -> Settings {
        use clap::FromArgMatches;
        let command = Settings::augment_args(Command::new("settings")).mut_args(|arg| arg.env(None::<&str>));
        let matches = command.get_matches_from(["settings"]);
        let settings = Settings::from_arg_matches(&matches).expect("every setting has a default");
        Settings { data_dir: folder.to_owned(), ..settings }
    }

    /// The origin under which the server is reached, without a trailing slash or `/api/v1`.
    pub fn base_url(&self, listening: SocketAddr) -> Result<String> {
        match &self.base_url {
            Some(url) => origin("--base-url", url),
            None => Ok(format!("http://{listening}")),
        }
    }

    /// Where links in mails lead.
    pub fn web_url(&self, base_url: &str) -> Result<String> {
        self.web_url.as_deref().map_or(Ok(base_url.to_owned()), |url| origin("--web-url", url))
    }
}

fn origin(flag: &str, text: &str) -> Result<String> {
    let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some());
    let url =
        url.ok_or_else(|| Error::bad_request(format!("{flag} {text}: an address like https://chat.example.org is wanted")))?;
    let text = url.as_str().trim_end_matches('/');
    Ok(text.strip_suffix("/api/v1").unwrap_or(text).to_owned())
}

/// Makes the lines of the settings file, if one is named, the defaults of the flags that they are named after.
/// An unknown line is an error.
pub fn with_file(mut command: Command) -> Result<Command> {
    let asked = command.clone().ignore_errors(true).get_matches();
    let sub = asked.subcommand().map(|(_, matches)| matches);
    let file =
        [sub, Some(&asked)].into_iter().flatten().find_map(|matches| matches.try_get_one::<PathBuf>("config").ok().flatten());
    let Some(file) = file else { return Ok(command) };
    let named = |err: &dyn std::fmt::Display| Error::bad_request(format!("the settings file {}: {err}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|err| named(&err))?;
    let table: toml::Table = text.parse().map_err(|err| named(&err))?;
    for (key, value) in table {
        let known = |command: &Command| command.get_arguments().any(|arg| arg.get_id() == key.as_str() && key != "config");
        let value = as_text(&value).ok_or_else(|| named(&format!("{key}: a text, number, switch or list of texts is wanted")))?;
        if known(&command) {
            command = command.mut_arg(&key, |arg| arg.default_value(value));
        } else if command.find_subcommand("serve").is_some_and(known) {
            command = command.mut_subcommand("serve", |serve| serve.mut_arg(&key, |arg| arg.default_value(value)));
        } else {
            return Err(named(&format!("{key}: no such setting")));
        }
    }
    Ok(command)
}

fn as_text(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Boolean(switch) => Some(switch.to_string()),
        toml::Value::Array(list) => list.iter().map(as_text).collect::<Option<Vec<_>>>().map(|list| list.join(",")),
        _ => None,
    }
}
