//! Rates (decisions, section 11): requests of a session, an address and a slug, forms, failed log-ins.

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::Mutex,
    time::{Duration, Instant},
};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock};

use crate::{
    error::{Error, Result},
    id::SessionId,
    secret,
};

const SESSION_RATE: u32 = 60;
const SESSION_BURST: u32 = 120;
/// Commands on a session's sockets: one of them may subscribe to all that it can hear at once, and come back.
const COMMAND_RATE: u32 = 60;
const COMMAND_BURST: u32 = 600;
const ADDRESS_RATE: u32 = 20;
const SLUG_RATE: u32 = 20;
/// Of one form, by one address, a minute.
const FORM_RATE: u32 = 5;
/// Requests that may mail a link, by one network, an hour. Known and unknown addresses count alike: otherwise one's own
/// mails would tell which of the addresses that one asked for have an account.
const LINK_RATE: u32 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// Failed log-ins a minute, for one address and account together, and for one address.
const FAILURES_BY_ACCOUNT: u32 = 10;
const FAILURES_BY_ADDRESS: u32 = 60;

/// What anybody may send in; each has a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    Contact,
    Feedback,
}

/// None of them, when they are switched off.
pub struct Limits(Option<Kept>);

struct Kept {
    sessions: DefaultKeyedRateLimiter<SessionId>,
    commands: DefaultKeyedRateLimiter<SessionId>,
    addresses: DefaultKeyedRateLimiter<IpAddr>,
    /// Keyed by a hash: slugs are secrets, and as long as the caller likes.
    slugs: DefaultKeyedRateLimiter<[u8; 32]>,
    forms: DefaultKeyedRateLimiter<(Form, IpAddr)>,
    links: DefaultKeyedRateLimiter<IpAddr>,
    failures: Mutex<HashMap<[u8; 32], (Instant, u32)>>,
}

impl Limits {
    pub fn new(on: bool) -> Limits {
        let rate = |n| NonZeroU32::new(n).expect("rates are not zero");
        Limits(on.then(|| Kept {
            sessions: RateLimiter::keyed(Quota::per_second(rate(SESSION_RATE)).allow_burst(rate(SESSION_BURST))),
            commands: RateLimiter::keyed(Quota::per_second(rate(COMMAND_RATE)).allow_burst(rate(COMMAND_BURST))),
            addresses: RateLimiter::keyed(Quota::per_second(rate(ADDRESS_RATE))),
            slugs: RateLimiter::keyed(Quota::per_second(rate(SLUG_RATE))),
            forms: RateLimiter::keyed(Quota::per_minute(rate(FORM_RATE))),
            links: RateLimiter::keyed(Quota::per_hour(rate(LINK_RATE))),
            failures: Mutex::default(),
        }))
    }

    /// A request of a session. 429 when there are too many.
    pub fn session(&self, session: SessionId) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.sessions, &session))
    }

    /// A command on a socket of a session.
    pub fn command(&self, session: SessionId) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.commands, &session))
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

    /// Counts an attempt to log in as failed until [`Limits::logged_in`] takes it back: attempts that run
    /// at the same time count, too. 429 after too many; never locks an account for others.
    pub fn log_in(&self, address: IpAddr, email: &str) -> Result<()> {
        let Some(kept) = &self.0 else { return Ok(()) };
        let mut failures = kept.failures.lock().expect("nothing panics while it holds this");
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

    pub fn logged_in(&self, address: IpAddr, email: &str) {
        let Some(kept) = &self.0 else { return };
        let mut failures = kept.failures.lock().expect("nothing panics while it holds this");
        for (key, _) in keys(address, email) {
            failures.entry(key).and_modify(|(_, count)| *count = count.saturating_sub(1));
        }
    }

    /// Forgets what no longer counts; called once a minute.
    pub fn tidy(&self) {
        let Some(kept) = &self.0 else { return };
        kept.sessions.retain_recent();
        kept.commands.retain_recent();
        kept.addresses.retain_recent();
        kept.slugs.retain_recent();
        kept.forms.retain_recent();
        kept.links.retain_recent();
        kept.failures.lock().expect("nothing panics while it holds this").retain(|_, (since, _)| since.elapsed() < MINUTE);
    }
}

fn check<K: std::hash::Hash + Eq + Clone>(limiter: &DefaultKeyedRateLimiter<K>, key: &K) -> Result<()> {
    limiter.check_key(key).map_err(|not_until| {
        let wait = not_until.wait_time_from(limiter.clock().now());
        Error::TooMany(wait.as_secs() + 1)
    })
}

fn keys(address: IpAddr, email: &str) -> [([u8; 32], u32); 2] {
    let address = network(address);
    [
        (secret::sha256(&format!("{address} {}", email.trim().to_ascii_lowercase())), FAILURES_BY_ACCOUNT),
        (secret::sha256(&address.to_string()), FAILURES_BY_ADDRESS),
    ]
}

/// One subscriber has a /64 of IPv6 addresses at the least: they count as one.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_failures_are_taken_and_others_are_not_locked_out() {
        let limits = Limits::new(true);
        let (here, there): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for _ in 0..10 {
            limits.log_in(here, "ada@x.example").unwrap();
        }
        for _ in 0..20 {
            limits.log_in(there, "ada@x.example").unwrap();
            limits.logged_in(there, "ada@x.example");
        }
        assert!(matches!(limits.log_in(here, "Ada@x.example"), Err(Error::TooMany(1..=61))));
        limits.log_in(there, "ada@x.example").unwrap();
        limits.log_in(here, "grace@x.example").unwrap();
    }

    #[test]
    fn a_burst_is_taken_and_one_more_is_not() {
        let limits = Limits::new(true);
        let session = SessionId::new();
        let taken = (0..SESSION_BURST + 20).filter(|_| limits.session(session).is_ok()).count();
        assert!((SESSION_BURST as usize..SESSION_BURST as usize + 20).contains(&taken), "{taken}");
        assert!(Limits::new(false).session(session).is_ok());
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
