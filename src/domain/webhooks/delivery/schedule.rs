//! The order in which webhooks deliver, kept in memory. It is read when the server starts, and again for each webhook whose
//! queue or state has changed, so that neither a long queue nor a host without a free slot costs searches in the database.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, BinaryHeap, HashMap},
    ops::Bound,
    time::Duration,
};

use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use crate::{
    db::Tx,
    domain::{
        access::person_answering_for,
        webhooks::delivery::slots::{DeliverySlot, DeliverySlots, Target},
    },
    error::Result,
    event::Effect,
    id::{UserId, WebhookId},
    time::Time,
};

/// Backoff of a webhook whose delivery was refused; each further refusal doubles it.
const FIRST_PARKED: Duration = Duration::from_secs(1);
const LONGEST_PARKED: Duration = Duration::from_secs(60);
/// Webhooks picked at once, at most: as many as one write should claim for.
const AT_ONCE: usize = 32;
/// Webhooks that one read loads.
const PAGE: u32 = 200;

/// A webhook that delivers and has something to deliver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub webhook: WebhookId,
    /// When the first of its deliveries is due.
    pub at: Time,
    /// The account that answers for the address.
    pub account: UserId,
    pub host: String,
    /// When the webhook itself was last changed.
    pub changed_at: Time,
}

/// Has the schedule read the webhook again after the commit. Required after every change to the webhook or to its queue.
pub(in crate::domain) fn changed(tx: &mut Tx, webhook: WebhookId) {
    tx.then(Effect::DeliveriesChanged(webhook));
}

#[derive(Default)]
pub struct Schedule {
    webhooks: HashMap<WebhookId, Entry>,
    /// The same webhooks, by the time from which they are due and their backoff has ended.
    order: BTreeSet<(Time, WebhookId)>,
    accounts: HashMap<UserId, Account>,
    /// The number of the last pick.
    last_pick: u64,
}

/// The webhooks for which an account answers.
#[derive(Default)]
struct Account {
    order: BTreeSet<(Time, WebhookId)>,
    /// The number of the last pick that took one of them; 0 for none.
    last_pick: u64,
}

struct Entry {
    due: Due,
    parked: Option<Parked>,
}

#[derive(Clone, Copy)]
struct Parked {
    until: Time,
    wait: Duration,
}

impl Entry {
    fn next(&self) -> Time {
        self.parked.map_or(self.due.at, |parked| parked.until.max(self.due.at))
    }
}

impl Schedule {
    /// Replaces a webhook's entry by what it has to deliver now. Its backoff goes on unless the webhook itself was changed.
    pub fn set(&mut self, webhook: WebhookId, due: Option<Due>) {
        let former = self.remove(webhook);
        let Some(due) = due else { return };
        let parked = former.filter(|former| former.due.changed_at == due.changed_at).and_then(|former| former.parked);
        self.insert(Entry { due, parked });
    }

    /// Starts a webhook's backoff after a refusal, longer each time.
    pub fn back_off(&mut self, webhook: WebhookId, now: Time) {
        if let Some(mut entry) = self.remove(webhook) {
            let wait = entry.parked.map_or(FIRST_PARKED, |parked| (2 * parked.wait).min(LONGEST_PARKED));
            entry.parked = Some(Parked { until: now + wait, wait });
            self.insert(entry);
        }
    }

    /// Ends a webhook's backoff after a delivery was claimed.
    pub fn end_backoff(&mut self, webhook: WebhookId) {
        if let Some(entry) = self.remove(webhook) {
            self.insert(Entry { parked: None, ..entry });
        }
    }

    fn insert(&mut self, entry: Entry) {
        let place = (entry.next(), entry.due.webhook);
        self.order.insert(place);
        self.accounts.entry(entry.due.account).or_default().order.insert(place);
        self.webhooks.insert(entry.due.webhook, entry);
    }

    fn remove(&mut self, webhook: WebhookId) -> Option<Entry> {
        let entry = self.webhooks.remove(&webhook)?;
        let place = (entry.next(), webhook);
        self.order.remove(&place);
        if let Some(account) = self.accounts.get_mut(&entry.due.account) {
            account.order.remove(&place);
        }
        Some(entry)
    }

    /// Picks webhooks that are due and get a free slot, each once; one with more deliveries due is picked again later. The account
    /// with the fewest slots comes first, of several the one that was picked longest ago; and of its webhooks the one that has
    /// been due longest.
    pub fn pick(&mut self, now: Time, slots: &mut DeliverySlots) -> Vec<(WebhookId, DeliverySlot)> {
        self.accounts.retain(|_, account| !account.order.is_empty());
        let (mut accounts, mut fewest_first) = (Vec::new(), BinaryHeap::new());
        for (id, account) in &self.accounts {
            let Some((at, _)) = account.order.first().filter(|(at, _)| *at <= now) else { continue };
            fewest_first.push(Reverse((slots.held_by(*id), account.last_pick, *at, accounts.len())));
            accounts.push((*id, account.order.range(..=until(now))));
        }
        let mut picked = Vec::new();
        while picked.len() < AT_ONCE && slots.has_free() {
            let Some(Reverse((held, last_pick, at, n))) = fewest_first.pop() else { break };
            let (id, due) = &mut accounts[n];
            // An account without a free slot for any of its webhooks is not looked at again.
            let slot = due.find_map(|(_, webhook)| Some((*webhook, slots.acquire(*id, &self.webhooks[webhook].due.host)?)));
            if let Some(slot) = slot {
                picked.push(slot);
                fewest_first.push(Reverse((held + 1, last_pick, at, n)));
            }
        }
        self.last_pick += 1;
        for (webhook, _) in &picked {
            let account = self.webhooks[webhook].due.account;
            self.accounts.get_mut(&account).expect("it has the webhook").last_pick = self.last_pick;
        }
        picked
    }

    /// Time at which the next webhook becomes due that is not due yet.
    pub fn next_due_after(&self, now: Time) -> Option<Time> {
        let later = (Bound::Excluded(until(now)), Bound::Unbounded);
        self.order.range(later).next().map(|(at, _)| *at)
    }

    /// Number of webhooks that have something to deliver now.
    pub fn count_due_webhooks(&self, now: Time) -> usize {
        self.order.range(..=until(now)).count()
    }
}

/// The last place in an order of what is due.
fn until(now: Time) -> (Time, WebhookId) {
    (now, WebhookId(Uuid::max()))
}

/// SQL that selects what webhooks have to deliver, with the given conditions.
macro_rules! due {
    ($and:literal) => {
        concat!(
            "select w.id, w.target, w.updated_at, ",
            person_answering_for!("w.url_by"),
            " as account,
               max(coalesce(w.waits_until, 0),
                 (select min(d.due_at) from deliveries d where d.webhook_id = w.id and d.due_at is not null)) as due_at
             from webhooks w cross join channels c on c.id = w.channel_id cross join organisations o on o.id = c.organisation_id
             where w.status = 'active' and w.url <> '' and w.deleted_at is null and c.deleted_at is null and o.deleted_at is null
               and ",
            $and
        )
    };
}

pub const DUE: &str = due!("w.id = ?1");
const ALL: &str = due!("w.id > ?1 order by w.id limit ?2");

/// Reads what the webhook has to deliver; none if it delivers nothing or has nothing queued.
pub fn read_due_of(conn: &Connection, webhook: WebhookId) -> Result<Option<Due>> {
    Ok(conn.prepare_cached(DUE)?.query_row([webhook], from_row).optional()?.and_then(|(_, due)| due))
}

/// Reads a page of the webhooks that deliver, in the order of their identifiers, with the identifier after which the next
/// page begins; none after the last page.
pub fn webhooks_page(conn: &Connection, after: WebhookId) -> Result<(Vec<Due>, Option<WebhookId>)> {
    let mut select = conn.prepare_cached(ALL)?;
    let rows: Vec<_> = select.query_map((after, PAGE), from_row)?.collect::<rusqlite::Result<_>>()?;
    let last = (rows.len() == PAGE as usize).then(|| rows.last().map(|(id, _)| *id)).flatten();
    Ok((rows.into_iter().filter_map(|(_, due)| due).collect(), last))
}

/// The targets of active webhooks whose last attempt was answered promptly, as an earlier process recorded.
pub fn proven_targets(conn: &Connection) -> Result<Vec<Target>> {
    let sql = concat!(
        "select distinct ",
        person_answering_for!("w.url_by"),
        ", w.target from webhooks w where w.is_proven = 1 and w.status = 'active' and w.deleted_at is null limit ?1"
    );
    let target = |row: &Row| Ok(Target { account: row.get(0)?, host: row.get(1)? });
    let mut select = conn.prepare_cached(sql)?;
    Ok(select.query_map([DeliverySlots::PROVEN_MOST as i64], target)?.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row) -> rusqlite::Result<(WebhookId, Option<Due>)> {
    let (webhook, at): (WebhookId, Option<Time>) = (row.get("id")?, row.get("due_at")?);
    let (account, host, changed_at) = (row.get("account")?, row.get("target")?, row.get("updated_at")?);
    Ok((webhook, at.map(|at| Due { webhook, at, account, host, changed_at })))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn due(seconds: i64) -> Due {
        Due {
            webhook: WebhookId::new(),
            at: Time::from_unix_seconds(seconds),
            account: UserId::new(),
            host: "a:80".into(),
            changed_at: Time::from_unix_seconds(0),
        }
    }

    fn picked(schedule: &mut Schedule, seconds: i64, slots: &mut DeliverySlots) -> Vec<WebhookId> {
        schedule.pick(Time::from_unix_seconds(seconds), slots).into_iter().map(|(webhook, _)| webhook).collect()
    }

    #[test]
    fn who_has_been_due_longest_comes_first_and_a_full_host_is_passed_over() {
        let mut schedule = Schedule::default();
        let account = UserId::new();
        let [first, second, third] = [1, 2, 3].map(|at| Due { account, ..due(at) });
        let other = Due { account, host: "b:80".into(), ..due(4) };
        for due in [&other, &third, &second, &first] {
            schedule.set(due.webhook, Some(due.clone()));
        }
        let mut slots = DeliverySlots::default();
        assert_eq!(picked(&mut schedule, 9, &mut slots), [first.webhook, second.webhook, other.webhook], "two are a new host's");
        assert_eq!(picked(&mut schedule, 9, &mut slots), [other.webhook]);
        let now = Time::from_unix_seconds(2);
        assert_eq!((schedule.count_due_webhooks(now), schedule.next_due_after(now)), (2, Some(third.at)));
        assert_eq!(picked(&mut schedule, 1, &mut DeliverySlots::default()), [first.webhook]);
    }

    #[test]
    fn the_account_with_the_fewest_slots_comes_first() {
        let (mut schedule, mut slots) = (Schedule::default(), DeliverySlots::default());
        let busy: Vec<_> = (1..=3).map(|n| Due { host: format!("busy {n}"), ..due(n) }).collect();
        let busy: Vec<_> = busy.iter().map(|due| Due { account: busy[0].account, ..due.clone() }).collect();
        let other = Due { host: "other".into(), ..due(9) };
        for due in busy.iter().chain([&other]) {
            schedule.set(due.webhook, Some(due.clone()));
        }
        let [first, second, third] = [0, 1, 2].map(|n: usize| busy[n].webhook);
        assert_eq!(picked(&mut schedule, 9, &mut slots), [first, other.webhook, second, third]);
    }

    /// One slot is left, and whoever had it last waits for the others, though it has been due longer.
    #[test]
    fn of_accounts_with_as_few_slots_the_one_picked_longest_ago_comes_first() {
        let (mut schedule, mut slots) = (Schedule::default(), DeliverySlots::default());
        let others: Vec<_> = (1..DeliverySlots::ALL / 2).map(|n| slots.acquire(UserId::new(), &format!("other {n}"))).collect();
        assert!(others.iter().all(Option::is_some));
        let accounts = [1, 2, 3].map(|n| Due { host: format!("own {n}"), ..due(n) });
        for due in &accounts {
            schedule.set(due.webhook, Some(due.clone()));
        }
        for due in accounts.iter().chain(&accounts) {
            let picked = schedule.pick(Time::from_unix_seconds(9), &mut slots);
            assert_eq!(picked.iter().map(|(webhook, _)| *webhook).collect::<Vec<_>>(), [due.webhook]);
            slots.release(&picked[0].1);
        }
    }

    #[test]
    fn a_webhook_with_nothing_to_deliver_does_not_come() {
        let mut schedule = Schedule::default();
        let due = due(1);
        schedule.set(due.webhook, Some(due.clone()));
        schedule.set(due.webhook, Some(Due { at: Time::from_unix_seconds(5), ..due.clone() }));
        assert!(picked(&mut schedule, 4, &mut DeliverySlots::default()).is_empty());
        assert_eq!(picked(&mut schedule, 5, &mut DeliverySlots::default()), [due.webhook]);
        schedule.set(due.webhook, None);
        assert!(picked(&mut schedule, 9, &mut DeliverySlots::default()).is_empty());
        assert!(schedule.order.is_empty() && schedule.webhooks.is_empty() && schedule.accounts.is_empty());
    }

    #[test]
    fn refusals_grow_apart_to_a_minute_until_the_webhook_changes() {
        let mut schedule = Schedule::default();
        let due = due(0);
        schedule.set(due.webhook, Some(due.clone()));
        let mut now = due.at;
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            schedule.back_off(due.webhook, now);
            let until = now + seconds * SECOND;
            assert_eq!(schedule.next_due_after(now), Some(until));
            // More deliveries do not end the backoff.
            schedule.set(due.webhook, Some(due.clone()));
            assert_eq!((schedule.count_due_webhooks(now), schedule.next_due_after(now)), (0, Some(until)));
            now = until;
        }
        schedule.back_off(due.webhook, now);
        schedule.set(due.webhook, Some(Due { changed_at: now, ..due.clone() }));
        assert_eq!(schedule.count_due_webhooks(now), 1, "at once");
        schedule.back_off(due.webhook, now);
        schedule.end_backoff(due.webhook);
        schedule.back_off(due.webhook, now);
        assert_eq!(schedule.next_due_after(now), Some(now + SECOND), "from the beginning");
    }
}
