//! Whether the log is the one that clients know. A small file beside the database keeps its epoch and its highest seq,
//! never ahead of what is on disk. Where it is missing, differs or is ahead of the database, an older copy was put
//! back, or the copy of another: then seqs may have been given out that mean something else here, and a new epoch says so.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::log;
use crate::{
    error::{Error, Result},
    secret,
};

pub(super) struct Marker {
    path: PathBuf,
    epoch: String,
    seq: i64,
}

impl Marker {
    /// Settles the epoch; before the database is written to.
    pub fn open(conn: &Connection, folder: &Path) -> Result<Marker> {
        let path = folder.join("epoch");
        let (mut epoch, seq) = (log::epoch(conn)?, log::last_seq(conn)?);
        let kept = fs::read_to_string(&path).unwrap_or_default();
        let known = kept.trim().split_once(' ').and_then(|(epoch, seq)| Some((epoch, seq.parse::<i64>().ok()?)));
        if known.is_none_or(|(kept, highest)| kept != epoch || highest > seq) {
            epoch = secret::random::<8>().iter().map(|byte| format!("{byte:02x}")).collect();
            conn.execute("update meta set value = ?1 where key = 'epoch'", [&epoch])?;
        }
        let mut marker = Marker { path, epoch, seq: -1 };
        marker.write(seq).map_err(|err| Error::bad_request(format!("can't write to {}: {err}", marker.path.display())))?;
        Ok(marker)
    }

    /// Notes the highest seq that is on disk.
    pub fn note(&mut self, seq: i64) {
        if seq != self.seq
            && let Err(err) = self.write(seq)
        {
            tracing::warn!(%err, "the highest seq could not be noted");
        }
    }

    /// Whole or not at all; not synced: after a loss of power an empty one costs a new epoch, an older one nothing.
    fn write(&mut self, seq: i64) -> std::io::Result<()> {
        let draft = self.path.with_extension("new");
        fs::write(&draft, format!("{} {seq}\n", self.epoch))?;
        fs::rename(&draft, &self.path)?;
        self.seq = seq;
        Ok(())
    }
}
