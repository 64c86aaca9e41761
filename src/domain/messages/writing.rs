//! Writing a new message of a member or a program: its row, mentions, counters and events. Nothing that was just written is
//! read back.

use crate::{
    db::Tx,
    domain::messages::{
        events,
        mentions::{self, Mention, Place},
        record::{self, FED, Message, Profile},
        thread_members::{self, Root},
    },
    error::{Code, Error, OrConflict, Result},
    id::{ChannelId, MessageId, OrganisationId, UserId},
};

/// The author of a new message.
pub(in crate::domain) enum Author<'a> {
    Member(UserId, Profile),
    /// A program, with the member whose bearer it sent, if it sent one. The name that it gives is only a label.
    Feed(Option<(UserId, Profile)>, Labels<'a>),
}

/// Additional fields that a feed's post shows.
#[derive(Default)]
pub(in crate::domain) struct Labels<'a> {
    pub event_name: &'a str,
    pub action_type: &'a str,
    pub avatar_url: &'a str,
    /// The result that the program reports: `success` or `error`.
    pub status: &'a str,
}

/// A message to be written, after all checks.
pub(in crate::domain) struct Post<'a> {
    pub id: MessageId,
    pub channel: ChannelId,
    pub organisation: OrganisationId,
    /// The thread to reply to; none for a top-level post.
    pub root: Option<Root>,
    pub author: Author<'a>,
    pub username: String,
    pub content: String,
}

/// Writes a message with its mentions and the counters that it changes, and announces it. 422 when the id is taken.
pub(in crate::domain) fn write(tx: &mut Tx, mut post: Post) -> Result<Message> {
    let (channel, root) = (post.channel, post.root.take());
    let mentions = mentions::find(tx, channel, &post.content)?;
    let message = insert(tx, post, root.as_ref(), mentions)?;
    let place = Place { channel, n: message.n, root: root.as_ref().map(|root| root.n) };
    mentions::record(tx, place, &message.mentions)?;
    let is_new_participant = match &root {
        Some(root) => thread_members::replied(tx, root, place, message.user, &message.mentions)?,
        None => false,
    };
    events::posted(tx, &message, is_new_participant)?;
    Ok(message)
}

/// Writes the message's row. Returns the record that [`record::find`] would read.
fn insert(tx: &Tx, post: Post, root: Option<&Root>, mentions: Vec<Mention>) -> Result<Message> {
    let (author, kind, labels) = match post.author {
        Author::Member(user, profile) => (Some((user, profile)), "message", Labels { status: "success", ..Labels::default() }),
        Author::Feed(author, labels) => (author, FED, labels),
    };
    let (user, profile) = author.unzip();
    let now = tx.now();
    // The select gives the number that `autoincrement` would give, because `active_n` of a new thread is that number, too:
    // setting it afterwards would write the row and its index twice.
    tx.prepare_cached(
        "insert into messages (n, id, channel_id, root, user_id, username, content, mentions, type, event_name, action_type,
           avatar_url, status, active_n, created_at, updated_at)
         select next.n, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, iif(?3 is null, next.n, 0), ?13, ?13
         from (select coalesce((select seq from sqlite_sequence where name = 'messages'), 0) + 1 as n) next",
    )?
    .execute((
        post.id,
        post.channel,
        root.map(|root| root.n),
        user,
        &post.username,
        &post.content,
        record::to_json(&mentions)?,
        kind,
        labels.event_name,
        labels.action_type,
        labels.avatar_url,
        labels.status,
        now,
    ))
    .or_conflict(id_taken)?;
    let profile = profile.unwrap_or_else(|| Profile { avatar_url: labels.avatar_url.into(), ..Profile::default() });
    Ok(Message {
        n: tx.last_insert_rowid(),
        id: post.id,
        channel: post.channel,
        organisation: post.organisation,
        thread: root.map_or(post.id, |root| root.id),
        is_reply: root.is_some(),
        user,
        username: post.username,
        full_name: profile.full_name,
        email: profile.email,
        avatar_url: profile.avatar_url,
        content: post.content,
        mentions,
        kind: kind.into(),
        event_name: labels.event_name.into(),
        action_type: labels.action_type.into(),
        status: labels.status.into(),
        current_status: record::PENDING.into(),
        reply_count: 0,
        last_reply_at: None,
        participant_count: 0,
        participants: Vec::new(),
        created_at: now,
        updated_at: now,
        is_edited: false,
        deleted_at: None,
        is_pinned: false,
        pin: None,
        reactions: Vec::new(),
    })
}

pub(super) fn id_taken() -> Error {
    Error::Invalid(Code::IdTaken.says("This message id is taken"))
}
