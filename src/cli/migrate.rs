//! `tidings migrate …`

use std::path::Path;

use clap::Subcommand;

use super::terminal::{self, bar};
use crate::{backup, config::Backups, db, error::Result, time::Time};

#[derive(Subcommand)]
pub enum Command {
    /// Print the schema version of the database and of this binary
    Status,
    /// Bring the database to this binary's schema version, after a backup; the server must not run
    Up {
        #[command(flatten)]
        backups: Backups,
    },
}

pub fn run(folder: &Path, command: Command) -> Result<()> {
    match command {
        Command::Status => terminal::print(&format!("database {}, binary {}", db::version(folder)?, db::newest_version())),
        Command::Up { backups } => {
            db::make_folder(folder)?;
            let lock = db::lock(folder)?; // not under a running server
            if !backups.none_before_migration
                && let Some(made) = backup::before_migration(folder, &backups.folder(folder), Time::now(), &mut bar())?
            {
                terminal::print(&format!("made the backup {}", made.path.display()))?;
            }
            let (before, after) = db::migrate(folder, &lock)?;
            terminal::print(&format!("database {before} -> {after}"))
        }
    }
}
