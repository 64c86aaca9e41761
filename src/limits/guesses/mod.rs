//! Bounds on guessing passwords (SECURITY.md, *Bounds*). A network is refused after some failures. An account is never
//! locked: after many failures from all networks together, attempts at it wait in a queue, from which one is checked from time
//! to time. Devices and networks of earlier log-ins don't wait.

mod by_network;
mod failures;
mod queue;

use std::{collections::HashMap, future::ready, net::IpAddr, time::Duration};

use parking_lot::Mutex;
use tokio::{select, time::sleep};

use self::{
    by_network::ByNetwork,
    failures::{Failures, Key},
    queue::Queues,
};
use super::networks::network;
use crate::{
    clock::Clock,
    error::{Error, Result},
};

/// The time after which a failure of an account is forgotten. In the long run it also bounds the guesses of attackers who never
/// pause: a hundred an hour.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(36);
/// Failures of an account from which its attempts are queued, and the time between two checks: few users meet the first, and a
/// botnet gets through the others within two hours.
const SLOW: u32 = 100;
const SLOW_PACE: Duration = Duration::from_secs(1);
const SLOWER: u32 = 200;
const SLOWER_PACE: Duration = Duration::from_secs(6);
const SLOWEST: u32 = 1000;
const SLOWEST_PACE: Duration = Duration::from_secs(60);
/// How long an attempt waits to be checked.
const WAIT_WITHIN: Duration = Duration::from_secs(30);
/// `Retry-After` in seconds, at least, of an attempt that found no place in the queue or waited in vain.
const RETRY_SECONDS: u64 = 5;

/// Failures of a known device that need not wait, so that a stolen mark is worth few guesses; and the time after which one is
/// forgotten.
const FAILURES_OF_DEVICE: u32 = 10;
const DEVICE_FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

/// Counters of accounts, and of devices.
const ACCOUNTS: usize = 1 << 16;
const DEVICES: usize = 1 << 16;

/// The time between two mails that are queued for the owner of an account: each guess would write one. Whether a queued mail is
/// written is decided by the rule of one a day, in `domain/accounts/unwritten_mails.rs`.
const NEWS_EVERY: Duration = Duration::from_secs(3600);

pub struct Guesses {
    networks: ByNetwork,
    accounts: Failures,
    devices: Failures,
    queues: Queues,
    /// When a mail was last queued for the owners of accounts.
    told: Mutex<HashMap<Key, Duration>>,
    clock: Clock,
}

/// An attempt to prove a password.
pub struct Attempt<'a> {
    guesses: &'a Guesses,
    network: IpAddr,
    account: String,
    key: Key,
    /// Whether the account's counter has this attempt as a failure.
    counted: bool,
    /// The counter of the known device whose attempt this is: it counts for no network, and needs not to wait.
    device: Option<Key>,
}

impl Guesses {
    pub fn new(clock: Clock) -> Guesses {
        Guesses {
            networks: ByNetwork::default(),
            accounts: Failures::new(FORGOTTEN_AFTER, ACCOUNTS),
            devices: Failures::new(DEVICE_FORGOTTEN_AFTER, DEVICES),
            queues: Queues::default(),
            told: Mutex::default(),
            clock,
        }
    }

    /// Begins an attempt, which counts as failed until its [`Attempt::end`], so that concurrent attempts count, too. A known
    /// device of the account has failures of its own, so that neither strangers nor neighbours keep its owner out. 429 after
    /// too many failures of the network.
    pub fn begin(&self, address: IpAddr, email: &str, device: Option<&str>) -> Result<Attempt<'_>> {
        let (network, account, now) = (network(address), email.trim().to_ascii_lowercase(), self.clock.since_start());
        let key = self.accounts.key(&account);
        let device = device.map(|device| self.devices.key(device));
        let device = device.filter(|device| self.devices.add_below(FAILURES_OF_DEVICE, *device, network, now));
        if device.is_some() {
            self.accounts.add(key, network, now);
            return Ok(Attempt { guesses: self, network, account, key, counted: true, device });
        }
        self.networks.begin(network, &account, now)?;
        let counted = self.accounts.add_below(SLOW, key, network, now);
        Ok(Attempt { guesses: self, network, account, key, counted, device: None })
    }

    /// Drops what slows nobody any more.
    pub fn tidy(&self) {
        let now = self.clock.since_start();
        self.networks.tidy(now);
        self.queues.tidy(now);
        self.told.lock().retain(|_, at| now.saturating_sub(*at) < NEWS_EVERY);
    }
}

impl Attempt<'_> {
    /// Whether the account has so many failures that the attempt must not be checked before [`Attempt::skip_queue`] or
    /// [`Attempt::wait_for_turn`].
    pub fn must_queue(&self) -> bool {
        !self.counted
    }

    /// Lets an attempt be checked at once, because its network has proved the password before.
    pub fn skip_queue(&mut self) {
        self.guesses.accounts.add(self.key, self.network, self.guesses.clock.since_start());
        self.counted = true;
    }

    /// Waits in the account's queue until the attempt is picked. 429 if it finds no place there, loses it to an attempt from
    /// elsewhere, or waits for more than 30 seconds.
    pub async fn wait_for_turn(&mut self) -> Result<()> {
        let Guesses { accounts, queues, clock, .. } = self.guesses;
        let mut entry = queues.enter(self.key, self.network).ok_or_else(|| self.refusal())?;
        let until = clock.since_start() + WAIT_WITHIN;
        let mut advances = clock.watch_advances();
        loop {
            let now = clock.since_start();
            let next = queues.pick(self.key, now, |network| {
                accounts.add(self.key, network, now);
                pace(accounts.count(self.key, now))
            });
            select! {
                biased;
                picked = &mut entry.picked => {
                    self.counted = picked.is_ok();
                    return picked.map_err(|_| self.refusal());
                }
                () = ready(()), if now >= until => return Err(self.refusal()),
                () = sleep(next.min(until).saturating_sub(now)) => {}
                _ = advances.changed() => {}
            }
        }
    }

    fn refusal(&self) -> Error {
        let failures = self.guesses.accounts.count(self.key, self.guesses.clock.since_start());
        Error::Guessed(pace(failures).as_secs().max(RETRY_SECONDS))
    }

    /// From about how many networks the guesses come; `None` if a mail of them was queued within an hour.
    pub fn estimated_networks_to_report(&self) -> Option<u32> {
        let (mut told, now) = (self.guesses.told.lock(), self.guesses.clock.since_start());
        if told.get(&self.key).is_some_and(|at| now.saturating_sub(*at) < NEWS_EVERY) {
            return None;
        }
        told.insert(self.key, now);
        Some(self.guesses.accounts.networks(self.key))
    }

    /// Undoes what was counted if the password was right. An attempt that ended in an error revealed nothing about the account,
    /// so the counts of the account and the device are undone. The network's count stays: otherwise an overload would make
    /// attempts free, and one network could sustain the overload.
    pub fn end(self, checked: &Result<bool>) {
        match checked {
            Ok(true) if self.device.is_none() => self.guesses.networks.take_back(self.network, &self.account),
            Ok(true) => {}
            Ok(false) => return,
            Err(_) => {}
        }
        if self.counted {
            self.guesses.accounts.take_back(self.key);
        }
        if let Some(device) = self.device {
            self.guesses.devices.take_back(device);
        }
    }
}

/// The time between two checks of an account with so many failures.
fn pace(failures: u32) -> Duration {
    match failures {
        SLOWEST.. => SLOWEST_PACE,
        SLOWER.. => SLOWER_PACE,
        SLOW.. => SLOW_PACE,
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
