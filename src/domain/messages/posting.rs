//! Posting by members: checks whether the caller may post, and gathers what writing the post needs.

use rusqlite::{Connection, Row};

use crate::{
    db::{Columns, Tx},
    domain::{
        access::{self, Caller},
        channels::marks,
        files::taking::{self, Wanted},
        messages::{
            action_buttons::{self, Actions},
            inserting::{self, id_taken},
            record::{self, Message, Profile},
            thread_members::Root,
        },
        text::{self, Rule},
    },
    error::{Error, Result},
    id::{ChannelId, MessageId, UserId},
};

text::rules! {
    pub Content: Rule::non_blank_text(40_000);
    /// The text beside files.
    pub Caption: Rule::text(40_000);
}

#[derive(Default)]
pub struct New {
    pub content: String,
    /// The thread to reply to; none for a top-level post.
    pub thread: Option<MessageId>,
    /// Identifier chosen by the client, by which a repeated request is recognised.
    pub id: Option<MessageId>,
    /// What can be clicked. For bots alone.
    pub actions: Vec<action_buttons::New>,
    /// Files that the author has uploaded.
    pub files: Vec<Wanted>,
}

/// Posts a message, which may be files alone. A post marks its channel as read for its author, and a reply its thread. For members
/// of the channel with the right to post. A repeat with the same `id`, author, channel and thread returns the first message and
/// changes nothing. 403 for a hidden or archived channel, 404 for an unknown thread, 422 for an invalid text, for files that can't be
/// taken, for actions of a person or of a bot without an address, and for an `id` that is taken.
pub fn create(tx: &mut Tx, caller: Caller, channel: ChannelId, new: New) -> Result<Message> {
    let access = access::require_poster(tx, caller, channel, access::HIDDEN_CHANNEL)?;
    let poster = Poster::find(tx, caller.user, new.id)?;
    // This check comes first: a repeat gets the same answer, even if the channel was archived or the thread deleted
    // meanwhile.
    if let (Some(id), Known::Message) = (new.id, poster.known) {
        let is_same = |first: &Message| {
            let thread = first.is_reply.then_some(first.thread);
            first.user == Some(caller.user) && first.channel == channel && thread == new.thread
        };
        return record::find(tx, id)?.filter(is_same).ok_or_else(id_taken);
    }
    access.require_live()?;
    let root = Root::find_if_any(tx, channel, new.thread)?;
    check_text(&new.content, !new.files.is_empty())?;
    if let Known::Stream = poster.known {
        return Err(id_taken());
    }
    let message = Message {
        username: access.username.unwrap_or_default(),
        content: new.content,
        actions: Actions::check_of_bot(tx, caller.user, &new.actions)?,
        media: taking::check(tx, caller, access.organisation, &new.files, &[])?,
        ..Message::new(new.id.unwrap_or_else(MessageId::new), channel, access.organisation, tx.now())
    };
    let message = inserting::write(tx, message.by(caller.user, poster.profile), root)?;
    if !message.is_reply {
        marks::mark_channel_read(tx, caller.user, channel)?;
    }
    Ok(message)
}

/// Checks the text of a message: one with files needs none.
pub(super) fn check_text(content: &str, has_files: bool) -> Result<()> {
    let checked = if has_files { Caption::check(content, "content") } else { Content::check(content, "content") };
    checked.map(drop).map_err(Error::Invalid)
}

/// Data that [`create`] needs besides the access check, read in one statement.
struct Poster {
    profile: Profile,
    known: Known,
}

/// The kind of record that already has the client's id for a new message.
#[derive(Clone, Copy)]
enum Known {
    Nothing,
    Message,
    /// A channel, an organisation or a user. A message's id names its thread's stream; with the id of another stream, its author
    /// could listen to that stream.
    Stream,
}

impl Poster {
    fn find(conn: &Connection, user: UserId, id: Option<MessageId>) -> Result<Poster> {
        let sql =
            "select u.first_name, u.last_name, u.email, u.avatar_url, u.is_bot, exists (select 1 from messages where id = ?2),
               exists (select 1 from channels where id = ?2) or exists (select 1 from organisations where id = ?2)
                 or exists (select 1 from users where id = ?2)
             from users u where u.id = ?1";
        let from_row = |row: &Row| {
            let mut columns = Columns::of_row(row);
            let profile = Profile::take(&mut columns)?;
            let known = match (columns.take()?, columns.take()?) {
                (true, _) => Known::Message,
                (false, true) => Known::Stream,
                (false, false) => Known::Nothing,
            };
            Ok(Poster { profile, known })
        };
        Ok(conn.prepare_cached(sql)?.query_row((user, id), from_row)?)
    }
}
