//! The answers and errors that all commands share.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::{
    domain::streams,
    error::{Error, Result},
    event::Stream,
    push::{
        context::Push,
        embedded::{codes::Failure, protocol::replies::ReplyError},
    },
};

/// Most commands in one request, and most channels in one broadcast.
pub(super) const MOST: usize = 1000;

pub(super) type Answer = Result<Box<RawValue>, Refused>;

/// Why a command was refused.
pub(super) enum Refused {
    /// The parameters can't be parsed.
    Unreadable,
    Failure(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Refused::Failure(failure)
    }
}

impl From<Error> for Refused {
    fn from(err: Error) -> Self {
        tracing::error!(err = err.log_text(), "a command of the server API failed");
        Refused::Failure(Failure::INTERNAL)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Reply {
    Result(Box<RawValue>),
    Error(ReplyError),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        let failure = match answer {
            Ok(result) => return Reply::Result(result),
            Err(Refused::Failure(failure)) => failure,
            Err(Refused::Unreadable) => Failure::BAD_REQUEST,
        };
        Reply::Error(ReplyError { temporary: false, ..failure.into() }) // this API has only code and message
    }
}

pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("replies are JSON")
}

pub(super) fn read<'a, T: Deserialize<'a>>(params: &'a str) -> Result<T, Refused> {
    serde_json::from_str(params).map_err(|_| Refused::Unreadable)
}

pub(super) fn result(value: &impl Serialize) -> Answer {
    Ok(to_raw_value(value).map_err(Error::internal)?)
}

/// The stream with a name; an error if there is none.
pub(super) fn stream(push: &Push, channel: &str) -> Result<Stream, Refused> {
    if channel.is_empty() {
        return Err(Failure::BAD_REQUEST.into());
    }
    Ok(push.db.read(|conn| streams::find(conn, channel))?.ok_or(Failure::UNKNOWN_CHANNEL)?)
}
