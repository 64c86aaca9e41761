//! Bounds of what clients may do (SECURITY.md, *Bounds*): rates of requests and commands, attempts at passwords, connections
//! ([`admission`]), buffered bytes ([`buffering`]) and written ones ([`byte_quotas`]), and transfers of files.

pub mod admission;
pub mod buffering;
pub mod byte_quotas;
pub mod connection_counts;
mod guesses;
pub mod networks;
pub mod permits;
pub mod turns;

use std::{net::IpAddr, num::NonZeroU32, sync::Arc, time::Duration};

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter, clock::Clock as _};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

pub use self::{guesses::Attempt, permits::Permits};
use self::{guesses::Guesses, networks::network};
use crate::{
    clock::Clock,
    error::{Code, Error, Result},
    id::Share,
    secret,
};

/// Requests per second of a user, not of a session: another session must not add to the rate.
const USER_RATE: u32 = 60;
/// Requests of a user at once: five tabs that a browser restores send 15 with `GET /start`, and 125 where a client of the API
/// asks for each list by itself.
const USER_BURST: u32 = 240;
/// Commands per second on all of a user's sockets. The burst lets a socket subscribe to all of the user's channels at once
/// and do so again after a reconnect.
const COMMAND_RATE: u32 = 60;
const COMMAND_BURST: u32 = 600;
/// Files per second that a user opens, and at once: a page of a talk may show hundreds of pictures.
const FILE_RATE: u32 = 60;
const FILE_BURST: u32 = 600;
const ADDRESS_RATE: u32 = 20;
const SLUG_RATE: u32 = 20;
/// Submissions of one form per minute and network.
const FORM_RATE: u32 = 5;
/// Requests per hour and network that may mail a link. Addresses with and without an account count alike: otherwise the
/// limit would reveal which addresses have an account.
const LINK_RATE: u32 = 20;

/// Password hashes of one network that run or wait for a slot. A hash takes some 50 ms and waits at most two seconds, so it
/// takes 20 networks per core to keep others out.
const HASHES_OF_NETWORK: usize = 2;
/// Log-ins of one network in progress: as many people may arrive at once behind one router. Those that fail count towards the
/// rate of the address, and right ones towards no rate.
const LOG_INS_OF_NETWORK: usize = 100;
/// Codes of one network that are exchanged at the issuer at once; more wait. So nobody has this server flood the issuer, which
/// might then refuse everybody's.
const EXCHANGES_OF_NETWORK: usize = 4;
/// Posts and other changes of a user or a webhook that are not pushed yet; more wait. The rates don't know the size of an audience:
/// alone, they let one author queue seconds of deliveries to 10,000 listeners, and what others post waits behind them. With this, it
/// arrives after some 120 ms (bench "fan-out-flood"). To a hundred listeners, posts are sent within milliseconds, and nobody waits.
const UNPUSHED_CHANGES: usize = 4;

/// Files of a user that come or go at once; more wait. A browser has six connections to a server.
const TRANSFERS_OF_USER: usize = 8;
/// Files of all users at one network that come or go at once: an office, which leaves room for others.
const TRANSFERS_OF_NETWORK: usize = 64;
/// Files of all users together that come or go at once, each of which is an open file.
const TRANSFERS: usize = 256;
/// How long a transfer waits for others.
const TRANSFER_WAITS: Duration = Duration::from_secs(30);

/// The forms that need no session; each has a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Form {
    Contact,
    Feedback,
}

/// Whose changes wait for one another.
#[derive(PartialEq, Eq, Hash)]
pub enum Author {
    Member(Share),
    /// By a hash of its slug, which is a secret.
    Webhook([u8; 32]),
}

impl From<Share> for Author {
    fn from(share: Share) -> Author {
        Author::Member(share)
    }
}

impl Author {
    /// The webhook that is fed at this slug, whether it exists or not.
    pub fn of_slug(slug: &str) -> Author {
        Author::Webhook(secret::sha256(slug))
    }
}

/// All rate limits; `None` if they are switched off.
pub struct Limits(Option<Kept>);

struct Kept {
    users: DefaultKeyedRateLimiter<Share>,
    commands: DefaultKeyedRateLimiter<Share>,
    addresses: DefaultKeyedRateLimiter<IpAddr>,
    /// Keyed by a hash: slugs are secrets, and a caller may send one of any length.
    slugs: DefaultKeyedRateLimiter<[u8; 32]>,
    forms: DefaultKeyedRateLimiter<(Form, IpAddr)>,
    links: DefaultKeyedRateLimiter<IpAddr>,
    guesses: Guesses,
    hashes: Permits<IpAddr>,
    log_ins: Permits<IpAddr>,
    exchanges: Permits<IpAddr>,
    changes: Permits<Author>,
    files: DefaultKeyedRateLimiter<Share>,
    transfers: Permits<Share>,
    transfers_of_network: Permits<IpAddr>,
    all_transfers: Arc<Semaphore>,
}

/// A permit for a file to come or go.
pub type Transfer = Option<[OwnedSemaphorePermit; 3]>;

impl Limits {
    pub fn new(on: bool, clock: &Clock) -> Limits {
        let rate = |n| NonZeroU32::new(n).expect("rates are not zero");
        Limits(on.then(|| Kept {
            users: RateLimiter::keyed(Quota::per_second(rate(USER_RATE)).allow_burst(rate(USER_BURST))),
            commands: RateLimiter::keyed(Quota::per_second(rate(COMMAND_RATE)).allow_burst(rate(COMMAND_BURST))),
            addresses: RateLimiter::keyed(Quota::per_second(rate(ADDRESS_RATE))),
            slugs: RateLimiter::keyed(Quota::per_second(rate(SLUG_RATE))),
            forms: RateLimiter::keyed(Quota::per_minute(rate(FORM_RATE))),
            links: RateLimiter::keyed(Quota::per_hour(rate(LINK_RATE))),
            guesses: Guesses::new(clock.clone()),
            hashes: Permits::new(HASHES_OF_NETWORK),
            log_ins: Permits::new(LOG_INS_OF_NETWORK),
            exchanges: Permits::new(EXCHANGES_OF_NETWORK),
            changes: Permits::new(UNPUSHED_CHANGES),
            files: RateLimiter::keyed(Quota::per_second(rate(FILE_RATE)).allow_burst(rate(FILE_BURST))),
            transfers: Permits::new(TRANSFERS_OF_USER),
            transfers_of_network: Permits::new(TRANSFERS_OF_NETWORK),
            all_transfers: Arc::new(Semaphore::new(TRANSFERS)),
        }))
    }

    /// Counts a request of a user, in any of their sessions. 429 past the rate.
    pub fn user(&self, share: Share) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.users, &share))
    }

    /// Counts a file that a user opens. 429 past the rate.
    pub fn file(&self, share: Share) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.files, &share))
    }

    /// Waits for a permit to take or send a file; none if limits are switched off. 503 after half a minute.
    pub async fn transfer(&self, share: Share, address: IpAddr) -> Result<Transfer> {
        let Some(kept) = &self.0 else { return Ok(None) };
        let near = kept.transfers_of_network.semaphore_for(network(address));
        let permits = async {
            let own = kept.transfers.semaphore_for(share).acquire_owned().await.ok()?;
            let near = near.acquire_owned().await.ok()?;
            Some([own, near, kept.all_transfers.clone().acquire_owned().await.ok()?])
        };
        let busy = Error::Unavailable(Code::Overloaded, "Too many files are being sent, try again in a moment");
        timeout(TRANSFER_WAITS, permits).await.map_err(|_| busy)
    }

    /// Counts a command on any of a user's sockets. 429 past the rate.
    pub fn push_command(&self, share: Share) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.commands, &share))
    }

    /// Counts a request without a session. 429 past the rate.
    pub fn anonymous_request(&self, address: IpAddr) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.addresses, &network(address)))
    }

    /// Counts a request to a webhook's slug, whether the slug exists or not. 429 past the rate.
    pub fn webhook_slug(&self, slug: &str) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.slugs, &secret::sha256(slug)))
    }

    /// Counts a submission of a form. 429 past the rate.
    pub fn form(&self, form: Form, address: IpAddr) -> Result<()> {
        self.0.as_ref().map_or(Ok(()), |kept| check(&kept.forms, &(form, network(address))))
    }

    /// Counts a request that has a link mailed, such as one that logs in. 429 past the rate, for known and unknown addresses
    /// alike.
    pub fn mailed_link(&self, address: IpAddr) -> Result<()> {
        let Some(kept) = &self.0 else { return Ok(()) };
        check(&kept.links, &network(address)).map_err(|err| match err {
            Error::TooMany(seconds) => Error::MailsUsedUp(seconds),
            other => other,
        })
    }

    /// A permit for a log-in, from the arrival of its request to its answer; `None` if limits are switched off. 429 if 100
    /// others of its network are in progress.
    pub fn log_in_permit(&self, address: IpAddr) -> Result<Option<OwnedSemaphorePermit>> {
        let Some(kept) = &self.0 else { return Ok(None) };
        kept.log_ins.semaphore_for(network(address)).try_acquire_owned().map(Some).map_err(|_| Error::TooMany(1))
    }

    /// Waits for a permit to exchange a code at the issuer; `None` if limits are switched off.
    pub async fn code_exchange(&self, address: IpAddr) -> Option<OwnedSemaphorePermit> {
        let permits = self.0.as_ref()?.exchanges.semaphore_for(network(address));
        permits.acquire_owned().await.ok()
    }

    /// Waits for a permit to change something that is pushed, until it is; `None` if limits are switched off.
    pub async fn change(&self, author: Author) -> Option<OwnedSemaphorePermit> {
        self.0.as_ref()?.changes.semaphore_for(author).acquire_owned().await.ok()
    }

    /// The bounds on guessing passwords; `None` if limits are switched off.
    pub fn guesses(&self) -> Option<&Guesses> {
        self.0.as_ref().map(|kept| &kept.guesses)
    }

    /// The permits of a network for hashing passwords; `None` if limits are switched off.
    pub fn hashes(&self, address: IpAddr) -> Option<Arc<Semaphore>> {
        self.0.as_ref().map(|kept| kept.hashes.semaphore_for(network(address)))
    }

    /// Drops expired counters. The housekeeping job calls it once per minute.
    pub fn tidy(&self) {
        let Some(kept) = &self.0 else { return };
        kept.users.retain_recent();
        kept.commands.retain_recent();
        kept.files.retain_recent();
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
    use crate::id::UserId;

    #[test]
    fn a_burst_is_taken_and_one_more_is_not() {
        let limits = Limits::new(true, &Clock::default());
        let user = Share::Person(UserId::new());
        let taken = (0..USER_BURST + 20).filter(|_| limits.user(user).is_ok()).count();
        assert!((USER_BURST as usize..USER_BURST as usize + 20).contains(&taken), "{taken}");
        assert!(Limits::new(false, &Clock::default()).user(user).is_ok());
    }

    #[test]
    fn a_slug_has_a_rate_of_its_own() {
        let limits = Limits::new(true, &Clock::default());
        let taken = (0..SLUG_RATE + 20).filter(|_| limits.webhook_slug("busy").is_ok()).count();
        assert!((SLUG_RATE as usize..SLUG_RATE as usize + 20).contains(&taken), "{taken}");
        limits.webhook_slug("quiet").unwrap();
        assert!((0..100).all(|_| Limits::new(false, &Clock::default()).webhook_slug("busy").is_ok()));
    }

    #[test]
    fn twenty_links_are_mailed_for_one_network() {
        let limits = Limits::new(true, &Clock::default());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for n in 1..=20 {
            limits.mailed_link(address(&format!("2001:db8::{n}"))).unwrap();
        }
        assert!(matches!(limits.mailed_link(address("2001:db8::21")), Err(Error::MailsUsedUp(1..=180))));
        limits.mailed_link(address("2001:db8:0:1::1")).unwrap();
        limits.mailed_link(address("192.0.2.1")).unwrap();
        let off = Limits::new(false, &Clock::default());
        assert!((0..100).all(|_| off.mailed_link(address("192.0.2.1")).is_ok()));
    }

    #[test]
    fn a_hundred_log_ins_of_a_network_are_in_progress_and_one_more_is_not() {
        let limits = Limits::new(true, &Clock::default());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut permits: Vec<_> = (0..100).map(|n| limits.log_in_permit(address(&format!("2001:db8::{n}"))).unwrap()).collect();
        assert!(matches!(limits.log_in_permit(address("2001:db8::100")), Err(Error::TooMany(1))));
        limits.log_in_permit(address("2001:db8:0:1::1")).unwrap();
        permits.pop();
        limits.log_in_permit(address("2001:db8::100")).unwrap();
        assert!((0..200).all(|_| Limits::new(false, &Clock::default()).log_in_permit(address("192.0.2.1")).unwrap().is_none()));
    }

    #[test]
    fn four_codes_of_a_network_are_exchanged_and_one_more_waits() {
        use futures_util::FutureExt;
        let limits = Limits::new(true, &Clock::default());
        let asked = |text: &str| limits.code_exchange(text.parse().unwrap()).now_or_never();
        let mut permits: Vec<_> = (0..4).map(|n| asked(&format!("2001:db8::{n}")).unwrap().unwrap()).collect();
        assert!(asked("2001:db8::4").is_none());
        assert!(asked("2001:db8:0:1::1").unwrap().is_some());
        permits.pop();
        assert!(asked("2001:db8::4").unwrap().is_some());
        assert!(
            Limits::new(false, &Clock::default()).code_exchange("192.0.2.1".parse().unwrap()).now_or_never().unwrap().is_none()
        );
    }

    #[test]
    fn four_changes_of_an_author_are_under_way_and_one_more_waits() {
        use futures_util::FutureExt;
        let (limits, user) = (Limits::new(true, &Clock::default()), Share::Person(UserId::new()));
        let asked = |author| limits.change(author).now_or_never();
        let mut permits: Vec<_> = (0..4).map(|_| asked(user.into()).unwrap().unwrap()).collect();
        assert!(asked(user.into()).is_none());
        assert!(asked(Share::Person(UserId::new()).into()).is_some() && asked(Author::of_slug("x")).is_some());
        permits.pop();
        assert!(asked(user.into()).is_some());
        assert!(Limits::new(false, &Clock::default()).change(user.into()).now_or_never().unwrap().is_none());
    }

    #[tokio::test]
    async fn eight_files_of_a_user_64_of_a_network_and_256_of_all_come_or_go_and_one_more_waits() {
        use futures_util::FutureExt;
        let limits = Limits::new(true, &Clock::default());
        let users: Vec<_> = (0..33).map(|_| Share::Person(UserId::new())).collect();
        let asked = |user: usize, network: usize| {
            let transfer = limits.transfer(users[user], IpAddr::from([192, 0, 2, network as u8]));
            tokio::task::unconstrained(transfer).now_or_never()
        };
        let mut permits: Vec<_> = (0..8).map(|_| asked(0, 0).unwrap().unwrap()).collect();
        assert!(asked(0, 1).is_none(), "wherever the user is");
        permits.pop();
        permits.extend(asked(0, 0).unwrap());
        permits.extend((8..64).map(|n| asked(n / 8, 0).unwrap().unwrap()));
        assert!(asked(8, 0).is_none() && asked(8, 1).is_some());
        permits.extend((64..256).map(|n| asked(n / 8, n / 64).unwrap().unwrap()));
        assert!(permits.len() == 256 && asked(32, 9).is_none());
        permits.pop();
        assert!(asked(32, 9).unwrap().is_ok());
        let off = Limits::new(false, &Clock::default());
        assert!(off.transfer(users[0], IpAddr::from([192, 0, 2, 1])).now_or_never().unwrap().unwrap().is_none());
    }

    #[test]
    fn six_hundred_files_are_opened_at_once() {
        let (limits, user) = (Limits::new(true, &Clock::default()), Share::Person(UserId::new()));
        let taken = (0..FILE_BURST + 20).filter(|_| limits.file(user).is_ok()).count();
        assert!((FILE_BURST as usize..FILE_BURST as usize + 20).contains(&taken), "{taken}");
    }

    #[test]
    fn a_form_is_taken_five_times_a_minute_from_one_network() {
        let limits = Limits::new(true, &Clock::default());
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        for n in 1..=5 {
            limits.form(Form::Contact, address(&format!("2001:db8::{n}"))).unwrap();
        }
        assert!(matches!(limits.form(Form::Contact, address("2001:db8::6")), Err(Error::TooMany(1..=60))));
        limits.form(Form::Contact, address("2001:db8:0:1::1")).unwrap();
        limits.form(Form::Feedback, address("2001:db8::6")).unwrap();
    }
}
