//! Accounts as the command line makes and changes them.

use crate::{
    db::Tx,
    domain::{
        access::PlatformRole,
        accounts::{self, NO_ACCOUNT, New, sessions},
    },
    error::Result,
    event::Effect,
    id::UserId,
};

/// Makes an account with the role of `new`. Its address counts as verified and proved, because the operator vouches for it.
pub fn create(tx: &mut Tx, new: &New, password_hash: &str) -> Result<UserId> {
    let id = accounts::create(tx, new, password_hash)?;
    tx.execute("update users set is_verified = 1, mailbox_proved = 1 where id = ?1", [id])?;
    tx.then(Effect::AccountChanged(id));
    Ok(id)
}

/// Gives the account with this address a role on the whole server.
pub fn set_role(tx: &mut Tx, email: &str, role: PlatformRole) -> Result<()> {
    let sql = "update users set role = ?2, updated_at = ?3 where email = ?1";
    require_one(tx.prepare_cached(sql)?.execute((email, role, tx.now()))?)
}

/// Enables or disables an account. Disabling ends its sessions.
pub fn set_active(tx: &mut Tx, email: &str, is_active: bool) -> Result<()> {
    let sql = "update users set is_active = ?2, updated_at = ?3 where email = ?1";
    require_one(tx.prepare_cached(sql)?.execute((email, is_active, tx.now()))?)?;
    let user = accounts::find_by_email(tx, email)?.ok_or(NO_ACCOUNT)?;
    if is_active { Ok(()) } else { sessions::end_others(tx, user.id, None) }
}

fn require_one(changed: usize) -> Result<()> {
    if changed == 1 { Ok(()) } else { Err(NO_ACCOUNT) }
}
