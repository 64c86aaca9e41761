//! The codes that clients act on: of errors in replies, of ended subscriptions, and of closed connections.

use std::borrow::Cow;

use serde::de::IgnoredAny;

use super::protocol::replies::{Ended, ReplyError};

/// The code and message of an error in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    pub code: u32,
    pub message: &'static str,
    temporary: bool,
}

impl Failure {
    const fn new(code: u32, message: &'static str) -> Self {
        Failure { code, message, temporary: false }
    }
    pub const INTERNAL: Self = Failure { temporary: true, ..Self::new(100, "internal server error") };
    pub const UNKNOWN_CHANNEL: Self = Self::new(102, "unknown channel");
    pub const PERMISSION_DENIED: Self = Self::new(103, "permission denied");
    pub const METHOD_NOT_FOUND: Self = Self::new(104, "method not found");
    pub const ALREADY_SUBSCRIBED: Self = Self::new(105, "already subscribed");
    pub const LIMIT_EXCEEDED: Self = Self::new(106, "limit exceeded");
    pub const BAD_REQUEST: Self = Self::new(107, "bad request");
    pub const NOT_AVAILABLE: Self = Self::new(108, "not available");
    pub const TOKEN_EXPIRED: Self = Self::new(109, "token expired");
    pub const EXPIRED: Self = Self::new(110, "expired");
    pub const TOO_MANY_REQUESTS: Self = Failure { temporary: true, ..Self::new(111, "too many requests") };
    pub const UNRECOVERABLE: Self = Self::new(112, "unrecoverable position");
}

impl From<Failure> for ReplyError {
    fn from(Failure { code, message, temporary }: Failure) -> Self {
        ReplyError { code, message: message.to_owned(), temporary }
    }
}

/// The code and reason of the close frame that ends a connection. Clients reconnect unless the code is 3500 to 3999. The
/// reason is never empty: with an empty one, they reconnect after any code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disconnect {
    pub code: u16,
    pub reason: Cow<'static, str>,
}

impl Disconnect {
    const fn new(code: u16, reason: &'static str) -> Self {
        Disconnect { code, reason: Cow::Borrowed(reason) }
    }
    /// A code and reason that another program chose. `None` if the code is not for applications (below 3000 or above 4999),
    /// or if the reason is empty, too long for a close frame, or JSON, which old clients parse as an instruction.
    pub fn custom(code: u16, reason: String) -> Option<Self> {
        let is_reason = (1..124).contains(&reason.len()) && serde_json::from_str::<IgnoredAny>(&reason).is_err();
        ((3000..5000).contains(&code) && is_reason).then(|| Disconnect { code, reason: reason.into() })
    }
    /// More than a stranger may send (RFC 6455, section 7.4.1).
    pub const POLICY: Self = Self::new(1008, "policy violation");
    pub const SHUTDOWN: Self = Self::new(3001, "shutdown");
    pub const INTERNAL: Self = Self::new(3004, "internal server error");
    pub const EXPIRED: Self = Self::new(3005, "connection expired");
    pub const SUBSCRIPTION_EXPIRED: Self = Self::new(3006, "subscription expired");
    pub const SLOW: Self = Self::new(3008, "slow");
    pub const INSUFFICIENT_STATE: Self = Self::new(3010, "insufficient state");
    pub const RECONNECT: Self = Self::new(3011, "force reconnect");
    pub const NO_PONG: Self = Self::new(3012, "no pong");
    pub const TOO_MANY_REQUESTS: Self = Self::new(3013, "too many requests");
    pub const INVALID_TOKEN: Self = Self::new(3500, "invalid token");
    pub const BAD_REQUEST: Self = Self::new(3501, "bad request");
    pub const STALE: Self = Self::new(3502, "stale");
    pub const FORCED: Self = Self::new(3503, "force disconnect");
    pub const CONNECTION_LIMIT: Self = Self::new(3504, "connection limit");
    pub const CHANNEL_LIMIT: Self = Self::new(3505, "channel limit");
    pub const NOT_AVAILABLE: Self = Self::new(3508, "not available");
    pub const TOO_MANY_ERRORS: Self = Self::new(3509, "too many errors");
}

impl From<Disconnect> for Ended {
    fn from(Disconnect { code, reason }: Disconnect) -> Self {
        Ended { code: code.into(), reason: reason.into_owned() }
    }
}

/// The code and reason of the end of a subscription. After a code below 2500, the client doesn't subscribe again by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsubscribe {
    code: u32,
    reason: &'static str,
}

impl Unsubscribe {
    /// The user has lost the right to the channel.
    pub const BY_SERVER: Self = Unsubscribe { code: 2000, reason: "server unsubscribe" };
    pub const EXPIRED: Self = Unsubscribe { code: 2501, reason: "subscription expired" };
}

impl From<Unsubscribe> for Ended {
    fn from(Unsubscribe { code, reason }: Unsubscribe) -> Self {
        Ended { code, reason: reason.to_owned() }
    }
}

/// How a command failed: with an error in its reply, or by ending the connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    Reply(Failure),
    Close(Disconnect),
}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        CommandError::Reply(failure)
    }
}

impl From<Disconnect> for CommandError {
    fn from(why: Disconnect) -> Self {
        CommandError::Close(why)
    }
}
