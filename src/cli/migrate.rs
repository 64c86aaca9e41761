//! `tidings migrate …`

use std::path::Path;

use clap::Subcommand;

use super::terminal::{self, Output, bar};
use crate::{
    backup,
    config::Backups,
    db::{self, KeyFile, snapshot},
    error::{Error, Result},
    time::Time,
};

#[derive(Subcommand)]
pub enum Command {
    /// Print the schema version of the database and of this binary
    Status,
    /// Try the migration on a copy of the database, and print its steps with the time that each took; also while the server runs
    ///
    /// The copy needs as much free space in the data folder as the database
    Plan,
    /// Bring the database to this binary's schema version, after a backup; the server must not run
    Up {
        #[command(flatten)]
        backups: Backups,
    },
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::Status => terminal::print(&format!("database {}, binary {}", db::version(folder)?, db::newest_version())),
        Command::Plan => plan(folder, output),
        Command::Up { backups } => {
            db::make_folder(folder)?;
            let lock = db::lock(folder)?; // not under a running server
            let (to, now) = (backups.folder(folder), Time::now());
            KeyFile::open(folder, now)?; // comes before the database, of which a missing key is refused
            let path = backup::before_migration(folder, &to, backups.none_before_migration, now, &mut bar())?;
            if let Some(path) = path {
                terminal::print(&format!("made the backup {}", path.display()))?;
            }
            let (before, after) = db::migrate(folder, &lock)?;
            terminal::print(&format!("database {before} -> {after}"))
        }
    }
}

fn plan(folder: &Path, output: Output) -> Result<()> {
    let (have, newest) = (db::version(folder)?, db::newest_version());
    if have > newest {
        return Err(Error::bad_request(format!(
            "the database has schema version {have}, this binary knows up to {newest}: run a newer tidings"
        )));
    }
    if have == newest {
        return output.done(&format!("the database has schema version {have}: nothing to do"), &[(); 0]);
    }
    let mut bar = bar();
    let copy = snapshot::take(folder, folder, &mut |done, all| bar("copying", done, all))?;
    bar("migrating", copy.bytes, copy.bytes);
    output.rows(&copy.rehearse()?)
}
