//! How many bytes people and organisations may write. The rates of requests don't know how long a text is: alone, they let one member
//! fill a disk.

use std::num::NonZeroU32;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock as _};

use crate::{
    config::{Bytes, DAY, Files, HOUR, Settings, Switch},
    error::{Error, Result},
    id::{OrganisationId, UserId},
};

/// The part of what may be written in an hour that may be written at once.
const AT_ONCE: u32 = 5;

/// The bytes that were written lately; `None` if nothing is bounded.
pub struct ByteQuotas(Option<Rates>);

struct Rates {
    people: DefaultKeyedRateLimiter<UserId>,
    organisations: DefaultKeyedRateLimiter<OrganisationId>,
    uploads: DefaultKeyedRateLimiter<UserId>,
}

impl ByteQuotas {
    /// The quotas of a server with these settings.
    pub fn of(settings: &Settings) -> ByteQuotas {
        match settings.rate_limit {
            Switch::On => ByteQuotas::new(settings.bytes, settings.files),
            Switch::Off => ByteQuotas::unlimited(),
        }
    }

    fn new(bytes: Bytes, files: Files) -> ByteQuotas {
        ByteQuotas(Some(Rates {
            people: RateLimiter::keyed(per_hour(bytes.per_user_hour)),
            organisations: RateLimiter::keyed(per_hour(bytes.per_organisation_hour)),
            uploads: RateLimiter::keyed(per_day(files.per_user_day)),
        }))
    }

    /// No bounds: for operators' commands and imports, and where limits are switched off.
    pub const fn unlimited() -> ByteQuotas {
        ByteQuotas(None)
    }

    /// Counts bytes that a person has sent, or a program that they answer for. 429 past the quota.
    pub fn charge_person(&self, person: UserId, bytes: usize) -> Result<()> {
        let Some(rates) = &self.0 else { return Ok(()) };
        charge(&rates.people, &person, bytes).map_err(|seconds| Error::BytesUsedUp("This account has written", seconds))
    }

    /// Counts bytes of a text that somebody writes in an organisation. 429 past the quota.
    pub fn charge_organisation(&self, organisation: OrganisationId, bytes: usize) -> Result<()> {
        let Some(rates) = &self.0 else { return Ok(()) };
        let used_up = |seconds| Error::BytesUsedUp("The members of this organisation have written", seconds);
        charge(&rates.organisations, &organisation, bytes).map_err(used_up)
    }

    /// Counts bytes of a file that a person uploads, or a program that they answer for. 429 past the quota.
    pub fn charge_upload(&self, person: UserId, bytes: usize) -> Result<()> {
        let Some(rates) = &self.0 else { return Ok(()) };
        charge(&rates.uploads, &person, bytes).map_err(|seconds| Error::BytesUsedUp("This account has uploaded", seconds))
    }

    /// Drops expired counters. The housekeeping job calls it once per minute.
    pub fn tidy(&self) {
        let Some(rates) = &self.0 else { return };
        rates.people.retain_recent();
        rates.organisations.retain_recent();
        rates.uploads.retain_recent();
    }
}

fn per_hour(bytes: u32) -> Quota {
    let at_once = NonZeroU32::new(bytes / AT_ONCE).expect("the settings have a least value");
    Quota::with_period(HOUR / bytes).expect("a byte takes more than no time").allow_burst(at_once)
}

/// A whole day's may be uploaded at once.
fn per_day(bytes: u32) -> Quota {
    let at_once = NonZeroU32::new(bytes).expect("the setting has a least value");
    Quota::with_period(DAY / bytes).expect("a byte takes more than no time").allow_burst(at_once)
}

/// Fails with the seconds after which there is room for the bytes.
fn charge<K: std::hash::Hash + Eq + Clone>(rate: &DefaultKeyedRateLimiter<K>, key: &K, bytes: usize) -> Result<(), u64> {
    let Some(bytes) = NonZeroU32::new(u32::try_from(bytes).unwrap_or(u32::MAX)) else { return Ok(()) };
    match rate.check_key_n(key, bytes) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(not_until)) => Err(not_until.wait_time_from(rate.clock().now()).as_secs() + 1),
        Err(_) => Err(HOUR.as_secs()), // more than may be written at once
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: Files = Files {
        each: 1_000_000,
        per_user_day: 2_000_000_000,
        per_organisation: 1 << 40,
        left_free: 0,
        picture_details: crate::config::PictureDetails::Remove,
    };
    const QUOTAS: Bytes = Bytes { per_user_hour: 10_000_000, per_organisation_hour: 50_000_000 };

    /// A refusal, and its seconds.
    fn seconds(charged: Result<()>) -> u64 {
        match charged {
            Err(Error::BytesUsedUp(_, seconds)) => seconds,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_person_writes_a_fifth_of_an_hours_bytes_at_once_and_waits_for_more() {
        let (quotas, person) = (ByteQuotas::new(QUOTAS, FILES), UserId::new());
        quotas.charge_person(person, 1_500_000).unwrap();
        quotas.charge_person(person, 500_000).unwrap();
        assert!((330..=361).contains(&seconds(quotas.charge_person(person, 1_000_000))));
        quotas.charge_person(person, 0).unwrap();
        quotas.charge_person(UserId::new(), 2_000_000).unwrap();
        assert_eq!(seconds(quotas.charge_person(UserId::new(), 2_000_001)), 3600);
    }

    #[test]
    fn an_organisation_has_a_quota_of_its_own() {
        let (quotas, organisation) = (ByteQuotas::new(QUOTAS, FILES), OrganisationId::new());
        quotas.charge_organisation(organisation, 10_000_000).unwrap();
        assert!((40..=73).contains(&seconds(quotas.charge_organisation(organisation, 1_000_000))));
        quotas.charge_organisation(OrganisationId::new(), 10_000_000).unwrap();
    }

    #[test]
    fn nothing_is_bounded_without_quotas() {
        let (quotas, person) = (ByteQuotas::unlimited(), UserId::new());
        assert!((0..100).all(|_| quotas.charge_person(person, 1 << 30).is_ok()));
    }

    #[test]
    fn quotas_that_are_filled_again_are_dropped() {
        let (quotas, person) = (ByteQuotas::new(QUOTAS, FILES), UserId::new());
        quotas.charge_person(person, 2_000_000).unwrap();
        quotas.tidy();
        assert!(quotas.charge_person(person, 1_000_000).is_err(), "it was kept");
    }

    #[test]
    fn the_largest_quotas_are_exact() {
        let quotas = ByteQuotas::new(Bytes { per_user_hour: 4_000_000_000, per_organisation_hour: 4_000_000_000 }, FILES);
        let person = UserId::new();
        quotas.charge_person(person, 800_000_000).unwrap();
        assert!((85..=91).contains(&seconds(quotas.charge_person(person, 100_000_000))));
    }
}
