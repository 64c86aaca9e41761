//! Writing a new message of a member or a program: its row, mentions, counters and events. Nothing that was just written is
//! read back.

use crate::{
    db::Tx,
    domain::messages::{
        events,
        mentions::{self, Mention},
        record::{self, FED, Message, Profile},
    },
    error::{Error, OrConflict, Result},
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
    /// The thread to reply to, with the `n` of its top-level post; none for a top-level post.
    pub root: Option<(MessageId, i64)>,
    pub author: Author<'a>,
    pub username: String,
    pub content: String,
    /// The member whose unread counts the post does not change.
    pub actor: Option<UserId>,
}

/// Writes a message with its mentions and the counters that it changes, and announces it. 422 when the id is taken.
pub(in crate::domain) fn write(tx: &mut Tx, post: Post) -> Result<Message> {
    let (channel, actor) = (post.channel, post.actor);
    let mentions = mentions::find(tx, channel, &post.content)?;
    let message = insert(tx, post, mentions)?;
    mentions::record(tx, channel, message.n, &message.mentions)?;
    events::posted(tx, &message, actor)?;
    Ok(message)
}

/// Writes the message's row. Returns the record that [`record::find`] would read.
fn insert(tx: &Tx, post: Post, mentions: Vec<Mention>) -> Result<Message> {
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
        post.root.map(|(_, n)| n),
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
        thread: post.root.map_or(post.id, |(thread, _)| thread),
        is_reply: post.root.is_some(),
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
    Error::invalid("This message id is taken")
}
