//! A thread that copies committed pages from the WAL into the database, and watches the free disk space.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};

use super::{figures::Figures, open};
use crate::error::{Error, Result};

/// Time between two checkpoints, and between two looks at the free disk space. A page that many commits change is copied once.
const EVERY: Duration = Duration::from_secs(1);
/// Bytes of free disk space below which it is time to act: the log says so, and `tidings doctor`.
pub const SCARCE: u64 = 1 << 30;
/// Bytes of free disk space, besides those that the WAL needs in the database, below which only what may free some is written
/// ([`super::held_to_floor`]). All that is written between two looks at the disk fits in.
pub const FLOOR: u64 = 64 << 20;
/// Bytes, besides those of the WAL, below which nothing is written. A deletion takes space in the WAL before it frees any: a slice of
/// 200 rows some 2 MiB.
const LAST_FLOOR: u64 = 16 << 20;

/// How much of the disk is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
    Enough,
    Scarce,
    /// Below [`FLOOR`].
    BelowFloor,
    /// Below [`LAST_FLOOR`].
    None,
}

impl Space {
    const ALL: [Space; 4] = [Space::Enough, Space::Scarce, Space::BelowFloor, Space::None];

    /// `wal` is the bytes that the WAL needs in the database.
    fn of(free: u64, wal: u64) -> Space {
        match free.saturating_sub(wal) {
            0..LAST_FLOOR => Space::None,
            LAST_FLOOR..FLOOR => Space::BelowFloor,
            FLOOR..SCARCE => Space::Scarce,
            SCARCE.. => Space::Enough,
        }
    }

    fn warning(self) -> &'static str {
        match self {
            Space::Enough => "there is enough free disk space again",
            Space::Scarce => "free disk space is running out",
            Space::BelowFloor => {
                "the disk is nearly full: writes are refused, but for deletions, log-outs and those of superadmins"
            }
            Space::None => "the disk is full: all writes are refused",
        }
    }
}

/// The state that the writer and the checkpoint thread share.
#[derive(Default)]
struct Shared {
    /// Whether the WAL may contain pages that are not copied yet.
    dirty: AtomicBool,
    /// Bytes of live frames in the WAL.
    wal: AtomicU64,
    /// Bytes of them that the database file may still grow by: those that were moved stay in the WAL until a write begins it anew.
    unmoved: AtomicU64,
    /// The place in [`Space::ALL`].
    space: AtomicU8,
}

pub struct Checkpoints {
    shared: Arc<Shared>,
    /// The thread, and the sender that ends it by being dropped; taken by `stop`.
    thread: Mutex<Option<(Sender<()>, JoinHandle<()>)>>,
}

impl Checkpoints {
    pub fn start(path: &Path, figures: Arc<Figures>) -> Result<Checkpoints> {
        let shared = Arc::new(Shared { dirty: AtomicBool::new(true), ..Default::default() });
        let (stop, stopped) = mpsc::channel();
        let conn = open::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        let (theirs, path) = (shared.clone(), path.to_owned());
        let run = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(EVERY) {
                tick(&conn, &theirs, &path, &figures);
            }
        };
        let thread = std::thread::Builder::new().name("checkpoint".into()).spawn(run).map_err(Error::internal)?;
        Ok(Checkpoints { shared, thread: Mutex::new(Some((stop, thread))) })
    }

    /// Ends the thread and closes its connection. SQLite deletes the WAL when the last connection closes.
    pub fn stop(&self) {
        if let Some((stop, thread)) = self.thread.lock().take() {
            drop(stop);
            _ = thread.join();
        }
    }

    /// Bytes of live frames in the WAL, as of the last checkpoint.
    pub fn wal_bytes(&self) -> u64 {
        self.shared.wal.load(Relaxed)
    }

    /// Notes the size of the WAL after a checkpoint by the writer itself.
    pub fn note_wal(&self, bytes: u64) {
        self.shared.wal.store(bytes, Relaxed);
        self.shared.unmoved.store(bytes, Relaxed);
    }

    /// Bytes of free disk space that the WAL needs in the database, as of the last checkpoint.
    pub fn unmoved_bytes(&self) -> u64 {
        self.shared.unmoved.load(Relaxed)
    }

    /// As of the last look at the disk.
    pub(super) fn space(&self) -> Space {
        Space::ALL[usize::from(self.shared.space.load(Relaxed))]
    }

    /// Tells the thread that a batch was committed.
    pub fn wake(&self) {
        self.shared.dirty.store(true, Relaxed);
    }
}

fn tick(conn: &Connection, shared: &Shared, path: &PathBuf, figures: &Figures) {
    if shared.dirty.swap(false, Relaxed) {
        let (began, done) = (Instant::now(), checkpoint(conn, "passive"));
        figures.checkpoint_seconds.observe(began.elapsed().as_secs_f64());
        match done {
            Ok(Checkpoint { wal, moved_all }) => {
                if let Some(wal) = wal {
                    shared.wal.store(wal, Relaxed);
                    shared.unmoved.store(if moved_all { 0 } else { wal }, Relaxed);
                }
                if !moved_all {
                    shared.dirty.store(true, Relaxed); // a reader or the writer blocked the rest
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
        let space = Space::of(free, shared.unmoved.load(Relaxed));
        if space as u8 != shared.space.swap(space as u8, Relaxed) {
            tracing::warn!(free, "{}", space.warning());
        }
    }
}

/// The result of a checkpoint.
pub(super) struct Checkpoint {
    /// Bytes of the frames in the WAL; `None` if another checkpoint was running.
    pub wal: Option<u64>,
    pub moved_all: bool,
}

pub(super) fn checkpoint(conn: &Connection, mode: &str) -> rusqlite::Result<Checkpoint> {
    conn.query_row(&format!("pragma wal_checkpoint({mode})"), [], |row| {
        let (busy, frames, moved): (bool, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Checkpoint { wal: u64::try_from(frames).ok().map(|frames| frames * 4096), moved_all: !busy && frames == moved })
    })
}

/// Ends the process on an I/O error. After a failed fsync it is unknown what is on the disk; only a restart, which reads the
/// WAL, finds out.
pub(super) fn exit_on_broken_disk(err: &rusqlite::Error) {
    if err.sqlite_error_code() == Some(rusqlite::ErrorCode::SystemIoFailure) {
        tracing::error!(%err, "input/output error on the database: the server exits, and a restart recovers what was written");
        std::thread::sleep(Duration::from_millis(200)); // so that the answers with the error are sent first
        std::process::exit(74); // EX_IOERR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wal_needs_its_bytes_above_each_floor() {
        for (place, space) in Space::ALL.into_iter().enumerate() {
            assert_eq!(space as usize, place);
        }
        for wal in [0, 5 << 20] {
            let space = |free: u64| Space::of(free + wal, wal);
            assert_eq!([space(SCARCE), space(SCARCE - 1)], [Space::Enough, Space::Scarce]);
            assert_eq!([space(FLOOR), space(FLOOR - 1)], [Space::Scarce, Space::BelowFloor]);
            assert_eq!([space(LAST_FLOOR), space(LAST_FLOOR - 1)], [Space::BelowFloor, Space::None]);
        }
        assert_eq!(Space::of(1 << 20, 5 << 20), Space::None);
    }
}
