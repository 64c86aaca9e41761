//! The command line: one file for each group of commands.

mod contact;
mod folder;
mod invite;
mod migrate;
mod serve;
mod terminal;
mod user;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    api,
    config::{self, Folder, Settings},
    error::Result,
};

/// A self-hosted team-messaging server.
#[derive(Parser)]
#[command(name = "tidings", version, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    folder: Folder,
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
    /// Invite people without a mail, also while the server runs
    #[command(subcommand)]
    Invite(invite::Command),
    /// Read the messages of the contact form, also while the server runs
    #[command(subcommand)]
    Contact(contact::Command),
    /// Read or change the schema version of the database
    #[command(subcommand)]
    Migrate(migrate::Command),
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

/// Runs the command that the command line names. A failure prints one line on standard error and exits with 1; wrong
/// usage exits with 2.
pub fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("tidings: {}", err.detail());
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let matches = config::with_sources(command())?.get_matches();
    let Cli { folder: Folder { data_dir, .. }, command } = Cli::from_arg_matches(&matches).unwrap_or_else(|err| err.exit());
    match command {
        Command::Serve(settings) => serve::run(Settings { data_dir, ..*settings }),
        Command::User(command) => user::run(&data_dir, command),
        Command::Invite(command) => invite::run(&data_dir, command),
        Command::Contact(command) => contact::run(&data_dir, command),
        Command::Migrate(command) => migrate::run(&data_dir, command),
        Command::Openapi => terminal::print(&api::document::document()),
        Command::Asyncapi => terminal::print(&api::asyncapi::document()),
        Command::Version => terminal::print(concat!("tidings ", env!("CARGO_PKG_VERSION"))),
    }
}
