//! Hashing and checking passwords: expensive by design, so it is bounded in how much is done at once and in how long it waits.

use std::{net::IpAddr, sync::Arc, time::Duration};

use tokio::{
    sync::{AcquireError, Semaphore},
    time::timeout,
};

use super::Inner;
use crate::{
    domain::accounts::{User, sessions},
    error::{Error, Result},
    limits, secret,
};

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
    async fn run<T: Send + 'static>(
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

impl Inner {
    /// [`secret::hash_password`], for a client's address. 503 when too many wait for theirs.
    pub async fn hash(&self, from: IpAddr, password: String) -> Result<String> {
        self.hashing.run(self.limits.hashes(from), move || secret::hash_password(&password)).await?
    }

    /// [`secret::verify_password`], of somebody who has proved by other means who they are; whoever may be guessing
    /// goes through [`Inner::verify_password`]. 503 when too many wait for theirs.
    pub async fn verify(&self, from: IpAddr, password: String, hash: String) -> Result<bool> {
        self.hashing.run(self.limits.hashes(from), move || secret::verify_password(&password, &hash)).await
    }

    /// Whether the password is that of an account. `email` is what the client gave, `account` that address's account
    /// if there is one; both cases take the same steps, and as long. Wrong ones count against the network and the
    /// account: 429 after too many from one network, or when the turn of an account that is being guessed at does not
    /// come; 503 when too many passwords are checked at once.
    pub async fn verify_password(&self, from: IpAddr, email: &str, account: Option<&User>, password: String) -> Result<bool> {
        let hash = account.map(|account| account.password_hash.clone()).unwrap_or_default();
        let Some(guesses) = self.limits.guesses() else { return self.verify(from, password, hash).await };
        let must_wait = guesses.begin(from, email)?;
        let checked = async {
            let turn = match must_wait && !self.logged_in_from(from, account)? {
                true => Some(guesses.turn(from, email).await?),
                false => None,
            };
            let verify = move || {
                let _turn = turn;
                secret::verify_password(&password, &hash)
            };
            self.hashing.run(self.limits.hashes(from), verify).await
        };
        let checked = checked.await;
        guesses.end(from, email, &checked);
        checked
    }

    /// Whether a session of the account was begun from this network.
    fn logged_in_from(&self, address: IpAddr, account: Option<&User>) -> Result<bool> {
        let Some(account) = account else { return Ok(false) };
        let begun = self.db.read(|conn| sessions::addresses(conn, account.id))?;
        let here = limits::network(address);
        Ok(begun.iter().any(|there| there.parse().is_ok_and(|there| limits::network(there) == here)))
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
