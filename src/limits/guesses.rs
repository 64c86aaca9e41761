//! Guesses of passwords: attempts to log in that failed.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::Mutex,
    time::{Duration, Instant},
};

use super::network;
use crate::{
    error::{Error, Result},
    secret,
};

const MINUTE: Duration = Duration::from_secs(60);
/// Failed log-ins a minute, for one address and account together, and for one address.
const FAILURES_BY_ACCOUNT: u32 = 10;
const FAILURES_BY_ADDRESS: u32 = 60;

#[derive(Default)]
pub struct Guesses {
    failures: Mutex<HashMap<[u8; 32], (Instant, u32)>>,
}

impl Guesses {
    /// Counts an attempt to log in as failed until [`Guesses::take_back`]: attempts that run at the same time count,
    /// too. 429 after too many; never locks an account for others.
    pub fn begin(&self, address: IpAddr, email: &str) -> Result<()> {
        let mut failures = self.failures.lock().expect("nothing panics while it holds this");
        for (key, most) in keys(address, email) {
            let (since, count) = failures.entry(key).or_insert((Instant::now(), 0));
            if since.elapsed() >= MINUTE {
                (*since, *count) = (Instant::now(), 0);
            }
            if *count >= most {
                return Err(Error::TooMany((MINUTE - since.elapsed()).as_secs() + 1));
            }
        }
        for (key, _) in keys(address, email) {
            failures.entry(key).and_modify(|(_, count)| *count += 1);
        }
        Ok(())
    }

    pub fn take_back(&self, address: IpAddr, email: &str) {
        let mut failures = self.failures.lock().expect("nothing panics while it holds this");
        for (key, _) in keys(address, email) {
            failures.entry(key).and_modify(|(_, count)| *count = count.saturating_sub(1));
        }
    }

    /// Forgets what no longer counts.
    pub fn tidy(&self) {
        self.failures.lock().expect("nothing panics while it holds this").retain(|_, (since, _)| since.elapsed() < MINUTE);
    }
}

fn keys(address: IpAddr, email: &str) -> [([u8; 32], u32); 2] {
    let address = network(address);
    [
        (secret::sha256(&format!("{address} {}", email.trim().to_lowercase())), FAILURES_BY_ACCOUNT),
        (secret::sha256(&address.to_string()), FAILURES_BY_ADDRESS),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_failures_are_taken_and_others_are_not_locked_out() {
        let guesses = Guesses::default();
        let (here, there): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for _ in 0..10 {
            guesses.begin(here, "ada@x.example").unwrap();
        }
        for _ in 0..20 {
            guesses.begin(there, "ada@x.example").unwrap();
            guesses.take_back(there, "ada@x.example");
        }
        assert!(matches!(guesses.begin(here, "Ada@x.example"), Err(Error::TooMany(1..=61))));
        guesses.begin(there, "ada@x.example").unwrap();
        guesses.begin(here, "grace@x.example").unwrap();
    }
}
