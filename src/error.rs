//! The one error type. Its status is a property of the variant; `api/http/envelope.rs` makes the body.

use std::panic::Location;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 400: unreadable input, or refused input of an operation whose row has no 422.
    #[error("{0}")]
    BadRequest(String),
    /// 401
    #[error("{0}")]
    Unauthorized(&'static str),
    /// 403
    #[error("{0}")]
    Forbidden(&'static str),
    /// 404: names the kind of record that is not there.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// 405
    #[error("This method is not allowed here")]
    MethodNotAllowed,
    /// 409: the request is meant for another user than its session's.
    #[error("This session is not of the user that Tidings-User names")]
    OtherUser,
    /// 422: readable input that is refused.
    #[error("{0}")]
    Invalid(String),
    /// 413
    #[error("The request body is larger than {0} bytes")]
    TooLarge(usize),
    /// 429, with the seconds after which to try again.
    #[error("Too many requests, try again in {0} seconds")]
    TooMany(u64),
    /// 429 for an account that could do more at once if it proved its mailbox, with the seconds as in `TooMany`.
    #[error("Verify your e-mail address while logged in to send more invitations today, or try again in {0} seconds")]
    Unproved(u64),
    /// 429 for a network that had as many links mailed as it may, with the seconds as in `TooMany`.
    #[error("Your network has requested as many mails as it may for now, try again in {0} seconds")]
    MailsUsedUp(u64),
    /// 429 after too many wrong passwords of a network or for an account, with the seconds as in `TooMany`. The same whether
    /// there is such an account or not.
    #[error("Too many wrong passwords were tried. Try again in {0} seconds, or use a link by mail instead")]
    Guessed(u64),
    /// 503: overload, or a write whose outcome is unknown.
    #[error("{0}")]
    Unavailable(&'static str),
    /// 500: a fault of ours, with the line that met it, or of a server that this one needs. The client is told nothing of it.
    #[error("internal server error")]
    Internal { source: Box<dyn std::error::Error + Send + Sync>, at: Option<&'static Location<'static>> },
}

impl Error {
    #[track_caller]
    pub fn internal(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Error::Internal { source: source.into(), at: Some(Location::caller()) }
    }

    /// A failure of a server that this one needs. It has no line of the source: nothing is wrong with this one.
    pub fn outage(reason: &'static str) -> Self {
        Error::Internal { source: reason.into(), at: None }
    }

    pub fn bad_request(message: impl Into<String>) -> Self {
        Error::BadRequest(message.into())
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Error::Invalid(message.into())
    }

    /// The status of the answer (RFC 9110).
    pub const fn status(&self) -> u16 {
        match self {
            Error::BadRequest(_) => 400,
            Error::Unauthorized(_) => 401,
            Error::Forbidden(_) => 403,
            Error::NotFound(_) => 404,
            Error::MethodNotAllowed => 405,
            Error::OtherUser => 409,
            Error::TooLarge(_) => 413,
            Error::Invalid(_) => 422,
            Error::TooMany(_) | Error::Unproved(_) | Error::MailsUsedUp(_) | Error::Guessed(_) => 429,
            Error::Internal { .. } => 500,
            Error::Unavailable(_) => 503,
        }
    }

    /// What went wrong and the line of the source that met it, for the log.
    pub fn detail(&self) -> String {
        match self {
            Error::Internal { at: Some(at), .. } => format!("{} (at {at})", self.reason()),
            other => other.reason(),
        }
    }

    /// What went wrong, for administrators.
    pub fn reason(&self) -> String {
        match self {
            Error::Internal { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }
}

/// The first cause of an error. Those that it led to repeat the address, or say only that a connection failed.
pub fn root(err: &dyn std::error::Error) -> String {
    std::iter::successors(Some(err), |err| err.source()).last().unwrap_or(err).to_string()
}

/// An error with its causes. That of an HTTP client says by itself only that the request failed.
pub fn chain(err: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(err.source(), |err| err.source());
    causes.fold(err.to_string(), |text, cause| format!("{text}: {cause}"))
}

impl From<rusqlite::Error> for Error {
    #[track_caller] // so that the log names the line of the `?`
    fn from(err: rusqlite::Error) -> Self {
        Error::internal(err)
    }
}

/// Turns the violation of a UNIQUE constraint into the error that the caller should see:
/// `insert(..).or_conflict(|| Error::invalid("email already exists"))?`.
pub trait OrConflict<T> {
    fn or_conflict(self, make: impl FnOnce() -> Error) -> Result<T>;
}

impl<T> OrConflict<T> for rusqlite::Result<T> {
    #[track_caller]
    fn or_conflict(self, make: impl FnOnce() -> Error) -> Result<T> {
        use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
        match self {
            Ok(value) => Ok(value),
            Err(err) => match err.sqlite_error().map(|e| e.extended_code) {
                Some(SQLITE_CONSTRAINT_UNIQUE | SQLITE_CONSTRAINT_PRIMARYKEY) => Err(make()),
                _ => Err(err.into()),
            },
        }
    }
}

/// Gathers what is wrong with several things, so that one run tells all of it.
#[derive(Default)]
pub struct Faults(Vec<String>);

impl Faults {
    pub fn add(&mut self, fault: String) {
        self.0.push(fault);
    }

    pub fn note<T>(&mut self, made: &Result<T>) {
        self.0.extend(made.as_ref().err().map(Error::reason));
    }

    /// The value, or `None` and one more fault.
    pub fn keep<T>(&mut self, made: Result<T>) -> Option<T> {
        self.note(&made);
        made.ok()
    }

    /// Fails if there is a fault. The error has a line for each.
    pub fn end(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::bad_request(self.0.join("\n"))) }
    }
}
