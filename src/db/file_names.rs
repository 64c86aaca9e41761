//! The names of the files in a data folder.

/// The database. The index of its WAL has this name with `-shm`.
pub const FILE: &str = "tidings.db";
/// The part of it that is not copied into the file yet.
pub const WAL: &str = "tidings.db-wal";
/// The secret key.
pub const KEY: &str = "secret.key";
/// The position of the event log; see [`super::epoch`].
pub const EPOCH: &str = "epoch";
/// The lock of a serving process, with what commands need to know of it.
pub const LOCK: &str = "tidings.lock";
