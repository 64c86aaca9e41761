//! Rates (SECURITY.md, *Bounds*): requests by user, address and slug, socket commands, forms, mailed links, failed log-ins.

pub mod admission;
mod guesses;
pub mod networks;
mod turns;

use std::{net::IpAddr, num::NonZeroU32, sync::Arc};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock};
use tokio::sync::Semaphore;

pub use self::turns::Turns;
use self::{guesses::Guesses, networks::network};
use crate::{
    error::{Error, Result},
    id::UserId,
    secret,
};

/// By user, not by session: another log-in must give no more.
const USER_RATE: u32 = 60;
const USER_BURST: u32 = 120;
/// Commands on a user's sockets: one of them may subscribe to all that it can hear at once, and come back.
const COMMAND_RATE: u32 = 60;
const COMMAND_BURST: u32 = 600;
const ADDRESS_RATE: u32 = 20;
const SLUG_RATE: u32 = 20;
/// Of one form, by one address, a minute.
const FORM_RATE: u32 = 5;
/// Requests that may mail a link, by one network, an hour. Known and unknown addresses count alike: otherwise one's own
/// mails would tell which of the addresses that one asked for have an account.
const LINK_RATE: u32 = 20;

/// Passwords of one network that are hashed at once, or are next in line for it. With the queue's two seconds and a hash of
/// some 50 ms it takes 20 networks for each core to keep the others out.
const HASHES_OF_NETWORK: usize = 2;

/// What anybody may send in; each has a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    Contact,
    Feedback,
}

/// None of them, when they are switched off.
pub struct Limits(Option<Kept>);

struct Kept {
    users: DefaultKeyedRateLimiter<UserId>,
    commands: DefaultKeyedRateLimiter<UserId>,
    addresses: DefaultKeyedRateLimiter<IpAddr>,
    /// Keyed by a hash: slugs are secrets, and as long as the caller likes.
    slugs: DefaultKeyedRateLimiter<[u8; 32]>,
    forms: DefaultKeyedRateLimiter<(Form, IpAddr)>,
    links: DefaultKeyedRateLimiter<IpAddr>,
    guesses: Guesses,
    hashes: Turns<IpAddr>,
}

impl Limits {
    pub fn new(on: bool) -> Limits {
        let rate = |n| NonZeroU32::new(n).expect("rates are not zero");
        Limits(on.then(|| Kept {
            users: RateLimiter::keyed(Quota::per_second(rate(USER_RATE)).allow_burst(rate(USER_BURST))),
            commands: RateLimiter::keyed(Quota::per_second(rate(COMMAND_RATE)).allow_burst(rate(COMMAND_BURST))),
            addresses: RateLimiter::keyed(Quota::per_second(rate(ADDRESS_RATE))),
            slugs: RateLimiter::keyed(Quota::per_second(rate(SLUG_RATE))),
            forms: RateLimiter::keyed(Quota::per_minute(rate(FORM_RATE))),
            links: RateLimiter::keyed(Quota::per_hour(rate(LINK_RATE))),
            guesses: Guesses::default(),
            hashes: Turns::new(HASHES_OF_NETWORK),
        }))
    }

    /// A request of a user, in any of their sessions. 429 when there are too many.
    pub fn user(&self, user: UserId) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.users, &user))
    }

    /// A command on any of a user's sockets.
    pub fn command(&self, user: UserId) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.commands, &user))
    }

    /// A request without a session.
    pub fn address(&self, address: IpAddr) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.addresses, &network(address)))
    }

    /// A request that names a webhook's slug, whether there is such a one or not.
    pub fn slug(&self, slug: &str) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.slugs, &secret::sha256(slug)))
    }

    /// A form that is sent in.
    pub fn form(&self, form: Form, address: IpAddr) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.forms, &(form, network(address))))
    }

    /// Whether a request may have a link mailed, such as one that logs in.
    pub fn link(&self, address: IpAddr) -> bool {
        self.0.as_ref().is_none_or(|kept| kept.links.check_key(&network(address)).is_ok())
    }

    /// Of passwords; they are not counted when the limits are switched off.
    pub fn guesses(&self) -> Option<&Guesses> {
        self.0.as_ref().map(|kept| &kept.guesses)
    }

    /// The turns of a network at having passwords hashed.
    pub fn hashes(&self, address: IpAddr) -> Option<Arc<Semaphore>> {
        self.0.as_ref().map(|kept| kept.hashes.of(network(address)))
    }

    /// Forgets what no longer counts; called once a minute.
    pub fn tidy(&self) {
        let Some(kept) = &self.0 else { return };
        kept.users.retain_recent();
        kept.commands.retain_recent();
        kept.addresses.retain_recent();
        kept.slugs.retain_recent();
        kept.forms.retain_recent();
        kept.links.retain_recent();
        kept.guesses.tidy();
    }
}

fn check<K: std::hash::Hash + Eq + Clone>(limiter: &DefaultKeyedRateLimiter<K>, key: &K) -> Result<()> {
    limiter.check_key(key).map_err(|not_until| {
        let wait = not_until.wait_time_from(limiter.clock().now());
        Error::TooMany(wait.as_secs() + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_taken_and_one_more_is_not() {
        let limits = Limits::new(true);
        let user = UserId::new();
        let taken = (0..USER_BURST + 20).filter(|_| limits.user(user).is_ok()).count();
        assert!((USER_BURST as usize..USER_BURST as usize + 20).contains(&taken), "{taken}");
        assert!(Limits::new(false).user(user).is_ok());
    }

    #[test]
    fn a_slug_has_a_rate_of_its_own() {
        let limits = Limits::new(true);
        let taken = (0..SLUG_RATE + 20).filter(|_| limits.slug("busy").is_ok()).count();
        assert!((SLUG_RATE as usize..SLUG_RATE as usize + 20).contains(&taken), "{taken}");
        limits.slug("quiet").unwrap();
        assert!((0..100).all(|_| Limits::new(false).slug("busy").is_ok()));
    }

    #[test]
    fn twenty_links_are_mailed_for_one_network() {
        let limits = Limits::new(true);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert!((1..=20).all(|n| limits.link(address(&format!("2001:db8::{n}")))));
        assert!(!limits.link(address("2001:db8::21")));
        assert!(limits.link(address("2001:db8:0:1::1")) && limits.link(address("192.0.2.1")));
        let off = Limits::new(false);
        assert!((0..100).all(|_| off.link(address("192.0.2.1"))));
    }

    #[test]
    fn a_form_is_taken_five_times_a_minute_from_one_network() {
        let limits = Limits::new(true);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for n in 1..=5 {
            limits.form(Form::Contact, address(&format!("2001:db8::{n}"))).unwrap();
        }
        assert!(matches!(limits.form(Form::Contact, address("2001:db8::6")), Err(Error::TooMany(1..=60))));
        limits.form(Form::Contact, address("2001:db8:0:1::1")).unwrap();
        limits.form(Form::Feedback, address("2001:db8::6")).unwrap();
    }
}
