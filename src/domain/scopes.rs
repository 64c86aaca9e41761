//! Scopes: what the token of a program may be used for. A table says which operations a scope opens. An operation that is in no
//! scope needs a session, which a person has: passwords, sessions, tokens, bots and commands, and what makes or
//! ends an organisation.
//!
//! A scope takes rights away and gives none: what its user may not do, a token may not do either.

use std::{collections::HashMap, sync::LazyLock};

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

    /// The operations that the scope opens, by method and path.
    pub const fn operations(self) -> &'static [&'static str] {
        match self {
            Scope::Read => READ,
            Scope::Post => POST,
            Scope::Channels => CHANNELS,
            Scope::Members => MEMBERS,
            Scope::Webhooks => WEBHOOKS,
            Scope::Content => CONTENT,
        }
    }
}

const READ: &[&str] = &[
    "GET /profile",
    "GET /users/me",
    "GET /start",
    "GET /token/connection",
    "POST /token/subscription",
    "GET /users/organisations",
    "GET /organisations/{org_id}",
    "GET /organisations/slug/{slug}",
    "GET /organisations/{org_id}/users",
    "GET /organisations/{org_id}/users/search",
    "GET /organisations/{org_id}/metrics",
    "GET /organisations/{org_id}/bots",
    "GET /organisations/{org_id}/commands",
    "GET /permissions",
    "GET /organisations/{org_id}/roles",
    "GET /organisations/{org_id}/roles/{role_id}",
    "GET /organisations/{org_id}/channels",
    "GET /organisations/{org_id}/user-channels",
    "GET /organisations/{org_id}/user-not-channels",
    "GET /organisations/{org_id}/channels/archived",
    "GET /organisations/{org_id}/dms",
    "GET /organisations/{org_id}/dms/visible",
    "GET /organisations/{org_id}/search",
    "GET /reminders",
    "GET /channels",
    "GET /channels/{channel_id}",
    "GET /channels/name/{channel_name}",
    "GET /channels/{channel_id}/user-exist",
    "GET /channels/{channel_id}/num-users",
    "GET /channels/{channel_id}/users",
    "GET /channels/{channel_id}/messages",
    "PUT /channels/{channel_id}/read",
    "GET /channels/{channel_id}/pins",
    "GET /messages/{message_id}",
    "GET /threads/organisations/{org_id}",
    "GET /threads/channels/{channel_id}",
    "GET /threads/{thread_id}/channels/{channel_id}",
    "GET /threads/{id}",
    "PUT /threads/{id}/read",
];

const POST: &[&str] = &[
    "POST /channels/{channel_id}/messages",
    "PUT /channels/{channel_id}/messages",
    "DELETE /channels/{channel_id}/messages/{message_id}",
    "PUT /channels/{channel_id}/messages/{message_id}/reactions/{emoji}",
    "DELETE /channels/{channel_id}/messages/{message_id}/reactions/{emoji}",
    "PUT /channels/{channel_id}/messages/{message_id}/pin",
    "DELETE /channels/{channel_id}/messages/{message_id}/pin",
    "POST /reactions/{channel_id}",
    "POST /channels/pin/{channel_id}/thread",
    "DELETE /channels/pin/{channel_id}/thread/{thread_id}",
    "DELETE /channels/pin/{channel_id}/message/{message_id}",
    "POST /channels/{channel_id}/commands",
    "POST /channels/{channel_id}/messages/{message_id}/actions/{action_id}",
    "POST /threads/{id}",
    "PUT /threads/{thread_id}/channels/{channel_id}",
    "DELETE /threads/{thread_id}/channels/{channel_id}",
    "POST /organisations/{org_id}/dms",
    "PUT /profile/status",
    "POST /reminders",
    "PATCH /reminders/{reminder_id}",
    "DELETE /reminders/{reminder_id}",
    "POST /webhooks/feed/backend-queue",
    "POST /webhooks/feed/{webhook_slug}",
    "GET /webhooks/feed/{webhook_slug}",
];

const CHANNELS: &[&str] = &[
    "POST /channels",
    "PATCH /channels/{channel_id}",
    "DELETE /channels/{channel_id}",
    "POST /channels/{channel_id}/join",
    "POST /channels/{channel_id}/leave",
    "PATCH /channels/{channel_id}/username",
    "POST /channels/{channel_id}/star",
    "DELETE /channels/{channel_id}/star",
    "POST /channels/{channel_id}/mute",
    "DELETE /channels/{channel_id}/mute",
    "POST /channels/{channel_id}/users",
    "DELETE /channels/{channel_id}/users/{user_id}",
    "POST /channels/add-multiple",
    "PUT /channels/{channel_id}/archive",
    "PUT /organisations/{org_id}/archive-channel",
];

const MEMBERS: &[&str] = &[
    "PUT /organisations/{org_id}",
    "POST /organisations/{org_id}/users",
    "PUT /organisations/{org_id}/users/{user_id}",
    "PATCH /organisations/{org_id}/users/{user_id}/role",
    "PATCH /organisations/{org_id}/users/{user_id}/status",
    "DELETE /organisations/{org_id}/users/{user_id}",
    "POST /organisations/{org_id}/roles",
    "PUT /organisations/{org_id}/roles/{role_id}",
    "PUT /organisations/{org_id}/roles/{role_id}/permissions",
    "DELETE /organisations/{org_id}/roles/{role_id}",
    "POST /invite",
    "POST /invite/resend",
    "DELETE /invite/{invite_id}",
    "GET /organisations/{org_id}/invites",
    "POST /organisations/{org_id}/join-links",
    "GET /organisations/{org_id}/join-links",
    "DELETE /organisations/{org_id}/join-links/{link_id}",
];

const WEBHOOKS: &[&str] = &[
    "GET /webhooks/{channel_id}",
    "POST /webhooks/{channel_id}",
    "GET /webhooks/{channel_id}/all",
    "GET /webhooks/{channel_id}/history/{webhook_id}",
    "PUT /webhooks/{channel_id}/{webhook_id}",
    "DELETE /webhooks/{channel_id}/{webhook_id}",
    "PUT /webhooks/{channel_id}/{webhook_id}/change-status",
    "POST /webhooks/{channel_id}/{webhook_id}/rotate-secret",
    "POST /webhooks/{channel_id}/{webhook_id}/rotate-slug",
    "POST /webhooks/{channel_id}/{webhook_id}/test",
    "POST /webhooks/{channel_id}/{webhook_id}/replay",
    "POST /webhooks/{channel_id}/{webhook_id}/history/{history_id}/replay",
];

const CONTENT: &[&str] = &[
    "POST /blogs",
    "DELETE /blogs/{blog_id}",
    "POST /blog_categories",
    "DELETE /blog_categories/{category_id}",
    "POST /testimonials",
];

/// Operations that a token for some channels may be used for, beside those whose path names a channel. Their rules look at one
/// channel, and refuse another; of these, the first three show the token's user alone.
const NARROW: [&str; 10] = [
    "GET /profile",
    "GET /users/me",
    "GET /permissions",
    "GET /token/connection",
    "POST /token/subscription",
    "GET /messages/{message_id}",
    "GET /threads/{id}",
    "PUT /threads/{id}/read",
    "POST /threads/{id}",
    "POST /webhooks/feed/backend-queue",
];

/// Whether a token for some channels may be used for the operation.
pub fn admits_channel_limited_tokens(operation: &str) -> bool {
    operation.contains("/{channel_id}") || NARROW.contains(&operation)
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

    /// Checks that a token may be used for the operation, which is its method and the template of its path below `/api/v1`, as
    /// the router writes it. 403 if no scope opens the operation; otherwise as [`Grant::require_scope`].
    pub fn require_operation(self, method: &str, template: &str) -> Result<()> {
        if self == Grant::Session || template == ASSISTANTS {
            return Ok(());
        }
        let found = SCOPES.get(&format!("{method} {template}"));
        let needed = found.ok_or(Error::Forbidden(Code::SessionRequired, "A token can't be used for this: log in"))?;
        self.require_scope(needed.scope, needed.is_for_one_channel)
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

/// The endpoint of assistants, which checks the scope of each of its tools by itself.
const ASSISTANTS: &str = "/mcp";

struct Needed {
    scope: Scope,
    is_for_one_channel: bool,
}

/// The needed scope by method and path, as [`routed`] writes it.
static SCOPES: LazyLock<HashMap<String, Needed>> = LazyLock::new(|| {
    let of = |scope: Scope| scope.operations().iter().map(move |operation| (scope, *operation));
    let needed =
        |(scope, operation)| (routed(operation), Needed { scope, is_for_one_channel: admits_channel_limited_tokens(operation) });
    Scope::ALL.into_iter().flat_map(of).map(needed).collect()
});

/// An operation as the router writes it, which numbers the parameters of a path: `:param0` for the first.
fn routed(operation: &str) -> String {
    let mut parameters = 0..;
    let segment = |segment: &str| match segment.starts_with('{') {
        true => format!(":param{}", parameters.next().unwrap_or_default()),
        false => segment.to_owned(),
    };
    operation.split('/').map(segment).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_in_one_scope_and_what_is_narrow_is_in_one() {
        let all: Vec<&str> = Scope::ALL.iter().flat_map(|scope| scope.operations().iter().copied()).collect();
        assert_eq!(SCOPES.len(), all.len());
        assert!(NARROW.iter().all(|operation| all.contains(operation)));
    }

    #[test]
    fn a_grant_opens_what_its_scopes_list_and_nothing_else() {
        let token = |scopes: &[Scope], is_limited| Grant::Token { scopes: scopes.iter().copied().collect(), is_limited };
        let (method, path) = ("POST", "/channels/:param0/messages");
        let code = |grant: Grant, method, path| grant.require_operation(method, path).err().map(|error| error.code());
        assert_eq!(code(token(&[Scope::Post], true), method, path), None);
        assert_eq!(code(token(&[Scope::Read, Scope::Channels], false), method, path), Some(Code::ScopeMissing));
        assert_eq!(code(token(&Scope::ALL, false), "PUT", "/auth/change-password"), Some(Code::SessionRequired));
        assert_eq!(code(token(&Scope::ALL, false), "GET", "/of/tomorrow"), Some(Code::SessionRequired));
        assert_eq!(code(token(&Scope::ALL, true), "GET", "/organisations/:param0/search"), Some(Code::TokenLimited));
        assert_eq!(code(Grant::Session, "PUT", "/auth/change-password"), None);
        assert_eq!(token(&Scope::ALL, false), Grant::Token { scopes: Scopes(63), is_limited: false });
    }
}
