//! A write transaction, with the effects that follow its commit.

use rusqlite::Connection;

use crate::event::Effect;

/// The connection inside a write transaction, for one job. The job itself never begins, commits or rolls back.
pub struct Tx<'a> {
    conn: &'a Connection,
    effects: &'a mut Vec<Effect>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(conn: &'a Connection, effects: &'a mut Vec<Effect>) -> Self {
        Tx { conn, effects }
    }

    /// Adds an effect that follows the commit, in order. It is dropped if the job fails.
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
