//! The epoch of the event log. A small file beside the database keeps the epoch, the highest seq, never ahead of what is on disk,
//! and the inode of the database. If the file is missing, has another epoch, is ahead of the database or tells of another inode,
//! this database is a copy, or an older or another one was put back. Clients may then know seqs that mean other events here, so
//! the log gets a new epoch.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::{
    file_names::{EPOCH, FILE},
    log_reader,
};
use crate::{
    error::{Error, Result},
    secret,
};

pub(super) struct Marker {
    path: PathBuf,
    epoch: String,
    seq: i64,
    inode: u64,
}

impl Marker {
    /// Checks the file and renews the epoch if necessary, before anything else writes to the database.
    pub fn open(conn: &Connection, folder: &Path) -> Result<Marker> {
        let path = folder.join(EPOCH);
        let inode = fs::metadata(folder.join(FILE)).map_err(Error::internal)?.ino();
        let (mut epoch, seq) = (log_reader::epoch(conn)?, log_reader::last_seq(conn)?);
        let kept = fs::read_to_string(&path).unwrap_or_default();
        if !is_of(&kept, &epoch, seq, inode) {
            epoch = secret::hex(&secret::random::<8>());
            conn.execute("update meta set value = ?1 where key = 'epoch'", [&epoch])?;
        }
        let mut marker = Marker { path, epoch, seq: -1, inode };
        marker.write(seq).map_err(|err| Error::failed(format!("can't write to {}: {err}", marker.path.display())))?;
        Ok(marker)
    }

    /// Writes the highest seq that is on disk to the file.
    pub fn write_seq(&mut self, seq: i64) {
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
        let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
        file.write_all(format!("{} {seq} {}\n", self.epoch, self.inode).as_bytes())?;
        fs::rename(&draft, &self.path)?;
        self.seq = seq;
        Ok(())
    }
}

/// Whether the text of the file is that of this database, at this seq or before.
fn is_of(kept: &str, epoch: &str, seq: i64, inode: u64) -> bool {
    let mut words = kept.split_whitespace();
    let is_same = words.next() == Some(epoch);
    let highest = words.next().and_then(|highest| highest.parse::<i64>().ok());
    let of = words.next().and_then(|inode| inode.parse::<u64>().ok());
    is_same && highest.is_some_and(|highest| highest <= seq) && of == Some(inode)
}
