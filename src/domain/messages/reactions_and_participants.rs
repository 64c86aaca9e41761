//! The details of messages besides their own rows: reactions, and the participants of threads.

use rusqlite::Connection;

use crate::{
    domain::messages::{participants, reactions, record::Message},
    error::Result,
};

/// Reads the details of all these messages at once.
pub fn attach(conn: &Connection, messages: &mut [Message]) -> Result<()> {
    reactions::attach(conn, messages.iter_mut())?;
    participants::attach(conn, messages)
}
