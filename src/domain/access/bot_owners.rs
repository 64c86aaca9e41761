//! What the owner of a bot has, in SQL: a bot may do what its role and its owner's role both allow at that moment.

use rusqlite::Connection;

use crate::{error::Result, id::UserId};

/// SQL of what the owner of the bot `$user` has now, in `own` and `held`. 0 if the owner's membership or account has ended; null if the
/// user is a person, for whom it reads the table `bots` alone.
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

/// SQL of the table `owner`, whose one row limits user ?1: the lower 32 bits of `limits` are the rights of a bot's owner, and those
/// above are the owner's role. -1 for a person; 0 for a bot whose owner is no active member. It stands first in a `from` clause, so
/// that it is evaluated once for a statement, and not for each channel.
macro_rules! owner {
    () => {
        concat!("(select coalesce(", of_owner!("held.rights | (own.role_id << 32)", "?1"), ", -1) as limits) owner")
    };
}

/// SQL of the rights of user ?1 in the role `r`, with [`owner!`]. A bot has those of its role that its owner has as well.
macro_rules! rights {
    () => {
        "r.rights & owner.limits"
    };
}

/// The SQL condition under which user ?1 is a person, or a bot whose owner is a member with an active account, with [`owner!`].
macro_rules! is_answered_for {
    () => {
        "owner.limits <> 0"
    };
}

/// The SQL condition under which the member `m`, who is user ?1, sees public channels: guests (role 5) and bots of guests don't. With
/// [`owner!`].
macro_rules! sees_public_channels {
    () => {
        "m.role_id <> 5 and owner.limits >> 32 <> 5"
    };
}

/// The SQL condition under which the account `u` may be used: it is active, and so is the membership of a bot's owner.
pub const USABLE: &str = concat!("u.is_active and coalesce(", of_owner!("own.role_id", "u.id"), ", 1) <> 0");

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
