//! Hashing and checking passwords: expensive by design, so it is bounded in how much is done at once and in how long it waits.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{AcquireError, Semaphore},
    time::timeout,
};

use crate::error::{Error, Result};

/// For a password's turn to be hashed. Beyond it the client is told to try again, rather than wait in a queue that
/// grows with every log-in.
const QUEUE_WITHIN: Duration = Duration::from_secs(2);
const BUSY: Error = Error::Unavailable("Too many passwords are being checked, try again in a moment");

/// Password hashes, off the runtime's threads.
pub struct Hashing {
    slots: Arc<Semaphore>,
    queue_within: Duration,
}

impl Hashing {
    /// On half of the cores, and four at the most, as each takes 19 MiB: a storm of log-ins must not starve the rest.
    pub fn new(cores: usize) -> Hashing {
        Hashing { slots: Arc::new(Semaphore::new((cores / 2).clamp(1, 4))), queue_within: QUEUE_WITHIN }
    }

    /// In its network's turn, where these are counted: what one network has beyond it waits behind its own, and keeps no
    /// other out. 503 after two seconds of waiting.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        turns: Option<Arc<Semaphore>>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let begin = async {
            let turn = match turns {
                Some(turns) => Some(turns.acquire_owned().await?),
                None => None,
            };
            Ok::<_, AcquireError>((turn, self.slots.clone().acquire_owned().await?))
        };
        let held = timeout(self.queue_within, begin).await.map_err(|_| BUSY)?.map_err(Error::internal)?;
        let work = move || {
            // Held by the work itself, which goes on when its request is given up.
            let _held = held;
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(Error::internal)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use futures_util::FutureExt;

    use super::Hashing;
    use crate::{
        error::{Error, Result},
        limits::Limits,
    };

    #[tokio::test]
    async fn whoever_waits_too_long_to_be_hashed_is_sent_away() {
        let hashing = Hashing { queue_within: Duration::from_millis(20), ..Hashing::new(1) };
        let (go_on, wait) = mpsc::channel::<()>();
        let mut first = Box::pin(hashing.run(None, move || _ = wait.recv()));
        let begun = first.as_mut().now_or_never();
        assert!(begun.is_none(), "it hashes");
        assert!(matches!(hashing.run(None, || ()).await, Err(Error::Unavailable(_))));
        drop(first);
        assert!(hashing.run(None, || ()).await.is_err(), "a request that is given up leaves its work behind, and the slot taken");
        go_on.send(()).unwrap();
        let hashing = Hashing { queue_within: super::QUEUE_WITHIN, ..hashing };
        hashing.run(None, || ()).await.unwrap();
    }

    #[tokio::test]
    async fn one_network_takes_two_places_and_others_come_next() {
        let limits = Limits::new(true);
        let turns = |address: &str| limits.hashes(address.parse().unwrap());
        let hashing = Hashing::new(1);
        let (go_on, wait) = mpsc::channel::<()>();
        let (done, order) = mpsc::channel();
        let work = |name: &'static str| {
            let done = done.clone();
            hashing.run(turns(name), move || done.send(name).unwrap())
        };
        let mut first = Box::pin(hashing.run(turns("2001:db8::1"), move || _ = wait.recv()));
        assert!(first.as_mut().now_or_never().is_none(), "it hashes");
        // The second of the network stands in line, and more wait behind their own.
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
        assert!(Limits::new(false).hashes("192.0.2.1".parse().unwrap()).is_none());
    }
}
