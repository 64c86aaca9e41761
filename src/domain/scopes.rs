//! Scopes: what the token of a program may be used for. Each operation says in its handler's signature which scope opens it
//! (`api/http/auth.rs`). One that names none needs a session, which a person has: passwords, sessions, tokens, bots and
//! commands, and what makes or ends an organisation.
//!
//! A scope takes rights away and gives none: what its user may not do, a token may not do either.

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::Serialize;

use crate::{
    db::text_enum,
    error::{Code, Error, Result},
};

text_enum! {
    /// A part of the API that a token may be used for.
    #[derive(Serialize, PartialOrd, Ord, Hash)]
    #[serde(rename_all = "lowercase")]
    pub enum Scope {
        Read = "read",
        Post = "post",
        Channels = "channels",
        Members = "members",
        Webhooks = "webhooks",
        Content = "content",
    }
}

impl Scope {
    pub const ALL: [Scope; 6] = [Scope::Read, Scope::Post, Scope::Channels, Scope::Members, Scope::Webhooks, Scope::Content];

    const fn bit(self) -> i64 {
        1 << self as i64
    }

    /// What the scope opens, in a sentence.
    pub const fn description(self) -> &'static str {
        match self {
            Scope::Read => "Reads what the user can read, listens to live push, and marks as read.",
            Scope::Post => {
                "Posts, replies, edits, deletes, reacts and pins, opens direct messages, says what the user does now, and makes reminders."
            }
            Scope::Channels => "Makes, changes and ends channels, and decides who is in them.",
            Scope::Members => {
                "Invites, changes and removes members, and manages roles and the organisation's details. Invitations and join links outlive the token."
            }
            Scope::Webhooks => {
                "Manages the webhooks of channels, and so reads and posts there by a webhook, also after the token's end."
            }
            Scope::Content => "Publishes blogs, their categories and testimonials.",
        }
    }

    /// The words of a refusal for want of the scope.
    const fn lacking(self) -> &'static str {
        match self {
            Scope::Read => "The token lacks the scope read",
            Scope::Post => "The token lacks the scope post",
            Scope::Channels => "The token lacks the scope channels",
            Scope::Members => "The token lacks the scope members",
            Scope::Webhooks => "The token lacks the scope webhooks",
            Scope::Content => "The token lacks the scope content",
        }
    }
}

/// A set of scopes; the bits are those of `sessions.scopes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(i64);

impl Scopes {
    pub fn include(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    pub fn list(self) -> Vec<Scope> {
        Scope::ALL.into_iter().filter(|scope| self.include(*scope)).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<T: IntoIterator<Item = Scope>>(scopes: T) -> Self {
        Scopes(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl FromSql for Scopes {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(Scopes)
    }
}

impl ToSql for Scopes {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

/// What the token of a program needs for an operation. A session opens every operation.
#[derive(Clone, Copy, Debug)]
pub enum Need {
    /// No token opens the operation.
    Session,
    /// A token needs the scope. If the operation is not for one channel, a token for some channels does not open it.
    Scope { scope: Scope, is_for_one_channel: bool },
    /// Every token opens the operation, which checks the scope of each thing that it is asked for.
    AnyToken,
}

/// What a caller may use the API for, whatever their rights are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// Everything: a person has logged in.
    Session,
    /// The operations of some scopes; if `is_limited`, in some channels only.
    Token { scopes: Scopes, is_limited: bool },
}

impl Grant {
    /// Whether only some channels are open to the caller.
    pub fn is_channel_limited(self) -> bool {
        matches!(self, Grant::Token { is_limited: true, .. })
    }

    /// Checks that a token is what an operation needs: 403 if no token opens it, and as [`Grant::require_scope`].
    pub fn require(self, need: Need) -> Result<()> {
        match need {
            Need::Session if self != Grant::Session => {
                Err(Error::Forbidden(Code::SessionRequired, "A token can't be used for this: log in"))
            }
            Need::Scope { scope, is_for_one_channel } => self.require_scope(scope, is_for_one_channel),
            Need::Session | Need::AnyToken => Ok(()),
        }
    }

    /// Checks that a token has the scope: 403 if not, and if it is for some channels and what it is used for is not of one channel
    /// (`is_for_one_channel`).
    pub fn require_scope(self, scope: Scope, is_for_one_channel: bool) -> Result<()> {
        let Grant::Token { scopes, is_limited } = self else { return Ok(()) };
        if !scopes.include(scope) {
            return Err(Error::Forbidden(Code::ScopeMissing, scope.lacking()));
        }
        if is_limited && !is_for_one_channel {
            return Err(Error::Forbidden(Code::TokenLimited, "The token is for some channels only"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_found_by_its_number() {
        assert!(Scope::ALL.iter().enumerate().all(|(number, scope)| *scope as usize == number));
    }

    #[test]
    fn a_grant_opens_what_its_scopes_open_and_nothing_else() {
        let token = |scopes: &[Scope], is_limited| Grant::Token { scopes: scopes.iter().copied().collect(), is_limited };
        let [posting, searching] = [(Scope::Post, true), (Scope::Read, false)]
            .map(|(scope, is_for_one_channel)| Need::Scope { scope, is_for_one_channel });
        let code = |grant: Grant, need| grant.require(need).err().map(|error| error.code());
        assert_eq!(code(token(&[Scope::Post], true), posting), None);
        assert_eq!(code(token(&[Scope::Read, Scope::Channels], false), posting), Some(Code::ScopeMissing));
        assert_eq!(code(token(&Scope::ALL, false), Need::Session), Some(Code::SessionRequired));
        assert_eq!(code(token(&Scope::ALL, false), searching), None);
        assert_eq!(code(token(&Scope::ALL, true), searching), Some(Code::TokenLimited));
        assert_eq!(code(token(&[], true), Need::AnyToken), None);
        assert_eq!(code(Grant::Session, Need::Session), None);
        assert_eq!(token(&Scope::ALL, false), Grant::Token { scopes: Scopes(63), is_limited: false });
    }
}
