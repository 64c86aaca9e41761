//! When the database was last written, to find a clock that is behind.

use std::{fs, os::unix::fs::MetadataExt, path::Path, time::Duration};

use rusqlite::{Connection, OptionalExtension};

use super::file_names::{FILE, WAL};
use crate::{error::Result, time::Time};

/// How far a clock may be behind. Less is what a machine corrects from time to time.
const BEHIND_MAX: Duration = Duration::from_secs(60);

/// The time of the last write, if the clock is behind it by more than a minute. The newest event tells it in a database that was
/// copied or restored, and so has new files; the files tell it where all events are pruned.
pub fn last_write_in_future(now: Time, folder: &Path, conn: &Connection) -> Result<Option<Time>> {
    let changed = |name| fs::metadata(folder.join(name)).map_or(0, |file| file.mtime());
    let mut newest = conn.prepare_cached("select created_at from events where seq = (select max(seq) from events)")?;
    let newest: Option<Time> = newest.query_row([], |row| row.get(0)).optional()?;
    let files = Time::from_unix_seconds(changed(FILE).max(changed(WAL)));
    let last = newest.map_or(files, |event| event.max(files));
    Ok(Some(last).filter(|last| last.since(now) > BEHIND_MAX))
}
