//! Publications about messages: to their channel, their thread, and the users whom they mention.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Value, json, value::to_raw_value};
use uuid::Uuid;

use crate::{
    db::Tx,
    domain::{
        channels::reading,
        log::events,
        messages::{
            counters::{self, Counts},
            mentions::{self, Mention, Recount},
            record::{FED, Message},
        },
    },
    error::{Error, Result},
    event::{Kind, Stream},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// Announces a new message, and counts it in the rows of its channel and thread, which also record the events' seqs.
pub(in crate::domain) fn posted(tx: &mut Tx, message: &Message, organisation: OrganisationId) -> Result<()> {
    let object = object(message, organisation);
    if message.is_reply {
        let new = publication(message, Kind::Message, Stream::Thread(message.thread), false, &object);
        let counts = events::emit_with(tx, new, |tx, seqs| counters::add_reply(tx, message, seqs))?;
        let data = json!({ "thread_id": message.thread, "channels_id": message.channel, "last_reply": message.created_at });
        let mut body = about(Kind::ReplyCount, message, organisation, data);
        body["update_change"] = update_change(&counts);
        tell_and_count(tx, message, Kind::ReplyCount, &body)?;
    } else {
        tell_and_count(tx, message, Kind::Message, &object)?;
    }
    mentioned(tx, message, &object, &[])
}

/// Publishes a new message like [`tell_members`], and counts it in its channel's row.
fn tell_and_count(tx: &mut Tx, message: &Message, kind: Kind, body: &impl Serialize) -> Result<()> {
    let new = publication(message, kind, Stream::Channel(message.channel), true, body);
    events::emit_with(tx, new, |tx, seqs| counters::add_message(tx, message, seqs))
}

/// Announces the new text of a message. `before` has the mentions of the former text.
pub(in crate::domain) fn edited(
    tx: &mut Tx,
    message: &Message,
    organisation: OrganisationId,
    before: &[Mention],
    recount: Recount,
) -> Result<()> {
    let object = object(message, organisation);
    let body = about(Kind::Updated, message, organisation, &object);
    match recount {
        Recount::Everybody => tell_counting(tx, message, Kind::Updated, &body)?,
        Recount::These(users) => {
            tell(tx, message, Kind::Updated, &body)?;
            for user in users {
                let counts = reading::counts(tx, message.channel, user)?;
                reading::announce(tx, user, message.channel, counts)?;
            }
        }
    }
    mentioned(tx, message, &object, before)
}

/// Notifies the users whom the message mentions and `before` does not.
fn mentioned(tx: &mut Tx, message: &Message, object: &Object, before: &[Mention]) -> Result<()> {
    let organisation = object.org_id;
    let known: HashSet<Uuid> = before.iter().map(|mention| mention.id).collect();
    let mut new = message.mentions.iter().filter(|mention| !known.contains(&mention.id)).peekable();
    if new.peek().is_none() || mentions::name_everybody(before) {
        return Ok(());
    }
    // Serialised only once, because every mentioned user gets an event with the whole message.
    let body = to_raw_value(&about(Kind::Mention, message, organisation, object)).map_err(Error::internal)?;
    if mentions::name_everybody(&message.mentions) {
        return tell_members(tx, message, Kind::Mention, &*body); // who is named besides is told by it
    }
    for user in new.map(|mention| UserId(mention.id)).filter(|user| Some(*user) != reader(message)) {
        emit(tx, message, Kind::Mention, Stream::Personal(organisation, user), &*body)?;
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
fn tell_members(tx: &mut Tx, message: &Message, kind: Kind, body: &(impl Serialize + ?Sized)) -> Result<()> {
    events::emit(tx, publication(message, kind, Stream::Channel(message.channel), true, body))?;
    Ok(())
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
pub(in crate::domain) fn tell(tx: &mut Tx, message: &Message, kind: Kind, body: &Value) -> Result<()> {
    emit(tx, message, kind, Stream::Channel(message.channel), body)?;
    tell_thread(tx, message, kind, body)
}

/// Publishes a change that affects unread counts: like [`tell`], and to each member of the channel except the author.
pub(in crate::domain) fn tell_counting(tx: &mut Tx, message: &Message, kind: Kind, body: &Value) -> Result<()> {
    tell_members(tx, message, kind, body)?;
    tell_thread(tx, message, kind, body)
}

fn tell_thread(tx: &mut Tx, message: &Message, kind: Kind, body: &Value) -> Result<()> {
    if message.is_reply {
        emit(tx, message, kind, Stream::Thread(message.thread), body)?;
    }
    Ok(())
}

/// Builds the body of a publication about the message, with the message object as its data.
pub(in crate::domain) fn carrying(kind: Kind, message: &Message, organisation: OrganisationId) -> Value {
    about(kind, message, organisation, object(message, organisation))
}

/// Builds the body of a publication about the message, with the given data.
pub(in crate::domain) fn about(kind: Kind, message: &Message, organisation: OrganisationId, data: impl Serialize) -> Value {
    let mut body = events::envelope(kind, message.is_reply, data);
    body["modification_ids"] = json!({
        "thread_id": message.thread, "message_id": message.id, "channel_id": message.channel,
        "user_id": author(message), "org_id": organisation,
    });
    body
}

/// Builds the field that gives subscribers the counters after a message was posted or deleted.
pub(in crate::domain) fn update_change(counts: &Counts) -> Value {
    let last = counts.last_reply_at.unwrap_or(Time::NEVER);
    json!({ "thread_count": counts.threads, "message_count": counts.replies, "last_reply": last })
}

/// The message object, as events and deliveries carry it. It borrows from the message, so that a long text is copied only
/// into the event's body.
#[derive(Serialize)]
struct Object<'a> {
    action_type: &'a str,
    avatar_url: &'a str,
    channel_id: ChannelId,
    channels_id: ChannelId,
    content: &'a str,
    created_at: Time,
    email: &'a str,
    event_name: &'a str,
    full_name: &'a str,
    id: MessageId,
    mentions: &'a [Mention],
    message: &'a str,
    org_id: OrganisationId,
    status: &'a str,
    thread_id: MessageId,
    r#type: &'a str,
    updated_at: Time,
    user_id: String,
    username: &'a str,
}

fn object(message: &Message, organisation: OrganisationId) -> Object<'_> {
    Object {
        action_type: &message.action_type,
        avatar_url: &message.avatar_url,
        channel_id: message.channel,
        channels_id: message.channel,
        content: &message.content,
        created_at: message.created_at,
        email: &message.email,
        event_name: &message.event_name,
        full_name: &message.full_name,
        id: message.id,
        mentions: &message.mentions,
        message: &message.content,
        org_id: organisation,
        status: &message.status,
        thread_id: message.thread,
        r#type: &message.kind,
        updated_at: message.updated_at,
        user_id: author(message),
        username: &message.username,
    }
}

/// The member who has read the message because they wrote it. A feed counts as unread for its author, too, because a program
/// wrote it.
fn reader(message: &Message) -> Option<UserId> {
    message.user.filter(|_| message.kind != FED)
}

/// The author's identifier; empty for a feed without an author.
fn author(message: &Message) -> String {
    message.user.map_or_else(String::new, |user| user.to_string())
}
