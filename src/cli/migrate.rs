//! `tidings migrate …`

use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use super::output::{Output, bar};
use crate::{
    archive::backup,
    config::MigrationBackup,
    db::{self, KeyFile, snapshot},
    error::{Error, Result},
    time::Time,
};

#[derive(Subcommand)]
pub enum Command {
    /// Print the schema version of the database and of this binary; fails if the database has another schema than its version names
    Status,
    /// Try the migration on a copy of the database, and print its steps with the time that each took; also while the server runs
    ///
    /// The copy needs as much free space in the data folder as the database
    Plan,
    /// Bring the database to this binary's schema version, after a backup; the server must not run
    Up {
        #[command(flatten)]
        backup: MigrationBackup,
    },
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::Status => {
            let (database, binary) = (db::version(folder)?, db::newest_version());
            db::require_known_definitions(folder)?;
            output.done(&format!("database {database}, binary {binary}"), &json!({ "database": database, "binary": binary }))
        }
        Command::Plan => plan(folder, output),
        Command::Up { backup: wanted } => {
            db::make_folder(folder)?;
            let lock = db::lock(folder)?; // not under a running server
            let (to, now) = (wanted.folder(folder), Time::now());
            KeyFile::open(folder, now)?; // comes before the database, of which a missing key is refused
            let path = backup::before_migration(folder, &to, wanted.no_migration_backup, now, &mut bar())?;
            let made = path
                .as_ref()
                .map_or_else(String::new, |path| format!("made the backup {} of the database alone\n", path.display()));
            let failed = |err: Error| Error::failed(format!("{made}{}", err.admin_detail()));
            let (before, after) = db::migrate(folder, &lock).map_err(failed)?;
            output.done(
                &format!("{made}database {before} -> {after}"),
                &json!({ "before": before, "after": after, "backup": path }),
            )
        }
    }
}

fn plan(folder: &Path, output: Output) -> Result<()> {
    let have = db::version(folder)?;
    db::require_known_definitions(folder)?;
    if have >= db::newest_version() {
        db::require_current(folder)?;
        return output.done(&format!("the database has schema version {have}: nothing to do"), &[(); 0]);
    }
    let mut bar = bar();
    let copy = snapshot::take(folder, folder, &mut |done, all| bar("copying", done, all))?;
    bar("migrating", copy.bytes, copy.bytes);
    output.rows(&copy.try_migration()?)
}
