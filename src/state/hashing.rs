//! Hashing and checking passwords. A hash is expensive by design, so both the hashes at a time and their wait are bounded.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    error::{Code, Error, Result},
    state::low_priority,
};

/// How long a hash waits for a slot. Past that, the client is told to try again: otherwise the queue would grow with every
/// log-in.
const QUEUE_WITHIN: Duration = Duration::from_secs(2);
const BUSY: Error = Error::Unavailable(Code::Overloaded, "Too many passwords are being checked, try again in a moment");

/// How long a hash waits for a permit of its network. A burst of 100 log-ins takes some three seconds on two cores.
const PERMIT_WITHIN: Duration = Duration::from_secs(30);

/// How much a hash yields to everything else: with this niceness it gets about a quarter of a core that another thread wants,
/// too.
const NICENESS: i32 = 5;

/// Hashes passwords on threads of their own, in a bounded number of slots.
pub struct Hashing {
    slots: Arc<Semaphore>,
    queue_within: Duration,
    permit_within: Duration,
}

/// A network's permit to hash a password; empty if limits are switched off.
pub(super) struct HashPermit(#[expect(dead_code, reason = "held")] Option<OwnedSemaphorePermit>);

impl Hashing {
    /// A slot for each core, at most four, because a hash takes 19 MiB. Others are not held up: the threads yield to them.
    pub fn new(cores: usize) -> Hashing {
        Hashing { slots: Arc::new(Semaphore::new(cores.clamp(1, 4))), queue_within: QUEUE_WITHIN, permit_within: PERMIT_WITHIN }
    }

    /// Waits for one of a network's permits, where these are counted. Further hashes of a network wait behind its own, and
    /// hold up no other network. 503 after 30 seconds of waiting.
    pub(super) async fn permit(&self, permits: Option<Arc<Semaphore>>) -> Result<HashPermit> {
        let Some(permits) = permits else { return Ok(HashPermit(None)) };
        let permit = timeout(self.permit_within, permits.acquire_owned()).await.map_err(|_| BUSY)?;
        Ok(HashPermit(Some(permit.map_err(Error::internal)?)))
    }

    /// Runs `work` in a slot. 503 after two seconds of waiting.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        permit: HashPermit,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let slot = timeout(self.queue_within, self.slots.clone().acquire_owned()).await.map_err(|_| BUSY)?;
        let held = (permit, slot.map_err(Error::internal)?);
        // A new thread takes a thousandth of a hash's time.
        let hash = move || {
            let result = work();
            drop(held); // The work itself holds the slot, because it goes on if its request is cancelled.
            result
        };
        low_priority::run("hash", NICENESS, hash).await
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use futures_util::FutureExt;

    use super::{HashPermit, Hashing};
    use crate::{
        clock::Clock,
        error::{Error, Result},
        limits::Limits,
    };

    #[tokio::test]
    async fn a_hash_that_waits_too_long_for_a_slot_is_refused() {
        let hashing = Hashing { queue_within: Duration::from_millis(20), ..Hashing::new(1) };
        let (go_on, wait) = mpsc::channel::<()>();
        let mut first = Box::pin(hashing.run(HashPermit(None), move || _ = wait.recv()));
        let begun = first.as_mut().now_or_never();
        assert!(begun.is_none(), "it hashes");
        assert!(matches!(hashing.run(HashPermit(None), || ()).await, Err(Error::Unavailable(..))));
        drop(first);
        assert!(
            hashing.run(HashPermit(None), || ()).await.is_err(),
            "a request that is given up leaves its work behind, and the slot taken"
        );
        go_on.send(()).unwrap();
        let hashing = Hashing { queue_within: super::QUEUE_WITHIN, ..hashing };
        hashing.run(HashPermit(None), || ()).await.unwrap();
    }

    #[tokio::test]
    async fn hashes_yield_to_requests() {
        let niceness = || rustix::process::getpriority_process(None).unwrap();
        let before = niceness();
        assert_eq!(Hashing::new(1).run(HashPermit(None), niceness).await.unwrap(), (before + super::NICENESS).min(19));
        assert_eq!(niceness(), before, "that of the runtime is as it was");
    }

    #[tokio::test]
    async fn a_network_has_two_hashes_in_the_queue_and_others_come_next() {
        let limits = Limits::new(true, &Clock::default());
        let permits = |address: &str| limits.hashes(address.parse().unwrap());
        let hashing = Hashing::new(1);
        let (go_on, wait) = mpsc::channel::<()>();
        let (done, order) = mpsc::channel();
        let hashing = &hashing;
        let work = |name: &'static str| {
            let (permits, done) = (permits(name), done.clone());
            async move { hashing.run(hashing.permit(permits).await?, move || done.send(name).unwrap()).await }
        };
        let first = async { hashing.run(hashing.permit(permits("2001:db8::1")).await?, move || _ = wait.recv()).await };
        let mut first = Box::pin(first);
        assert!(first.as_mut().now_or_never().is_none(), "it hashes");
        // The network's second hash waits for the slot; its others wait for a permit of the network.
        let mut flood: Vec<_> = (0..20).map(|_| Box::pin(work("2001:db8::2"))).collect();
        assert!(flood.iter_mut().all(|one| one.as_mut().now_or_never().is_none()));
        let mut other = Box::pin(work("2001:db8:0:1::1"));
        assert!(other.as_mut().now_or_never().is_none());
        go_on.send(()).unwrap();
        first.await.unwrap();
        let (other, flood) = futures_util::join!(other, futures_util::future::join_all(flood));
        assert!(other.is_ok() && flood.iter().all(Result::is_ok));
        let order: Vec<_> = order.try_iter().collect();
        assert_eq!(order.iter().position(|name| *name == "2001:db8:0:1::1"), Some(1), "{order:?}");
        assert!(Limits::new(false, &Clock::default()).hashes("192.0.2.1".parse().unwrap()).is_none());
    }

    #[tokio::test]
    async fn a_hash_that_waits_too_long_for_its_network_is_refused_and_others_are_not() {
        let limits = Limits::new(true, &Clock::default());
        let permits = |address: &str| limits.hashes(address.parse().unwrap());
        let hashing = Hashing { permit_within: Duration::from_millis(20), ..Hashing::new(1) };
        let _held = [hashing.permit(permits("192.0.2.1")).await.unwrap(), hashing.permit(permits("192.0.2.1")).await.unwrap()];
        assert!(matches!(hashing.permit(permits("192.0.2.1")).await, Err(Error::Unavailable(..))));
        hashing.run(hashing.permit(permits("192.0.2.2")).await.unwrap(), || ()).await.unwrap();
    }
}
