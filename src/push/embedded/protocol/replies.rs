//! The messages that the server sends: replies and pushes.

use std::collections::HashMap;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use crate::time::Time;

/// A message to the client: the answer to a command under its `id`, a push (`id` 0), or a ping (an empty object).
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct Reply {
    #[prost(uint32, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub id: u32,
    #[prost(oneof = "Answer", tags = "2, 4, 5, 6, 9, 10, 11, 14, 15")]
    #[serde(flatten)]
    pub body: Option<Answer>,
}

#[derive(Clone, PartialEq, prost::Oneof, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    #[prost(message, tag = "2")]
    Error(ReplyError),
    #[prost(message, tag = "4")]
    Push(Push),
    #[prost(message, tag = "5")]
    Connect(ConnectResult),
    #[prost(message, tag = "6")]
    Subscribe(SubscribeResult),
    #[prost(message, tag = "7")]
    Unsubscribe(Empty),
    #[prost(message, tag = "9")]
    Presence(PresenceResult),
    #[prost(message, tag = "10")]
    PresenceStats(PresenceStatsResult),
    #[prost(message, tag = "11")]
    History(HistoryResult),
    #[prost(message, tag = "14")]
    Refresh(RefreshResult),
    #[prost(message, tag = "15")]
    SubRefresh(Expiry),
}

impl Reply {
    /// A ping, which is an empty message.
    pub const PING: Reply = Reply { id: 0, body: None };

    pub fn new(id: u32, body: Answer) -> Reply {
        Reply { id, body: Some(body) }
    }

    pub fn push(channel: &str, body: PushBody) -> Reply {
        Reply::new(0, Answer::Push(Push { channel: channel.to_owned(), body: Some(body) }))
    }

    /// A push of a publication. The body is JSON without line breaks, as serde_json writes it.
    pub fn publication(channel: &str, offset: i64, body: impl Into<Bytes>) -> Reply {
        Reply::push(channel, PushBody::Pub(Publication { data: body.into(), offset: offset as u64 }))
    }
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct ConnectResult {
    #[prost(string, tag = "1")]
    pub client: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(bool, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    #[prost(uint32, tag = "4")]
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
    #[prost(map = "string, message", tag = "6")]
    #[serde(skip_serializing_if = "HashMap::is_empty")]
    pub subs: HashMap<String, SubscribeResult>,
    /// The ping interval in seconds.
    #[prost(uint32, tag = "7")]
    #[serde(skip_serializing_if = "is_default")]
    pub ping: u32,
    #[prost(bool, tag = "8")]
    #[serde(skip_serializing_if = "is_default")]
    pub pong: bool,
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct SubscribeResult {
    #[prost(bool, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    #[prost(uint32, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
    #[prost(bool, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub recoverable: bool,
    #[prost(string, tag = "6")]
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
    #[prost(message, repeated, tag = "7")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub publications: Vec<Publication>,
    #[prost(bool, tag = "8")]
    #[serde(skip_serializing_if = "is_default")]
    pub recovered: bool,
    /// With `publications`, the offset in the request; otherwise the log's newest.
    #[prost(uint64, tag = "9")]
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    #[prost(bool, tag = "10")]
    #[serde(skip_serializing_if = "is_default")]
    pub positioned: bool,
    #[prost(bool, tag = "12")]
    #[serde(skip_serializing_if = "is_default")]
    pub was_recovering: bool,
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct Publication {
    #[prost(bytes = "bytes", tag = "4")]
    #[serde(serialize_with = "raw_json")]
    pub data: Bytes,
    #[prost(uint64, tag = "6")]
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
}

/// A connection, as presence, joins and leaves show it.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct ClientInfo {
    #[prost(string, tag = "1")]
    pub user: String,
    #[prost(string, tag = "2")]
    pub client: String,
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct PresenceResult {
    #[prost(map = "string, message", tag = "1")]
    pub presence: HashMap<String, ClientInfo>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct PresenceStatsResult {
    #[prost(uint32, tag = "1")]
    pub num_clients: u32,
    #[prost(uint32, tag = "2")]
    pub num_users: u32,
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct HistoryResult {
    #[prost(message, repeated, tag = "1")]
    pub publications: Vec<Publication>,
    #[prost(string, tag = "2")]
    pub epoch: String,
    #[prost(uint64, tag = "3")]
    pub offset: u64,
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct RefreshResult {
    #[prost(string, tag = "1")]
    pub client: String,
    #[prost(string, tag = "2")]
    pub version: String,
    #[prost(bool, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    #[prost(uint32, tag = "4")]
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
}

/// The lifetime of a token.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize)]
pub struct Expiry {
    #[prost(bool, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    /// Seconds until it expires.
    #[prost(uint32, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
}

impl Expiry {
    /// The lifetime of a token that expires at a time, in Unix seconds.
    pub fn from_end_time(end: i64, now: Time) -> Expiry {
        let left = end - now.unix_seconds();
        Expiry { expires: true, ttl: left.clamp(1, u32::MAX.into()) as u32 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
pub struct Empty {}

/// A message that answers no command.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct Push {
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub channel: String,
    #[prost(oneof = "PushBody", tags = "4, 5, 6, 7, 9, 10, 11, 12")]
    #[serde(flatten)]
    pub body: Option<PushBody>,
}

#[derive(Clone, PartialEq, prost::Oneof, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PushBody {
    #[prost(message, tag = "4")]
    Pub(Publication),
    #[prost(message, tag = "5")]
    Join(JoinLeave),
    #[prost(message, tag = "6")]
    Leave(JoinLeave),
    #[prost(message, tag = "7")]
    Unsubscribe(Ended),
    /// A server-side subscription has begun.
    #[prost(message, tag = "9")]
    Subscribe(Subscribed),
    /// Sent to clients that only listen, instead of the reply to `connect`.
    #[prost(message, tag = "10")]
    Connect(ConnectResult),
    /// Sent to clients that only listen, before the close.
    #[prost(message, tag = "11")]
    Disconnect(Ended),
    /// The connection expires at another time.
    #[prost(message, tag = "12")]
    Refresh(Expiry),
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct JoinLeave {
    #[prost(message, required, tag = "1")]
    pub info: ClientInfo,
}

#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct Subscribed {
    #[prost(bool, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub recoverable: bool,
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "is_default")]
    pub epoch: String,
    #[prost(uint64, tag = "5")]
    #[serde(skip_serializing_if = "is_default")]
    pub offset: u64,
    #[prost(bool, tag = "6")]
    #[serde(skip_serializing_if = "is_default")]
    pub positioned: bool,
}

/// The end of a subscription (here the code is field 2) or of a connection.
#[derive(Clone, PartialEq, prost::Message, Serialize)]
pub struct Ended {
    #[prost(uint32, tag = "2")]
    pub code: u32,
    #[prost(string, tag = "3")]
    pub reason: String,
}

/// An error in a reply. It doesn't end the connection.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub struct ReplyError {
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(string, tag = "2")]
    pub message: String,
    /// Whether the client may try again by itself.
    #[prost(bool, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub temporary: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Writes bytes that are JSON already, as `serde_json::value::RawValue` writes itself. To make one of those would check the bytes
/// once more for each receiver of a recovery.
fn raw_json<S: Serializer>(data: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    const RAW: &str = "$serde_json::private::RawValue";
    let text = std::str::from_utf8(data).map_err(serde::ser::Error::custom)?;
    let mut raw = serializer.serialize_struct(RAW, 1)?;
    raw.serialize_field(RAW, text)?;
    raw.end()
}
