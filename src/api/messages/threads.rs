//! Threads: top-level posts with their replies.

use std::convert::identity;

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};

use serde::Serialize;

use super::{
    media::{self, Files, Media},
    pages::{self, Around},
    thread_object::{OrganisationThread, Thread},
};
use crate::{
    api::{
        http::{
            auth::{AccessToken, Bearer, IN_CHANNEL, POST, READ},
            body::{Body, Text, into_string},
            envelope::{Created, Success, created, ok},
            framework_traits::Null,
            listing::{
                self, Address, Bounds, Filled, Listed, Paged, Pagination, ShallowOffset, ShallowPage, Size, answer_list, fill,
                fill_in_two_steps_within, linked, paged_with_link,
            },
            number::Number,
            rows::Rows,
        },
        tags::Tag,
    },
    domain::{
        access::Caller,
        channels::marks::{self, Goal},
        messages::{
            deleting,
            lists::{List, Span},
            posting,
            record::Message,
            thread_unreads, threads,
        },
        page::Page,
        scopes::Grant,
    },
    error::{Error, Result},
    id::{ChannelId, MessageId, OrganisationId},
    state::App,
};

/// Threads on a page.
const PAGE: u32 = 50;
const LARGEST_PAGE: u32 = 200;
/// At most this many replies shown with each thread.
const MOST_REPLIES: u32 = 200;
/// The query with which existing clients mark a channel as read.
const MARKS_READ: [(&str, &str); 2] = [("page", "1"), ("limit", "1")];
/// A thread with its replies may be nearly half as long as an answer.
const BOUNDS: Bounds = Bounds { part: 4, ..Bounds::ANSWER };

pub struct Api;

#[OpenApi]
impl Api {
    /// List the threads of an organisation
    ///
    /// Lists the threads of the caller's channels, ordered by latest activity, each with its latest replies. With `mine=true`,
    /// it lists those that have replies and that the caller follows: they have started it, replied in it, are mentioned
    /// in it by name, have marked it unread or asked to follow it, and have not left it since.
    #[oai(
        path = "/threads/organisations/:org_id",
        method = "get",
        operation_id = "listOrganisationThreads",
        tag = "Tag::Threads"
    )]
    async fn list_all(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<ShallowPage>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<ShallowOffset>>,
        /// Up to 200; default 50.
        limit: Query<Option<Size>>,
        /// Replies shown with each thread: up to 200, or none for 0; default 5.
        messages: Query<Option<Replies>>,
        /// List only the threads that the caller follows.
        mine: Query<Option<bool>>,
        /// With `mine=true`, list only threads that were last active before this position, which the `Link` header gives.
        before: Query<Option<Position>>,
    ) -> Result<Listed<Rows<OrganisationThread>>> {
        let page = listing::requested_page(*page, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let replies = shown_replies(*messages);
        let (caller, id) = (caller.0, *org_id);
        if *mine == Some(true) {
            return own(&app, caller, id, before.map(|before| before.0.into()), page, replies, &address).await;
        }
        // A deep page is a slow read: it walks that far into the caller's channels.
        let read = app.read_slow_in_organisation(caller, id, move |conn| {
            let find = |page| threads::list_all(conn, caller, id, page);
            fill_in_two_steps_within(
                BOUNDS,
                page,
                find,
                |part| threads::load_list(conn, caller, part, replies),
                OrganisationThread::new,
            )
        });
        Ok(answer_list("Data retrieved successfully", read.await?, &address))
    }

    /// List the threads of a channel
    ///
    /// Lists threads, the newest post first, each with its latest replies. For members of the channel.
    ///
    /// With the query `page=1&limit=1`, exactly so, and the access token of a session, the request also marks the channel as
    /// read: existing clients have no other way. A cookie, a program's token and other parameters only read.
    #[oai(path = "/threads/channels/:channel_id", method = "get", operation_id = "listChannelThreads", tag = "Tag::Threads")]
    async fn list(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        token: AccessToken,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<ShallowPage>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<ShallowOffset>>,
        /// Up to 200; default 50.
        limit: Query<Option<Size>>,
        /// Replies shown with each thread: up to 200, or none for 0; default 5.
        messages: Query<Option<Replies>>,
    ) -> Result<Listed<Rows<Thread>>> {
        let page = listing::requested_page(*page, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let replies = shown_replies(*messages);
        let id = *channel_id;
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            let find = |page| threads::list(conn, caller.0, id, page);
            fill_in_two_steps_within(BOUNDS, page, find, |part| threads::load_list(conn, caller.0, part, replies), Thread::from)
        });
        let found = read.await?;
        if !token.0.is_empty() && caller.0.grant == Grant::Session && address.has_exactly(&MARKS_READ) {
            match app.db.write_in_steps(move |tx| marks::mark(tx, caller.0, id, Goal::End)).await {
                Ok(_) | Err(Error::Unavailable(..)) => {} // the list was asked for; the client marks again
                Err(err) => return Err(err),
            }
        }
        Ok(answer_list("Data retrieved successfully", found, &address))
    }

    /// Start a thread
    ///
    /// Posts a top-level message. With a `thread_id` that the client made, a repeated request posts nothing.
    #[oai(path = "/threads/:id", method = "post", operation_id = "createThread", tag = "Tag::Threads")]
    async fn create(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        /// The channel.
        #[oai(name = "id")]
        channel_id: Path<ChannelId>,
        body: Body<NewThread>,
    ) -> Result<Created<Thread>> {
        let NewThread { content, thread_id, files, media } = body.0;
        let files = media::wanted(files, media).unwrap_or_default();
        let new = posting::New { content: content.0, id: thread_id, files, ..posting::New::default() };
        let made = app
            .write_throttled(caller.0.share(), body.1, move |tx| threads::create_root_post(tx, caller.0, *channel_id, new))
            .await?;
        Ok(created("Thread created successfully", made.into()))
    }

    /// Read a thread
    ///
    /// Answers the thread with its latest replies; `message_count` is the number of all. For members of its channel.
    #[oai(path = "/threads/:id", method = "get", operation_id = "getThread", tag = "Tag::Threads")]
    async fn get(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        /// The thread.
        #[oai(name = "id")]
        thread_id: Path<MessageId>,
        /// Replies shown with the thread: up to 200; default 5.
        messages: Query<Option<Size>>,
    ) -> Result<Success<Thread>> {
        let replies = listing::capped_size(*messages, threads::REPLIES, MOST_REPLIES);
        let (caller, id) = (caller.0, *thread_id);
        let thread = app.db.read_bounded(caller.share(), move |conn| threads::get(conn, caller, id, replies)).await?;
        Ok(ok("Data retrieved successfully", thread.into()))
    }

    /// Mark a thread as read
    ///
    /// Marks the replies of a thread that the caller follows as read, up to a message or all of them, or with `unread_from` as
    /// unread from a message on. Whoever marks a thread unread follows it from then on. For members of the channel.
    #[oai(path = "/threads/:id/read", method = "put", operation_id = "markThreadRead", tag = "Tag::Threads")]
    async fn read(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        /// The thread.
        #[oai(name = "id")]
        thread_id: Path<MessageId>,
        body: Body<ThreadMark>,
    ) -> Result<Success<ThreadUnread>> {
        let (thread_id, goal) = (*thread_id, Goal::new(body.last_message_id, body.unread_from)?);
        let left = app.db.write_in_steps(move |tx| thread_unreads::mark(tx, caller.0, thread_id, goal)).await?;
        let (unread_count, mention_count, last_read_id) = (left.replies, left.mentions, left.last_read_id());
        Ok(ok("Thread marked as read successfully", ThreadUnread { thread_id, unread_count, mention_count, last_read_id }))
    }

    /// Follow a thread
    ///
    /// The thread is in the caller's list of threads, and its new replies count as unread. Whoever writes in a thread or is
    /// mentioned there follows it already. For members of the channel.
    #[oai(path = "/threads/:id/follow", method = "put", operation_id = "followThread", tag = "Tag::Threads")]
    async fn follow(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        /// The thread.
        #[oai(name = "id")]
        thread_id: Path<MessageId>,
    ) -> Result<Success<Followed>> {
        let thread_id = *thread_id;
        app.db.write(move |tx| thread_unreads::follow(tx, caller.0, thread_id, true)).await?;
        Ok(ok("Thread followed successfully", Followed { thread_id, is_followed: true }))
    }

    /// Leave a thread
    ///
    /// All of it counts as read, and so do later replies, until the caller follows it again: by asking to, by writing in it, or
    /// when somebody mentions them there. For members of the channel.
    #[oai(path = "/threads/:id/follow", method = "delete", operation_id = "leaveThread", tag = "Tag::Threads")]
    async fn leave(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
        app: Data<&App>,
        /// The thread.
        #[oai(name = "id")]
        thread_id: Path<MessageId>,
    ) -> Result<Success<Followed>> {
        let thread_id = *thread_id;
        app.db.write(move |tx| thread_unreads::follow(tx, caller.0, thread_id, false)).await?;
        Ok(ok("Thread left successfully", Followed { thread_id, is_followed: false }))
    }

    /// List a thread's replies
    ///
    /// Lists replies, newest first. `total_items` is the number of all. For members of the channel. A page around a reply links
    /// to what is newer as `prev`.
    #[oai(
        path = "/threads/:thread_id/channels/:channel_id",
        method = "get",
        operation_id = "listThreadReplies",
        tag = "Tag::Threads"
    )]
    async fn replies(
        &self,
        caller: Bearer<READ, IN_CHANNEL>,
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
        /// List only replies older than this one, instead of a `page`.
        before: Query<Option<MessageId>>,
        /// List only replies newer than this one, starting with the next; the thread's own id begins with the first reply.
        after: Query<Option<MessageId>>,
        /// List replies on both sides of this one, which is among them.
        around: Query<Option<MessageId>>,
    ) -> Result<Paged<Rows<Message>, Pagination>> {
        let is_numbered = page.is_some() || offset.is_some();
        let at = pages::requested_part(*before, *after, around.map(Around::Message))?;
        let page = listing::requested_page(*page, *offset, *limit, PAGE, LARGEST_PAGE).shallow()?;
        let (caller, channel, thread) = (caller.0, *channel_id, *thread_id);
        let read = app.db.read_bounded(caller.share(), move |conn| {
            let (list, total) = List::replies(conn, caller, channel, thread)?;
            let (rows, link) = match at.is_newest() && is_numbered {
                true => {
                    let Filled { data, rest } = fill(page, |part| list.read(conn, Span::ALL, part), identity)?;
                    (data, address.next_link(rest))
                }
                false => {
                    let (rows, links) = pages::read(conn, &list, at, page.size)?;
                    (rows, links.header(&address))
                }
            };
            Ok((rows, link, total))
        });
        let (rows, link, total) = read.await?;
        Ok(paged_with_link("Data retrieved successfully", rows, Pagination::new(page, total), link))
    }

    /// Change a thread
    ///
    /// Members with the right to post change the `status`; the author changes the `content`. Omitted fields stay as
    /// they are.
    #[oai(path = "/threads/:thread_id/channels/:channel_id", method = "put", operation_id = "updateThread", tag = "Tag::Threads")]
    async fn update(
        &self,
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        thread_id: Path<MessageId>,
        channel_id: Path<ChannelId>,
        body: Body<EditThread>,
    ) -> Result<Success<Thread>> {
        let edit = threads::Edit { content: into_string(body.0.content), status: into_string(body.0.status) };
        let edited = app
            .write_throttled(caller.0.share(), body.1, move |tx| threads::update(tx, caller.0, *channel_id, *thread_id, edit))
            .await?;
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
        caller: Bearer<POST, IN_CHANNEL>,
        app: Data<&App>,
        thread_id: Path<MessageId>,
        channel_id: Path<ChannelId>,
    ) -> Result<Success<Null>> {
        app.write_throttled(caller.0.share(), 0, move |tx| deleting::delete_thread(tx, caller.0, *channel_id, *thread_id))
            .await?;
        Ok(ok("Thread deleted successfully", Null))
    }
}

/// The number of replies shown with a thread.
type Replies = Number<0>;
/// A position in the order of all messages.
type Position = Number<1>;

fn shown_replies(asked: Option<Replies>) -> u32 {
    asked.map_or(threads::REPLIES, |asked| asked.0.min(MOST_REPLIES))
}

/// A page of the threads that the caller follows. It links to the next by the position of its last thread, so that
/// threads that become active meanwhile shift none.
async fn own(
    app: &App,
    caller: Caller,
    organisation: OrganisationId,
    before: Option<i64>,
    page: Page,
    replies: u32,
    address: &Address,
) -> Result<Listed<Rows<OrganisationThread>>> {
    let read = app.db.read_bounded(caller.share(), move |conn| {
        let mut positions = Vec::new();
        let find = |page| threads::list_own(conn, caller, organisation, before, page);
        let read = |part: Vec<(i64, threads::Root)>| {
            let (places, roots): (Vec<i64>, Vec<_>) = part.into_iter().unzip();
            positions.extend(places);
            threads::load_list(conn, caller, roots, replies)
        };
        let Filled { data, rest } = fill_in_two_steps_within(BOUNDS, page, find, read, OrganisationThread::new)?;
        let rest = rest.map(|_| positions[data.len() - 1]);
        Ok((data, rest))
    });
    let (data, rest) = read.await?;
    let link = rest.map(|last| address.link("next", "before", &last.to_string()));
    Ok(linked("Data retrieved successfully", data, link))
}

#[derive(Object)]
struct NewThread {
    /// The text; it may be empty beside files.
    content: Text<posting::Caption>,
    /// The thread's id: a UUID that the client makes.
    thread_id: Option<MessageId>,
    /// Files that the caller has uploaded, by their ids, up to ten.
    files: Option<Files>,
    /// The same, as objects: the form of some clients, and the one that says what each shows.
    media: Option<Media>,
}

#[derive(Object)]
struct ThreadMark {
    /// The last message of the thread that the caller read; its last reply if omitted. Does not move the mark back.
    last_message_id: Option<MessageId>,
    /// The first message of the thread that counts as unread again, instead of `last_message_id`.
    unread_from: Option<MessageId>,
}

/// What the caller has not read of a thread.
#[derive(Object, Serialize)]
struct ThreadUnread {
    thread_id: MessageId,
    /// The number of unread replies.
    unread_count: i64,
    /// How many of these mention the caller by name.
    mention_count: i64,
    /// The newest reply that the caller has read; empty if there is none.
    last_read_id: String,
}

#[derive(Object, Serialize)]
struct Followed {
    thread_id: MessageId,
    /// Whether the caller follows the thread.
    is_followed: bool,
}

#[derive(Object)]
struct EditThread {
    /// Shown as `current_status`.
    status: Option<Text<threads::Status>>,
    content: Option<Text<posting::Caption>>,
}
