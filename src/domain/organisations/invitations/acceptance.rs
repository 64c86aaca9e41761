//! Acceptance of invitations: a token lets in the invited person, and nobody else.

use rusqlite::OptionalExtension;

use crate::{
    db::{Columns, Tx, View},
    domain::{
        access::Caller,
        accounts::{
            self,
            mailbox_proof::{self, Proof},
            mailed_links,
            one_time_tokens::{self, Purpose, Status},
            registration, sessions,
        },
        organisations::{members, roles},
    },
    error::{Code, Error, Result},
    id::{InvitationId, OrganisationId, UserId},
    secret,
    time::Time,
};

/// An invitation, found by one of its tokens.
pub struct Found {
    id: InvitationId,
    organisation: OrganisationId,
    pub email: String,
    role_id: i64,
    inviter: UserId,
    /// Whether the token comes from the mail, so that its holder reads the mailbox.
    pub is_mailed: bool,
    expires_at: Time,
    pub status: Status,
}

/// Looks an invitation up by one of its tokens, and leaves it as it is. None if there is none; 400 for a text that is no token.
pub fn look_up(conn: &View, token: &str) -> Result<Option<Found>> {
    one_time_tokens::Token::check(token, "token").map_err(Error::BadRequest)?;
    let found = conn
        .prepare_cached(
            "select i.id, i.organisation_id, i.email, i.role_id, i.invited_by, i.mailed_hash = ?1, i.expires_at,
               i.accepted_at is not null
             from invitations i join organisations o on o.id = i.organisation_id
             where (i.token_hash = ?1 or i.mailed_hash = ?1) and o.deleted_at is null",
        )?
        .query_row([secret::sha256(token)], |row| {
            let mut columns = Columns::of_row(row);
            Ok(Found {
                id: columns.take()?,
                organisation: columns.take()?,
                email: columns.take()?,
                role_id: columns.take()?,
                inviter: columns.take()?,
                is_mailed: columns.take()?,
                expires_at: columns.take()?,
                status: if columns.take()? { Status::Used } else { Status::Open },
            })
        })
        .optional()?;
    let Some(mut found) = found else { return Ok(None) };
    if found.status == Status::Open {
        found.status = match found.expires_at <= conn.now() {
            true => Status::Expired,
            false => {
                let rights = roles::get(conn, found.role_id)?.rights;
                let may = registration::may_still_invite(conn, found.organisation, found.inviter, rights)?;
                if may { Status::Open } else { Status::Void }
            }
        };
    }
    Ok(Some(found))
}

/// Finds an open invitation by its token. 400 if there is none; 422 if it is expired or used, or its sender may no longer
/// send it.
pub fn find_acceptable(conn: &View, token: &str) -> Result<Found> {
    let found =
        look_up(conn, token)?.ok_or_else(|| Error::BadRequest(Code::LinkInvalid.says("The invitation token is invalid")))?;
    match found.status {
        Status::Open => Ok(found),
        Status::Used => Err(Error::Invalid(Code::LinkUsed.says("The invitation has already been used"))),
        Status::Expired => Err(Error::Invalid(Code::LinkExpired.says("The invitation has expired"))),
        Status::Void => Err(Error::Invalid(Code::LinkInvalid.says("The invitation is no longer valid: ask for a new one"))),
    }
}

/// Makes the caller a member and begins a session. The token of the mail also proves the mailbox. 403 if the caller's
/// address is not the invited one, 400 and 422 for a bad token; other errors as in [`sessions::start`].
pub fn accept(tx: &mut Tx, caller: Caller, token: &str, device: &sessions::Device) -> Result<sessions::Started> {
    sessions::require_live(tx, caller)?;
    let open = find_acceptable(tx, token)?;
    let user = accounts::own(tx, caller)?;
    if user.email != open.email {
        return Err(Error::Forbidden(Code::InvitationForAnother, "The invitation is for another e-mail address"));
    }
    let user = if open.is_mailed { mailbox_proof::prove(tx, user, Proof::MailboxAndAccount)? } else { user };
    finish(tx, open, user, device)
}

/// Makes an account, which has the invited address, and makes it a member. The token of the mail also proves the mailbox.
/// 400 and 422 for a bad token, 403 if the policy does not let the address register, 422 if the username is taken; other errors
/// as in [`require_new_account_allowed`].
pub fn accept_as_new(
    tx: &mut Tx,
    token: &str,
    new: &accounts::New,
    password_hash: &str,
    device: &sessions::Device,
) -> Result<sessions::Started> {
    let open = find_acceptable(tx, token)?;
    require_new_account_allowed(tx, &open)?;
    registration::require_may_register(tx, &open.email)?;
    let id = accounts::create(tx, new, password_hash)?;
    let user = accounts::get(tx, id)?;
    let user = if open.is_mailed {
        mailbox_proof::prove(tx, user, Proof::MailboxAndAccount)?
    } else {
        mailed_links::mail_link(tx, &open.email, Purpose::EmailVerification)?;
        user
    };
    finish(tx, open, user, device)
}

/// Checks that the invitation may make an account. 401 if the address has one: its owner must log in. 403 if the server
/// requires a verified address and the token is not the mail's.
pub fn require_new_account_allowed(conn: &View, open: &Found) -> Result<()> {
    if accounts::find_by_email(conn, &open.email)?.is_some() {
        return Err(Error::Unauthorized(Code::LoginRequired, "Log in as the invited user to accept"));
    }
    if conn.site().require_verified_email && !open.is_mailed {
        return Err(Error::Forbidden(
            Code::MailedLinkRequired,
            "Accept by the link in the invitation's mail: it verifies your e-mail address",
        ));
    }
    Ok(())
}

/// The facts that somebody who opens an invitation sees before they accept it.
pub struct Preview {
    pub organisation: String,
    /// The invited address.
    pub email: String,
    /// Whether the invited address has no account.
    pub is_new_user: bool,
    pub inviter: String,
    pub role: String,
    /// The only domain whose addresses may join by a link; empty for all, and for an invitation.
    pub domain: String,
    pub expires_at: Time,
}

/// Describes an open invitation of the organisation to the holder of one of its tokens. None for every other text.
pub fn preview(conn: &View, organisation: OrganisationId, token: &str) -> Result<Option<Preview>> {
    let found = look_up(conn, token)?.filter(|found| found.organisation == organisation && found.status == Status::Open);
    let Some(open) = found else { return Ok(None) };
    Ok(Some(Preview {
        organisation: organisation_name(conn, organisation)?,
        is_new_user: accounts::find_by_email(conn, &open.email)?.is_none(),
        email: open.email,
        inviter: accounts::get(conn, open.inviter)?.shown_name(),
        role: roles::get(conn, open.role_id)?.name,
        domain: String::new(),
        expires_at: open.expires_at,
    }))
}

/// The name of an organisation, for people who are invited to it.
pub fn organisation_name(conn: &View, organisation: OrganisationId) -> Result<String> {
    let mut select = conn.prepare_cached("select name from organisations where id = ?1")?;
    Ok(select.query_row([organisation], |row| row.get(0))?)
}

fn finish(tx: &mut Tx, open: Found, user: accounts::User, device: &sessions::Device) -> Result<sessions::Started> {
    tx.prepare_cached("update invitations set accepted_at = ?2 where id = ?1")?.execute((open.id, tx.now()))?;
    let role = roles::get(tx, open.role_id)?;
    match members::join(tx, open.organisation, &user, &role) {
        Err(Error::BadRequest(reason)) => return Err(Error::Invalid(reason)),
        other => other?,
    }
    let user = accounts::get(tx, user.id)?;
    sessions::start(tx, user, device)
}
