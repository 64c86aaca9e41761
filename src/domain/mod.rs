//! The rules, with their SQL. Synchronous; knows neither HTTP nor the runtime.
//!
//! A function takes a connection (to read) or a [`crate::db::Tx`] (to write), the caller, and plain
//! values. The caller's right is checked here, inside the transaction that acts on it.

pub mod accounts;
mod bounded;
pub mod channels;
pub mod chores;
pub mod log;
pub mod messages;
pub mod organisations;
pub mod outbox;
pub mod page;
pub mod public;
pub mod streams;
pub mod text;
pub mod webhooks;

use crate::{
    error::Error,
    id::{SessionId, UserId},
};

/// What an account may do on the whole server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlatformRole {
    User,
    Admin,
    Superadmin,
}

impl PlatformRole {
    pub fn as_str(self) -> &'static str {
        match self {
            PlatformRole::User => "user",
            PlatformRole::Admin => "admin",
            PlatformRole::Superadmin => "superadmin",
        }
    }
}

impl rusqlite::types::FromSql for PlatformRole {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        Ok(match value.as_str()? {
            "superadmin" => PlatformRole::Superadmin,
            "admin" => PlatformRole::Admin,
            "user" => PlatformRole::User,
            _ => return Err(rusqlite::types::FromSqlError::InvalidType),
        })
    }
}

/// Who is calling, as read with the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    pub user: UserId,
    pub session: SessionId,
    pub role: PlatformRole,
}

impl Caller {
    /// 403 below the role.
    pub fn require(self, role: PlatformRole) -> Result<(), Error> {
        if self.role >= role { Ok(()) } else { Err(Error::Forbidden("You do not have permission to do this")) }
    }
}
