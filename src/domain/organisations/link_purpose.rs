//! The purpose of a link, for whoever holds its token. It uses nothing up, and tells of no account, address or organisation.

use crate::{
    db::View,
    domain::{
        accounts::one_time_tokens::{self, Status},
        organisations::{
            invitations::acceptance::{self, Preview},
            join_links,
        },
    },
    error::{Code, Error, Result},
    id::{OrganisationId, UserId},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    OneTime(one_time_tokens::Purpose),
    Invitation,
    JoinLink,
}

pub struct Link {
    pub purpose: Purpose,
    pub status: Status,
}

/// Looks a token up among all kinds of links, for a caller if there is one. All are looked through for every token, so that an
/// unknown one costs as much as another. None for an unknown token, 400 for a text that is none.
pub fn find_by_token(conn: &View, token: &str, user: Option<UserId>) -> Result<Option<Link>> {
    let one_time = one_time_tokens::look_up(conn, token)?;
    let invitation = acceptance::look_up(conn, token)?;
    let join_link = join_links::look_up_for(conn, token, user)?;
    let one_time = one_time.map(|known| Link { purpose: Purpose::OneTime(known.purpose), status: known.status });
    let invitation = invitation.map(|found| Link { purpose: Purpose::Invitation, status: found.status });
    let join_link = join_link.map(|link| Link { purpose: Purpose::JoinLink, status: link.status });
    Ok(one_time.or(invitation).or(join_link))
}

/// Describes an open invitation or join link of the organisation to the holder of its token. 404 for every other text.
pub fn preview(conn: &View, organisation: OrganisationId, token: &str, user: Option<UserId>) -> Result<Preview> {
    const UNKNOWN: Error = Error::NotFound(Code::InvitationNotFound);
    if one_time_tokens::Token::check(token, "token").is_err() {
        return Err(UNKNOWN);
    }
    let invitation = acceptance::preview(conn, organisation, token)?;
    let link = join_links::preview(conn, organisation, token, user)?;
    invitation.or(link).ok_or(UNKNOWN)
}
