//! The limit of a list: the bare select of its rows, on as many threads as the machine has cores.

use std::{
    fmt::Write,
    path::PathBuf,
    sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
};

use rusqlite::{Connection, OpenFlags, Statement, types::ValueRef};
use serde::{Deserialize, Serialize};

use crate::clients::say;

#[derive(Serialize, Deserialize)]
pub struct Plan {
    pub database: PathBuf,
    /// The statements of one answer.
    pub sql: Vec<String>,
}

const STOP: u8 = 2;

/// Says how many answers it has read, since it began and until it was asked.
pub fn play(plan: &Plan) {
    let (phase, answers) = (AtomicU8::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| select(plan, &phase, &answers));
        }
        say("ready");
        for word in std::io::stdin().lines().map_while(Result::ok) {
            if word == "stop" {
                break;
            }
            phase.store(1, Relaxed);
            say(&answers.load(Relaxed).to_string());
        }
        phase.store(STOP, Relaxed);
    });
    say(&answers.load(Relaxed).to_string());
}

fn select(plan: &Plan, phase: &AtomicU8, answers: &AtomicU64) {
    let database = Connection::open_with_flags(&plan.database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut statements: Vec<Statement> = plan.sql.iter().map(|sql| database.prepare(sql).unwrap()).collect();
    let mut text = String::new();
    while phase.load(Relaxed) != STOP {
        text.clear();
        statements.iter_mut().for_each(|statement| read(statement, &mut text));
        answers.fetch_add(1, Relaxed);
    }
}

/// Appends all columns of all rows.
fn read(statement: &mut Statement, text: &mut String) {
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        for column in 0..columns {
            match row.get_ref(column).unwrap() {
                ValueRef::Null => text.push_str("null"),
                ValueRef::Integer(number) => write!(text, "{number}").unwrap(),
                ValueRef::Text(bytes) => text.push_str(std::str::from_utf8(bytes).unwrap()),
                ValueRef::Blob(id) => id.iter().for_each(|byte| text.push(char::from(byte % 64 + 32))),
                ValueRef::Real(_) => unreachable!("no column is of that type"),
            }
        }
    }
}
