//! `tidings migrate …`

use std::path::Path;

use clap::Subcommand;

use super::terminal;
use crate::{db, error::Result};

#[derive(Subcommand)]
pub enum Command {
    /// Print the schema version of the database and of this binary
    Status,
    /// Bring the database to this binary's schema version, after writing a snapshot beside it; the server must not run
    Up,
}

pub fn run(folder: &Path, command: Command) -> Result<()> {
    match command {
        Command::Status => terminal::print(&format!("database {}, binary {}", db::version(folder)?, db::newest_version())),
        Command::Up => {
            db::make_folder(folder)?;
            let (before, after) = db::migrate(folder)?;
            terminal::print(&format!("database {before} -> {after}"))
        }
    }
}
