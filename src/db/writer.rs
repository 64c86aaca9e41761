//! The only thread that writes, with group commit.
//!
//! It takes the queued jobs into one IMMEDIATE transaction, each in a savepoint of its own, commits once
//! (`synchronous=full`), hands over the effects in order, then answers, and last wakes what can wait. A single write commits
//! at once. Batches form while the previous one syncs.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    sync::{
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::{
    checkpoint::{Checkpoint, Checkpoints, FLOOR, Space, checkpoint, exit_on_broken_disk},
    epoch::Marker,
    figures::Figures,
    log_reader, request_writes,
    tx::{Committed, Tx, View},
};
use crate::{
    clock::Clock,
    error::{Code, Error, Result},
    event::Effect,
    limits::byte_quotas::ByteQuotas,
    site::Site,
};

/// A function that gets what each committed batch leaves before its callers are answered.
pub type AfterCommit = Box<dyn FnMut(Committed) -> AfterAnswers + Send>;
/// Wakes what can wait until the callers are answered: a thread that is woken may take the writer's processor.
pub type AfterAnswers = Box<dyn FnOnce()>;

const QUEUE_JOBS: usize = 4096;
const QUEUE_BYTES: usize = 32 << 20;
const BATCH_JOBS: usize = 64;
const BATCH_TIME: Duration = Duration::from_millis(5);
/// How often an idle writer checks whether another process has written.
const IDLE: Duration = Duration::from_secs(1);
const MARK_EVERY: Duration = Duration::from_secs(1);
/// Bytes of live WAL frames above which the writer itself truncates the WAL.
const WAL_LIMIT: u64 = 64 << 20;

const BUSY: Error = Error::Unavailable(Code::Overloaded, "the server is overloaded, try again");
const FULL: Error = Error::Unavailable(Code::DiskFull, "the server's disk is full");
const NEARLY_FULL: Error = Error::Unavailable(
    Code::DiskFull,
    "the server's disk is nearly full: until an administrator frees some space, you can read, delete and log out",
);
pub(super) const UNKNOWN: Error = Error::Unavailable(Code::OutcomeUnknown, "the outcome of this write is unknown, try again");

struct Job {
    run: Box<dyn FnOnce(&mut Tx) -> Ran + Send>,
    /// Released when the job has run or is dropped.
    _share: Reserved,
}

/// The jobs in the queue, with the running one.
#[derive(Default)]
struct Queued {
    jobs: AtomicUsize,
    bytes: AtomicUsize,
}

/// A job's share of the queue.
struct Reserved {
    queued: Arc<Queued>,
    bytes: usize,
}

impl Reserved {
    fn new(queued: &Arc<Queued>, bytes: usize) -> Option<Reserved> {
        let reserved = Reserved { queued: queued.clone(), bytes };
        queued.jobs.fetch_add(1, Relaxed);
        (queued.bytes.fetch_add(bytes, Relaxed) <= QUEUE_BYTES).then_some(reserved)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.queued.jobs.fetch_sub(1, Relaxed);
        self.queued.bytes.fetch_sub(self.bytes, Relaxed);
    }
}

/// The result of a job: whether to keep its changes, and how to answer once the batch has committed or failed.
struct Ran {
    keep: bool,
    answer: Box<dyn FnOnce(Result<()>)>,
}

pub struct Writer {
    /// Taken by `close`.
    queue: Mutex<Option<SyncSender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    queued: Arc<Queued>,
    checkpoints: Arc<Checkpoints>,
    longest: Arc<Longest>,
}

/// The longest times since they were last taken, in nanoseconds.
#[derive(Default)]
struct Longest {
    job: AtomicU64,
    commit: AtomicU64,
}

impl Writer {
    pub fn start(
        conn: Connection,
        marker: Marker,
        (checkpoints, figures): (Checkpoints, Arc<Figures>),
        (site, clock, quotas): (Arc<Site>, Clock, Arc<ByteQuotas>),
        after_commit: AfterCommit,
    ) -> Result<Writer> {
        let (queue, jobs) = sync_channel(QUEUE_JOBS);
        let (queued, longest) = (Arc::default(), Arc::<Longest>::default());
        let checkpoints = Arc::new(checkpoints);
        let mut state = Thread {
            // In this order, so that a commit of another process between the two counts as foreign.
            data_version: data_version(&conn)?,
            last_seq: log_reader::last_seq(&conn)?,
            next_truncate: WAL_LIMIT,
            marker,
            marked: Instant::now(),
            conn,
            site,
            clock,
            quotas,
            after_commit,
            checkpoints: checkpoints.clone(),
            figures,
            longest: longest.clone(),
        };
        let run = move || {
            // Effects that don't reach the publisher would be lost. After a restart, clients recover from the log.
            if catch_unwind(AssertUnwindSafe(|| state.run(jobs))).is_err() {
                tracing::error!("the writer panicked");
                std::process::abort();
            }
        };
        let thread = std::thread::Builder::new().name("writer".into()).spawn(run).map_err(Error::internal)?;
        Ok(Writer { queue: Mutex::new(Some(queue)), thread: Mutex::new(Some(thread)), queued, checkpoints, longest })
    }

    /// Queues a job. The receiver gets its result after the commit, and is closed if the job never ran.
    pub fn submit<T: Send + 'static>(
        &self,
        bytes: usize,
        f: impl FnOnce(&mut Tx) -> Result<T> + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<T>>> {
        match self.checkpoints.space() {
            Space::None => return Err(FULL),
            Space::BelowFloor if !request_writes::may_write_below_floor() => return Err(NEARLY_FULL),
            _ => {}
        }
        let reserved = Reserved::new(&self.queued, bytes).ok_or(BUSY)?;
        let ((answer, receiver), payer, recheck) = (oneshot::channel(), request_writes::payer(), request_writes::recheck());
        let run = Box::new(move |tx: &mut Tx| {
            tx.set_payer(payer);
            let job = AssertUnwindSafe(|| recheck.map_or(Ok(()), |recheck| recheck.run(tx)).and_then(|()| f(tx)));
            let result = catch_unwind(job).unwrap_or_else(|_| Err(Error::internal("a write job panicked")));
            Ran { keep: result.is_ok(), answer: Box::new(move |batch| _ = answer.send(batch.and(result))) }
        });
        let queue = self.queue.lock().clone();
        match queue.map(|queue| queue.try_send(Job { run, _share: reserved })) {
            Some(Ok(())) => Ok(receiver),
            Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) | None => Err(BUSY),
        }
    }

    pub fn is_writable(&self) -> bool {
        self.checkpoints.space() < Space::BelowFloor && self.queue.lock().is_some()
    }

    /// The queue's length in jobs and in bytes.
    pub fn queued(&self) -> (usize, usize) {
        (self.queued.jobs.load(Relaxed), self.queued.bytes.load(Relaxed))
    }

    /// Bytes of live frames in the WAL, as of the last checkpoint.
    pub fn wal_bytes(&self) -> u64 {
        self.checkpoints.wal_bytes()
    }

    /// Bytes of free disk space below which writes are refused, but for those that may free some.
    pub fn floor(&self) -> u64 {
        FLOOR + self.checkpoints.unmoved_bytes()
    }

    /// The longest job and the longest commit since the last call.
    pub fn take_longest(&self) -> (Duration, Duration) {
        let Longest { job, commit } = &*self.longest;
        (Duration::from_nanos(job.swap(0, Relaxed)), Duration::from_nanos(commit.swap(0, Relaxed)))
    }

    /// Refuses further jobs, and waits until the queued ones are on disk.
    pub fn close(&self) {
        drop(self.queue.lock().take());
        if let Some(thread) = self.thread.lock().take() {
            _ = thread.join();
        }
        self.checkpoints.stop();
    }
}

struct Thread {
    conn: Connection,
    site: Arc<Site>,
    clock: Clock,
    quotas: Arc<ByteQuotas>,
    after_commit: AfterCommit,
    checkpoints: Arc<Checkpoints>,
    /// The last row of the event log that was handed to the publisher.
    last_seq: i64,
    /// Changes when another connection commits.
    data_version: i64,
    next_truncate: u64,
    marker: Marker,
    marked: Instant,
    figures: Arc<Figures>,
    longest: Arc<Longest>,
}

impl Thread {
    fn run(&mut self, jobs: Receiver<Job>) {
        loop {
            match jobs.recv_timeout(IDLE) {
                Ok(first) => self.batch(Some(first), &jobs),
                Err(RecvTimeoutError::Timeout) => match data_version(&self.conn) {
                    Ok(seen) if seen == self.data_version => {}
                    _ => self.batch(None, &jobs),
                },
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.truncate_wal();
            if self.marked.elapsed() >= MARK_EVERY {
                self.marked = Instant::now();
                self.marker.write_seq(self.last_seq);
            }
        }
        self.marker.write_seq(self.last_seq);
        // The checkpoint thread may be running one, so a few attempts are made.
        for _ in 0..10 {
            match checkpoint(&self.conn, "truncate") {
                Ok(Checkpoint { moved_all: true, .. }) => return,
                Ok(_) => std::thread::sleep(Duration::from_millis(20)),
                Err(err) => return tracing::warn!(%err, "the last checkpoint failed; the next start does it"),
            }
        }
    }

    fn batch(&mut self, first: Option<Job>, jobs: &Receiver<Job>) {
        let mut answers = Vec::new();
        let result = self.transaction(first, jobs, &mut answers);
        let mut after_answers = None;
        let outcome = match result {
            Ok(committed) => {
                self.checkpoints.wake();
                let effects = &committed.effects;
                if let Some(seq) =
                    effects.iter().filter_map(|e| if let Effect::Publish(e) = e { Some(e.seq) } else { None }).max()
                {
                    self.last_seq = seq;
                }
                if !effects.is_empty() {
                    after_answers = Some((self.after_commit)(committed));
                }
                None
            }
            Err(err) => {
                tracing::error!(%err, jobs = answers.len(), "a batch of writes failed");
                if !self.conn.is_autocommit() {
                    _ = self.conn.execute_batch("rollback");
                }
                self.figures.failed_batches.inc();
                // The commit may have succeeded all the same. The next batch then reads the log and publishes its rows.
                self.data_version = -1;
                Some(err)
            }
        };
        for answer in answers {
            answer(if outcome.is_none() { Ok(()) } else { Err(UNKNOWN) });
        }
        if let Some(wake) = after_answers {
            wake();
        }
        if let Some(err) = outcome {
            exit_on_broken_disk(&err);
        }
    }

    /// Runs queued jobs in one transaction, and adds their answers to `answers`. A job that is dropped without an answer is
    /// answered 503, too.
    fn transaction(
        &mut self,
        first: Option<Job>,
        jobs: &Receiver<Job>,
        answers: &mut Vec<Box<dyn FnOnce(Result<()>)>>,
    ) -> rusqlite::Result<Committed> {
        let mut committed = Committed::default();
        execute(&self.conn, "begin immediate")?;
        // Read inside the transaction, in which no other process can write.
        let version = data_version(&self.conn)?;
        if version != self.data_version {
            committed.effects.push(Effect::Foreign);
            committed.effects.extend(log_reader::since(&self.conn, self.last_seq)?.into_iter().map(Effect::Publish));
        }
        let started = Instant::now();
        let mut next = first;
        while let Some(job) = next.take() {
            execute(&self.conn, "savepoint job")?;
            let (effects, permits) = (committed.effects.len(), committed.permits.len());
            let began = Instant::now();
            let view = View::new(&self.conn, &self.site, self.clock.now());
            let Ran { keep, answer } = (job.run)(&mut Tx::new(view, &mut committed, &self.quotas));
            answers.push(answer);
            if self.conn.is_autocommit() {
                // The job, or a full disk, has ended the transaction, and rolled back the jobs before it.
                return Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ABORT), None));
            }
            if !keep {
                committed.effects.truncate(effects);
                committed.permits.truncate(permits);
                execute(&self.conn, "rollback to job")?;
            }
            execute(&self.conn, "release job")?;
            self.took(began.elapsed()); // after the release, in which the search index writes its rows
            if answers.len() < BATCH_JOBS && started.elapsed() < BATCH_TIME {
                next = jobs.try_recv().ok();
            }
        }
        let began = Instant::now();
        execute(&self.conn, "commit")?;
        let took = began.elapsed();
        self.figures.commit_seconds.observe(took.as_secs_f64());
        self.figures.batch_jobs.observe(answers.len() as f64);
        self.longest.commit.fetch_max(took.as_nanos() as u64, Relaxed);
        self.data_version = version;
        Ok(committed)
    }

    fn took(&self, time: Duration) {
        self.figures.job_seconds.observe(time.as_secs_f64());
        self.longest.job.fetch_max(time.as_nanos() as u64, Relaxed);
    }

    fn truncate_wal(&mut self) {
        let wal = self.checkpoints.wal_bytes();
        if wal < self.next_truncate {
            if wal < WAL_LIMIT {
                self.next_truncate = WAL_LIMIT;
            }
            return;
        }
        // 100 ms, because a long read holds up all writes for as long as this.
        _ = self.conn.busy_timeout(Duration::from_millis(100));
        self.next_truncate = match checkpoint(&self.conn, "truncate") {
            Ok(Checkpoint { wal: Some(left), moved_all: true }) => {
                self.checkpoints.note_wal(left);
                WAL_LIMIT
            }
            Ok(_) => wal + WAL_LIMIT,
            Err(err) => {
                exit_on_broken_disk(&err);
                wal + WAL_LIMIT
            }
        };
        _ = self.conn.busy_timeout(Duration::from_secs(5));
        self.checkpoints.wake();
    }
}

fn execute(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(|_| ())
}

fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("pragma data_version")?.query_row([], |row| row.get(0))
}
