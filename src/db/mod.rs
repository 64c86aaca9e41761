//! SQLite: one writer thread, a pool of readers, WAL. Nothing else opens the file.
//!
//! A write is answered after its fsync. A read is one short transaction, and sees all that was answered.

mod checkpoint;
mod epoch;
pub mod log;
mod open;
mod schema;
mod slow;
mod tx;
mod writer;

use std::{
    fs::{File, TryLockError},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use prometheus_client::metrics::histogram::Histogram;

use rusqlite::{Connection, OpenFlags};

use self::{
    open::{connect, prepare},
    slow::OVERLOADED,
};
pub use self::{
    schema::{Version, newest as newest_version},
    slow::Class,
    tx::{Tx, View},
    writer::AfterCommit,
};
use crate::{
    clock::Clock,
    error::{Error, Result},
    id::UserId,
    site::Site,
    time::Time,
};

const FILE: &str = "tidings.db";
/// What reads the log for a push server outside, off the runtime's threads, too.
const FORWARDER: usize = 1;
/// SQLite VM instructions between two deadline checks.
const STEPS: i32 = 1_000;

#[derive(Clone)]
pub struct Db {
    readers: r2d2::Pool<r2d2_sqlite::SqliteConnectionManager>,
    writer: Arc<writer::Writer>,
    admission: Arc<slow::Admission>,
    site: Arc<Site>,
    clock: Clock,
}

impl Db {
    /// Opens the database of a data folder, made when there is none, and starts its writer.
    /// `site` and `clock` are what jobs are told of the server and the time; `after_commit` gets the effects of each
    /// committed batch, in order, on the writer's thread.
    pub fn open(folder: &Path, site: Arc<Site>, clock: Clock, after_commit: AfterCommit) -> Result<Db> {
        let path = folder.join(FILE);
        let mut conn = connect(&path, OpenFlags::default())?;
        schema::migrate(&mut conn, &path)?;
        let marker = epoch::Marker::open(&conn, folder)?;
        let cores = std::thread::available_parallelism().map_or(2, usize::from).max(2); // one list holds up no other
        let size = cores + slow::Admission::slots(cores) + FORWARDER;
        let manager = r2d2_sqlite::SqliteConnectionManager::file(&path)
            .with_flags(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .with_init(|conn| prepare(conn).and_then(|()| conn.pragma_update(None, "query_only", true)));
        let readers = r2d2::Pool::builder()
            .max_size(size as u32)
            .min_idle(Some(1))
            .test_on_check_out(false)
            .connection_timeout(Duration::from_secs(1))
            .build(manager)
            .map_err(Error::internal)?;
        let checkpoints = checkpoint::Checkpoints::start(&path)?;
        let writer = Arc::new(writer::Writer::start(conn, marker, checkpoints, (site.clone(), clock.clone()), after_commit)?);
        Ok(Db { readers, writer, admission: Arc::new(slow::Admission::new(cores)), site, clock })
    }

    /// Runs `f` in one short read transaction, on this thread: for reads by key, bounded in rows.
    pub fn read<T>(&self, f: impl FnOnce(&View) -> Result<T>) -> Result<T> {
        let conn = self.readers.get().map_err(|_| OVERLOADED)?;
        conn.prepare_cached("begin")?.execute([])?;
        let read = Reading(&conn);
        f(&View::new(read.0, &self.site, self.clock.now()))
    }

    /// [`Db::read`] off the runtime's threads, for lists bounded in rows, and sums over them: as many at once as
    /// there are cores, one for each user, and 503 after two seconds. Without a user it is one for all.
    pub async fn read_list<T: Send + 'static>(
        &self,
        user: impl Into<Option<UserId>>,
        f: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read_slow(Class::List(user.into()), f).await
    }

    /// [`Db::read`] off the runtime's threads, for what is not bounded in rows: a few at once, by their class, and 503
    /// when it takes too long.
    pub async fn read_slow<T: Send + 'static>(
        &self,
        class: Class,
        f: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.admission.permit(class).await?;
        let db = self.clone();
        let read = move || {
            let _permit = permit;
            let end = Instant::now() + class.within();
            let done = db.read(|conn| {
                conn.progress_handler(STEPS, Some(move || Instant::now() >= end))?;
                let done = catch_unwind(AssertUnwindSafe(|| f(conn)));
                conn.progress_handler(0, None::<fn() -> bool>)?; // the connection goes back to the pool
                done.map_err(|_| Error::internal("a slow read panicked"))?
            });
            match done {
                Err(Error::Internal { .. }) if Instant::now() >= end => {
                    Err(Error::Unavailable("this takes too long, ask for less"))
                }
                done => done,
            }
        };
        tokio::task::spawn_blocking(read).await.map_err(Error::internal)?
    }

    /// Runs `f` on the writer's thread; returns once its transaction is on disk.
    ///
    /// `Err` undoes only what `f` did. `f` touches nothing but SQL and its `Tx`: it may run in one
    /// transaction with others, and a caller who hangs up changes nothing. 503 when the queue is full.
    pub async fn write<T: Send + 'static>(&self, f: impl FnOnce(&mut Tx) -> Result<T> + Send + 'static) -> Result<T> {
        self.write_sized(size_of_val(&f), f).await
    }

    /// [`Db::write`] for a closure that owns `bytes` of text: the queue is bounded in bytes, too.
    pub async fn write_sized<T: Send + 'static>(
        &self,
        bytes: usize,
        f: impl FnOnce(&mut Tx) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.submit(bytes, f)?.await.unwrap_or(Err(writer::UNKNOWN))
    }

    /// [`Db::write`] of something long: runs `step`, a transaction each, until it returns what the whole came to.
    /// A caller who hangs up changes nothing: all steps are done. `Err` undoes its own step and ends the rest.
    pub async fn write_in_steps<T: Send + 'static>(
        &self,
        mut step: impl FnMut(&mut Tx) -> Result<Option<T>> + Send + 'static,
    ) -> Result<T> {
        let db = self.clone();
        let run = async move {
            loop {
                let (done, again) = db.write(move |tx| Ok((step(tx)?, step))).await?;
                match done {
                    Some(done) => return Ok(done),
                    None => step = again,
                }
            }
        };
        tokio::spawn(run).await.map_err(Error::internal)?
    }

    /// Whether the writer takes work: false on a full disk.
    pub fn is_writable(&self) -> bool {
        self.writer.is_writable()
    }

    /// Bytes of live frames in the WAL when last looked at.
    pub fn wal_bytes(&self) -> u64 {
        self.writer.wal_bytes()
    }

    /// How long write jobs take.
    pub fn job_seconds(&self) -> Histogram {
        self.writer.job_seconds.clone()
    }

    /// How long the longest write job and the longest commit, with its fsync, took since this was last asked; for
    /// measurements.
    pub fn take_longest(&self) -> (Duration, Duration) {
        self.writer.take_longest()
    }

    /// A read connection of its own, for a thread that reads all day.
    pub fn reader(folder: &Path) -> Result<Connection> {
        let conn = connect(&folder.join(FILE), OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        conn.pragma_update(None, "query_only", true)?;
        Ok(conn)
    }

    /// Ends the writer after everything queued is on disk, and folds the WAL into the database.
    pub fn close(&self) {
        self.writer.close();
    }
}

/// Ends the transaction of a read, also when the read panics: the connection goes back to the pool.
struct Reading<'a>(&'a Connection);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if let Err(err) = self.0.prepare_cached("rollback").and_then(|mut rollback| rollback.execute([])) {
            tracing::error!(%err, "a read transaction did not end");
        }
    }
}

/// One read of another process. A folder without a database, or with an older one, is refused in words.
pub fn read_once<T>(folder: &Path, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    match version(folder)? {
        0 => Err(Error::bad_request(format!("there is no database in {}", folder.display()))),
        have if have != newest_version() => Err(Error::bad_request(format!(
            "the database has schema {have}, this binary {}: run `tidings migrate status`",
            newest_version()
        ))),
        _ => f(&Db::reader(folder)?),
    }
}

/// One write transaction of another process (a command beside a running server), or of no server at all.
pub fn write_once<T>(folder: &Path, site: &Site, now: Time, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    let path = folder.join(FILE);
    let have = version(folder)?;
    if have != 0 && have < newest_version() {
        return Err(Error::bad_request("the database has an older schema: start the server, or run `tidings migrate up`"));
    }
    let mut conn = connect(&path, OpenFlags::default())?;
    schema::migrate(&mut conn, &path)?;
    let transaction = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut effects = Vec::new(); // the server notices by itself
    let value = f(&mut Tx::new(View::new(&transaction, site, now), &mut effects))?;
    transaction.commit()?;
    Ok(value)
}

/// The schema version of the folder's database, without touching it.
pub fn version(folder: &Path) -> Result<Version> {
    schema::version(&folder.join(FILE))
}

/// Fails where a command would make a database by mistake: in a folder that has none.
pub fn require(folder: &Path) -> Result<()> {
    match version(folder)? {
        0 => Err(Error::bad_request(format!("there is no database in {}", folder.display()))),
        _ => Ok(()),
    }
}

/// Brings the database to the newest schema; returns the version before and after.
pub fn migrate(folder: &Path) -> Result<(Version, Version)> {
    let _lock = lock(folder)?; // not under a running server
    let before = version(folder)?;
    let path = folder.join(FILE);
    schema::migrate(&mut connect(&path, OpenFlags::default())?, &path)?;
    Ok((before, version(folder)?))
}

/// Makes the data folder (0700) where there is none.
pub fn make_folder(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|err| Error::bad_request(format!("can't make the data folder {}: {err}", folder.display())))
}

/// The lock that a serving process holds on its data folder; released when dropped, or killed.
pub struct FolderLock {
    _file: File,
}

pub fn lock(folder: &Path) -> Result<FolderLock> {
    use std::os::unix::fs::OpenOptionsExt;
    let path = folder.join("tidings.lock");
    let unusable = |err| Error::bad_request(format!("can't write to the data folder {}: {err}", folder.display()));
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path).map_err(unusable)?;
    match file.try_lock() {
        Ok(()) => Ok(FolderLock { _file: file }),
        Err(TryLockError::WouldBlock) => {
            Err(Error::bad_request(format!("another server is running on the data folder {}", folder.display())))
        }
        Err(TryLockError::Error(err)) => Err(unusable(err)),
    }
}

/// The server's secret key, made on the first start (0600).
pub fn secret_key(folder: &Path) -> Result<[u8; 32]> {
    use base64::{Engine, prelude::BASE64_STANDARD};
    use std::{io::Write, os::unix::fs::OpenOptionsExt};
    let path: PathBuf = folder.join("secret.key");
    let named = |err: &dyn std::fmt::Display| Error::bad_request(format!("the key file {}: {err}", path.display()));
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            let bytes = BASE64_STANDARD.decode(text.trim()).map_err(|err| named(&err))?;
            bytes.try_into().map_err(|_| named(&"it must hold 32 bytes in base64"))
        }
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
            let key = crate::secret::random::<32>();
            // Written whole under another name first, so that a kill leaves no half key.
            let draft = folder.join(format!("secret.key.{}", std::process::id()));
            let mut file =
                File::options().create(true).truncate(true).write(true).mode(0o600).open(&draft).map_err(|err| named(&err))?;
            file.write_all(BASE64_STANDARD.encode(key).as_bytes()).and_then(|()| file.sync_all()).map_err(|err| named(&err))?;
            // A link fails where a rename would replace the key that another process made meanwhile.
            let made = std::fs::hard_link(&draft, &path);
            std::fs::remove_file(&draft).map_err(|err| named(&err))?;
            match made {
                Err(err) if err.kind() != std::io::ErrorKind::AlreadyExists => Err(named(&err)),
                _ => secret_key(folder),
            }
        }
        Err(err) => Err(named(&err)),
    }
}
