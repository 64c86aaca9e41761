//! Messages of a channel, and read marks.

pub mod linked_message;
mod media;
mod message_object;
pub mod pages;
pub mod posted_actions;
pub mod reactions;
pub mod search;
mod thread_object;
pub mod threads;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use self::{
    media::{Files, Media},
    pages::{Around, Links},
    posted_actions::Actions,
};
use super::{
    http::{
        auth::{Bearer, IN_CHANNEL, POST, READ},
        body::{Body, Text},
        envelope::{Created, Success, created, ok},
        framework_traits::Null,
        json::Written,
        listing::{self, Address, BareListed, Size},
        rows::Rows,
    },
    tags::Tag,
};
use crate::{
    db::{Tx, View},
    domain::{
        channels::marks::{self, Goal},
        messages::{
            deleting, editing,
            lists::{self, List},
            posting,
            record::Message,
        },
    },
    error::Result,
    id::{ChannelId, MessageId},
    state::{App, newest_pages::NewestPage},
};

/// Messages on a page.
const PAGE: u32 = 50;
pub const LARGEST_PAGE: u32 = 200;

pub struct Api;

#[OpenApi]
impl Api {
    /// Post a message
    ///
    /// With a `thread_id`, the message is a reply. With an `id` that the client made, a repeated request answers the
    /// first message and posts nothing. `@username` and `@channel` mention. With `files`, which the
    /// caller has uploaded before, the text may be empty. Bots that have an address for clicks may post `actions`: buttons below the text.
    #[oai(path = "/channels/:channel_id/messages", method = "post", operation_id = "createMessage", tag = "Tag::Messages")]
    async fn create(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<NewMessage>,
    ) -> Result<Created<Message>> {
        let NewMessage { content, thread_id, id, actions, files, media } = body.0;
        let new = posting::New {
            content: content.0,
            thread: thread_id,
            id,
            actions: posted_actions::to_new_actions(actions),
            files: media::wanted(files, media).unwrap_or_default(),
        };
        let post = move |tx: &mut Tx| posting::create(tx, caller.0, *channel_id, new);
        let posted = app.write_throttled(caller.0.share(), body.1, post).await?;
        Ok(created("Message created successfully", posted))
    }

    /// Edit a message
    ///
    /// For the message's author only. Without a `message_id`, the request edits the caller's latest post in the
    /// channel, or, with a `thread_id`, their latest reply in that thread. Users whom only the new text mentions are
    /// told.
    #[oai(path = "/channels/:channel_id/messages", method = "put", operation_id = "updateMessage", tag = "Tag::Messages")]
    async fn edit(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<EditMessage>,
    ) -> Result<Success<Message>> {
        let EditMessage { content, message_id, thread_id, actions, files, media } = body.0;
        let actions = actions.map(|list| posted_actions::to_new_actions(Some(list)));
        let edit = editing::Edit {
            content: content.0,
            message: message_id,
            thread: thread_id,
            actions,
            files: media::wanted(files, media),
        };
        let edited =
            app.write_throttled(caller.0.share(), body.1, move |tx| editing::edit(tx, caller.0, *channel_id, &edit)).await?;
        Ok(ok("Message updated successfully", edited))
    }

    /// Delete a message
    ///
    /// For members of the channel: the message's author, the channel's owner, and holders of `manage:channels`. A post
    /// with replies stays in its place, without its text.
    #[oai(
        path = "/channels/:channel_id/messages/:message_id",
        method = "delete",
        operation_id = "deleteMessage",
        tag = "Tag::Messages"
    )]
    async fn delete(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        message_id: Path<MessageId>,
    ) -> Result<Success<Null>> {
        app.write_throttled(caller.0.share(), 0, move |tx| deleting::delete(tx, caller.0, *channel_id, *message_id)).await?;
        Ok(ok("Message deleted successfully", Null))
    }

    /// List a channel's messages
    ///
    /// Lists top-level posts, newest first. For members of the channel. A page around a message links to what is newer as
    /// `prev`.
    #[oai(path = "/channels/:channel_id/messages", method = "get", operation_id = "listMessages", tag = "Tag::Messages")]
    async fn list(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        address: Address,
        /// Up to 200; default 50. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
        /// List only messages older than this one.
        before: Query<Option<MessageId>>,
        /// List only messages newer than this one, starting with the next.
        after: Query<Option<MessageId>>,
        /// List messages on both sides of this one, which is among them; a reply stands for its post. `unread` stands for the
        /// first unread post, or for the newest if all are read.
        around: Query<Option<Around>>,
    ) -> Result<BareListed<MessageList>> {
        let (size, at) = (listing::capped_size(*limit, PAGE, LARGEST_PAGE), pages::requested_part(*before, *after, *around)?);
        let (caller, id) = (caller.0, *channel_id);
        let read = move |conn: &View| {
            let (messages, links) = pages::read(conn, &List::posts(conn, caller, id)?, at, size)?;
            Ok((Written::new(&MessageList { messages }).text, links))
        };
        let (text, links) = if at.is_newest() {
            let last_seq = move |conn: &View| lists::last_stream_seq(conn, caller, id);
            let read = move |conn: &View| {
                let (text, links) = read(conn)?;
                Ok(NewestPage { text, rest: links.next.map(|(_, last)| last) })
            };
            let page = app.newest.find_or_read(&app.db, caller.share(), (id, size), last_seq, read).await?;
            (page.text, Links { next: page.rest.map(|last| ("before", last)), newer: None })
        } else {
            app.db.read_bounded(caller.share(), read).await?
        };
        Ok(BareListed::Ok(Written::from_text(text), links.header(&address)))
    }

    /// Mark a channel as read
    ///
    /// Marks the channel as read, up to a message or entirely, or with `unread_from` as unread from a message on. Mentions in
    /// replies stay unread until their threads are read.
    #[oai(path = "/channels/:channel_id/read", method = "put", operation_id = "markChannelRead", tag = "Tag::Messages")]
    async fn read(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<ReadMark>,
    ) -> Result<Success<Unread>> {
        let (channel_id, goal) = (*channel_id, Goal::new(body.last_message_id, body.unread_from)?);
        let left = app.db.write_in_steps(move |tx| marks::mark(tx, caller.0, channel_id, goal)).await?;
        let (thread_count, mention_count, last_read_id) = (left.threads, left.mentions, left.last_read_id());
        let left = Unread { channel_id, thread_count, mention_count, last_read_id };
        Ok(ok("Channel marked as read successfully", left))
    }
}

#[derive(Object)]
struct NewMessage {
    /// The text; it may be empty beside files.
    content: Text<posting::Caption>,
    /// The thread to reply to.
    thread_id: Option<MessageId>,
    /// The message's id: a UUID that the client makes.
    id: Option<MessageId>,
    /// What can be clicked. For bots alone.
    actions: Option<Actions>,
    /// Files that the caller has uploaded, by their ids, up to ten.
    files: Option<Files>,
    /// The same, as objects: the form of some clients, and the one that says what each shows.
    media: Option<Media>,
}

#[derive(Object)]
struct EditMessage {
    /// The text; it may be empty beside files.
    content: Text<posting::Caption>,
    message_id: Option<MessageId>,
    thread_id: Option<MessageId>,
    /// What can be clicked from now on, or nothing for an empty list; as it was if omitted. For bots alone.
    actions: Option<Actions>,
    /// The files that the message shows from now on, by their ids, or none for an empty list; as they were if both lists are
    /// omitted. A file that is left out is gone.
    files: Option<Files>,
    /// The same, as objects.
    media: Option<Media>,
}

#[derive(Object)]
struct ReadMark {
    /// The last message that the caller read; the channel's last message if omitted. Does not move the mark back.
    last_message_id: Option<MessageId>,
    /// The first message that counts as unread again, instead of `last_message_id`.
    unread_from: Option<MessageId>,
}

/// The unread counts of a channel.
#[derive(Object, Serialize)]
struct Unread {
    channel_id: ChannelId,
    /// The number of unread top-level posts.
    thread_count: i64,
    /// The number of unread mentions, those in replies included.
    mention_count: i64,
    /// The newest top-level post that the caller has read; empty if there is none.
    last_read_id: String,
}

#[derive(Object, Serialize)]
struct MessageList {
    messages: Rows<Message>,
}
