//! Publications about messages: to their channel, their thread, and the users whom they mention.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::value::to_raw_value;
use uuid::Uuid;

use crate::{
    db::Tx,
    domain::{
        channels::unread_counts::{self, Member},
        log::{
            events,
            publication_envelope::{Envelope, Ids, envelope},
        },
        messages::{
            channel_counters,
            mention_count_changes::Recount,
            mentions::{self, Mention},
            payloads::{MessageIds, counted, ids},
            record::{FED, Message},
            thread_unreads,
        },
    },
    error::{Error, Result},
    event::{Kind, Stream},
    id::UserId,
};

/// Announces a new message, and counts it in the rows of its channel and thread, which also record the events' seqs.
pub(in crate::domain) fn posted(tx: &mut Tx, message: &Message, is_new_participant: bool) -> Result<()> {
    if message.is_reply {
        let new = counted_publication(message, Kind::Message, Stream::Thread(message.thread), message);
        let counts =
            events::emit_with_stream_row(tx, new, |tx, seqs| channel_counters::add_reply(tx, message, is_new_participant, seqs))?;
        let body = envelope(Kind::ReplyCount, true, message).with(counted(message, counts, false));
        emit_and_count(tx, message, Kind::ReplyCount, &body)?;
    } else {
        emit_and_count(tx, message, Kind::Message, message)?;
    }
    mentioned(tx, message, &[])
}

/// Publishes a new message to its channel and to each of its members, and counts it in its channel's row.
fn emit_and_count(tx: &mut Tx, message: &Message, kind: Kind, body: &impl Serialize) -> Result<()> {
    let new = counted_publication(message, kind, Stream::Channel(message.channel), body);
    events::emit_with_stream_row(tx, new, |tx, seqs| channel_counters::add_message(tx, message, seqs))
}

/// Announces the new text of a message. `before` has the mentions of the former text.
pub(in crate::domain) fn edited(tx: &mut Tx, message: &Message, before: &[Mention], recount: Recount) -> Result<()> {
    let body = about(Kind::Updated, message, message);
    if recount.everybody {
        let new = counted_publication(message, Kind::Updated, Stream::Channel(message.channel), &body);
        events::emit(tx, new)?;
        emit_to_thread(tx, message, Kind::Updated, &body)?;
    } else {
        emit_to_readers(tx, message, Kind::Updated, &body)?;
    }
    // Whoever has left the channel keeps their place in the thread, but is told nothing of it.
    for Member { user, counts, .. } in unread_counts::counts_of_users(tx, message.channel, &recount.of_channel)? {
        unread_counts::push_counts(tx, user, message.channel, counts)?;
    }
    for member in unread_counts::counts_of_users(tx, message.channel, &recount.of_thread)? {
        thread_unreads::announce(tx, member.user, message.thread)?;
    }
    mentioned(tx, message, before)
}

/// Notifies the users whom the message mentions and `before` does not.
fn mentioned(tx: &mut Tx, message: &Message, before: &[Mention]) -> Result<()> {
    let known: HashSet<Uuid> = before.iter().map(|mention| mention.id).collect();
    let mut new = message.mentions.iter().filter(|mention| !known.contains(&mention.id)).peekable();
    if new.peek().is_none() || mentions::has_channel_mention(before) {
        return Ok(());
    }
    // Serialised only once, because every mentioned user gets an event with the whole message.
    let body = to_raw_value(&about(Kind::Mention, message, message)).map_err(Error::internal)?;
    if mentions::has_channel_mention(&message.mentions) {
        return emit_to_members(tx, message, Kind::Mention, &*body); // who is named besides is told by it
    }
    for user in new.map(|mention| UserId(mention.id)).filter(|user| Some(*user) != reader(message)) {
        emit(tx, message, Kind::Mention, Stream::Personal(message.organisation, user), &*body)?;
    }
    Ok(())
}

/// Logs a publication about the message on one stream.
pub(in crate::domain) fn emit(
    tx: &mut Tx,
    message: &Message,
    kind: Kind,
    stream: Stream,
    body: &(impl Serialize + ?Sized),
) -> Result<()> {
    events::emit(tx, publication(message, kind, stream, false, body))?;
    Ok(())
}

/// Publishes like [`emit`], to the channel and to each of its members except the author.
fn emit_to_members(tx: &mut Tx, message: &Message, kind: Kind, body: &(impl Serialize + ?Sized)) -> Result<()> {
    events::emit(tx, publication(message, kind, Stream::Channel(message.channel), true, body))?;
    Ok(())
}

/// A publication that also gives each member of the channel or thread their unread counts: its author, too, whose other
/// devices have the same mark.
fn counted_publication<'a, B: ?Sized>(message: &Message, kind: Kind, stream: Stream, body: &'a B) -> events::New<'a, B> {
    events::New { actor: None, ..publication(message, kind, stream, true, body) }
}

fn publication<'a, B: ?Sized>(
    message: &Message,
    kind: Kind,
    stream: Stream,
    to_members: bool,
    body: &'a B,
) -> events::New<'a, B> {
    events::New {
        kind,
        stream,
        to_members,
        channel: Some(message.channel),
        message: Some(message.n),
        actor: reader(message),
        body,
    }
}

/// Publishes with [`emit`] to the channel and, for a reply, to its thread.
pub(in crate::domain) fn emit_to_readers(tx: &mut Tx, message: &Message, kind: Kind, body: &impl Serialize) -> Result<()> {
    emit(tx, message, kind, Stream::Channel(message.channel), body)?;
    emit_to_thread(tx, message, kind, body)
}

/// Publishes the end of a message like [`emit_to_readers`], and to all whose unread counts it may have changed: to the members
/// of its channel if `is_counted`, and to those of its thread for a reply.
pub(in crate::domain) fn emit_deleted(tx: &mut Tx, message: &Message, is_counted: bool, body: &impl Serialize) -> Result<()> {
    let to_channel = counted_publication(message, Kind::Deleted, Stream::Channel(message.channel), body);
    events::emit(tx, events::New { to_members: is_counted, ..to_channel })?;
    if message.is_reply {
        events::emit(tx, counted_publication(message, Kind::Deleted, Stream::Thread(message.thread), body))?;
    }
    Ok(())
}

fn emit_to_thread(tx: &mut Tx, message: &Message, kind: Kind, body: &impl Serialize) -> Result<()> {
    if message.is_reply {
        emit(tx, message, kind, Stream::Thread(message.thread), body)?;
    }
    Ok(())
}

/// Builds the body of a publication about the message, with the given data.
pub(in crate::domain) fn about<D>(kind: Kind, message: &Message, data: D) -> Envelope<D, Ids<MessageIds>> {
    envelope(kind, message.is_reply, data).with(Ids { modification_ids: ids(message) })
}

/// The member who has read the message because they wrote it. A feed counts as unread for its author, too, because a program
/// wrote it.
fn reader(message: &Message) -> Option<UserId> {
    message.user.filter(|_| message.kind != FED)
}
