//! The command line: one file for each group of commands.

mod migrate;
mod serve;
mod user;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::{
    api,
    config::{self, Folder, Settings},
    error::{Error, Result},
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
        Command::Migrate(command) => migrate::run(&data_dir, command),
        Command::Openapi => print(&api::document()),
        Command::Version => print(concat!("tidings ", env!("CARGO_PKG_VERSION"))),
    }
}

/// Prints a line; a reader that went away (`| head`) is no failure of ours to report twice.
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    writeln!(std::io::stdout(), "{text}").map_err(Error::internal)
}
