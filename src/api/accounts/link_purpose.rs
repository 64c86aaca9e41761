//! The purpose of a link, before it is used.

use poem::web::Data;
use poem_openapi::{Enum, Object, OpenApi};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::MaybeUser,
            body::{Body, Text},
            envelope::{Success, ok},
            visitor::Visitor,
        },
        tags::Tag,
    },
    domain::{
        accounts::one_time_tokens::{self, Token},
        organisations::link_purpose,
    },
    error::{Code, Error, Result},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Check a link
    ///
    /// Says what the token of a link is for and whether it still works, and uses nothing up. It tells nothing of the account,
    /// the address or the organisation. 404 for a token that this server does not know, or has forgotten: it does so 30 days
    /// after the end of most links. No session is needed; with one, a join link is open as long as it keeps a place for the
    /// caller.
    #[oai(path = "/auth/links/check", method = "post", operation_id = "checkLink", tag = "Tag::Accounts")]
    async fn check(&self, user: MaybeUser, app: Data<&App>, _visitor: Visitor, body: Body<LinkToken>) -> Result<Success<Link>> {
        let token = &body.token.0;
        let (known, now) = (app.db.read(|conn| link_purpose::find_by_token(conn, token, user.0))?, app.clock.now());
        let setup = app.setup.as_ref().and_then(|setup| setup.status(token, now));
        let link = match (known, setup) {
            (Some(known), _) => Link { purpose: known.purpose.into(), status: known.status.into() },
            (None, Some(status)) => Link { purpose: Purpose::Setup, status: status.into() },
            (None, None) => return Err(Error::NotFound(Code::LinkNotFound)),
        };
        Ok(ok("Link checked successfully", link))
    }
}

#[derive(Object)]
struct LinkToken {
    /// The token in the link.
    token: Text<Token>,
}

#[derive(Object, Serialize)]
struct Link {
    purpose: Purpose,
    status: Status,
}

/// What a link does. `setup` makes the server's first administrator.
#[derive(Enum, Serialize)]
#[oai(rename = "LinkPurpose", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
enum Purpose {
    MagicLink,
    PasswordReset,
    EmailVerification,
    Invitation,
    JoinLink,
    Setup,
}

impl From<link_purpose::Purpose> for Purpose {
    fn from(purpose: link_purpose::Purpose) -> Self {
        match purpose {
            link_purpose::Purpose::OneTime(one_time_tokens::Purpose::MagicLink) => Purpose::MagicLink,
            link_purpose::Purpose::OneTime(one_time_tokens::Purpose::PasswordReset) => Purpose::PasswordReset,
            link_purpose::Purpose::OneTime(one_time_tokens::Purpose::EmailVerification) => Purpose::EmailVerification,
            link_purpose::Purpose::Invitation => Purpose::Invitation,
            link_purpose::Purpose::JoinLink => Purpose::JoinLink,
        }
    }
}

/// `used`: it was used up, or newer links were mailed. `void`: its sender or maker may not invite any more.
#[derive(Enum, Serialize)]
#[oai(rename = "LinkStatus", rename_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Open,
    Used,
    Expired,
    Void,
}

impl From<one_time_tokens::Status> for Status {
    fn from(status: one_time_tokens::Status) -> Self {
        match status {
            one_time_tokens::Status::Open => Status::Open,
            one_time_tokens::Status::Used => Status::Used,
            one_time_tokens::Status::Expired => Status::Expired,
            one_time_tokens::Status::Void => Status::Void,
        }
    }
}
