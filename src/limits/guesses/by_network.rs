//! Failures of networks, which are refused for the rest of a minute.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use parking_lot::Mutex;

use crate::{
    error::{Error, Result},
    secret,
};

const MINUTE: Duration = Duration::from_secs(60);
/// Failed log-ins per minute, for an address and an account together, and for an address.
const FAILURES_BY_ACCOUNT: u32 = 10;
const FAILURES_BY_ADDRESS: u32 = 60;
/// Networks, and pairs of a network and an account. When the map is full, it is cleared: the counters of accounts still hold.
const REMEMBERED: usize = 100_000;

/// When a counter's minute began, and its failures.
#[derive(Default)]
pub(super) struct ByNetwork(Mutex<HashMap<[u8; 32], (Duration, u32)>>);

impl ByNetwork {
    /// Counts an attempt as failed. 429 after too many failures. `now` may be earlier than that of another attempt: each reads
    /// the clock before it waits for the lock.
    pub(super) fn begin(&self, network: IpAddr, account: &str, now: Duration) -> Result<()> {
        let mut failures = self.0.lock();
        if failures.len() >= REMEMBERED {
            failures.clear();
        }
        for (key, most) in keys(network, account) {
            let (since, count) = failures.entry(key).or_insert((now, 0));
            if now.saturating_sub(*since) >= MINUTE {
                (*since, *count) = (now, 0);
            }
            if *count >= most {
                return Err(Error::Guessed((MINUTE - (now.saturating_sub(*since))).as_secs() + 1));
            }
        }
        for (key, _) in keys(network, account) {
            failures.entry(key).and_modify(|(_, count)| *count += 1);
        }
        Ok(())
    }

    pub(super) fn take_back(&self, network: IpAddr, account: &str) {
        let mut failures = self.0.lock();
        for (key, _) in keys(network, account) {
            failures.entry(key).and_modify(|(_, count)| *count = count.saturating_sub(1));
        }
    }

    /// Drops what is over.
    pub(super) fn tidy(&self, now: Duration) {
        let mut failures = self.0.lock();
        failures.retain(|_, (since, _)| now.saturating_sub(*since) < MINUTE);
    }
}

fn keys(network: IpAddr, account: &str) -> [([u8; 32], u32); 2] {
    [
        (secret::sha256(format!("{network} {account}")), FAILURES_BY_ACCOUNT),
        (secret::sha256(network.to_string()), FAILURES_BY_ADDRESS),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_ten_failures_a_network_is_refused_for_the_rest_of_the_minute_and_others_are_not() {
        let failures = ByNetwork::default();
        let [here, there] = ["192.0.2.1", "192.0.2.2"].map(|address| address.parse::<IpAddr>().unwrap());
        let began = Duration::from_secs(100);
        (0..10).for_each(|_| failures.begin(here, "ada", began).unwrap());
        let refused = failures.begin(here, "ada", began + Duration::from_secs(59));
        assert!(matches!(refused, Err(Error::Guessed(2))), "{refused:?}");
        failures.begin(there, "ada", began).unwrap();
        failures.begin(here, "grace", began).unwrap();
        failures.begin(here, "ada", began + MINUTE).unwrap();
    }

    #[test]
    fn a_network_fails_sixty_times_a_minute_whatever_the_accounts() {
        let failures = ByNetwork::default();
        let here = "192.0.2.1".parse().unwrap();
        let taken = (0..80).filter(|n| failures.begin(here, &format!("account {n}"), Duration::ZERO).is_ok()).count();
        assert_eq!(taken, 60);
        failures.take_back(here, "account 0");
        failures.begin(here, "account 80", Duration::ZERO).unwrap();
    }

    #[test]
    fn the_memory_of_networks_is_bounded() {
        let failures = ByNetwork::default();
        for n in 0..60_000 {
            failures.begin(IpAddr::V4(n.into()), &n.to_string(), Duration::ZERO).unwrap();
        }
        assert!(failures.0.lock().len() <= REMEMBERED + 1);
        failures.tidy(MINUTE);
        assert!(failures.0.lock().is_empty());
    }
}
