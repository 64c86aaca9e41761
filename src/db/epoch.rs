//! The epoch of the event log. A small file beside the database keeps the epoch and the highest seq, never ahead of what is on
//! disk. If the file is missing, has another epoch or is ahead of the database, an older or another database was restored.
//! Clients may then know seqs that mean other events here, so the log gets a new epoch.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::{files::EPOCH, log};
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
    /// Checks the file and renews the epoch if necessary, before anything else writes to the database.
    pub fn open(conn: &Connection, folder: &Path) -> Result<Marker> {
        let path = folder.join(EPOCH);
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

    /// Writes the highest seq that is on disk to the file.
    pub fn note(&mut self, seq: i64) {
        if seq != self.seq
            && let Err(err) = self.write(seq)
        {
            tracing::warn!(%err, "the highest seq could not be written to the epoch file");
        }
    }

    /// Replaces the file by a rename, so that it is never half written. It isn't synced: after a power failure, an empty file
    /// costs a new epoch, and an older file nothing.
    fn write(&mut self, seq: i64) -> std::io::Result<()> {
        let draft = self.path.with_extension("new");
        fs::write(&draft, format!("{} {seq}\n", self.epoch))?;
        fs::rename(&draft, &self.path)?;
        self.seq = seq;
        Ok(())
    }
}
