//! What a link is for, for whoever holds its token. It uses nothing up, and tells of no account, address or organisation.

use crate::{
    db::View,
    domain::{
        accounts::one_time_tokens::{self, Status},
        organisations::invitations::acceptance,
    },
    error::Result,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    OneTime(one_time_tokens::Purpose),
    Invitation,
}

pub struct Link {
    pub purpose: Purpose,
    pub status: Status,
}

/// Looks a token up among all kinds of links. All are looked through for every token, so that an unknown one costs as much as
/// another. None for an unknown token, 400 for a text that is none.
pub fn check(conn: &View, token: &str) -> Result<Option<Link>> {
    let one_time = one_time_tokens::look_up(conn, token)?;
    let invitation = acceptance::look_up(conn, token)?;
    let one_time = one_time.map(|known| Link { purpose: Purpose::OneTime(known.purpose), status: known.status });
    let invitation = invitation.map(|found| Link { purpose: Purpose::Invitation, status: found.status });
    Ok(one_time.or(invitation))
}
