//! What the owner of a bot has, in SQL: a bot may do what its role and its owner's role both allow at that moment.

use rusqlite::Connection;

use crate::{error::Result, id::UserId};

/// SQL of what the owner of the bot `$user` has now: `own.role_id` or `held.rights`. 0 if the owner's membership or account has
/// ended; null if the user is a person. It reads the table `bots` alone for people, once in a statement that names the user by
/// a parameter.
macro_rules! of_owner {
    ($what:literal, $user:literal) => {
        concat!(
            "(select coalesce((select ",
            $what,
            " from organisation_members own
                join users bearer on bearer.id = own.user_id
                join roles held on held.id = own.role_id
              where own.organisation_id = b.organisation_id and own.user_id = b.owner_id and own.status <> 'deactivated'
                and bearer.is_active), 0)
             from bots b where b.user_id = ",
            $user,
            ")"
        )
    };
}

/// SQL of the rights of `$user` in the role `r`. A bot has those of its role that its owner has as well.
macro_rules! rights {
    ($user:literal) => {
        concat!("r.rights & coalesce(", of_owner!("held.rights", $user), ", -1)")
    };
}

/// The SQL condition under which `$user` is a person, or a bot whose owner is a member with an active account.
macro_rules! is_answered_for {
    ($user:literal) => {
        concat!("coalesce(", of_owner!("own.role_id", $user), ", 1) <> 0")
    };
}

/// The SQL condition under which the member `m`, who is `$user`, sees public channels: guests (role 5) and bots of guests don't.
macro_rules! sees_public_channels {
    ($user:literal) => {
        concat!("m.role_id <> 5 and coalesce(", of_owner!("own.role_id", $user), ", 1) <> 5")
    };
}

/// The SQL condition under which the account `u` may be used: it is active, and so is the membership of a bot's owner.
pub const USABLE: &str = concat!("u.is_active and ", is_answered_for!("u.id"));

/// SQL of [`answerable_person`] for the user whom the expression names.
macro_rules! person_answering_for {
    ($user:literal) => {
        concat!("coalesce((select b.owner_id from bots b where b.user_id = ", $user, "), ", $user, ")")
    };
}
pub(in crate::domain) use person_answering_for;

/// The person who answers for what a user does: a bot's owner, otherwise the user.
pub fn answerable_person(conn: &Connection, user: UserId) -> Result<UserId> {
    let sql = concat!("select ", person_answering_for!("?1"));
    Ok(conn.prepare_cached(sql)?.query_row([user], |row| row.get(0))?)
}
