//! Figures of the writer, the checkpoints and the readers, for monitoring.

use std::{sync::Arc, time::Duration};

use prometheus_client::{
    metrics::{counter::Counter, histogram::Histogram},
    registry::Registry,
};
use r2d2::event::{CheckoutEvent, HandleEvent, TimeoutEvent};

/// Upper bounds of buckets, in seconds. A job of more than 10 ms holds up others noticeably.
const JOB_SECONDS: [f64; 7] = [0.0001, 0.0005, 0.002, 0.01, 0.05, 0.25, 1.0];
/// An fsync takes some 0.1 ms on a good SSD, and 10 ms on a disk that turns.
const SYNC_SECONDS: [f64; 10] = [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1.0];
const BATCH_JOBS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
/// A read that gets its connection later than this has waited for another read to end.
const WAITED: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(super) struct Figures {
    /// Seconds for which each job holds up all others.
    pub job_seconds: Histogram,
    pub commit_seconds: Histogram,
    pub batch_jobs: Histogram,
    pub failed_batches: Counter,
    pub checkpoint_seconds: Histogram,
    reader_waits: Counter,
    reader_timeouts: Counter,
}

impl Figures {
    pub fn new() -> Arc<Figures> {
        Arc::new(Figures {
            job_seconds: Histogram::new(JOB_SECONDS),
            commit_seconds: Histogram::new(SYNC_SECONDS),
            batch_jobs: Histogram::new(BATCH_JOBS),
            failed_batches: Counter::default(),
            checkpoint_seconds: Histogram::new(SYNC_SECONDS),
            reader_waits: Counter::default(),
            reader_timeouts: Counter::default(),
        })
    }

    pub fn register(&self, registry: &mut Registry) {
        registry.register("writer_job_seconds", "How long a write held up all others", self.job_seconds.clone());
        registry.register("writer_commit_seconds", "How long commits took, with their fsync", self.commit_seconds.clone());
        registry.register("writer_batch_jobs", "Writes that were committed together", self.batch_jobs.clone());
        registry.register("writer_failed_batches", "Batches of writes that were not committed", self.failed_batches.clone());
        registry.register(
            "checkpoint_seconds",
            "How long it took to move the WAL into the database, with the fsyncs",
            self.checkpoint_seconds.clone(),
        );
        registry.register("reader_waits", "Reads that waited for a connection for more than 1 ms", self.reader_waits.clone());
        registry.register("reader_timeouts", "Reads that got no connection within a second", self.reader_timeouts.clone());
    }
}

/// Counts the reads that wait for a connection of the pool. Those that don't wait cost nothing.
#[derive(Debug)]
pub(super) struct Waits(pub Arc<Figures>);

impl HandleEvent for Waits {
    fn handle_checkout(&self, event: CheckoutEvent) {
        if event.duration() > WAITED {
            self.0.reader_waits.inc();
        }
    }

    fn handle_timeout(&self, _: TimeoutEvent) {
        self.0.reader_timeouts.inc();
    }
}
