//! The messages that a client sends.

use std::collections::HashMap;

use serde::{Deserialize, Deserializer};

use super::replies::Empty;

/// A command of the client.
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
    /// The server-side subscriptions to recover, by channel. A client without an SDK puts its subscription tokens here.
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
    /// 0 is a stream, the only type that this server has.
    #[prost(int32, tag = "15")]
    #[serde(deserialize_with = "or_zero")]
    pub r#type: i32,
}

impl SubscribeRequest {
    /// Whether the client asks for an error if its publications can't be recovered.
    pub fn rejects_unrecovered(&self) -> bool {
        self.flag & 2 != 0
    }
}

/// A request with only a channel.
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

/// A position in a stream.
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

/// The request of a command.
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
    /// The request's name in a command, and in metrics.
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

    /// Whether the answer may take milliseconds: it reads hundreds of rows, or lists a thousand clients.
    pub fn is_long(&self) -> bool {
        matches!(self, Request::Subscribe(_) | Request::History(_) | Request::Presence(_))
    }

    /// Whether the answer may have hundreds of kilobytes.
    pub fn has_large_answer(&self) -> bool {
        match self {
            Request::Subscribe(subscribe) => subscribe.recover,
            request => request.is_long(),
        }
    }
}

impl Command {
    /// The command's first request, in Centrifugo's order; `None` if the command has none.
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

/// Reads `null` as the zero value, as Centrifugo does.
fn or_zero<'de, T: Default + Deserialize<'de>, D: Deserializer<'de>>(value: D) -> Result<T, D::Error> {
    Option::deserialize(value).map(Option::unwrap_or_default)
}
