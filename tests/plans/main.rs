//! The query plan of every SQL statement in the code. `exceptions.md` lists those that may do what grows with the data, each
//! with what bounds it.
//!
//! A statement without gaps is taken from the sources. Those that the code builds are noted while a server does everything that
//! it can do, and each part of SQL in the sources must be in one of them. SQLite's plan depends on the schema alone: nothing
//! gathers statistics of the rows.
//!
//! A binary of its own: the statements of other tests are not the server's.

#![allow(dead_code, clippy::too_many_lines, reason = "the modules of the other tests have more than these need")]

mod collector;
mod drive;
mod sources;

#[path = "../api/harness.rs"]
mod harness;
#[path = "../api/names.rs"]
mod names;
#[path = "../api/operations.rs"]
mod operations;
#[path = "../api/receiver.rs"]
mod receiver;
#[path = "../api/scene.rs"]
mod scene;
#[path = "../api/shapes.rs"]
mod shapes;
#[path = "../api/socket.rs"]
mod socket;
#[path = "../api/tables.rs"]
mod tables;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, config::DbConfig};
use tokio::sync::OnceCell;

use crate::{
    collector::Noted,
    sources::{Literal, in_one_line, literals},
};

/// The server's own statements that have run, each in one line.
async fn run() -> &'static BTreeMap<String, Noted> {
    static RUN: OnceCell<BTreeMap<String, Noted>> = OnceCell::const_new();
    RUN.get_or_init(async || {
        collector::start();
        drive::everything().await;
        let literals = literals();
        let noted = collector::noted().into_iter().map(|(sql, noted)| (in_one_line(&sql), noted));
        // The tests have a few of their own.
        noted.filter(|(sql, _)| literals.iter().any(|literal| literal.begins(sql))).collect()
    })
    .await
}

/// A statement that may do what `plan` says.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Exception {
    /// A part of the statement.
    sql: String,
    /// A line of the plan, or a word of the statement.
    plan: String,
}

fn exceptions() -> Vec<Exception> {
    let lines = include_str!("exceptions.md").lines().filter(|line| line.starts_with("| `"));
    let exception = |line: &str| {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect();
        let [sql, plan, why] = cells[..] else { panic!("three columns: {line}") };
        assert!(!why.is_empty(), "a reason: {line}");
        Exception { sql: sql.into(), plan: plan.into() }
    };
    lines.map(exception).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_does_what_grows_with_the_data() {
    let run = run().await;
    let literals = literals();
    let has_run = |literal: &Literal| run.keys().any(|sql| literal.is_in(sql));
    let (_, unknown): (Vec<_>, Vec<_>) = literals.iter().partition(|literal| has_run(literal) || literal.is_whole());
    let unknown: Vec<_> = unknown.iter().map(|literal| format!("{}: {}", literal.place, literal.sql)).collect();
    assert!(unknown.is_empty(), "tests/plans/drive.rs runs no statement with these parts:\n{}", unknown.join("\n"));
    let unrun = literals.iter().filter(|literal| !has_run(literal)).map(|literal| literal.sql.clone());
    let statements: BTreeSet<String> = run.keys().cloned().chain(unrun).collect();
    let place = |sql: &str| {
        let parts = literals.iter().filter(|literal| literal.is_in(sql));
        parts.max_by_key(|literal| literal.sql.len()).map_or("", |longest| &longest.place)
    };

    let (conn, exceptions) = (schema(), exceptions());
    let (mut used, mut wrong) = (BTreeSet::new(), Vec::new());
    for sql in &statements {
        for fault in faults(&conn, sql) {
            match exceptions.iter().find(|exception| sql.contains(&exception.sql) && exception.plan == fault) {
                Some(exception) => _ = used.insert(exception),
                None => wrong.push(format!("{fault}\n    {}: {sql}", place(sql))),
            }
        }
    }
    println!("{} statements, of which {} have run; {} exceptions", statements.len(), run.len(), used.len());
    assert!(
        wrong.is_empty(),
        "These statements do what grows with the data. Give them an index or a bound, or list them in tests/plans/exceptions.md \
         with what bounds them:\n{}",
        wrong.join("\n")
    );
    let unused: Vec<_> = exceptions.iter().filter(|exception| !used.contains(exception)).collect();
    assert!(unused.is_empty(), "no statement needs these exceptions any more: {unused:#?}");
}

fn schema() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(include_str!("../../schema.sql")).unwrap();
    conn.pragma_update(None, "foreign_keys", true).unwrap(); // so that plans show how children are found
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    conn
}

/// What in the plan or text of the statement grows with the data.
fn faults(conn: &Connection, sql: &str) -> BTreeSet<String> {
    let mut explain = conn.prepare(&format!("explain query plan {sql}")).unwrap_or_else(|err| panic!("{err}: {sql}"));
    let mut rows = explain.raw_query();
    let mut plan: Vec<String> = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        plan.push(row.get("detail").unwrap());
    }
    // A subquery that has lines of its own.
    let is_subquery =
        |name: &str| plan.iter().any(|line| [format!("CO-ROUTINE {name}"), format!("MATERIALIZE {name}")].contains(line));
    let is_fault = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        ["SCAN", _, "CONSTANT", ..] | ["SCAN", "CONSTANT", ..] => false,
        // `json_each` of what is bound has the index 1, and a search by words 0:M….
        ["SCAN", _, "VIRTUAL", "TABLE", "INDEX", index] => index == "0:" || index == "0",
        ["SCAN", name, ..] => !is_subquery(name),
        _ => line.contains("TEMP B-TREE") || line.contains("AUTOMATIC"),
    };
    let mut found: BTreeSet<String> = plan.iter().filter(|line| is_fault(line)).cloned().collect();
    let is_called = |name: &str| {
        let mut calls = sql.match_indices(name);
        calls.any(|(at, _)| !sql[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    found.extend(["count(", "sum(", "total(", "offset ?"].iter().filter(|name| is_called(name)).map(|name| (*name).to_owned()));
    found
}

/// Each rule finds what it is there for.
#[test]
fn a_statement_that_grows_with_the_data_is_found() {
    let conn = schema();
    let found = |sql: &str| faults(&conn, sql).into_iter().collect::<Vec<_>>().join(", ");
    for (sql, expected) in [
        ("select email from users where first_name = ?1", "SCAN users"),
        ("select id from blogs order by created_at desc, id desc limit ?1", "SCAN blogs USING COVERING INDEX blogs_newest"),
        ("select user_id from sessions where user_id = ?1 order by created_at", "USE TEMP B-TREE FOR ORDER BY"),
        ("select count(*) from messages where channel_id = ?1 and root is null", "count("),
        ("select id from channels where organisation_id = ?1 limit ?2 offset ?3", "offset ?"),
        ("delete from webhook_history where error = ?1", "SCAN webhook_history"),
        ("select n from (select n from messages where content = ?1 limit 3) order by n", "SCAN messages"),
        ("select n from unindexed_edits e where not exists (select 1 from messages m where m.content = e.n)", "SCAN e, SCAN m"),
        ("select rowid from message_search", "SCAN message_search VIRTUAL TABLE INDEX 0:"),
        ("select rowid from message_search where message_search match ?1", ""),
        ("select value from json_each(?1)", ""),
        ("select message_count from channels where id = ?1", ""),
    ] {
        assert_eq!(found(sql), expected, "{sql}");
    }
}

/// SQLite prepares a statement anew if its plan may depend on what is bound, or if the schema has changed.
#[tokio::test(flavor = "multi_thread")]
async fn no_statement_is_prepared_again_when_other_values_are_bound() {
    let run = run().await;
    let again: Vec<_> =
        run.iter().filter(|(_, noted)| noted.repreparations > 0).map(|(sql, noted)| (noted.repreparations, sql)).collect();
    assert!(again.is_empty(), "{again:#?}");
    let often = run.values().filter(|noted| noted.runs >= drive::OFTEN).count();
    println!("{often} statements ran {} times or more", drive::OFTEN);
    assert!(often > 30, "only {often} statements ran often");
}
