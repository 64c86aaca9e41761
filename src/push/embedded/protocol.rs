//! The messages of the Centrifugo client protocol v2. Each is one structure for both of its encodings, JSON and
//! Protobuf (the numbers are those of the protocol's schema); [`super::encoding`] reads and writes them. What this
//! server does not do (deltas, tag filters, maps) is left out: both encodings skip what they do not know.

use std::collections::HashMap;

use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::time::Time;

/// One object from the client.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct Command {
    #[prost(uint32, tag = "1")]
    #[serde(deserialize_with = "or_zero")]
    pub id: u32,
    #[prost(message, optional, tag = "4")]
    connect: Option<ConnectRequest>,
    #[prost(message, optional, tag = "5")]
    subscribe: Option<SubscribeRequest>,
    #[prost(message, optional, tag = "6")]
    unsubscribe: Option<ChannelRequest>,
    #[prost(message, optional, tag = "7")]
    publish: Option<ChannelRequest>,
    #[prost(message, optional, tag = "8")]
    presence: Option<ChannelRequest>,
    #[prost(message, optional, tag = "9")]
    presence_stats: Option<ChannelRequest>,
    #[prost(message, optional, tag = "10")]
    history: Option<HistoryRequest>,
    #[prost(message, optional, tag = "12")]
    send: Option<Empty>,
    #[prost(message, optional, tag = "13")]
    rpc: Option<Empty>,
    #[prost(message, optional, tag = "14")]
    refresh: Option<RefreshRequest>,
    #[prost(message, optional, tag = "15")]
    sub_refresh: Option<SubRefreshRequest>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct ConnectRequest {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "or_zero")]
    pub token: String,
    /// Of one's own server-side subscriptions to be recovered; the raw client puts its tokens in here.
    #[prost(map = "string, message", tag = "3")]
    #[serde(deserialize_with = "or_zero")]
    pub subs: HashMap<String, SubscribeRequest>,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct SubscribeRequest {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "or_zero")]
    pub channel: String,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "or_zero")]
    pub token: String,
    #[prost(bool, tag = "3")]
    #[serde(deserialize_with = "or_zero")]
    pub recover: bool,
    #[prost(string, tag = "6")]
    #[serde(deserialize_with = "or_zero")]
    pub epoch: String,
    #[prost(uint64, tag = "7")]
    #[serde(deserialize_with = "or_zero")]
    pub offset: u64,
    #[prost(bool, tag = "11")]
    #[serde(deserialize_with = "or_zero")]
    pub join_leave: bool,
    #[prost(int64, tag = "14")]
    #[serde(deserialize_with = "or_zero")]
    pub flag: i64,
    /// 0 is a stream, the only kind there is here.
    #[prost(int32, tag = "15")]
    #[serde(deserialize_with = "or_zero")]
    pub r#type: i32,
}

impl SubscribeRequest {
    /// Whether the client would rather be refused than miss something.
    pub fn rejects_unrecovered(&self) -> bool {
        self.flag & 2 != 0
    }
}

/// A request that says no more than which channel.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct ChannelRequest {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "or_zero")]
    pub channel: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct HistoryRequest {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "or_zero")]
    pub channel: String,
    #[prost(int32, tag = "7")]
    #[serde(deserialize_with = "or_zero")]
    pub limit: i32,
    #[prost(message, optional, tag = "8")]
    pub since: Option<Position>,
    #[prost(bool, tag = "9")]
    #[serde(deserialize_with = "or_zero")]
    pub reverse: bool,
}

/// A place in a stream.
#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct Position {
    #[prost(uint64, tag = "1")]
    #[serde(deserialize_with = "or_zero")]
    pub offset: u64,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "or_zero")]
    pub epoch: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct RefreshRequest {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "or_zero")]
    pub token: String,
}

#[derive(Clone, PartialEq, prost::Message, Deserialize)]
#[serde(default)]
pub struct SubRefreshRequest {
    #[prost(string, tag = "1")]
    #[serde(deserialize_with = "or_zero")]
    pub channel: String,
    #[prost(string, tag = "2")]
    #[serde(deserialize_with = "or_zero")]
    pub token: String,
}

/// What a command asks for.
#[derive(Debug)]
pub enum Request {
    Connect(ConnectRequest),
    Subscribe(SubscribeRequest),
    Unsubscribe(ChannelRequest),
    Publish(ChannelRequest),
    Presence(ChannelRequest),
    PresenceStats(ChannelRequest),
    History(HistoryRequest),
    Rpc,
    Send,
    Refresh(RefreshRequest),
    SubRefresh(SubRefreshRequest),
    /// The answer to a ping: `{}`.
    Pong,
}

impl Request {
    /// As it stands in a command.
    pub fn name(&self) -> &'static str {
        match self {
            Request::Connect(_) => "connect",
            Request::Subscribe(_) => "subscribe",
            Request::Unsubscribe(_) => "unsubscribe",
            Request::Publish(_) => "publish",
            Request::Presence(_) => "presence",
            Request::PresenceStats(_) => "presence_stats",
            Request::History(_) => "history",
            Request::Rpc => "rpc",
            Request::Send => "send",
            Request::Refresh(_) => "refresh",
            Request::SubRefresh(_) => "sub_refresh",
            Request::Pong => "pong",
        }
    }
}

impl Command {
    /// Looks in the order of the real server; `None` for an object that asks for nothing.
    pub fn request(self) -> Option<Request> {
        if let Some(connect) = self.connect {
            return Some(Request::Connect(connect));
        }
        if self.id == 0 && self.send.is_none() {
            return Some(Request::Pong);
        }
        None.or(self.subscribe.map(Request::Subscribe))
            .or(self.unsubscribe.map(Request::Unsubscribe))
            .or(self.publish.map(Request::Publish))
            .or(self.presence.map(Request::Presence))
            .or(self.presence_stats.map(Request::PresenceStats))
            .or(self.history.map(Request::History))
            .or(self.rpc.map(|_| Request::Rpc))
            .or(self.send.map(|_| Request::Send))
            .or(self.refresh.map(Request::Refresh))
            .or(self.sub_refresh.map(Request::SubRefresh))
    }
}

/// One object to the client: the answer to a command under its `id`, a push (`id` 0), or a ping (nothing at all).
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
    /// Nothing in it.
    pub const PING: Reply = Reply { id: 0, body: None };

    pub fn new(id: u32, body: Answer) -> Reply {
        Reply { id, body: Some(body) }
    }

    pub fn push(channel: &str, body: PushBody) -> Reply {
        Reply::new(0, Answer::Push(Push { channel: channel.to_owned(), body: Some(body) }))
    }

    /// A publication of a JSON body (without line breaks, as serde_json writes it).
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
    /// Seconds between pings.
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
    /// With `publications` the requested one, otherwise the log's newest.
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

/// Of a connection; as it stands in presence, joins and leaves.
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

/// Until when a token is good.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize)]
pub struct Expiry {
    #[prost(bool, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub expires: bool,
    /// Seconds.
    #[prost(uint32, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub ttl: u32,
}

impl Expiry {
    /// Of a token that ends at that time, in Unix seconds.
    pub fn at(end: i64, now: Time) -> Expiry {
        let left = end - now.unix_seconds();
        Expiry { expires: true, ttl: left.clamp(1, u32::MAX.into()) as u32 }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message, Serialize, Deserialize)]
pub struct Empty {}

/// What a client is told without having asked.
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
    /// A server-side subscription begins.
    #[prost(message, tag = "9")]
    Subscribe(Subscribed),
    /// To clients that only listen, in place of the reply to `connect`.
    #[prost(message, tag = "10")]
    Connect(ConnectResult),
    /// To clients that only listen, before the close.
    #[prost(message, tag = "11")]
    Disconnect(Ended),
    /// The connection was given another end.
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

/// An error in a reply: the connection goes on.
#[derive(Clone, PartialEq, Eq, prost::Message, Serialize)]
pub struct ReplyError {
    #[prost(uint32, tag = "1")]
    pub code: u32,
    #[prost(string, tag = "2")]
    pub message: String,
    /// The client may try again by itself.
    #[prost(bool, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub temporary: bool,
}

/// The real server takes `null` for whatever is zero.
fn or_zero<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(value: D) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Bytes that are JSON already.
fn raw_json<S: Serializer>(data: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
    let raw: &RawValue = serde_json::from_slice(data).map_err(serde::ser::Error::custom)?;
    raw.serialize(serializer)
}
