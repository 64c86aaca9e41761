//! Moves committed pages from the WAL into the database, off the writer's thread, and watches the disk.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::{Connection, OpenFlags};

use super::open;
use crate::error::{Error, Result};

const EVERY: Duration = Duration::from_millis(100);
/// Below this much free space, plus the WAL that must still be moved, writes are refused.
const FLOOR: u64 = 64 << 20;

/// What the writer and the checkpoint thread tell each other.
#[derive(Default)]
struct Shared {
    /// There may be something to move.
    dirty: AtomicBool,
    /// Bytes of live frames in the WAL.
    wal: AtomicU64,
    full: AtomicBool,
}

pub struct Checkpoints {
    shared: Arc<Shared>,
    /// The thread, and what ends it when it is dropped; taken by `stop`.
    thread: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Checkpoints {
    pub fn start(path: &Path) -> Result<Checkpoints> {
        let shared = Arc::new(Shared { dirty: AtomicBool::new(true), ..Default::default() });
        let (stop, stopped) = mpsc::channel();
        let conn = open::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        let (theirs, path) = (shared.clone(), path.to_owned());
        let run = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                tick(&conn, &theirs, &path);
            }
        };
        let thread = std::thread::Builder::new().name("checkpoint".into()).spawn(run).map_err(Error::internal)?;
        Ok(Checkpoints { shared, thread: Mutex::new(Some((stop, thread))) })
    }

    /// Ends the thread, and closes its connection: the last one to close takes the WAL away.
    pub fn stop(&self) {
        if let Some((stop, thread)) = self.thread.lock().expect("nothing panics while it holds this").take() {
            drop(stop);
            _ = thread.join();
        }
    }

    /// Bytes of live frames in the WAL when last looked at.
    pub fn wal_bytes(&self) -> u64 {
        self.shared.wal.load(Relaxed)
    }

    /// After a checkpoint by the writer itself.
    pub fn note_wal(&self, bytes: u64) {
        self.shared.wal.store(bytes, Relaxed);
    }

    pub fn disk_is_full(&self) -> bool {
        self.shared.full.load(Relaxed)
    }

    /// Tells the thread that a batch was committed.
    pub fn wake(&self) {
        self.shared.dirty.store(true, Relaxed);
    }
}

fn tick(conn: &Connection, shared: &Shared, path: &PathBuf) {
    if shared.dirty.swap(false, Relaxed) {
        match checkpoint(conn, "passive") {
            Ok(Checkpoint { wal, moved_all }) => {
                if let Some(wal) = wal {
                    shared.wal.store(wal, Relaxed);
                }
                if !moved_all {
                    shared.dirty.store(true, Relaxed); // a reader or a writer was in the way
                }
            }
            Err(err) => {
                tracing::error!(%err, "checkpoint failed");
                exit_on_broken_disk(&err);
                shared.dirty.store(true, Relaxed);
            }
        }
    }
    if let Ok(disk) = rustix::fs::statvfs(path) {
        let free = disk.f_bavail * disk.f_frsize;
        let full = free < FLOOR + shared.wal.load(Relaxed);
        if full != shared.full.swap(full, Relaxed) {
            tracing::warn!(free, full, "free disk space crossed the floor below which writes are refused");
        }
    }
}

/// What a checkpoint came to.
pub(super) struct Checkpoint {
    /// Bytes of the frames in the WAL; none when another checkpoint was running.
    pub wal: Option<u64>,
    pub moved_all: bool,
}

pub(super) fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<Checkpoint> {
    conn.query_row(&format!("pragma wal_checkpoint({mode})"), [], |row| {
        let (busy, frames, moved): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Checkpoint { wal: u64::try_from(frames).ok().map(|frames| frames * 4096), moved_all: !busy && frames == moved })
    })
}

/// After a failed fsync nobody knows what is on the disk; only a restart settles it, from the WAL.
pub(super) fn exit_on_broken_disk(err: &rusqlite::Error) {
    if err.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure) {
        tracing::error!(%err, "input/output error on the database: a restart settles what was written");
        std::thread::sleep(Duration::from_millis(200)); // the answers that say so leave first
        std::process::exit(74); // EX_IOERR
    }
}
