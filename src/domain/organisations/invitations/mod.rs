//! Invitations by e-mail: listing and cancelling them. [`send`] sends them, [`acceptance`] lets the invited in. The
//! specification shows the inviter a token, so accepting by it proves nothing about the address. The mail carries a second
//! one, which proves the mailbox. Callers need `invite:members`; invitations of others need `remove:members`, too, and are
//! unknown to everybody else.

pub mod acceptance;
pub mod send;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::{Tx, View},
    domain::{
        access::{self, Caller, Membership},
        organisations::roles,
        page::Page,
        rights::Rights,
    },
    error::{Code, Error, Result},
    id::{InvitationId, OrganisationId, UserId},
    secret::Hash,
    site::Site,
    time::Time,
};

#[derive(Clone, Debug)]
pub struct Invitation {
    pub id: InvitationId,
    pub organisation: OrganisationId,
    pub email: String,
    pub role_id: i64,
    pub invited_by: UserId,
    /// A counter that each resend raises. It is part of the tokens, so that each resend makes new ones.
    pub generation: i64,
    /// The hashes of both tokens.
    pub token_hash: Hash,
    pub mailed_hash: Hash,
    /// Whether the address has an account.
    pub is_platform_user: bool,
    /// Whether that account's address is verified.
    pub is_verified: bool,
    pub created_at: Time,
    pub sent_at: Time,
    pub expires_at: Time,
    pub accepted_at: Option<Time>,
}

impl Invitation {
    /// The status at `now`: accepted, expired or invited.
    pub fn status(&self, now: Time) -> &'static str {
        match self.accepted_at {
            Some(_) => "accepted",
            None if self.expires_at <= now => "expired",
            None => "invited",
        }
    }

    /// The token for the inviter. It is derived again each time, because only its hash is stored.
    pub fn token(&self, site: &Site) -> String {
        site.keys().invitation_token(self.id, self.generation, Some(&self.token_hash))
    }

    /// The token for the mail.
    pub fn mailed_token(&self, site: &Site) -> String {
        site.keys().mailed_invitation_token(self.id, self.generation, Some(&self.mailed_hash))
    }

    /// The link for the inviter.
    pub fn link(&self, site: &Site) -> String {
        self.link_with(site, &self.token(site))
    }

    /// The link for the mail. Accepting by it proves the mailbox.
    pub fn mailed_link(&self, site: &Site) -> String {
        self.link_with(site, &self.mailed_token(site))
    }

    fn link_with(&self, site: &Site, token: &str) -> String {
        format!("{}/accept_org_invitation?org_id={}&invitation_token={token}", site.web_url, self.organisation)
    }
}

/// A row of the list of invitations.
pub struct Listed {
    pub invitation: Invitation,
    pub role: String,
    /// The inviter's token; none if the invitation is not open, or its role holds a right that the caller lacks.
    pub token: Option<String>,
}

/// Lists the invitations that the caller may see, newest first. Needs `invite:members`; 403 without it and for outsiders.
pub fn list(conn: &View, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Listed>> {
    let (membership, by) = listing(conn, caller, organisation)?;
    let sql = format!(
        "{SELECT} where i.organisation_id = ?1 and (?2 is null or i.invited_by = ?2)
         order by i.created_at desc, i.id desc limit ?3 offset ?4"
    );
    let found: Vec<Invitation> = conn
        .prepare_cached(&sql)?
        .query_map((organisation, by, page.size, page.offset), from_row)?
        .collect::<rusqlite::Result<_>>()?;
    let listed = found.into_iter().map(|invitation| {
        let role = roles::get(conn, invitation.role_id)?;
        let is_shown = invitation.status(conn.now()) == "invited" && membership.rights.contains(role.rights);
        Ok(Listed { token: is_shown.then(|| invitation.token(conn.site())), role: role.name, invitation })
    });
    listed.collect()
}

/// Counts the rows of [`list`]. Needs `invite:members`; 403 without it and for outsiders.
pub fn count(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<u32> {
    let (_, by) = listing(conn, caller, organisation)?;
    Ok(conn
        .prepare_cached("select count(*) from invitations where organisation_id = ?1 and (?2 is null or invited_by = ?2)")?
        .query_row((organisation, by), |row| row.get(0))?)
}

/// The caller's membership, and the sender whose invitations the caller may see: none for all senders.
fn listing(conn: &Connection, caller: Caller, organisation: OrganisationId) -> Result<(Membership, Option<UserId>)> {
    let membership = access::require_right(conn, caller, Rights::INVITE_MEMBERS, organisation, access::OUTSIDER)?;
    let by = (!sees_others(membership)).then_some(caller.user);
    Ok((membership, by))
}

/// Whether the member may see invitations that others sent.
pub fn sees_others(membership: Membership) -> bool {
    membership.rights.contains(Rights::REMOVE_MEMBERS)
}

/// Deletes an invitation, and so voids its links. The sender needs `invite:members`; other callers also need
/// `remove:members` and every right of the invitation's role. 404 if the caller may see no such invitation, 403 if they lack
/// a right of the role, 400 if it was accepted.
pub fn cancel(tx: &mut Tx, caller: Caller, id: InvitationId) -> Result<()> {
    const UNKNOWN: Error = Error::NotFound(Code::InvitationNotFound);
    let sql = format!("{SELECT} where i.id = ?1");
    let invitation = tx.prepare_cached(&sql)?.query_row([id], from_row).optional()?.ok_or(UNKNOWN)?;
    let membership = access::require_member(tx, caller, invitation.organisation, UNKNOWN)?;
    if !membership.rights.contains(Rights::INVITE_MEMBERS) {
        return Err(UNKNOWN);
    }
    if invitation.invited_by != caller.user {
        if !sees_others(membership) {
            return Err(UNKNOWN);
        }
        membership.require_all(roles::get(tx, invitation.role_id)?.rights)?;
    }
    if invitation.accepted_at.is_some() {
        return Err(Error::BadRequest(Code::InvitationAccepted.says("The invitation has already been accepted")));
    }
    tx.prepare_cached("delete from invitations where id = ?1")?.execute([id])?;
    Ok(())
}

/// Finds the invitation of an address that was not accepted, even if it has expired.
pub fn find_unaccepted(conn: &Connection, organisation: OrganisationId, email: &str) -> Result<Option<Invitation>> {
    let sql = format!("{SELECT} where i.organisation_id = ?1 and i.email = ?2 and i.accepted_at is null");
    Ok(conn.prepare_cached(&sql)?.query_row((organisation, email), from_row).optional()?)
}

const SELECT: &str =
    "select i.id, i.organisation_id, i.email, i.role_id, i.invited_by, i.generation, i.token_hash, i.mailed_hash,
      u.id is not null as is_platform_user, coalesce(u.is_verified, 0) as is_verified,
      i.created_at, i.sent_at, i.expires_at, i.accepted_at
    from invitations i left join users u on u.email = i.email";

fn from_row(row: &Row) -> rusqlite::Result<Invitation> {
    Ok(Invitation {
        id: row.get("id")?,
        organisation: row.get("organisation_id")?,
        email: row.get("email")?,
        role_id: row.get("role_id")?,
        invited_by: row.get("invited_by")?,
        generation: row.get("generation")?,
        token_hash: row.get("token_hash")?,
        mailed_hash: row.get("mailed_hash")?,
        is_platform_user: row.get("is_platform_user")?,
        is_verified: row.get("is_verified")?,
        created_at: row.get("created_at")?,
        sent_at: row.get("sent_at")?,
        expires_at: row.get("expires_at")?,
        accepted_at: row.get("accepted_at")?,
    })
}
