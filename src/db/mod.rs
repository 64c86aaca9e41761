//! The SQLite database: one writer thread, a pool of readers, and a WAL. Nothing else opens the file.
//!
//! A write is answered after its fsync. A read is one short transaction, and sees every write that was answered before it.

mod checkpoint;
pub mod comparable_schema;
mod cookie_instance;
mod epoch;
mod figures;
mod file_names;
mod file_replacement;
mod folder;
mod key_file;
mod last_write;
pub mod log_reader;
mod open;
mod position;
mod request_writes;
mod row_columns;
mod schema;
mod schema_history;
mod slow_read_slots;
pub mod snapshot;
mod text_enum;
mod tx;
mod writer;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use prometheus_client::{metrics::gauge::ConstGauge, registry::Registry};

use rusqlite::{Connection, OpenFlags};

pub(crate) use self::text_enum::text_enum;
pub use self::{
    checkpoint::{FLOOR, SCARCE},
    file_names::{EPOCH, FILE, KEY},
    file_replacement::{FORMER, FileReplacement},
    folder::{FolderLock, free_bytes, give_to_folder_owner, lock, lock_files, make_folder, read_published_text, require_space},
    key_file::{KeyFile, existing_key, replace_lost, rotate as rotate_key},
    last_write::last_write_in_future,
    position::with_position,
    request_writes::{Recheck, ban_writes, for_request, held_to_floor, lift_floor, note_person, recheck_in_writes},
    row_columns::Columns,
    schema::{Step, newest as newest_version},
    schema_history::Version,
    slow_read_slots::Class,
    tx::{Committed, Tx, View},
    writer::{AfterAnswers, AfterCommit},
};
use self::{
    figures::{Figures, Waits},
    open::{connect, prepare},
    slow_read_slots::OVERLOADED,
};
use crate::{
    clock::Clock,
    error::{Code, Error, Result},
    id::Share,
    limits::byte_quotas::ByteQuotas,
    site::Site,
    time::Time,
};

/// Reader connections for the forwarder, which reads the log for an external Centrifugo on a blocking thread.
const FORWARDER: usize = 1;
/// SQLite VM instructions between two deadline checks.
const STEPS: i32 = 1_000;

#[derive(Clone)]
pub struct Db {
    readers: r2d2::Pool<r2d2_sqlite::SqliteConnectionManager>,
    writer: Arc<writer::Writer>,
    admission: Arc<slow_read_slots::ReadSlots>,
    figures: Arc<Figures>,
    /// The epoch of the event log; it stays the same while the database is open.
    epoch: Arc<str>,
    instance: Arc<str>,
    site: Arc<Site>,
    clock: Clock,
}

impl Db {
    /// Opens the database of a data folder, creating it if there is none, and starts its writer. Jobs read the server's
    /// settings from `site` and the time from `clock`, and charge `quotas` with what they write; `after_commit` gets the effects
    /// of each committed batch, in order, on the writer's thread.
    pub fn open(
        folder: &Path,
        (site, quotas): (Arc<Site>, Arc<ByteQuotas>),
        clock: Clock,
        after_commit: AfterCommit,
    ) -> Result<Db> {
        file_replacement::require_done(folder)?;
        let path = folder.join(FILE);
        let mut conn = connect(&path, OpenFlags::default())?;
        schema::migrate(&mut conn, &path)?;
        let now = clock.now();
        if let Some(last_write) = last_write_in_future(now, folder, &conn)? {
            tracing::warn!(%now, %last_write, "the clock is behind the last write, and new messages get older times: set the clock");
        }
        let marker = epoch::Marker::open(&conn, folder)?;
        let epoch = log_reader::epoch(&conn)?.into();
        let instance = cookie_instance::of(&conn)?.into();
        let cores = std::thread::available_parallelism().map_or(2, usize::from).max(2);
        // One more than a user's, so that their lists don't hold up all others.
        let lists = cores.max(slow_read_slots::LISTS + 1);
        let size = cores + slow_read_slots::ReadSlots::most_at_once(lists) + FORWARDER;
        let manager = r2d2_sqlite::SqliteConnectionManager::file(&path)
            .with_flags(OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .with_init(|conn| prepare(conn).and_then(|()| conn.pragma_update(None, "query_only", true)));
        let figures = Figures::new();
        let readers = r2d2::Pool::builder()
            .event_handler(Box::new(Waits(figures.clone())))
            .max_size(size as u32)
            .min_idle(Some(1))
            .test_on_check_out(false)
            .connection_timeout(Duration::from_secs(1))
            .build(manager)
            .map_err(Error::internal)?;
        let checkpoints = checkpoint::Checkpoints::start(&path, figures.clone())?;
        let views = (site.clone(), clock.clone(), quotas);
        let writer = Arc::new(writer::Writer::start(conn, marker, (checkpoints, figures.clone()), views, after_commit)?);
        Ok(Db {
            readers,
            writer,
            admission: Arc::new(slow_read_slots::ReadSlots::new(lists)),
            figures,
            epoch,
            instance,
            site,
            clock,
        })
    }

    /// The epoch of the event log.
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// The name of the server in the cookies of browsers.
    pub fn name_in_cookies(&self) -> &str {
        &self.instance
    }

    /// Runs `f` in a short read transaction on this thread, for reads by key that are bounded in rows. The answer in whose task
    /// it runs shows this state of the log; see [`with_position`].
    pub fn read<T>(&self, f: impl FnOnce(&View) -> Result<T>) -> Result<T> {
        self.read_without_position(|conn| {
            conn.note_position()?;
            f(conn)
        })
    }

    /// [`Db::read`] of what no answer shows, such as the caller's session.
    pub fn read_without_position<T>(&self, f: impl FnOnce(&View) -> Result<T>) -> Result<T> {
        let conn = self.readers.get().map_err(|_| OVERLOADED)?;
        conn.prepare_cached("begin")?.execute([])?;
        let read = Reading(&conn);
        f(&View::new(read.0, &self.site, self.clock.now()))
    }

    /// [`Db::read`] on a blocking thread, for lists that are bounded in rows and sums over them. As many run at a time as there
    /// are cores, two for each user, and two for all callers without a user. 503 after two seconds.
    pub async fn read_bounded<T: Send + 'static>(
        &self,
        user: impl Into<Option<Share>>,
        f: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.read_slow(Class::List(user.into()), f).await
    }

    /// [`Db::read`] on a blocking thread, for reads that are not bounded in rows. A few run at a time, by their class. 503 if
    /// the read takes too long.
    pub async fn read_slow<T: Send + 'static>(
        &self,
        class: Class,
        f: impl FnOnce(&View) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let permit = self.admission.permit(class).await?;
        let (db, shown) = (self.clone(), position::Shown::of_task());
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
                    Err(Error::Unavailable(Code::TooSlow, "this takes too long, ask for less"))
                }
                done => done,
            }
        };
        let read = move || match shown {
            Some(shown) => shown.run_on_other_thread(read),
            None => read(),
        };
        tokio::task::spawn_blocking(read).await.map_err(Error::internal)?
    }

    /// Runs `f` on the writer's thread. Returns once its transaction is on disk.
    ///
    /// `Err` undoes only what `f` did. `f` uses nothing but SQL and its `Tx`, because it may run in one transaction with
    /// other jobs. It runs even if the caller disconnects. 503 if the queue is full or the disk nearly so
    /// ([`held_to_floor`]); 500 in a request whose writes are banned ([`ban_writes`]).
    pub async fn write<T: Send + 'static>(&self, f: impl FnOnce(&mut Tx) -> Result<T> + Send + 'static) -> Result<T> {
        self.write_sized(size_of_val(&f), f).await
    }

    /// [`Db::write`] for a closure that owns `bytes` of text, because the queue is also bounded in bytes.
    pub async fn write_sized<T: Send + 'static>(
        &self,
        bytes: usize,
        f: impl FnOnce(&mut Tx) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        request_writes::check()?;
        self.writer.submit(bytes, f)?.await.unwrap_or(Err(writer::UNKNOWN))
    }

    /// [`Db::write`] for long work: repeats `step`, each time in a transaction of its own, until it returns a value. All
    /// steps run even if the caller disconnects. `Err` undoes its own step, and no further step runs.
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
        tokio::spawn(for_request(run)).await.map_err(Error::internal)?
    }

    /// Whether the writer accepts all jobs: false if the disk is nearly full or the database is closed.
    pub fn is_writable(&self) -> bool {
        self.writer.is_writable()
    }

    /// Registers what monitoring reads of the writer, the WAL and the readers.
    pub fn register_metrics(&self, registry: &mut Registry) {
        self.figures.register(registry);
        let ((jobs, bytes), readers) = (self.writer.queued(), self.readers.state());
        let idle = readers.idle_connections;
        let gauges = [
            ("writer_queue_jobs", "Writes that wait", jobs as i64),
            ("writer_queue_bytes", "Bytes of the writes that wait", bytes as i64),
            ("wal_bytes", "What waits to be moved into the database file", self.writer.wal_bytes() as i64),
            (
                "disk_floor_bytes",
                "Free space on the disk of the data folder below which writes are refused, but for deletions, log-outs and superadmins'",
                self.writer.floor() as i64,
            ),
            ("readers_busy", "Connections to the database that a read has now", (readers.connections - idle).into()),
            ("readers_most", "Connections to the database that reads may have", self.readers.max_size().into()),
        ];
        gauges.into_iter().for_each(|(name, help, value)| registry.register(name, help, ConstGauge::new(value)));
    }

    /// The longest write job and the longest commit, with its fsync, since the last call. For measurements.
    pub fn take_longest(&self) -> (Duration, Duration) {
        self.writer.take_longest()
    }

    /// Opens a read connection for a thread that reads all the time.
    pub fn open_reader(folder: &Path) -> Result<Connection> {
        let conn = connect(&folder.join(FILE), OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        conn.pragma_update(None, "query_only", true)?;
        Ok(conn)
    }

    /// Ends the writer once all queued jobs are on disk, and copies the WAL into the database.
    pub fn close(&self) {
        self.writer.close();
    }
}

/// Ends the transaction of a read, even if the read panics, because the connection goes back to the pool.
struct Reading<'a>(&'a Connection);

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if let Err(err) = self.0.prepare_cached("rollback").and_then(|mut rollback| rollback.execute([])) {
            tracing::error!(%err, "a read transaction did not end");
        }
    }
}

/// Runs a read in another process than the server's. Fails if the folder has no database, or one with another schema.
pub fn read_once<T>(folder: &Path, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    require_current(folder)?;
    f(&Db::open_reader(folder)?)
}

/// Runs a write transaction in another process than the server's, whether a server is running or not.
pub fn write_beside_server<T>(folder: &Path, site: &Site, now: Time, f: impl FnOnce(&mut Tx) -> Result<T>) -> Result<T> {
    let path = folder.join(FILE);
    let _files = folder::lock_files_shared(folder)?; // a restore moves no file away until this has committed
    if version(folder)? != 0 {
        require_current(folder)?; // it is the server that migrates
    }
    let mut conn = connect(&path, OpenFlags::default())?;
    schema::migrate(&mut conn, &path)?;
    let transaction = conn.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let mut committed = Committed::default(); // a running server notices the commit by itself
    let value = f(&mut Tx::new(View::new(&transaction, site, now), &mut committed, &ByteQuotas::unlimited()))?;
    transaction.commit()?;
    Ok(value)
}

/// The schema version of the folder's database. Changes nothing; 0 without a database. Fails if the folder had one, which is
/// gone: a new one in its place would hide the loss.
pub fn version(folder: &Path) -> Result<Version> {
    file_replacement::require_done(folder)?;
    let (database, epoch) = (folder.join(FILE), folder.join(EPOCH));
    if !database.exists() && epoch.exists() {
        return Err(Error::failed(format!(
            "the database {} is missing: put it back, or restore a backup. To begin with an empty one, delete {}",
            database.display(),
            epoch.display()
        )));
    }
    schema::version(&database)
}

/// Whether the database has the schema of this version. Another program may migrate it while the server runs.
pub fn is_current(conn: &Connection) -> Result<bool> {
    Ok(schema_history::user_version(conn)? == newest_version())
}

/// Fails if the folder has a database whose definitions are not those of its schema version. 400 names the differences. A
/// database of a newer version than this binary knows is left alone.
pub fn require_known_definitions(folder: &Path) -> Result<()> {
    schema::require_known(&folder.join(FILE))
}

/// Fails unless the folder has a database with the schema of this version.
pub fn require_current(folder: &Path) -> Result<()> {
    match require_database(folder)? {
        have if have < newest_version() => Err(Error::failed(format!(
            "the database has schema version {have}, this binary needs {}: start the server, or run `tidings migrate up`",
            newest_version()
        ))),
        have => schema::refuse_newer(have, newest_version(), &folder.join(FILE)),
    }
}

/// The schema version of the folder's database. Fails if there is none, so that a command doesn't create one by mistake.
pub fn require_database(folder: &Path) -> Result<Version> {
    match version(folder)? {
        0 => {
            let (shown, hint) = (folder.display(), elsewhere(folder, Path::new(SERVICE)));
            Err(Error::failed(format!("there is no database in {shown}{hint}")))
        }
        have => Ok(have),
    }
}

/// The data folder of the service that `install.sh` installs.
const SERVICE: &str = "/var/lib/tidings";

/// Where the database may be instead. A command takes its folder from a flag or a variable, and not from the unit of the service.
fn elsewhere(folder: &Path, service: &Path) -> String {
    if folder == service {
        return String::new();
    }
    let hint = ": name the server's data folder with --data-dir";
    if !service.exists() {
        return hint.into();
    }
    let installed = service.display();
    format!(
        "{hint}. The installed service has {installed}, which root alone may read, as in `sudo tidings user list --data-dir \
         {installed}`"
    )
}

/// Migrates the database of a locked data folder to the newest schema. Returns the version before and after.
pub fn migrate(folder: &Path, _lock: &FolderLock) -> Result<(Version, Version)> {
    let before = version(folder)?;
    let path = folder.join(FILE);
    schema::migrate(&mut connect(&path, OpenFlags::default())?, &path)?;
    Ok((before, version(folder)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_without_its_database_names_the_folder_of_the_service_if_there_is_one() {
        let parent = tempfile::tempdir().unwrap();
        let (folder, service) = (parent.path().join("data"), parent.path().join("service"));
        assert_eq!(elsewhere(&folder, &service), ": name the server's data folder with --data-dir");
        std::fs::create_dir(&service).unwrap();
        let said = elsewhere(&folder, &service);
        assert!(said.ends_with(&format!("as in `sudo tidings user list --data-dir {}`", service.display())), "{said}");
        assert_eq!(elsewhere(&service, &service), "");
    }
}
