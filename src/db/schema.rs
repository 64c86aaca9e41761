//! The version of the schema, and the steps that migrate an older database.
//!
//! `schema.sql` is the whole current schema: a new file runs it and nothing else. An older file runs the steps that it lacks;
//! each leads from the version before it to the version in its name. Which steps an older file lacks is recognised by its
//! definitions ([`super::schema_history`]), because version 1 has named thirteen schemas: `migrations/0001.sql` is the oldest,
//! and the steps in `migrations/0001/` lead to that of the first release. A file whose definitions are not those of its version
//! is refused before anything is written. To change the schema:
//!
//! 1. Change `schema.sql` to the new schema.
//! 2. Write the step as the next file in `migrations/`; its name is the version that it leads to.
//! 3. Run `cargo test --test migrations`. It compares the results of both, column by column, and prints the lines that are
//!    missing in `tests/schemas/checksums`: the checksum of the step, and that of the schema after it. If the step changes or
//!    deletes rows on purpose, name their table or column in `REWRITTEN` of that test.
//!
//! What has landed on the main branch counts as released, because somebody may have built it: a version never names two
//! schemas. Before a step lands, it and its checksums may be corrected. After that, a correction is another step.
//!
//! A step is SQL without `begin`, `commit` and pragmas. `alter table` adds, renames and drops columns. For any
//! other change a step creates the table again:
//!
//! ```sql
//! create table new_messages (…) strict;
//! insert into new_messages (n, …) select n, … from messages;
//! -- Only for a table with autoincrement: keeps the highest number that was ever used.
//! delete from sqlite_sequence where name = 'new_messages';
//! update sqlite_sequence set name = 'new_messages' where name = 'messages';
//! drop table messages;
//! alter table new_messages rename to messages;
//! -- Indices and triggers were dropped with the old table: create all of them again, as in schema.sql.
//! create index messages_active on messages (channel_id, active_n) where root is null;
//! ```
//!
//! Foreign keys are off during the steps, so that dropping the old table deletes nothing elsewhere, and are checked
//! before the commit. All steps are one transaction: a step that fails leaves the file as it was.

use std::{path::Path, sync::LazyLock, time::Instant};

use include_dir::{Dir, include_dir};
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior};
use serde::Serialize;

use super::schema_history::{History, Version, user_version};
use crate::error::{Error, Result};

/// The steps. One that has landed is never edited, because databases have run it.
static MIGRATIONS: Dir = include_dir!("$CARGO_MANIFEST_DIR/src/db/migrations");

/// The steps in the order of their names, in which `0001.sql` comes before `0001/01.sql`, and that before `0002.sql`.
static HISTORY: LazyLock<History> = LazyLock::new(|| {
    let files = MIGRATIONS.files().chain(MIGRATIONS.dirs().flat_map(Dir::files));
    let mut files: Vec<_> = files.filter_map(|file| Some((file.path().to_str()?, file.contents_utf8()?))).collect();
    files.retain(|(name, _)| name.ends_with(".sql"));
    files.sort_unstable();
    let step = |&(name, text): &(&'static str, &'static str)| {
        let version = name.get(..4).and_then(|version| version.parse().ok());
        (version.unwrap_or_else(|| panic!("migrations/{name} is no step of a version")), text)
    };
    History { schema: include_str!("../../schema.sql"), steps: files.iter().map(step).collect::<Vec<_>>().leak() }
});

/// Migrates the database at `path` to the newest schema. Fails if the database is newer than this binary knows, or has other
/// tables than its version.
pub(super) fn migrate(conn: &mut Connection, path: &Path) -> Result<()> {
    upgrade(conn, path, &HISTORY)
}

/// A step of a migration that was done.
#[derive(Serialize)]
pub struct Step {
    /// The version that it leads to.
    pub version: Version,
    /// The sentence that the step begins with.
    pub what: &'static str,
    pub seconds: f64,
}

/// Migrates a copy of a database as [`migrate`] does, and commits nothing. Returns the steps with the time that each took.
pub(super) fn try_steps(conn: &mut Connection) -> Result<Vec<Step>> {
    let (mut done, mut last) = (Vec::new(), Instant::now());
    conn.pragma_update(None, "foreign_keys", false)?;
    let tx = conn.transaction()?;
    let lacking = &HISTORY.steps[HISTORY.recognise(&tx)?..];
    run_steps(&tx, lacking, &mut |version, step| {
        let what = step.lines().next().unwrap_or_default().trim_start_matches("-- ");
        done.push(Step { version, what, seconds: last.elapsed().as_secs_f64() });
        last = Instant::now();
    })?;
    Ok(done)
}

/// Fails if the database at `path` is newer than this binary knows.
pub(super) fn refuse_newer(have: Version, newest: Version, path: &Path) -> Result<()> {
    if have <= newest {
        return Ok(());
    }
    Err(Error::failed(format!(
        "the database {} has schema version {have}, this binary knows up to {newest}: run a newer tidings, or `tidings restore` with the backup from before the upgrade",
        path.display()
    )))
}

fn upgrade(conn: &mut Connection, path: &Path, history: &History) -> Result<()> {
    let have = user_version(conn)?;
    refuse_newer(have, history.newest(), path)?;
    if have == history.newest() {
        return history.recognise(conn).map(drop);
    }
    conn.pragma_update(None, "foreign_keys", false)?; // does nothing inside a transaction
    let done = apply(conn, history);
    conn.pragma_update(None, "foreign_keys", true)?;
    done
}

fn apply(conn: &mut Connection, history: &History) -> Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    match history.recognise(&tx)? {
        0 => tx.execute_batch(history.schema)?,
        // None is left if another process has done the same at the same time.
        done => run_steps(&tx, &history.steps[done..], &mut |_, _| ())?,
    }
    tx.pragma_update(None, "user_version", history.newest())?;
    Ok(tx.commit()?)
}

/// Runs the steps that a database lacks, and checks its references. `done` is told of each step.
fn run_steps<'a>(tx: &Connection, lacking: &[(Version, &'a str)], done: &mut dyn FnMut(Version, &'a str)) -> Result<()> {
    for &(version, step) in lacking {
        tx.execute_batch(step).map_err(|err| match err {
            rusqlite::Error::SqlInputError { msg, .. } => failed(version, &msg), // without the whole SQL
            err => failed(version, &err),
        })?;
        done(version, step);
    }
    match (dangling(tx)?, lacking.last()) {
        (Some(dangling), Some(&(version, _))) => Err(failed(version, &dangling)),
        _ => Ok(()),
    }
}

/// A reference to a row that is not there, if there is one.
pub(super) fn dangling(conn: &Connection) -> rusqlite::Result<Option<String>> {
    conn.query_row("select \"table\", parent from pragma_foreign_key_check", [], |row| {
        Ok(format!("a row of {} refers to no row of {}", row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    })
    .optional()
}

#[track_caller]
fn failed(version: Version, why: &dyn std::fmt::Display) -> Error {
    Error::internal(format!("the database could not be brought to schema version {version}, and is as it was: {why}"))
}

/// The schema version of the database at `path`; 0 if there is none.
pub(super) fn version(path: &Path) -> Result<Version> {
    look(path, user_version).map(Option::unwrap_or_default)
}

/// Fails if a database has other definitions than its version, or a version that this binary doesn't know.
pub(super) fn recognise(conn: &Connection) -> Result<()> {
    HISTORY.recognise(conn).map(drop)
}

/// Fails if the database at `path` has other definitions than its version. A newer version than this binary knows is left alone.
pub(super) fn require_known(path: &Path) -> Result<()> {
    let known = |conn: &Connection| match user_version(conn)? {
        have if have > newest() => Ok(()),
        _ => recognise(conn),
    };
    look(path, known).map(drop)
}

/// Reads the database at `path`; `None` if there is none.
fn look<T>(path: &Path, read: impl FnOnce(&Connection) -> Result<T>) -> Result<Option<T>> {
    let unusable = |err: &dyn std::fmt::Display| Error::failed(format!("can't open the database {}: {err}", path.display()));
    if !path.try_exists().map_err(|err| unusable(&err))? {
        return Ok(None);
    }
    let conn = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(|err| unusable(&err))?;
    read(&conn).map(Some)
}

pub fn newest() -> Version {
    HISTORY.newest()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "
        create table parents (n integer primary key autoincrement, name text not null) strict;
        create table children (
            n      integer primary key,
            parent integer not null references parents (n) on delete cascade
        ) strict;
        create unique index parents_named on parents (name) where name <> '';
        create trigger parents_kept after insert on parents begin insert into children values (new.n, new.n); end;
        insert into parents values (7, 'ada'), (8, ''), (9, '');";
    const REBUILD: &str = "
        create table new_parents (n integer primary key autoincrement, name text not null check (name <> 'eve')) strict;
        insert into new_parents (n, name) select n, name from parents;
        delete from sqlite_sequence where name = 'new_parents';
        update sqlite_sequence set name = 'new_parents' where name = 'parents';
        drop table parents;
        alter table new_parents rename to parents;
        create unique index parents_named on parents (name) where name <> '';
        create trigger parents_kept after insert on parents begin insert into children values (new.n, new.n); end;";

    fn first(folder: &Path) -> Connection {
        let path = folder.join("a.db");
        let mut conn = Connection::open(&path).unwrap();
        conn.pragma_update(None, "foreign_keys", true).unwrap();
        upgrade(&mut conn, &path, &History { schema: FIRST, steps: &[(1, FIRST)] }).unwrap();
        conn.execute("delete from parents where n = 9", []).unwrap();
        conn
    }

    fn number(conn: &Connection, sql: &str) -> i64 {
        conn.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_step_that_recreates_a_table_keeps_its_rows_and_those_that_refer_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = first(folder.path());
        let history = History { schema: "never run", steps: &[(1, FIRST), (2, REBUILD)] };
        upgrade(&mut conn, &folder.path().join("a.db"), &history).unwrap();
        assert_eq!(user_version(&conn).unwrap(), 2);
        assert_eq!(number(&conn, "select count(*) from children"), 2, "no delete went on to the children");
        conn.execute("insert into parents (name) values ('bob')", []).unwrap();
        assert_eq!(
            number(&conn, "select n from parents where name = 'bob'"),
            10,
            "the number of a deleted row is not used again"
        );
        assert_eq!(number(&conn, "select count(*) from children where parent = 10"), 1, "the trigger works");
        conn.execute("insert into parents (name) values ('ada')", []).unwrap_err();
        conn.execute("insert into parents (name) values ('eve')", []).unwrap_err();
        conn.execute("insert into children values (1, 1)", []).unwrap_err(); // foreign keys are on again
    }

    #[test]
    fn steps_that_fail_leave_the_file_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let mut conn = first(folder.path());
        for (step, says) in [
            ("create table more (n); delete from parents where n = 7;", "a row of children refers to no row of parents"),
            ("create table more (n); drop table missing;", "schema version 3, and is as it was: no such table: missing"),
        ] {
            let history = History { schema: "never run", steps: &[(1, FIRST), (2, REBUILD), (3, step)] };
            let err = upgrade(&mut conn, &folder.path().join("a.db"), &history).unwrap_err();
            assert!(err.log_text().contains(says), "{}", err.log_text());
            assert_eq!(user_version(&conn).unwrap(), 1);
            assert_eq!(number(&conn, "select count(*) from parents"), 2);
            assert_eq!(number(&conn, "select count(*) from sqlite_schema where name = 'more' or sql like '%eve%'"), 0);
            assert_eq!(number(&conn, "pragma foreign_keys"), 1);
        }
    }
}
