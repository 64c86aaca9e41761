//! Threads: top-level posts with their replies.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};

use super::message::{Mention, Reaction};
use crate::{
    api::{
        http::{
            auth::Bearer,
            body::{Body, Text, example, text},
            envelope::{Created, Gone, Success, created, ok},
            listing::{self, Address, Listed, Rows, ShallowOffset, ShallowPage, Size, fill, fill_up_to, json_length, listed},
        },
        tags::Tag,
    },
    domain::messages::{deleting, posting, record, threads},
    error::Result,
    id::{ChannelId, MessageId, OrganisationId},
    state::App,
    time::Time,
};

/// Threads on a page.
const PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;
/// At most this many replies shown with each thread.
const MOST_REPLIES: u32 = 200;

pub struct Api;

#[OpenApi]
impl Api {
    /// List the threads of an organisation
    ///
    /// Lists the threads of the caller's channels, ordered by latest activity, each with its latest replies.
    #[oai(
        path = "/threads/organisations/:org_id",
        method = "get",
        operation_id = "listOrganisationThreads",
        tag = "Tag::Threads"
    )]
    async fn list_all(
        &self,
        caller: Bearer,
        app: Data<&App>,
        #[oai(name = "org_id")] id: Path<OrganisationId>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<ShallowPage>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<ShallowOffset>>,
        /// Up to 200; default 50.
        limit: Query<Option<Size>>,
        /// Replies shown with each thread: up to 200; default 5.
        messages: Query<Option<Size>>,
    ) -> Result<Listed<Vec<Thread>>> {
        let page = listing::page(*page, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let replies = listing::size(*messages, threads::REPLIES, MOST_REPLIES);
        let (caller, id) = (caller.0, *id);
        // A deep page is a slow read: it walks that far into each of the caller's channels.
        let read = app.read_within(caller, id, move |conn| {
            fill(page, |part| threads::list_all(conn, caller, id, part, replies), Thread::shortened)
        });
        let Rows { rows, rest } = read.await?;
        Ok(listed("Data retrieved successfully", rows, address.rest(rest)))
    }

    /// List the threads of a channel
    ///
    /// Lists threads by latest activity, each with its latest replies. For members of the channel.
    #[oai(path = "/threads/channels/:channel_id", method = "get", operation_id = "listChannelThreads", tag = "Tag::Threads")]
    async fn list(
        &self,
        caller: Bearer,
        app: Data<&App>,
        #[oai(name = "channel_id")] id: Path<ChannelId>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<ShallowPage>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<ShallowOffset>>,
        /// Up to 200; default 50.
        limit: Query<Option<Size>>,
        /// Replies shown with each thread: up to 200; default 5.
        messages: Query<Option<Size>>,
    ) -> Result<Listed<Vec<Thread>>> {
        let page = listing::page(*page, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let replies = listing::size(*messages, threads::REPLIES, MOST_REPLIES);
        let id = *id;
        let read = app.db.read_list(caller.0.user, move |conn| {
            fill(page, |part| threads::list(conn, caller.0, id, part, replies), Thread::shortened)
        });
        let Rows { rows, rest } = read.await?;
        Ok(listed("Data retrieved successfully", rows, address.rest(rest)))
    }

    /// Start a thread
    ///
    /// Posts a top-level message. With a `thread_id` that the client made, a repeated request posts nothing.
    #[oai(path = "/threads/:id", method = "post", operation_id = "createThread", tag = "Tag::Threads")]
    async fn create(
        &self,
        caller: Bearer,
        app: Data<&App>,
        /// The channel.
        #[oai(name = "id")]
        channel_id: Path<ChannelId>,
        body: Body<NewThread>,
    ) -> Result<Created<Thread>> {
        let NewThread { content, thread_id } = body.0;
        let made = app.db.write_sized(body.1, move |tx| threads::create(tx, caller.0, *channel_id, content.0, thread_id)).await?;
        Ok(created("Thread created successfully", made.into()))
    }

    /// Read a thread
    ///
    /// Answers the thread with a page of its replies, oldest first; `message_count` is the number of all replies. For
    /// members of the channel.
    #[oai(
        path = "/threads/:thread_id/channels/:channel_id",
        method = "get",
        operation_id = "listThreadReplies",
        tag = "Tag::Threads"
    )]
    async fn get(
        &self,
        caller: Bearer,
        app: Data<&App>,
        thread_id: Path<MessageId>,
        channel_id: Path<ChannelId>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<ShallowPage>>,
        /// Replies to skip, instead of `page`.
        offset: Query<Option<ShallowOffset>>,
        /// Replies on a page: up to 200; default 50.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Thread>> {
        let page = listing::page(*page, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let (caller, channel, thread) = (caller.0, *channel_id, *thread_id);
        let read = app.db.read_list(caller.user, move |conn| {
            let found = Thread::from(threads::get(conn, caller, channel, thread)?);
            let left = listing::BYTES.saturating_sub(json_length(&found));
            let replies = fill_up_to(left, page, |part| threads::replies(conn, caller, channel, thread, part), Reply::from)?;
            Ok((Thread { messages: replies.rows, ..found }, replies.rest))
        });
        let (thread, rest) = read.await?;
        Ok(listed("Data retrieved successfully", thread, address.rest(rest)))
    }

    /// Change a thread
    ///
    /// Members with the right to post change the `status`; the author changes the `content`. Omitted fields stay as
    /// they are.
    #[oai(path = "/threads/:thread_id/channels/:channel_id", method = "put", operation_id = "updateThread", tag = "Tag::Threads")]
    async fn update(
        &self,
        caller: Bearer,
        app: Data<&App>,
        thread_id: Path<MessageId>,
        channel_id: Path<ChannelId>,
        body: Body<EditThread>,
    ) -> Result<Success<Thread>> {
        let edit = threads::Edit { content: text(body.0.content), status: text(body.0.status) };
        let edited = app.db.write_sized(body.1, move |tx| threads::update(tx, caller.0, *channel_id, *thread_id, edit)).await?;
        Ok(ok("Thread updated successfully", edited.into()))
    }

    /// Delete a thread's post
    ///
    /// Works like `DELETE /channels/{channel_id}/messages/{message_id}`: a post with replies stays in its place,
    /// without its text.
    #[oai(
        path = "/threads/:thread_id/channels/:channel_id",
        method = "delete",
        operation_id = "deleteThread",
        tag = "Tag::Threads"
    )]
    async fn delete(
        &self,
        caller: Bearer,
        app: Data<&App>,
        thread_id: Path<MessageId>,
        channel_id: Path<ChannelId>,
    ) -> Result<Gone> {
        app.db.write(move |tx| deleting::delete_thread(tx, caller.0, *channel_id, *thread_id)).await?;
        Ok(Gone::NoContent)
    }
}

#[derive(Object)]
#[oai(example)]
struct NewThread {
    content: Text<posting::Content>,
    /// The thread's id: a UUID that the client makes.
    thread_id: Option<MessageId>,
}
example!(NewThread, { "content": "The engine has arrived, @grace" });

#[derive(Object)]
#[oai(example)]
struct EditThread {
    /// Shown as `current_status`.
    status: Option<Text<threads::Status>>,
    content: Option<Text<posting::Content>>,
}
example!(EditThread, { "status": "completed" });

#[derive(Object)]
struct Thread {
    thread_id: MessageId,
    channels_id: ChannelId,
    channel_name: String,
    /// Set by a webhook's feed; otherwise empty.
    event_name: String,
    /// Set by a webhook's feed; otherwise empty.
    action_type: String,
    /// `success` or `error`.
    status: String,
    /// `pending` or `completed`.
    current_status: String,
    /// `thread` for a fed post, `message` for a member's post.
    #[oai(rename = "type")]
    kind: String,
    /// The author's id; empty for a feed without a bearer.
    user_id: String,
    /// The author's name in the channel, or the name that a feed set.
    username: String,
    /// The author's; empty for a feed without a bearer.
    full_name: String,
    /// The author's; empty for a feed without a bearer.
    email: String,
    /// The author's picture, or the one that a feed without a bearer set.
    avatar_url: String,
    content: String,
    /// The same as `content`.
    message: String,
    mentions: Vec<Mention>,
    edited: bool,
    pinned: bool,
    reactions: Vec<Reaction>,
    /// The latest replies, oldest first; in lists, at most 256 KiB of them.
    messages: Vec<Reply>,
    /// The number of all replies.
    message_count: i64,
    /// When the latest reply was posted; `0001-01-01T00:00:00Z` if there is none.
    last_reply: Time,
    created_at: Time,
    updated_at: Time,
    deleted_at: Time,
}

impl From<threads::Thread> for Thread {
    fn from(threads::Thread { root, channel_name, replies }: threads::Thread) -> Self {
        Thread {
            thread_id: root.id,
            channels_id: root.channel,
            channel_name,
            event_name: root.event_name,
            action_type: root.action_type,
            status: root.status,
            current_status: root.current_status,
            kind: root.kind,
            user_id: root.user.map_or_else(String::new, |user| user.to_string()),
            username: root.username,
            full_name: root.full_name,
            email: root.email,
            avatar_url: root.avatar_url,
            message: root.content.clone(),
            content: root.content,
            mentions: root.mentions.into_iter().map(Mention::from).collect(),
            edited: root.is_edited,
            pinned: root.is_pinned,
            reactions: root.reactions.into_iter().map(Reaction::from).collect(),
            messages: replies.into_iter().map(Reply::from).collect(),
            message_count: root.reply_count,
            last_reply: root.last_reply_at.unwrap_or(Time::NEVER),
            created_at: root.created_at,
            updated_at: root.updated_at,
            deleted_at: root.deleted_at.unwrap_or(Time::NEVER),
        }
    }
}

impl Thread {
    /// Drops the oldest replies beyond the number of bytes for a list.
    fn shortened(thread: threads::Thread) -> Thread {
        let mut thread = Thread::from(thread);
        let mut left = threads::REPLY_BYTES;
        let fits = |reply: &&Reply| {
            let length = json_length(*reply);
            let fits = length <= left;
            left = left.saturating_sub(length);
            fits
        };
        let kept = thread.messages.iter().rev().take_while(fits).count();
        thread.messages.drain(..thread.messages.len() - kept);
        thread
    }
}

/// A message inside a thread.
#[derive(Object)]
struct Reply {
    id: MessageId,
    thread_id: MessageId,
    channels_id: ChannelId,
    content: String,
    user_id: String,
    username: String,
    full_name: String,
    email: String,
    avatar_url: String,
    mentions: Vec<Mention>,
    edited: bool,
    pinned: bool,
    reactions: Vec<Reaction>,
    created_at: Time,
    updated_at: Time,
}

impl From<record::Message> for Reply {
    fn from(message: record::Message) -> Self {
        Reply {
            id: message.id,
            thread_id: message.thread,
            channels_id: message.channel,
            content: message.content,
            user_id: message.user.map_or_else(String::new, |user| user.to_string()),
            username: message.username,
            full_name: message.full_name,
            email: message.email,
            avatar_url: message.avatar_url,
            mentions: message.mentions.into_iter().map(Mention::from).collect(),
            edited: message.is_edited,
            pinned: message.is_pinned,
            reactions: message.reactions.into_iter().map(Reaction::from).collect(),
            created_at: message.created_at,
            updated_at: message.updated_at,
        }
    }
}
