//! The one error type. Its status is a property of the variant, each refusal has a [`Code`], and `api/http/failure.rs` makes the
//! body.

mod code;

use std::{borrow::Cow, fmt, panic::Location};

pub use self::code::Code;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// 400: unreadable input, or refused input of an operation whose row has no 422.
    #[error("{0}")]
    BadRequest(Refusal),
    /// 401
    #[error("{1}")]
    Unauthorized(Code, &'static str),
    /// 403
    #[error("{1}")]
    Forbidden(Code, &'static str),
    /// 404, with one of the codes that say what is not found: their names are the words, too.
    #[error("{}", words(*.0))]
    NotFound(Code),
    /// 405
    #[error("This method is not allowed here")]
    MethodNotAllowed,
    /// 409: the request is meant for another user than its session's.
    #[error("This session is not of the user that Tidings-User names")]
    OtherUser,
    /// 422: readable input that is refused.
    #[error("{0}")]
    Invalid(Refusal),
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
    /// 429 for whoever has sent as many bytes as they may, with the words for who has done what, and the seconds as in `TooMany`.
    #[error("{0} as much as may be for now, try again in {1} seconds")]
    BytesUsedUp(&'static str, u64),
    /// 429 after too many wrong passwords of a network or for an account, with the seconds as in `TooMany`. The same whether
    /// there is such an account or not.
    #[error("Too many wrong passwords were tried. Try again in {0} seconds, or use a link by mail instead")]
    Guessed(u64),
    /// 503: overload, or a write whose outcome is unknown.
    #[error("{1}")]
    Unavailable(Code, &'static str),
    /// 409: an upload in pieces is not where the request takes it to be, or another request goes on with it.
    #[error("{0}")]
    UploadConflict(String),
    /// 412: the request is of another version of the protocol for uploads in pieces (tus 1.0, section Tus-Resumable).
    #[error("The header Tus-Resumable must be 1.0.0")]
    TusVersion,
    /// 507: the disk has less free space than files leave to everything else.
    #[error("The server's disk has no more room for files")]
    NoRoomForFiles,
    /// 500: a fault of ours, with the line that met it, or of a server that this one needs. The client is told nothing of it.
    #[error("internal server error")]
    Internal { source: Box<dyn std::error::Error + Send + Sync>, at: Option<&'static Location<'static>> },
    /// A failure of the server's start or of an administrator's command, in words for the administrator. It answers no request,
    /// so it has no code: a request that meets it is told nothing of it, as of `Internal`.
    #[error("{0}")]
    Failed(Cow<'static, str>),
}

/// Why input is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    /// The words for people.
    pub says: String,
    /// The field of the body, or the parameter, that is at fault.
    pub field: Option<String>,
    /// The bound that the input is past, for codes whose meaning mentions `limit`.
    pub limit: Option<u64>,
}

impl Code {
    /// Refuses input with this code, in these words.
    pub fn says(self, words: impl Into<String>) -> Refusal {
        Refusal { code: self, says: words.into(), field: None, limit: None }
    }
}

impl Refusal {
    /// Names the field or the parameter that is at fault.
    pub fn at(self, field: &str) -> Refusal {
        Refusal { field: Some(field.to_owned()), ..self }
    }

    /// Names the bound.
    pub fn with_limit(self, limit: impl TryInto<u64>) -> Refusal {
        Refusal { limit: limit.try_into().ok(), ..self }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.says)
    }
}

/// The name of a code as a sentence: `Channel not found`.
fn words(code: Code) -> String {
    let words = code.name().replace('_', " ");
    words[..1].to_uppercase() + &words[1..]
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

    pub fn failed(words: impl Into<Cow<'static, str>>) -> Self {
        Error::Failed(words.into())
    }

    /// The code of the answer.
    pub const fn code(&self) -> Code {
        match self {
            Error::BadRequest(refusal) | Error::Invalid(refusal) => refusal.code,
            Error::Unauthorized(code, _) | Error::Forbidden(code, _) | Error::Unavailable(code, _) | Error::NotFound(code) => {
                *code
            }
            Error::MethodNotAllowed => Code::MethodNotAllowed,
            Error::OtherUser => Code::OtherUser,
            Error::TooLarge(_) => Code::BodyTooLarge,
            Error::TooMany(_) => Code::RateLimited,
            Error::Unproved(_) => Code::RateLimitedUnverified,
            Error::MailsUsedUp(_) => Code::MailsUsedUp,
            Error::BytesUsedUp(..) => Code::BytesUsedUp,
            Error::Guessed(_) => Code::TooManyPasswords,
            Error::UploadConflict(_) => Code::UploadConflict,
            Error::TusVersion => Code::TusVersion,
            Error::NoRoomForFiles => Code::FilesDiskFull,
            Error::Internal { .. } | Error::Failed(_) => Code::InternalError,
        }
    }

    /// The error in the input, if that is why the request is refused.
    pub const fn as_input_refusal(&self) -> Option<&Refusal> {
        match self {
            Error::BadRequest(refusal) | Error::Invalid(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// The bound that the request is past.
    pub fn exceeded_limit(&self) -> Option<u64> {
        match self {
            Error::TooLarge(bytes) => Some(*bytes as u64),
            other => other.as_input_refusal()?.limit,
        }
    }

    /// The status of the answer (RFC 9110).
    pub const fn status(&self) -> u16 {
        match self {
            Error::BadRequest(_) => 400,
            Error::Unauthorized(..) => 401,
            Error::Forbidden(..) => 403,
            Error::NotFound(_) => 404,
            Error::MethodNotAllowed => 405,
            Error::OtherUser | Error::UploadConflict(_) => 409,
            Error::TusVersion => 412,
            Error::TooLarge(_) => 413,
            Error::Invalid(_) => 422,
            Error::TooMany(_) | Error::Unproved(_) | Error::MailsUsedUp(_) | Error::BytesUsedUp(..) | Error::Guessed(_) => 429,
            Error::Internal { .. } | Error::Failed(_) => 500,
            Error::Unavailable(..) => 503,
            Error::NoRoomForFiles => 507,
        }
    }

    /// The seconds after which to try again.
    pub const fn retry_after(&self) -> Option<u64> {
        match self {
            Error::TooMany(seconds)
            | Error::Unproved(seconds)
            | Error::MailsUsedUp(seconds)
            | Error::BytesUsedUp(_, seconds)
            | Error::Guessed(seconds) => Some(*seconds),
            Error::Unavailable(..) => Some(1),
            _ => None,
        }
    }

    /// The error and the line of the source that met it, for the log.
    pub fn log_text(&self) -> String {
        match self {
            Error::Internal { at: Some(at), .. } => format!("{} (at {at})", self.admin_detail()),
            other => other.admin_detail(),
        }
    }

    /// The error, for administrators.
    pub fn admin_detail(&self) -> String {
        match self {
            Error::Internal { source, .. } => source.to_string(),
            other => other.to_string(),
        }
    }
}

/// The first cause of an error. Those that it led to repeat the address, or say only that a connection failed.
pub fn root_cause(err: &dyn std::error::Error) -> String {
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
/// `insert(..).or_conflict(|| Error::Invalid(Code::EmailTaken.says("email already exists")))?`.
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
        self.0.extend(made.as_ref().err().map(Error::admin_detail));
    }

    /// The value, or `None` and one more fault.
    pub fn ok_or_collect<T>(&mut self, made: Result<T>) -> Option<T> {
        self.note(&made);
        made.ok()
    }

    /// Fails if there is a fault. The error has a line for each.
    pub fn into_result(self) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::failed(self.0.join("\n"))) }
    }
}
