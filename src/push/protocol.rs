//! The frames of the Centrifugo client protocol v2, JSON. No I/O.
//!
//! A WebSocket message holds one or more JSON objects, separated by line breaks. Fields at their zero
//! value are left out of replies.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::json;

/// One object from the client.
#[derive(Debug, Default, Deserialize)]
pub struct Command {
    #[serde(default)]
    pub id: u32,
    pub connect: Option<Connect>,
    pub subscribe: Option<Subscribe>,
    pub unsubscribe: Option<Unsubscribe>,
    publish: Option<IgnoredAny>,
    presence: Option<IgnoredAny>,
    presence_stats: Option<IgnoredAny>,
    history: Option<IgnoredAny>,
    rpc: Option<IgnoredAny>,
    send: Option<IgnoredAny>,
    refresh: Option<IgnoredAny>,
    sub_refresh: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
pub struct Connect {
    #[serde(default)]
    pub token: String,
    /// Of the raw client: a token for each channel.
    #[serde(default)]
    pub subs: HashMap<String, Token>,
}

#[derive(Debug, Default, Deserialize)]
pub struct Token {
    #[serde(default)]
    pub token: String,
}

#[derive(Debug, Default, Deserialize)]
pub struct Subscribe {
    #[serde(default)]
    pub channel: String,
    #[serde(default)]
    pub token: String,
}

#[derive(Debug, Default, Deserialize)]
pub struct Unsubscribe {
    #[serde(default)]
    pub channel: String,
}

/// What a command asks for, in the order in which the real server looks.
#[derive(Debug)]
pub enum Request {
    Connect(Connect),
    Subscribe(Subscribe),
    Unsubscribe(Unsubscribe),
    /// A feature that is switched off: error 108.
    Unavailable,
    /// Not allowed to any client: error 103.
    Publish,
    /// Not supported: the connection ends with 3508.
    Send,
    /// `{}`
    Pong,
}

impl Command {
    /// `{}`, the answer to a ping.
    pub fn is_pong(&self) -> bool {
        self.id == 0 && self.connect.is_none() && self.send.is_none()
    }

    /// None for an object that asks for nothing.
    pub fn request(self) -> Option<Request> {
        if let Some(connect) = self.connect {
            return Some(Request::Connect(connect));
        }
        if self.is_pong() {
            return Some(Request::Pong);
        }
        if let Some(subscribe) = self.subscribe {
            Some(Request::Subscribe(subscribe))
        } else if let Some(unsubscribe) = self.unsubscribe {
            Some(Request::Unsubscribe(unsubscribe))
        } else if self.publish.is_some() {
            Some(Request::Publish)
        } else if self.send.is_some() {
            Some(Request::Send)
        } else {
            let others = [&self.presence, &self.presence_stats, &self.history, &self.rpc, &self.refresh, &self.sub_refresh];
            others.iter().any(|other| other.is_some()).then_some(Request::Unavailable)
        }
    }
}

/// The commands of one WebSocket message. None when one is not a JSON object of the protocol, or there is none.
pub fn parse(frame: &str) -> Option<Vec<Command>> {
    let frame = frame.strip_suffix('\n').unwrap_or(frame);
    frame.split('\n').map(|line| serde_json::from_str(line).ok()).collect()
}

/// An error in a reply: the connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ReplyError {
    pub code: u16,
    pub message: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub temporary: bool,
}

impl ReplyError {
    const fn new(code: u16, message: &'static str) -> Self {
        ReplyError { code, message, temporary: false }
    }
    pub const INTERNAL: Self = ReplyError { temporary: true, ..Self::new(100, "internal server error") };
    pub const PERMISSION_DENIED: Self = Self::new(103, "permission denied");
    pub const ALREADY_SUBSCRIBED: Self = Self::new(105, "already subscribed");
    pub const LIMIT_EXCEEDED: Self = Self::new(106, "limit exceeded");
    pub const BAD_REQUEST: Self = Self::new(107, "bad request");
    pub const NOT_AVAILABLE: Self = Self::new(108, "not available");
    pub const TOKEN_EXPIRED: Self = Self::new(109, "token expired");
}

/// The end of a connection: the code and reason of the close frame. Clients come back unless the code
/// is 3500 to 3999; the reason is never empty, or they would all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disconnect {
    pub code: u16,
    pub reason: &'static str,
}

impl Disconnect {
    const fn new(code: u16, reason: &'static str) -> Self {
        Disconnect { code, reason }
    }
    pub const SHUTDOWN: Self = Self::new(3001, "shutdown");
    pub const INTERNAL: Self = Self::new(3004, "internal server error");
    pub const SLOW: Self = Self::new(3008, "slow");
    pub const NO_PONG: Self = Self::new(3012, "no pong");
    pub const INVALID_TOKEN: Self = Self::new(3500, "invalid token");
    pub const BAD_REQUEST: Self = Self::new(3501, "bad request");
    pub const STALE: Self = Self::new(3502, "stale");
    pub const FORCED: Self = Self::new(3503, "force disconnect");
    pub const CONNECTION_LIMIT: Self = Self::new(3504, "connection limit");
    pub const CHANNEL_LIMIT: Self = Self::new(3505, "channel limit");
    pub const INAPPROPRIATE_PROTOCOL: Self = Self::new(3506, "inappropriate protocol");
    pub const NOT_AVAILABLE: Self = Self::new(3508, "not available");
}

/// `unsubscribe` pushed because a right was lost; the client does not come back to the channel by itself.
const UNSUBSCRIBED_BY_SERVER: u16 = 2000;

/// The server's ping.
pub const PING: &str = "{}";

#[derive(Serialize)]
struct ConnectResult<'a> {
    client: String,
    version: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    subs: BTreeMap<&'a str, serde_json::Value>,
    ping: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pong: bool,
}

/// The reply to `connect`; without an `id` to the raw client, which sent none.
pub fn connected<'a>(id: u32, client: uuid::Uuid, subs: impl Iterator<Item = &'a str>, ping: u64, pong: bool) -> String {
    let subs = subs.map(|channel| (channel, json!({}))).collect();
    let result = ConnectResult { client: client.to_string(), version: env!("CARGO_PKG_VERSION"), subs, ping, pong };
    reply(id, "connect", &result)
}

/// A reply under the same key as the command.
pub fn reply(id: u32, key: &str, result: &impl Serialize) -> String {
    let result = serde_json::to_string(result).expect("results are plain data");
    match id {
        0 => format!(r#"{{"{key}":{result}}}"#),
        id => format!(r#"{{"id":{id},"{key}":{result}}}"#),
    }
}

pub fn error(id: u32, error: ReplyError) -> String {
    reply(id, "error", &error)
}

/// A publication of a JSON body (without line breaks, as serde_json writes it).
pub fn publication(channel: &str, offset: i64, body: &str) -> String {
    format!(r#"{{"push":{{"channel":"{channel}","pub":{{"data":{body},"offset":{offset}}}}}}}"#)
}

pub fn unsubscribed(channel: &str) -> String {
    format!(
        r#"{{"push":{{"channel":"{channel}","unsubscribe":{{"code":{UNSUBSCRIBED_BY_SERVER},"reason":"server unsubscribe"}}}}}}"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands_come_several_in_a_frame() {
        let commands = parse(
            "{\"id\":1,\"connect\":{\"token\":\"t\",\"new\":1}}\n{\"id\":2,\"subscribe\":{\"channel\":\"c\",\"flag\":1}}\n",
        )
        .unwrap();
        assert_eq!(commands.len(), 2);
        assert!(matches!(&commands[0].connect, Some(connect) if connect.token == "t"));
        assert!(parse("").is_none());
        assert!(parse("{}\n\n{}").is_none());
        assert!(parse("[]x").is_none());
        assert!(matches!(parse("{}").unwrap().remove(0).request(), Some(Request::Pong)));
        assert!(parse("{\"id\":3}").unwrap().remove(0).request().is_none());
    }

    #[test]
    fn zero_values_are_left_out() {
        assert_eq!(reply(5, "unsubscribe", &json!({})), r#"{"id":5,"unsubscribe":{}}"#);
        assert_eq!(error(5, ReplyError::PERMISSION_DENIED), r#"{"id":5,"error":{"code":103,"message":"permission denied"}}"#);
        let raw = connected(0, uuid::Uuid::nil(), std::iter::empty(), 25, false);
        assert!(raw.starts_with(r#"{"connect":{"client":"0000"#) && !raw.contains("pong") && !raw.contains("subs"), "{raw}");
    }

    proptest! {
        #[test]
        fn no_frame_makes_the_parser_panic(frame in ".*") {
            _ = parse(&frame).map(|commands| commands.into_iter().map(Command::request).count());
        }
    }
}
