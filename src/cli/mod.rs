//! The command line: one file for each group of commands.

mod contact;
mod invite;
mod migrate;
mod serve;
mod user;

use std::{path::Path, process::ExitCode};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    api,
    config::{self, Folder, Links, Settings},
    db,
    error::{Error, Result},
    secret::Keys,
    site::Site,
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
    /// Read what the contact form took in, also while the server runs
    #[command(subcommand)]
    Contact(contact::Command),
    /// Look at or change the database's schema version
    #[command(subcommand)]
    Migrate(migrate::Command),
    /// Print the OpenAPI document
    Openapi,
    /// Print the version
    Version,
}

/// Runs the command line's command. A failure is one line on standard error, and exit code 1; wrong
/// usage is 2.
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
    let matches = config::with_file(Cli::command())?.get_matches();
    let Cli { folder: Folder { data_dir, .. }, command } = Cli::from_arg_matches(&matches).unwrap_or_else(|err| err.exit());
    match command {
        Command::Serve(settings) => serve::run(Settings { data_dir, ..*settings }),
        Command::User(command) => user::run(&data_dir, command),
        Command::Invite(command) => invite::run(&data_dir, command),
        Command::Contact(command) => contact::run(&data_dir, command),
        Command::Migrate(command) => migrate::run(&data_dir, command),
        Command::Openapi => print(api::document::document()),
        Command::Version => print(concat!("tidings ", env!("CARGO_PKG_VERSION"))),
    }
}

/// The server of the data folder as a command sees it that makes links; all other settings are the defaults.
/// The folder must be there.
fn site(folder: &Path, links: &Links) -> Result<Site> {
    let settings = Settings { links: links.clone(), ..Settings::for_folder(folder) };
    let links = settings.links.resolve(settings.listen)?;
    Ok(settings.site(Keys::derive(&db::secret_key(folder)?), links))
}

/// Prints a line; a reader that went away (`| head`) is no failure.
fn print(text: &str) -> Result<()> {
    use std::io::{ErrorKind, Write};
    match writeln!(std::io::stdout(), "{text}") {
        Err(err) if err.kind() != ErrorKind::BrokenPipe => Err(Error::internal(err)),
        _ => Ok(()),
    }
}
