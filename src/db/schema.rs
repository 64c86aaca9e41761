//! The schema's version, and the steps from an older one to this one.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};
use rusqlite_migration::{M, Migrations};

use crate::error::{Error, Result};

/// A number of steps done; 0 is an empty or missing file.
pub type Version = u32;

/// From the first release on, a step here is never edited: `schema.sql` moves on, and the file that it
/// was at that release takes its place as the first step.
const STEPS: &[M<'static>] = &[M::up(include_str!("../../schema.sql"))];
const NEWEST: Version = STEPS.len() as Version;

/// Brings the database at `path` to the newest schema, after a snapshot beside it when it was older.
/// A newer file than this binary knows is refused.
pub(super) fn migrate(conn: &mut Connection, path: &Path) -> Result<()> {
    let have = user_version(conn)?;
    if have > NEWEST {
        return Err(Error::bad_request(format!(
            "the database {} has schema version {have}, this binary knows up to {NEWEST}: run a newer tidings",
            path.display()
        )));
    }
    if have == NEWEST {
        return Ok(());
    }
    if have > 0 {
        let snapshot = path.with_extension(format!("before-version-{NEWEST}.db"));
        _ = std::fs::remove_file(&snapshot); // of an attempt that failed
        conn.execute("vacuum into ?1", [snapshot.to_string_lossy()])?;
    }
    match Migrations::from_slice(STEPS).to_latest(conn) {
        // Another process made the same new database at the same moment.
        Err(_) if user_version(conn)? == NEWEST => Ok(()),
        other => other.map_err(Error::internal),
    }
}

pub(super) fn version(path: &Path) -> Result<Version> {
    if !path.exists() {
        return Ok(0);
    }
    let unusable = |err| Error::bad_request(format!("can't open the database {}: {err}", path.display()));
    user_version(&Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(unusable)?)
}

pub fn newest() -> Version {
    NEWEST
}

fn user_version(conn: &Connection) -> Result<Version> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
