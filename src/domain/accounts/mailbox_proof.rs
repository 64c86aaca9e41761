//! The proof that the user of an account reads its mailbox, and what the first proof ends.
//!
//! `is_verified` says that somebody opened the link of a verification mail, as the specification has it. It does not say
//! that they use the account: anybody can register an address, and its owner may open the link without a thought. So the
//! proof is a column of its own, `mailbox_proved`.

use crate::{
    db::Tx,
    domain::accounts::{self, User, left_behind, profiles, sessions},
    error::Result,
    id::UserId,
};

/// The way in which a person proved to read a mailbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Proof by the mailbox alone: a mailed link, or an issuer that is authoritative for the address.
    Mailbox,
    /// Proof by the mailbox together with the account's bearer or password.
    MailboxAndAccount,
}

/// Records that the account's user reads the mailbox.
///
/// Before the first proof, somebody other than the mailbox's owner may have registered the address. So a first proof by the
/// mailbox alone ends all sessions and removes the password and linked identities, which are all earlier ways to log in.
/// What works without a log-in ends as well ([`left_behind`]). A first proof together with the account removes nothing.
pub fn prove(tx: &mut Tx, user: User, proof: Proof) -> Result<User> {
    if user.mailbox_proved {
        return Ok(user);
    }
    if proof == Proof::Mailbox {
        sessions::end_others(tx, user.id, None)?;
        unlink(tx, user.id)?;
        tx.prepare_cached("update users set password_hash = '' where id = ?1")?.execute([user.id])?;
        left_behind::end_for_reclaimed(tx, user.id)?;
    }
    tx.prepare_cached("update users set mailbox_proved = 1 where id = ?1")?.execute([user.id])?;
    set_verified(tx, &user)
}

/// Deletes the identities that are linked to an account.
fn unlink(tx: &mut Tx, user: UserId) -> Result<()> {
    tx.prepare_cached("delete from identities where user_id = ?1")?.execute([user])?;
    Ok(())
}

/// Sets `is_verified`, which members of the user's organisations see.
pub(super) fn set_verified(tx: &mut Tx, before: &User) -> Result<User> {
    tx.prepare_cached("update users set is_verified = 1, updated_at = ?2 where id = ?1")?.execute((before.id, tx.now()))?;
    let user = accounts::get(tx, before.id)?;
    if !before.is_verified {
        profiles::announce(tx, user.id)?;
    }
    Ok(user)
}
