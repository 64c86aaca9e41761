//! A write transaction, and what it sets off once it has committed.

use rusqlite::Connection;

use crate::event::Effect;

/// What a write job sees: the connection inside the transaction. No job begins, commits or rolls back.
pub struct Tx<'a> {
    conn: &'a Connection,
    effects: &'a mut Vec<Effect>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(conn: &'a Connection, effects: &'a mut Vec<Effect>) -> Self {
        Tx { conn, effects }
    }

    /// Runs after the commit, in order; forgotten when the job fails.
    pub fn then(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}

impl std::ops::Deref for Tx<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.conn
    }
}
