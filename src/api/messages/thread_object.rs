//! The thread object of answers.

use std::mem;

use poem_openapi::{Enum, Object};
use serde::Serialize;

use crate::{
    api::http::{
        listing::{BYTES, json_length},
        rows::Rows,
    },
    domain::messages::{
        record::{Message, Participant},
        thread_unreads::Unread,
        threads,
    },
};

/// A thread: its post, and its latest replies.
#[derive(Object, Serialize)]
pub struct Thread {
    #[oai(flatten)]
    #[serde(flatten)]
    post: Message,
    channel_name: String,
    /// Whether the caller follows the thread: from their first word or mention in it on, or since they asked to.
    is_followed: bool,
    /// The number of replies that the caller has not read; 0 unless they follow the thread.
    unread_count: i64,
    /// How many of these mention the caller by name.
    mention_count: i64,
    /// The newest reply that the caller has read; empty if there is none.
    last_read_id: String,
    /// The latest replies, oldest first; at most 256 KiB of them. `message_count` is the number of all.
    messages: Rows<Message>,
}

impl From<threads::Thread> for Thread {
    /// Drops the oldest replies beyond the number of bytes for a list.
    fn from(threads::Thread { root, channel, replies, unread }: threads::Thread) -> Self {
        Thread::new(root, channel, unread, latest(&replies, threads::REPLY_BYTES))
    }
}

impl Thread {
    fn new(post: Message, channel: threads::ChannelLabel, unread: Unread, messages: Rows<Message>) -> Thread {
        Thread {
            post,
            channel_name: channel.name,
            is_followed: unread.is_followed,
            unread_count: unread.replies,
            mention_count: unread.mentions,
            last_read_id: unread.last_read_id(),
            messages,
        }
    }
}

/// The latest of the replies, as many as take at most so many bytes.
fn latest(replies: &[Message], bytes: usize) -> Rows<Message> {
    let (mut newest_first, mut left) = (Rows::default(), bytes);
    for reply in replies.iter().rev() {
        let length = newest_first.push(reply);
        if length > left {
            newest_first.pop();
            break;
        }
        left -= length;
    }
    newest_first.reversed()
}

/// The kind of channel: `dm` is a direct message.
#[derive(Enum, Serialize)]
#[oai(rename_all = "lowercase")]
#[serde(rename_all = "lowercase")]
enum ChannelType {
    Public,
    Private,
    Dm,
}

/// A thread in the list of an organisation. Its `participants` are empty here, because existing clients show that field as a text;
/// `thread_participants` has them.
#[derive(Object, Serialize)]
pub struct OrganisationThread {
    #[oai(flatten)]
    #[serde(flatten)]
    thread: Thread,
    channel_type: ChannelType,
    /// The first three members who have replied, in the order of their first reply.
    thread_participants: Vec<Participant>,
    /// The post, then the replies of `messages`; empty if both lists together would exceed 1 MB.
    thread_messages: Rows<Message>,
}

impl OrganisationThread {
    /// Shows the post and its replies twice, within the bytes of an answer. Drops the oldest replies beyond that, and beyond
    /// the number of bytes for a list.
    pub(super) fn new(threads::Thread { mut root, channel, replies, unread }: threads::Thread) -> OrganisationThread {
        let thread_participants = mem::take(&mut root.participants);
        let channel_type = match (channel.is_dm, channel.is_private) {
            (true, _) => ChannelType::Dm,
            (false, true) => ChannelType::Private,
            (false, false) => ChannelType::Public,
        };
        let mut thread_messages = Rows::default();
        let length = thread_messages.push(&root);
        let mut thread = Thread::new(root, channel, unread, Rows::default());
        let left = BYTES.saturating_sub(json_length(&thread) + json_length(&thread_participants));
        let after_root = left.checked_sub(length);
        let bytes = after_root.map_or(left, |left| left / 2);
        thread.messages = latest(&replies, bytes.min(threads::REPLY_BYTES));
        match after_root {
            Some(_) => thread_messages.extend(&thread.messages),
            None => thread_messages.pop(),
        }
        OrganisationThread { thread, channel_type, thread_participants, thread_messages }
    }
}
