//! The names of the files in a data folder.

/// The database. Its WAL and the index of the WAL have this name with `-wal` and `-shm`.
pub const FILE: &str = "tidings.db";
/// The secret key.
pub const KEY: &str = "secret.key";
/// The position of the event log; see [`super::epoch`].
pub const EPOCH: &str = "epoch";
/// The lock of a serving process, with what commands need to know of it.
pub const LOCK: &str = "tidings.lock";
