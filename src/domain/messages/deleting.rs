//! Deleting messages: erases their text wherever it is stored, and corrects the counters.

use crate::{
    db::{Tx, log_reader},
    domain::{
        access::{self, Caller, ChannelAccess},
        deferred_work::{self, Cursor, DeferredWork},
        files::removal,
        log::publication_envelope::envelope,
        messages::{
            channel_counters, events, indexing, mention_count_changes,
            mentions::{self, MessageKey},
            participants,
            payloads::counted,
            record::{self, Message, UNKNOWN_THREAD},
            thread_members,
        },
        slice_byte_budget,
    },
    error::{Error, Result},
    event::Kind,
    id::{ChannelId, MessageId},
};

/// At most this many reactions are deleted, and rows of the event log erased, in one slice: a message may have been edited
/// thousands of times.
const SLICE_ROWS: usize = 200;

/// Deletes a message. For its author, the channel's owner and holders of `manage:channels`, each while a member of the
/// channel; in a direct message only for its author. Also works in an archived channel, so that unwanted content can be
/// removed. A post with replies stays listed, without its text. 404 for a hidden channel and an unknown message, 403 for
/// other callers.
pub fn delete(tx: &mut Tx, caller: Caller, channel: ChannelId, id: MessageId) -> Result<()> {
    let access = access::require_channel_member(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    let message = record::find_live(tx, channel, id)?;
    require_remover(&access, caller, &message)?;
    delete_found(tx, &message)
}

/// Checks that a member of the channel may delete the message: 403 otherwise.
pub(super) fn require_remover(access: &ChannelAccess, caller: Caller, message: &Message) -> Result<()> {
    if message.user == Some(caller.user) { Ok(()) } else { access.require_manager() }
}

/// Deletes a live message, whoever asks for it.
pub(super) fn delete_found(tx: &mut Tx, message: &Message) -> Result<()> {
    erase(tx, message.n)?;
    let rest = erase_message_slice(tx, message.n, &[])?;
    deferred_work::defer(tx, DeferredWork::Message { n: message.n }, rest)?;
    let is_counted_unread = uncount(tx, message)?;
    announce(tx, message.id, is_counted_unread)
}

/// Deletes a top-level post, as [`delete`] does. 404 when the channel has no such post.
pub fn delete_thread(tx: &mut Tx, caller: Caller, channel: ChannelId, thread: MessageId) -> Result<()> {
    access::require_channel_member(tx, caller, channel, access::UNKNOWN_CHANNEL)?;
    record::find_root(tx, channel, thread)?.ok_or(UNKNOWN_THREAD)?;
    delete(tx, caller, channel, thread)
}

/// Erases the message's text, mentions and actions, ends its files, removes its pin and its reaction counts, and takes it out of
/// the search index.
fn erase(tx: &mut Tx, n: i64) -> Result<()> {
    tx.prepare_cached(
        "update messages set content = '', mentions = '[]', actions = null, media = null, pinned_at = null, pinned_by = null,
           deleted_at = ?2 where n = ?1",
    )?
    .execute((n, tx.now()))?;
    removal::end_of_message(tx, n)?;
    tx.prepare_cached("delete from reaction_counts where n = ?1")?.execute([n])?;
    indexing::forget(tx, n)
}

/// Erases the text in one slice of the message's rows of the event log, and deletes one slice of its reactions. Returns
/// where the next slice begins; none after the last. Meanwhile nobody sees them: the log is read through [`log_reader::COLUMNS`],
/// and reactions are read only for messages that are not deleted.
pub fn erase_message_slice(tx: &Tx, n: i64, after: &[u8]) -> Result<Option<Cursor>> {
    let reactions = tx
        .prepare_cached(
            "delete from reactions where n = ?1 and (emoji, user_id) in (select emoji, user_id from reactions where n = ?1 limit ?2)",
        )?
        .execute((n, SLICE_ROWS as i64))?;
    let mut last = after.try_into().map_or(0, i64::from_be_bytes);
    // Notifications have no text of it.
    let log = "select seq, octet_length(body) from events
         where message_n = ?1 and type <> '' and type <> 'notification' and seq > ?2 order by seq limit ?3";
    for seq in slice_byte_budget::keys_within(tx, log, (n, last, SLICE_ROWS as i64))? {
        tx.prepare_cached(&format!("update events set body = {} where seq = ?1", log_reader::ERASED))?.execute([seq])?;
        last = seq;
    }
    let is_more = reactions == SLICE_ROWS
        || tx
            .prepare_cached("select 1 from events where message_n = ?1 and type <> '' and type <> 'notification' and seq > ?2")?
            .exists((n, last))?;
    Ok(is_more.then(|| last.to_be_bytes().to_vec()))
}

/// Subtracts the message from all counters, and from the read counts of members who have read it. Returns whether any
/// member's unread counts may have changed.
fn uncount(tx: &Tx, message: &Message) -> Result<bool> {
    let is_thread = !message.is_reply;
    let root = tx.prepare_cached("select root from messages where n = ?1")?.query_row([message.n], |row| row.get(0))?;
    let key = MessageKey { channel: message.channel, n: message.n, root };
    let (everybody, mentioned) = mentions::forget(tx, key)?;
    tx.prepare_cached("update channels set message_count = message_count - 1, thread_count = thread_count - ?2 where id = ?1")?
        .execute((message.channel, is_thread))?;
    if everybody {
        mention_count_changes::count_everybody(tx, key, message.user, -1)?;
    }
    if let Some(root) = root {
        let is_gone = thread_members::unreplied(tx, root, message, &mentioned)?;
        tx.prepare_cached(
            "update messages set reply_count = reply_count - 1, participant_count = participant_count - ?2,
               active_n = coalesce((select n from messages r where r.root = messages.n and r.deleted_at is null
                 order by r.n desc limit 1), messages.n),
               last_reply_at = (select created_at from messages r where r.root = messages.n and r.deleted_at is null
                 order by r.n desc limit 1)
             where n = ?1",
        )?
        .execute((root, is_gone))?;
    } else {
        tx.prepare_cached(
            "update channel_members set read_thread_count = read_thread_count - 1,
               read_id = iif(read_id = ?3, (select passed.id from messages passed where passed.channel_id = ?1 and passed.root is null
                 and passed.n < ?2 and passed.deleted_at is null order by passed.n desc limit 1), read_id)
             where channel_id = ?1 and read_n >= ?2",
        )?
        .execute((message.channel, message.n, message.id))?;
        tx.prepare_cached(
            "update channels set last_thread = coalesce((select n from messages
               where channel_id = ?1 and root is null and deleted_at is null order by n desc limit 1), 0)
             where id = ?1",
        )?
        .execute([message.channel])?;
    }
    Ok(is_thread || everybody || !mentioned.is_empty())
}

fn announce(tx: &mut Tx, id: MessageId, is_counted_unread: bool) -> Result<()> {
    let mut message = record::find(tx, id)?.ok_or_else(|| Error::internal("a deleted message keeps its row"))?;
    participants::attach(tx, [&mut message])?;
    let counts = channel_counters::find(tx, message.thread)?;
    let body = envelope(Kind::Deleted, message.is_reply, &message).with(counted(&message, counts, message.is_reply));
    events::emit_deleted(tx, &message, is_counted_unread, &body)
}
