//! A copy of the whole database as of one moment, made beside a running server, and the check of such a copy.
//!
//! The copy is taken in one read transaction, so it holds up no write. Until it ends the WAL can't be reset, and grows by what
//! is written meanwhile.

use std::{
    collections::BTreeMap,
    fs::File,
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::Path,
};

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};
use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};
use tempfile::NamedTempFile;

use super::{Committed, Db, Step, Tx, Version, View, read_once, require_database, schema, schema_history::user_version};
use crate::{
    error::{Error, Result},
    limits::byte_quotas::ByteQuotas,
    site::Site,
    time::Time,
};

/// The number of rows of each table.
pub type Tables = BTreeMap<String, u64>;

/// Where the header of a database has the versions of its format for writing and reading (SQLite's file format, section 1.3).
const VERSIONS: u64 = 18;
/// The versions of a database without a WAL. A copy has none, and can then be read where no WAL can be made.
const NO_WAL: [u8; 2] = [1, 1];
/// Pages between two reports of progress: 1 MiB.
const STEP: i32 = 256;

/// A copy of a database.
pub struct Snapshot {
    /// The copy, in a file without a name, so that a kill leaves nothing behind.
    pub file: File,
    /// A connection to the copy.
    conn: Connection,
    pub bytes: u64,
    pub version: Version,
    pub tables: Tables,
}

/// Copies the database of a data folder into a nameless file on the file system of the folder `beside`. `progress` gets the
/// copied and all bytes.
pub fn take(folder: &Path, beside: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Snapshot> {
    require_database(folder)?;
    let source = Db::open_reader(folder)?;
    let moment = source.unchecked_transaction()?;
    let version = user_version(&moment)?; // the first read fixes the moment
    let pragma = |name: &str| moment.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map(i64::cast_unsigned);
    let (pages, page) = (pragma("page_count")?, pragma("page_size")?);
    let named = draft(beside)?;
    let (mut copy, conn) = (Connection::open(named.path())?, Connection::open(named.path())?);
    let file = named.into_file();
    copy.execute_batch("pragma journal_mode = off; pragma synchronous = off")?;
    let copying = Backup::new(&moment, &mut copy)?;
    while let StepResult::More = copying.step(STEP)? {
        let left = copying.progress().remaining as u64;
        progress((pages - left.min(pages)) * page, pages * page);
    }
    drop(copying);
    let bytes = file.metadata().map_err(Error::internal)?.len();
    if bytes != pages * page {
        return Err(Error::internal(format!("the copy of the database has {bytes} of {} bytes", pages * page)));
    }
    file.write_all_at(&NO_WAL, VERSIONS).map_err(Error::internal)?;
    let tables = count(&moment)?;
    Ok(Snapshot { file, conn, bytes, version, tables })
}

impl Snapshot {
    /// Reads the copy.
    pub fn read<T>(&self, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        f(&self.conn)
    }

    /// Runs the steps of the migration that the database needs on this copy.
    pub fn try_migration(mut self) -> Result<Vec<Step>> {
        // No journal: in a file it would need the copy's name, and nobody needs the copy afterwards.
        self.conn.execute_batch("pragma journal_mode = off; pragma synchronous = off; pragma temp_store = memory")?;
        schema::try_steps(&mut self.conn)
    }
}

/// Runs a write transaction on a copy of the database of a data folder, in a nameless file in that folder, and forgets it. It
/// holds up no write.
pub fn try_on_copy<T>(folder: &Path, site: &Site, now: Time, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    read_once(folder, |_| Ok(()))?; // there is a database, with this binary's schema
    let Snapshot { conn: mut copy, .. } = take(folder, folder, &mut |_, _| ())?;
    // No journal: in memory it grows with every page that is changed, and nobody needs the copy afterwards.
    copy.execute_batch("pragma journal_mode = off; pragma synchronous = off; pragma foreign_keys = on")?;
    let transaction = copy.transaction()?;
    f(&mut Tx::new(View::new(&transaction, site, now), &mut Committed::default(), &ByteQuotas::unlimited()))
}

/// An empty file beside a database, whose name goes with it.
fn draft(beside: &Path) -> Result<NamedTempFile> {
    NamedTempFile::new_in(beside).map_err(|err| Error::failed(format!("can't write to {}: {err}", beside.display())))
}

/// Checks a copy of a database that no process has open: its schema, which could have a trigger that goes on working on the
/// server's data, its pages, indices, references, and how many rows each table has.
pub fn check(path: &Path, version: Version, tables: &Tables) -> Result<()> {
    is_sound(&frozen(path)?, version, tables)
}

/// Checks the pages, indices and references of a database. It reads all of it.
pub fn require_intact(conn: &Connection) -> Result<()> {
    let first: String = conn.query_row("pragma integrity_check(1)", [], |row| row.get(0)).map_err(damaged)?;
    if first != "ok" {
        return Err(damaged(first));
    }
    schema::dangling(conn).map_err(damaged)?.map_or(Ok(()), |dangling| Err(damaged(dangling)))
}

fn damaged(why: impl std::fmt::Display) -> Error {
    Error::failed(format!("the database is damaged: {why}"))
}

fn is_sound(conn: &Connection, version: Version, tables: &Tables) -> Result<()> {
    let found: Version = conn.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(damaged)?;
    if found != version {
        return Err(damaged(format!("it has schema version {found}, expected {version}")));
    }
    schema::recognise(conn)?;
    require_intact(conn)?;
    let counted = count(conn)?;
    match tables.iter().find(|(table, rows)| counted.get(*table) != Some(*rows)) {
        Some((table, rows)) => {
            let found = counted.get(table).map_or("none".into(), u64::to_string);
            Err(damaged(format!("the table {table} has {found} of {rows} rows")))
        }
        None => Ok(()),
    }
}

/// The rows of all tables of the schema, without those in which the search index keeps itself.
fn count(conn: &Connection) -> Result<Tables> {
    let mut names =
        conn.prepare("select name from pragma_table_list where schema = 'main' and type = 'table' and name <> 'sqlite_schema'")?;
    let names = names.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let count = |name: String| {
        let rows: i64 = conn.query_row(&format!("select count(*) from \"{name}\""), [], |row| row.get(0))?;
        Ok((name, rows.cast_unsigned()))
    };
    names.into_iter().map(count).collect()
}

/// Opens a file that nobody changes meanwhile: without a lock, and without a WAL beside it.
fn frozen(path: &Path) -> rusqlite::Result<Connection> {
    let name = percent_encode(path.as_os_str().as_bytes(), NON_ALPHANUMERIC);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)
}
