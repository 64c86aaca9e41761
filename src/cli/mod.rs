//! The command line: one file for each group of commands.

mod backup;
mod bot;
mod channel;
mod completions;
mod config_command;
mod contact;
mod demo;
mod doctor;
mod files;
mod folder;
mod healthcheck;
mod import;
mod import_runner;
mod invite;
mod log_setup;
mod mail;
mod migrate;
mod org;
mod output;
mod program_tokens;
mod serve;
mod shared_args;
mod systemd_notify;
mod token;
mod user;
mod webhook;

use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;

use self::output::Output;
use crate::{
    api,
    config::{self, Folder, Listen, Settings},
    db,
    error::{Code, Error, Faults, Result},
    pictures,
};

/// A self-hosted team-messaging server.
#[derive(Parser)]
#[command(name = "tidings", version, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    folder: Folder,
    #[command(flatten)]
    output: Output,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server
    Serve(Box<Settings>),
    /// Manage accounts, also while the server runs
    #[command(subcommand)]
    User(user::Command),
    /// Manage organisations, also while the server runs
    #[command(subcommand)]
    Org(org::Command),
    /// Manage bots and their tokens, also while the server runs
    #[command(subcommand)]
    Bot(bot::Command),
    /// Import from another service, also while the server runs
    #[command(subcommand)]
    Import(import::Command),
    /// Manage channels, also while the server runs
    #[command(subcommand)]
    Channel(channel::Command),
    /// List files, and remove old ones, also while the server runs
    #[command(subcommand)]
    Files(files::Command),
    /// Invite people by mail or by a link, and list invitations, also while the server runs
    #[command(subcommand)]
    Invite(invite::Command),
    /// Manage webhooks, also while the server runs
    #[command(subcommand)]
    Webhook(webhook::Command),
    /// Try the mail server, and see what is not sent, also while the server runs
    #[command(subcommand)]
    Mail(mail::Command),
    /// Replace the secret key, from which the tokens of sessions are derived, also while the server runs
    #[command(subcommand)]
    Token(token::Command),
    /// Read the messages of the contact form, also while the server runs
    #[command(subcommand)]
    Contact(contact::Command),
    /// Write a backup of the database and the secret key into one file, also while the server runs
    Backup(backup::Backup),
    /// Restore the data folder from a backup; the server must not run
    ///
    /// Checks the backup first, and keeps the former files in a folder inside the data folder. Clients fetch their state anew
    Restore(backup::Restore),
    /// Read or change the schema version of the database
    #[command(subcommand)]
    Migrate(migrate::Command),
    /// Show and check the settings
    #[command(subcommand)]
    Config(config_command::Command),
    /// Fill an empty server with an organisation and a week of conversation, and print its log-ins
    Demo,
    /// Check settings, data and machine for problems, also while the server runs; exits with 1 if one is serious
    Doctor(doctor::Doctor),
    /// Ask a running server on this machine whether it is healthy; exits with 1 if it is not
    Healthcheck(Listen),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Print the man page
    Man(completions::Man),
    /// Print the OpenAPI document
    Openapi,
    /// Print the AsyncAPI document, which describes live push and webhooks
    Asyncapi,
    /// Print the version
    Version,
}

/// The command line with all its flags, for the document that is generated from it.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the command that the command line names. A failure prints a line on standard error, or one for each of several, and exits
/// with 1; wrong usage exits with 2.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|command| command == pictures::COMMAND) {
        return pictures::run(arguments.next().as_deref());
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            let reason = format!("{}{}", err.admin_detail(), listed_by(&err));
            reason.lines().for_each(|line| eprintln!("tidings: {line}"));
            ExitCode::FAILURE
        }
    }
}

/// Which command shows what there is, after an error that something is not.
fn listed_by(err: &Error) -> &'static str {
    match err {
        Error::NotFound(Code::OrganisationNotFound) => ": `tidings org list` lists all",
        Error::NotFound(Code::ChannelNotFound) => ": `tidings channel list` lists those of an organisation",
        Error::NotFound(Code::BotNotFound) => ": `tidings bot list` lists those of an organisation",
        Error::NotFound(Code::WebhookNotFound) => ": `tidings webhook list` lists all",
        _ => "",
    }
}

/// Reads the command line again, with the settings file and the files of secrets as they are now.
fn read_again() -> Result<ArgMatches> {
    let mut faults = Faults::default();
    let matches = config::with_file_defaults(command(), &mut faults).try_get_matches();
    let matches = matches.map_err(|err| Error::failed(config::error_in_one_line(&err)))?;
    faults.into_result().map(|()| matches)
}

fn run() -> Result<()> {
    let mut faults = Faults::default();
    let matches = config::with_file_defaults(command(), &mut faults).get_matches();
    let Cli { folder: Folder { data_dir, config }, output, command } =
        Cli::from_arg_matches(&matches).unwrap_or_else(|err| err.exit());
    if !matches!(command, Command::Config(_)) {
        std::mem::take(&mut faults).into_result()?;
    }
    match command {
        Command::Serve(settings) => serve::run(Settings { data_dir, ..*settings }, matches, read_again),
        Command::User(command) => user::run(&data_dir, output, command),
        Command::Org(command) => org::run(&data_dir, output, command),
        Command::Bot(command) => bot::run(&data_dir, output, command),
        Command::Import(command) => import::run(&data_dir, output, command),
        Command::Channel(command) => channel::run(&data_dir, output, command),
        Command::Files(command) => files::run(&data_dir, output, command),
        Command::Invite(command) => invite::run(&data_dir, output, command),
        Command::Webhook(command) => webhook::run(&data_dir, output, command),
        Command::Mail(command) => mail::run(&data_dir, output, command),
        Command::Token(command) => token::run(&data_dir, output, command),
        Command::Contact(command) => contact::run(&data_dir, output, command),
        Command::Backup(command) => backup::run(&data_dir, output, command),
        Command::Restore(command) => backup::restore(&data_dir, output, command),
        Command::Migrate(command) => migrate::run(&data_dir, output, command),
        Command::Config(command) => config_command::run(&data_dir, output, command, (&matches, faults)),
        Command::Demo => demo::run(&data_dir, output),
        Command::Doctor(doctor) => doctor::run(&data_dir, config.as_deref(), output, doctor),
        Command::Healthcheck(listen) => healthcheck::run(output, listen),
        Command::Completions(completions) => completions::completions(completions, self::command()),
        Command::Man(man) => completions::man(man, self::command()),
        Command::Openapi => output::print(&api::document::document()),
        Command::Asyncapi => output::print(&api::asyncapi::document()),
        Command::Version => {
            let (version, schema) = (env!("CARGO_PKG_VERSION"), db::newest_version());
            output.done(&format!("tidings {version}"), &json!({ "version": version, "schema": schema }))
        }
    }
}
