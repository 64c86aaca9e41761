//! The name of the server in the cookies of browsers. Cookies know no ports, so the cookies of two servers on one host would
//! replace each other.

use rusqlite::Connection;

/// Reads the name, which never changes. A server that has none yet gets one.
pub(super) fn of(conn: &Connection) -> rusqlite::Result<String> {
    conn.execute("insert or ignore into meta (key, value) values ('instance', lower(hex(randomblob(4))))", [])?;
    conn.query_row("select value from meta where key = 'instance'", [], |row| row.get(0))
}
