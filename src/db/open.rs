//! Opens connections to the database file, and sets its mode and pragmas.

use std::{fs::File, io::ErrorKind, path::Path, time::Duration};

use rusqlite::{Connection, OpenFlags, config::DbConfig};
use rustix::fs::{Access, access};

use crate::error::{Error, Result};

/// Prepared statements that a connection caches: more than `domain/` has, so that none is prepared twice.
const STATEMENT_CACHE: usize = 512;

pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection> {
    use std::os::unix::fs::OpenOptionsExt;
    let unusable = |err: &dyn std::fmt::Display| Error::failed(format!("can't open the database {}: {err}", path.display()));
    // Created here with mode 0600: SQLite would create it readable for all users. The WAL gets the same mode. A file that is there
    // is never opened: closing it would drop the locks that all connections of this process have on it (POSIX locks are the
    // process's), and the next program that closes the database would delete the WAL of a running server.
    match File::options().create_new(true).write(true).mode(0o600).open(path) {
        Ok(_) => {}
        // SQLite would say "attempt to write a readonly database" later, and not which.
        Err(err) if err.kind() == ErrorKind::AlreadyExists => access(path, Access::WRITE_OK).map_err(|err| unusable(&err))?,
        Err(err) => return Err(unusable(&err)),
    }
    let conn = Connection::open_with_flags(path, flags).map_err(|err| unusable(&err))?;
    prepare(&conn).map_err(|err| unusable(&err))?;
    Ok(conn)
}

pub(super) fn prepare(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(Duration::from_secs(5))?; // set first, because changing to WAL may wait for a lock
    conn.set_prepared_statement_cache_capacity(STATEMENT_CACHE);
    // Plans must not depend on the values that are bound: with STAT4, which the bundled SQLite has, a range that is bound makes
    // it plan the statement anew at each use.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.execute_batch(
        "pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma secure_delete = fast;
         pragma temp_store = memory; pragma wal_autocheckpoint = 0; pragma cache_size = -4000;",
    )
}
