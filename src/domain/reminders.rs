//! Reminders: what the server tells a user at a time that the user has chosen. Nobody else sees them.

use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, Caller},
        accounts,
        log::events,
        page::Page,
        text::{self, Rule},
    },
    error::{Code, Error, Result},
    event::{Effect, Kind, Queue},
    id::{ChannelId, ReminderId, UserId},
    time::Time,
};

/// At most 200 reminders of a user, with those that are due and not deleted yet: clients show them all.
pub const MOST: u32 = 200;

text::rules! {
    /// What a reminder is about.
    pub Text: Rule::non_blank_text(500);
}

/// A reminder, as its user sees it.
#[derive(Serialize, JsonSchema)]
pub struct Reminder {
    /// The reminder.
    pub id: ReminderId,
    /// What it is about.
    pub text: String,
    /// The channel that it was made in, if there is one.
    pub channel_id: Option<ChannelId>,
    /// When the user is reminded.
    pub due_at: Time,
    /// Whether the user has been reminded.
    pub is_due: bool,
    /// When it was made.
    pub created_at: Time,
}

/// A reminder after a change.
#[derive(Serialize, JsonSchema)]
pub struct ReminderUpdate<'a> {
    /// What happened to the reminder.
    #[schemars(extend("enum" = ["created", "updated", "due", "deleted"]))]
    action: &'a str,
    #[serde(flatten)]
    reminder: &'a Reminder,
}

const UNKNOWN: Error = Error::NotFound(Code::ReminderNotFound);

/// Makes a reminder for the caller, and tells the caller's devices. 404 for a channel that the caller can't see; 422 for a bad
/// field, a time that has passed, and beyond the most reminders of a user.
pub fn create(tx: &mut Tx, caller: Caller, text: &str, due_at: Time, channel: Option<ChannelId>) -> Result<Reminder> {
    let text = Text::check(text, "text").map_err(Error::Invalid)?;
    check_due_at(due_at, tx.now())?;
    accounts::own(tx, caller)?;
    if let Some(channel) = channel {
        access::require_channel(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    }
    let held: u32 =
        tx.prepare_cached("select count(*) from reminders where user_id = ?1")?.query_row([caller.user], |row| row.get(0))?;
    if held >= MOST {
        let says = format!("a user has at most {MOST} reminders: delete one first");
        return Err(Error::Invalid(Code::LimitReached.says(says).with_limit(MOST)));
    }
    let id = ReminderId::new();
    tx.prepare_cached(
        "insert into reminders (id, user_id, channel_id, text, due_at, created_at) values (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute((id, caller.user, channel, text, due_at, tx.now()))?;
    tx.then(Effect::Queued(Queue::Timers));
    tell(tx, caller.user, id, "created")
}

/// Lists the caller's reminders, those first that are due first.
pub fn list(conn: &Connection, caller: Caller, page: Page) -> Result<Vec<Reminder>> {
    let sql = format!("{SELECT} where user_id = ?1 order by due_at, id limit ?2 offset ?3");
    let mut select = conn.prepare_cached(&sql)?;
    Ok(select.query_map((caller.user, page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?)
}

/// Changes one of the caller's reminders, and tells the caller's devices. With another time, the caller is reminded again. An absent
/// field stays as it is. 404 for a reminder that is not the caller's; 422 for a bad field and a time that has passed.
pub fn update(tx: &mut Tx, caller: Caller, id: ReminderId, text: Option<&str>, due_at: Option<Time>) -> Result<Reminder> {
    let before = get(tx, caller.user, id)?;
    let text = text.map(|text| Text::check(text, "text")).transpose().map_err(Error::Invalid)?;
    due_at.map(|due_at| check_due_at(due_at, tx.now())).transpose()?;
    if text.is_none_or(|text| text == before.text) && due_at.is_none_or(|due_at| due_at == before.due_at) {
        return Ok(before);
    }
    tx.prepare_cached(
        "update reminders set text = coalesce(?2, text), due_at = coalesce(?3, due_at), is_due = is_due and ?3 is null where id = ?1",
    )?
    .execute((id, text, due_at))?;
    tx.then(Effect::Queued(Queue::Timers));
    tell(tx, caller.user, id, "updated")
}

/// Deletes one of the caller's reminders, and tells the caller's devices. 404 for a reminder that is not the caller's.
pub fn delete(tx: &mut Tx, caller: Caller, id: ReminderId) -> Result<()> {
    tell(tx, caller.user, id, "deleted")?;
    tx.prepare_cached("delete from reminders where id = ?1")?.execute([id])?;
    Ok(())
}

/// Tells users of reminders that are due, at most `most` of them. Returns their number.
pub fn tell_due(tx: &mut Tx, most: u32) -> Result<usize> {
    let due: Vec<(ReminderId, UserId)> = tx
        .prepare_cached("select id, user_id from reminders where is_due = 0 and due_at <= ?1 order by due_at limit ?2")?
        .query_map((tx.now(), most), |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (id, user) in &due {
        tx.prepare_cached("update reminders set is_due = 1 where id = ?1")?.execute([id])?;
        tell(tx, *user, *id, "due")?;
    }
    Ok(due.len())
}

/// When the next user is reminded.
pub fn next_due(conn: &Connection) -> Result<Option<Time>> {
    Ok(conn.prepare_cached("select min(due_at) from reminders where is_due = 0")?.query_row([], |row| row.get(0))?)
}

fn check_due_at(due_at: Time, now: Time) -> Result<()> {
    if due_at > now { Ok(()) } else { Err(Error::Invalid(Code::InvalidValue.says("due_at must be a time to come").at("due_at"))) }
}

/// Tells the user's devices what the reminder is, and returns it.
fn tell(tx: &mut Tx, user: UserId, id: ReminderId, action: &str) -> Result<Reminder> {
    let reminder = get(tx, user, id)?;
    events::emit_to_account(tx, user, Kind::Reminder, ReminderUpdate { action, reminder: &reminder })?;
    Ok(reminder)
}

/// Selects reminders. [`from_row`] takes the columns in this order.
const SELECT: &str = "select id, text, channel_id, due_at, is_due, created_at from reminders";

fn get(conn: &Connection, user: UserId, id: ReminderId) -> Result<Reminder> {
    let sql = format!("{SELECT} where id = ?1 and user_id = ?2");
    conn.prepare_cached(&sql)?.query_row((id, user), from_row).optional()?.ok_or(UNKNOWN)
}

fn from_row(row: &Row) -> rusqlite::Result<Reminder> {
    let mut columns = Columns::of_row(row);
    Ok(Reminder {
        id: columns.take()?,
        text: columns.take()?,
        channel_id: columns.take()?,
        due_at: columns.take()?,
        is_due: columns.take()?,
        created_at: columns.take()?,
    })
}
