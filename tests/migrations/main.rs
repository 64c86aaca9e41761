//! A database of each release, with rows in every table, gets the schema of `schema.sql` and keeps its rows.
//! The head of `src/db/schema.rs` says how the schema is changed.
//!
//! Every schema that lands on the main branch is released: somebody may have built it. `tests/schemas/checksums` has the
//! checksum of each step, and of what a database defines after it, so that a version never names two schemas.
//!
//! At a release whose schema is a new one, copy `schema.sql` to `tests/schemas/<release>.sql`, write rows for every table to
//! `<release>.rows.sql` beside it, and add a line to [`RELEASES`].

mod contents;
mod database;
mod first;
mod folders;
mod threads;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use rusqlite::Connection;
use tidings::db::comparable_schema::definitions;

use crate::database::{Database, FIRST, OLDEST, read, rows, schema, steps, tables, tidings};

/// Releases with the version of their schema, and those that were built before the first one.
const RELEASES: &[(&str, u32)] = &[(OLDEST, 1), ("0.1.0", 1), ("0.2.0", 30)];

/// Tables, and columns as `table.column`, whose values a step changes on purpose, or whose rows it deletes.
const REWRITTEN: &[&str] = &["chores", "events.body"];
/// Tables by their former names, and what steps call them.
const RENAMED: &[(&str, &str)] = &[("chores", "deferred_work")];
/// The same, of the steps between [`OLDEST`] and 0.1.0: they empty the full text, and `meta` says that it is empty.
const REINDEXED: &[&str] =
    &["meta.value", "message_search_config", "message_search_data", "message_search_docsize", "message_search_idx"];

const CHECKSUMS: &str = "tests/schemas/checksums";

#[test]
fn the_steps_from_each_release_lead_to_the_schema() {
    let current = Database::new();
    current.migrate();
    for &(release, version) in RELEASES {
        let old = Database::of(release, version);
        old.migrate();
        old.assert_sound();
        let (stepped, written) = (definitions(&old.open()).unwrap(), definitions(&current.open()).unwrap());
        let only = |here: &BTreeSet<String>, there: &BTreeSet<String>| {
            let lines: Vec<_> = here.difference(there).map(|line| format!("    {line}")).collect();
            lines.join("\n")
        };
        assert!(
            stepped == written,
            "schema.sql and the steps from {release} lead to different schemas.\n  Only in schema.sql:\n{}\n  \
             Only after the steps:\n{}\n  \
             Databases that exist run steps, and never schema.sql. Write the difference as the next step, \
             src/db/migrations/{:04}.sql: the head of src/db/schema.rs says how.",
            only(&written, &stepped),
            only(&stepped, &written),
            next(),
        );
    }
}

#[test]
fn a_new_database_begins_with_the_rows_that_an_old_one_has() {
    let current = Database::new();
    current.migrate();
    for &(release, version) in RELEASES {
        let old = Database::empty_of(release, version);
        old.migrate();
        let [stepped, written] = [&old, &current].map(|database| {
            let conn = database.open();
            conn.execute("update meta set value = 'random' where key = 'epoch'", []).unwrap();
            let tables = tables(&conn).into_iter();
            tables.map(|(table, columns)| (rows(&conn, &table, &columns), table)).collect::<Vec<_>>()
        });
        assert_eq!(
            stepped, written,
            "left: an empty database of {release} after the steps, right: a new one. \
             Rows that schema.sql inserts into a new database are inserted by a step, too."
        );
    }
}

#[test]
fn the_steps_keep_all_rows() {
    for &(release, version) in RELEASES {
        let database = Database::of(release, version);
        let copy = database.copy();
        let old = copy.open();
        database.migrate();
        let stepped = database.open();
        let former_tables = tables(&old);
        for (former, name) in RENAMED.iter().filter(|(former, _)| former_tables.contains_key(*former)) {
            stepped.execute_batch(&format!("alter table {name} rename to {former}")).unwrap();
        }
        let remaining = tables(&stepped);
        for (table, columns) in former_tables {
            assert!(!rows(&old, &table, &columns).is_empty(), "{release}.rows.sql has no row for {table}");
            let is_kept = |name: &str| !(REWRITTEN.contains(&name) || release == OLDEST && REINDEXED.contains(&name));
            let Some(remaining) = remaining.get(&table).filter(|_| is_kept(&table)) else { continue };
            let kept = |column: &&String| remaining.contains(column) && is_kept(&format!("{table}.{column}"));
            let columns: Vec<_> = columns.iter().filter(kept).cloned().collect();
            assert_eq!(
                rows(&stepped, &table, &columns),
                rows(&old, &table, &columns),
                "left: {table} after the steps, right: in {release}. \
                 If a step changes these rows on purpose, name the table or its column in REWRITTEN."
            );
        }
    }
}

#[test]
fn what_landed_is_not_edited() {
    let list = read(CHECKSUMS);
    let listed: BTreeMap<&str, &str> =
        list.lines().map(|line| line.split_once("  ").unwrap()).map(|(sum, what)| (what, sum)).collect();
    let mut sums: Vec<(String, String)> = steps().into_iter().map(|step| (sum(&read(&step)), step)).collect();
    let releases = RELEASES.iter().filter(|(release, _)| *release != OLDEST);
    sums.extend(releases.map(|(release, _)| schema(release)).map(|file| (sum(&read(&file)), file)));
    let conn = Connection::open_in_memory().unwrap();
    for step in steps() {
        conn.execute_batch(&read(&step)).unwrap();
        let lines = Vec::from_iter(definitions(&conn).unwrap());
        sums.push((sum(&lines.join("\n")), format!("the schema after {step}")));
    }
    let missing: Vec<_> = sums.iter().filter(|(_, what)| !listed.contains_key(what.as_str())).collect();
    let lines: Vec<_> = missing.iter().map(|(sum, what)| format!("{sum}  {what}")).collect();
    assert!(missing.is_empty(), "add these lines to {CHECKSUMS}:\n{}", lines.join("\n"));
    for (sum, what) in &sums {
        assert_eq!(
            listed[what.as_str()],
            sum,
            "{what} was changed, but there are databases that have it. Restore it, and write the change as the next step, \
             src/db/migrations/{:04}.sql. Only what is not on the main branch yet may get another line in {CHECKSUMS}",
            next()
        );
    }
    for what in listed.keys() {
        assert!(sums.iter().any(|(_, kept)| kept == what), "{what} is gone, but there are databases that still need it");
    }
}

#[test]
fn every_step_is_included() {
    let numbered: Vec<_> = steps().into_iter().filter(|step| !step.starts_with(FIRST)).collect();
    for (step, version) in numbered.iter().zip(1..) {
        assert_eq!(*step, format!("src/db/migrations/{version:04}.sql"), "steps are numbered from 0001 without a gap");
    }
    let status = tidings(&["migrate", "status"], Path::new("/nonexistent"));
    assert_eq!(status, format!("database 0, binary {}\n", numbered.len()), "the binary knows each file in src/db/migrations");
}

/// The number of the next step.
fn next() -> usize {
    steps().iter().filter(|step| !step.starts_with(FIRST)).count() + 1
}

fn sum(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
