//! Posting: whether a member may post, and what the post needs to be written.

use rusqlite::{Connection, Row};

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        channels::reading::{self, Counts},
        messages::{
            record::{self, Message, Profile, UNKNOWN_THREAD},
            writing::{self, Author, Post, id_taken},
        },
    },
    error::{Error, Result},
    id::{ChannelId, MessageId, UserId},
};

pub const CONTENT_MAX: usize = 40_000;
pub struct New {
    pub content: String,
    /// Makes it a reply to that thread.
    pub thread: Option<MessageId>,
    /// Made by the client, so that a repeated request is known for one.
    pub id: Option<MessageId>,
}

/// Members of the channel with the right to post. The same `id` by the same author in the same channel
/// and thread gives the first message again and changes nothing.
pub fn create(tx: &mut Tx, caller: Caller, channel: ChannelId, new: New) -> Result<Message> {
    let access = access::may_post(tx, caller, channel, access::HIDDEN_CHANNEL)?;
    let poster = Poster::find(tx, channel, caller.user, new.id)?;
    // First of all: a repeat is answered like the first time, whatever became of channel and thread.
    if let (Some(id), Known::Message) = (new.id, poster.known) {
        let is_same = |first: &Message| {
            let thread = first.is_reply.then_some(first.thread);
            first.user == Some(caller.user) && first.channel == channel && thread == new.thread
        };
        return record::find(tx, id)?.filter(is_same).ok_or_else(id_taken);
    }
    access.require_live()?;
    let root = match new.thread {
        None => None,
        Some(thread) => Some((thread, record::find_root(tx, channel, thread)?.ok_or(UNKNOWN_THREAD)?)),
    };
    check_content(&new.content)?;
    if let Known::Stream = poster.known {
        return Err(id_taken());
    }
    let post = Post {
        id: new.id.unwrap_or_else(MessageId::new),
        channel,
        organisation: access.organisation,
        root,
        author: Author::Member(caller.user, poster.profile),
        username: access.username.unwrap_or_default(),
        content: new.content,
    };
    let message = writing::write(tx, post)?;
    reading::mark_all(tx, caller.user, channel)?;
    if poster.unread != Counts::default() {
        reading::announce(tx, caller.user, channel, Counts::default())?;
    }
    Ok(message)
}

/// What [`create`] needs besides the access check, read in one statement.
struct Poster {
    profile: Profile,
    /// Before the post, which marks the channel as read.
    unread: Counts,
    known: Known,
}

/// What the client's id for a new message names already.
#[derive(Clone, Copy)]
enum Known {
    Nothing,
    Message,
    /// A channel or an organisation. A message's id names its thread's stream: one that is another stream's would let
    /// its author hear that stream.
    Stream,
}

impl Poster {
    fn find(conn: &Connection, channel: ChannelId, user: UserId, id: Option<MessageId>) -> Result<Poster> {
        let sql = format!(
            "select u.first_name, u.last_name, u.email, u.avatar_url, {},
               exists (select 1 from messages where id = ?3) as is_message,
               exists (select 1 from channels where id = ?3) or exists (select 1 from organisations where id = ?3) as is_stream
             from channel_members cm join channels c on c.id = cm.channel_id join users u on u.id = cm.user_id
             where cm.channel_id = ?1 and cm.user_id = ?2",
            reading::COUNTS
        );
        let from_row = |row: &Row| {
            let known = match (row.get("is_message")?, row.get("is_stream")?) {
                (true, _) => Known::Message,
                (false, true) => Known::Stream,
                (false, false) => Known::Nothing,
            };
            Ok(Poster { profile: Profile::from_row(row)?, unread: Counts::from_row(row)?, known })
        };
        Ok(conn.prepare_cached(&sql)?.query_row((channel, user, id), from_row)?)
    }
}

/// Not only white space, at most 40,000 characters.
pub fn check_content(content: &str) -> Result<()> {
    if content.trim().is_empty() {
        return Err(Error::invalid("a message must not be empty"));
    }
    if content.chars().count() > CONTENT_MAX {
        return Err(Error::invalid(format!("a message is longer than {CONTENT_MAX} characters")));
    }
    Ok(())
}
