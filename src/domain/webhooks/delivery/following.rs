//! Webhooks follow the event log. What happens in a channel becomes a delivery for each webhook of the channel that has chosen such
//! events, a deletion erases the text of stored events, and webhooks of users who left or were reclaimed change owner or pause
//! ([`departures`]). Deliveries and the cursor are committed together, so a kill loses and repeats nothing. Rows that concern no
//! webhook are skipped in a read: where there are no webhooks, a post costs no second write.

use rusqlite::Connection;
use serde_json::value::RawValue;

use crate::{
    db::Tx,
    domain::{
        log::cursors::{self, Lookahead},
        messages::{lists, record::FED},
        slice_byte_budget::Budget,
        webhooks::{
            delivery::{
                cursor::{self, Logged, RECEIVES, ROWS, WEBHOOKS},
                kind::DeliveryKind,
                queue, schedule,
            },
            departures,
            trigger_words::TriggerWords,
        },
    },
    error::{Code, Error, Result},
    event::{Kind, Stream},
    id::{CallbackId, ChannelId, WebhookId},
    time::Time,
};

/// Deliveries after which a slice ends. One message may add 60: one for each webhook of its channel, and of all channels.
const DELIVERIES: usize = 200;

/// Starts to keep the log for webhooks, in a database that is new or older than this consumer. Returns the last row that was
/// processed.
pub fn start(tx: &mut Tx) -> Result<i64> {
    cursors::find_or_create(tx, WEBHOOKS)
}

/// Skips rows that concern no webhook, at most one slice.
pub fn skip_irrelevant_rows(conn: &Connection, after: i64) -> Result<Lookahead> {
    let rows = cursor::rows(conn, after)?;
    Lookahead::at(rows.iter().map(|row| Ok((row.seq, row.concerns))), after, ROWS)
}

/// Saves the cursor at this row, because nothing up to it concerns a webhook any more.
pub fn save_cursor(tx: &mut Tx, seq: i64) -> Result<()> {
    let seq = cursor::find(tx)?.max(seq);
    cursors::advance(tx, WEBHOOKS, seq)
}

/// Processes a slice of the rows after the cursor, or after a later row up to which [`skip_irrelevant_rows`] has skipped.
/// Returns the last row processed.
pub fn queue_from_log(tx: &mut Tx, after: i64) -> Result<i64> {
    let after = cursor::find(tx)?.max(after);
    let (mut taken, mut budget, mut queued) = (after, Budget::new(), 0);
    for row in cursor::rows(tx, after)? {
        if row.concerns {
            if queued >= DELIVERIES || !budget.try_take(row.bytes) {
                break;
            }
            match row.kind {
                Kind::Deleted => {
                    row.message.map_or(Ok(()), |n| queue::erase(tx, n))?;
                    queued += queue(tx, &row)?;
                }
                Kind::Message | Kind::Updated | Kind::MediaUpdated | Kind::Reaction | Kind::Channel => queued += queue(tx, &row)?,
                // The next slice processes the rest of this row.
                _ if !departures::slice(tx, &row)? => break,
                _ => {}
            }
        }
        taken = row.seq;
    }
    if taken > after {
        cursors::advance(tx, WEBHOOKS, taken)?;
    }
    Ok(taken)
}

/// Follows the log before a change to a webhook: messages posted until now are for the webhook as it was. 503 if messages that
/// may be for it are left after one slice; the job follows them meanwhile.
pub(in crate::domain) fn catch_up(tx: &mut Tx, webhook: WebhookId) -> Result<()> {
    let (channel, is_of_all_channels): (ChannelId, bool) = tx
        .prepare_cached("select channel_id, organisation_id is not null from webhooks where id = ?1")?
        .query_row([webhook], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut after = queue_from_log(tx, 0)?;
    loop {
        let rows = cursor::rows(tx, after)?;
        if rows.iter().any(|row| row.concerns && (is_of_all_channels || row.channel == Some(channel))) {
            return Err(Error::Unavailable(
                Code::StillInProgress,
                "New messages are still being queued for webhooks, try again in a moment",
            ));
        }
        match rows.last() {
            Some(last) if rows.len() == ROWS as usize => after = last.seq,
            _ => return Ok(()),
        }
    }
}

/// An event to deliver.
struct Event {
    kind: DeliveryKind,
    at: Time,
    payload: String,
    /// The text of a new or edited message, which trigger words are compared with.
    text: Option<String>,
}

/// Queues the event of a row for each delivering webhook of its channel that has chosen such events; a paused one holds it.
/// Returns how many deliveries there are.
fn queue(tx: &mut Tx, row: &Logged) -> Result<usize> {
    let Some(event) = event(tx, row)? else { return Ok(0) };
    let select = format!(
        "select w.id, w.trigger_words from webhooks w, (select ?1 as channel_id, ?2 as seq) e
         where w.events & ?3 <> 0 and {RECEIVES}"
    );
    let mut webhooks: Vec<(WebhookId, TriggerWords)> = tx
        .prepare_cached(&select)?
        .query_map((row.channel, row.seq, event.kind.bit()), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    webhooks.retain(|(_, words)| event.text.as_deref().is_none_or(|text| words.matches(text)));
    if webhooks.is_empty() {
        return Ok(0);
    }
    tx.prepare_cached("insert into webhook_events (payload, message_n) values (?1, ?2)")?
        .execute((event.payload, row.message))?;
    let n = tx.last_insert_rowid();
    for (webhook, _) in &webhooks {
        let sql = "insert into deliveries (id, webhook_id, event_n, due_at, created_at) values (?1, ?2, ?3, ?4, ?4)";
        tx.prepare_cached(sql)?.execute((CallbackId::new(), webhook, n, event.at))?;
        schedule::changed(tx, *webhook);
    }
    Ok(webhooks.len())
}

/// The event of a row; none for a row that repeats another, and none about a feed's post but reactions to it: two servers that feed
/// each other would never end.
fn event(tx: &Tx, row: &Logged) -> Result<Option<Event>> {
    if row.kind == Kind::Message {
        let message = row.message.map_or(Ok(None), |n| lists::find_by_number(tx, n))?;
        let Some(message) = message.filter(|message| message.kind != FED) else { return Ok(None) };
        let (kind, at) = (DeliveryKind::MessageCreated, message.created_at);
        return Ok(Some(Event { kind, at, payload: queue::payload(kind.name(), at, &message)?, text: Some(message.content) }));
    }
    // What happens to a reply is told to its channel and to its thread, and what happens to a member to them, too.
    if row.channel.is_none_or(|channel| Stream::Channel(channel).to_string() != row.stream) {
        return Ok(None);
    }
    let (data, text, action, is_fed): (Option<String>, Option<String>, Option<String>, bool) = tx
        .prepare_cached(
            "select body -> '$.data', body ->> '$.data.content', body ->> '$.data.action',
               exists (select 1 from messages where n = ?2 and type = ?3)
             from events where seq = ?1",
        )?
        .query_row((row.seq, row.message, FED), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let action = action.as_deref();
    let kind = match row.kind {
        Kind::Channel => DeliveryKind::OF_CHANNEL.iter().find(|(done, _)| action == Some(*done)).map(|(_, kind)| *kind),
        Kind::Reaction if action == Some("removed") => Some(DeliveryKind::ReactionRemoved),
        Kind::Reaction => Some(DeliveryKind::ReactionAdded),
        Kind::Deleted => Some(DeliveryKind::MessageDeleted),
        _ => Some(DeliveryKind::MessageUpdated),
    };
    if is_fed && row.kind != Kind::Reaction {
        return Ok(None);
    }
    let (Some(kind), Some(data)) = (kind, data) else { return Ok(None) };
    let data = RawValue::from_string(data).map_err(Error::internal)?;
    let text = text.filter(|_| kind == DeliveryKind::MessageUpdated);
    Ok(Some(Event { kind, at: row.created_at, payload: queue::payload(kind.name(), row.created_at, data)?, text }))
}
