//! Results of attempts to deliver: the record, the backoff until the next attempt, and the stop of a webhook that has failed
//! for too long.

use std::time::Duration;

use rusqlite::OptionalExtension;

use crate::{
    db::Tx,
    domain::webhooks::{
        delivery::{following, outcome::Outcome, queue::Claimed, schedule},
        history,
        record::Status,
        suspension::stop,
    },
    error::Result,
    secret,
    time::Time,
};

/// Backoff between attempts; after the last attempt the event is given up.
const SCHEDULE: [Duration; 9] = {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    [
        Duration::from_secs(5),
        Duration::from_secs(5 * MINUTE),
        Duration::from_secs(30 * MINUTE),
        Duration::from_secs(2 * HOUR),
        Duration::from_secs(5 * HOUR),
        Duration::from_secs(10 * HOUR),
        Duration::from_secs(14 * HOUR),
        Duration::from_secs(20 * HOUR),
        Duration::from_secs(24 * HOUR),
    ]
};
/// The longest backoff that a target may ask for.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// HTTP 410: the target is gone for good.
const GONE: u16 = 410;

/// Records an attempt together with its effect: the event is done, due again, or given up. The webhook becomes inactive
/// after a 410, and when an event is given up without any success since its first attempt. If the event was queued anew
/// meanwhile, perhaps for another address, the attempt is only recorded.
pub fn record_attempt(tx: &mut Tx, sent: &Claimed, outcome: &Outcome) -> Result<()> {
    let now = tx.now();
    let first_at: Option<Time> = tx
        .prepare_cached("select first_at from deliveries where id = ?1 and due_at = ?2")?
        .query_row((sent.id, sent.lease), |row| row.get(0))
        .optional()?;
    let again = !outcome.is_success() && outcome.status != GONE && first_at.is_some();
    let next = if again { wait(sent.attempts, outcome.retry_after).map(|wait| now + wait) } else { None };
    if !tx.prepare_cached("select 1 from webhooks where id = ?1")?.exists([sent.webhook])? {
        return Ok(()); // gone for good, with its history
    }
    history::record_sent(tx, sent, "delivery", outcome, next)?;
    let Some(first_at) = first_at else { return Ok(()) };
    // In order, the whole webhook waits, and the delivery keeps its place before the later ones.
    let (last_success, is_ordered): (Option<Time>, bool) = tx
        .prepare_cached(
            "update webhooks set last_success_at = case when ?2 then ?3 else last_success_at end,
               waits_until = case when is_ordered then ?4 end, is_proven = ?5
             where id = ?1 returning last_success_at, is_ordered",
        )?
        .query_row((sent.webhook, outcome.is_success(), now, next, outcome.is_prompt()), |row| Ok((row.get(0)?, row.get(1)?)))?;
    tx.prepare_cached(
        "update deliveries set attempts = attempts + 1, due_at = case when ?3 then created_at else ?2 end, is_leased = 0
         where id = ?1",
    )?
    .execute((sent.id, next, is_ordered && next.is_some()))?;
    if outcome.status == GONE || (again && next.is_none()) {
        following::catch_up(tx, sent.webhook)?; // it may become inactive, and misses what is posted from then on
    }
    if outcome.status == GONE {
        stop(tx, sent.webhook, Status::Inactive, "it answered 410: gone for good")?;
    } else if again && next.is_none() && last_success.is_none_or(|at| at < first_at) {
        let reason = format!("{} attempts failed, the last with: {}", SCHEDULE.len() + 1, outcome.error);
        stop(tx, sent.webhook, Status::Inactive, &reason)?;
    }
    schedule::changed(tx, sent.webhook);
    Ok(())
}

/// Backoff until the next attempt: the schedule's, plus up to a fifth by chance, so that deliveries that failed together are
/// not retried together; longer if the target asked for it. None after the last attempt.
fn wait(attempts: u32, asked: Option<Duration>) -> Option<Duration> {
    let wait = *SCHEDULE.get(attempts as usize)?;
    let [chance] = secret::random::<1>();
    let wait = wait + wait * u32::from(chance) / (5 * 255);
    Some(wait.max(asked.unwrap_or_default().min(PATIENCE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn attempts_grow_apart_by_the_schedule_and_some_chance() {
        for (attempts, planned) in (0..).zip(SCHEDULE) {
            let waits: Vec<_> = (0..200).map(|_| wait(attempts, None).unwrap()).collect();
            assert!(waits.iter().all(|wait| (planned..=planned * 6 / 5).contains(wait)), "{waits:?}");
            assert!(waits.iter().max() > waits.iter().min(), "by chance");
        }
        let seconds = SCHEDULE.map(|wait| wait.as_secs());
        assert_eq!(seconds, [5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400]);
        assert_eq!(wait(9, Some(HOUR)), None, "the tenth was the last");
    }

    #[test]
    fn a_target_may_ask_for_more_time_within_reason() {
        assert_eq!(wait(0, Some(HOUR)), Some(HOUR));
        assert!(wait(1, Some(Duration::ZERO)).unwrap() >= SCHEDULE[1], "not for less");
        assert_eq!(wait(0, Some(1000 * HOUR)), Some(24 * HOUR));
    }
}
