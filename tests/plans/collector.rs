//! Notes every statement that SQLite runs in this process, on any connection.

#![allow(unsafe_code)] // SQLite calls a function of C with each connection that it opens

use std::{
    collections::BTreeMap,
    ffi::{c_char, c_int},
    sync::Mutex,
};

use rusqlite::{
    StatementStatus,
    auto_extension::{init_auto_extension, register_auto_extension},
    ffi::{sqlite3, sqlite3_api_routines},
    trace::{TraceEvent, TraceEventCodes},
};

/// What is known of a statement.
#[derive(Clone, Copy, Default)]
pub struct Noted {
    /// The most runs of one prepared statement.
    pub runs: i32,
    /// The most re-preparations of one prepared statement.
    pub repreparations: i32,
}

static NOTED: Mutex<BTreeMap<String, Noted>> = Mutex::new(BTreeMap::new());

/// Begins to note the statements of the connections that are opened from now on.
pub fn start() {
    // SAFETY: `attach` opens and closes no connection and registers nothing.
    unsafe { register_auto_extension(attach) }.unwrap();
}

/// The statements that have run, as they were prepared.
pub fn noted() -> BTreeMap<String, Noted> {
    NOTED.lock().unwrap().clone()
}

unsafe extern "C" fn attach(conn: *mut sqlite3, message: *mut *mut c_char, _: *const sqlite3_api_routines) -> c_int {
    let attached = |conn: rusqlite::Connection| {
        conn.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(note));
        Ok(())
    };
    // SAFETY: SQLite passes a connection that it has just opened.
    unsafe { init_auto_extension(conn, message, attached) }
}

/// Called at the end of each run of a statement.
fn note(event: TraceEvent) {
    if let TraceEvent::Profile(statement, _) = event {
        let (runs, repreparations) =
            (statement.get_status(StatementStatus::Run), statement.get_status(StatementStatus::RePrepare));
        let mut noted = NOTED.lock().unwrap();
        let known = noted.entry(statement.sql().into_owned()).or_default();
        *known = Noted { runs: known.runs.max(runs), repreparations: known.repreparations.max(repreparations) };
    }
}
