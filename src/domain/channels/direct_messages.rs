//! Direct messages: one private channel for each set of members, which can't be joined, left, changed or deleted. It is named
//! after its members.

use std::collections::BTreeSet;

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        accounts::{ERASED, ERASED_PERSON},
        channels::{
            lists::{self, Described, Users},
            members, update_event,
        },
        deferred_work::Cursor,
        rights::Rights,
    },
    error::{Code, Error, Result},
    id::{ChannelId, OrganisationId, UserId},
    secret,
};

/// Members that a request for a direct message names; the caller need not be among them.
pub const OTHERS_MAX: usize = 8;
/// Quota of direct messages that a member opens in an organisation. Those that others open with them don't count: others
/// could use up the member's quota.
const OPENED_MAX: i64 = 500;

/// Returns the direct message of the caller and these members of the organisation, creating it if there is none, and whether
/// it is new. Needs `post:messages`. Pushes `channel_update` for a new one. 404 for outsiders; 422 unless `others` names 1
/// to 8 users besides the caller, all of them members, and for a new one when the caller has opened 500 already.
pub fn open(tx: &mut Tx, caller: Caller, organisation: OrganisationId, others: Vec<UserId>) -> Result<(Described, bool)> {
    access::require_right(tx, caller, Rights::POST_MESSAGES, organisation, access::UNKNOWN_ORGANISATION)?;
    let named = others.len();
    let others = members::others(caller, "user_ids", others)?;
    if others.is_empty() || named > OTHERS_MAX {
        let says = format!("user_ids names {named} users, 1 to {OTHERS_MAX} besides the caller are allowed");
        return Err(members::wrong_number(if others.is_empty() { 0 } else { named }, OTHERS_MAX, says));
    }
    let mut accounts = Vec::new();
    for user in others.into_iter().chain([caller.user]) {
        accounts.push(members::require_organisation_member(tx, organisation, user)?);
    }
    let key = key(&accounts.iter().map(|account| account.id).collect::<Vec<_>>());
    let is_new = insert(tx, organisation, caller.user, &key)?;
    if is_new && count_opened(tx, organisation, caller.user)? > OPENED_MAX {
        return Err(Error::Invalid(
            Code::OwnLimitReached
                .says(format!("a member opens at most {OPENED_MAX} direct messages in an organisation"))
                .with_limit(OPENED_MAX),
        ));
    }
    let id: ChannelId = tx
        .prepare_cached("select id from channels where organisation_id = ?1 and dm_key = ?2")?
        .query_row((organisation, &key[..]), |row| row.get(0))?;
    for account in &accounts {
        // A member who left the organisation and came back is added again.
        if members::name_in_channel(tx, id, account.id)?.is_none() {
            members::insert(tx, id, account, None)?;
        }
    }
    name(tx, id)?;
    if is_new {
        update_event::announce(tx, id, "created", caller.user)?;
    }
    Ok((lists::get(tx, caller, id, Users::First)?, is_new))
}

/// The key that identifies a set of members, regardless of their order in the request.
pub(in crate::domain) fn key(users: &[UserId]) -> [u8; 32] {
    let users: BTreeSet<String> = users.iter().map(UserId::to_string).collect();
    secret::sha256(users.into_iter().collect::<Vec<_>>().join(" "))
}

fn count_opened(tx: &Tx, organisation: OrganisationId, user: UserId) -> Result<i64> {
    Ok(tx
        .prepare_cached("select count(*) from channels where organisation_id = ?1 and created_by = ?2 and is_dm = 1")?
        .query_row((organisation, user), |row| row.get(0))?)
}

fn insert(tx: &Tx, organisation: OrganisationId, owner: UserId, key: &[u8]) -> Result<bool> {
    let made = tx
        .prepare_cached(
            "insert into channels (id, organisation_id, name, is_private, is_dm, dm_key, owner_id, created_by, created_at, updated_at)
             values (?1, ?2, '', 1, 1, ?3, ?4, ?4, ?5, ?5) on conflict do nothing",
        )?
        .execute((ChannelId::new(), organisation, key, owner, tx.now()))?;
    Ok(made > 0)
}

/// Names a direct message after its members' accounts. Returns whether it had another name.
fn name(tx: &Tx, id: ChannelId) -> Result<bool> {
    let changed = tx
        .prepare_cached(
            "with named as materialized
               (select group_concat(iif(u.email like '%' || ?2, ?3, u.username), ', ' order by u.username) as name
                from channel_members m cross join users u on u.id = m.user_id where m.channel_id = ?1)
             update channels set name = named.name, updated_at = ?4 from named where id = ?1 and channels.name <> named.name",
        )?
        .execute((id, ERASED, ERASED_PERSON, tx.now()))?;
    Ok(changed > 0)
}

/// At most 25 direct messages per slice, each of which may cost a row of the event log.
const SLICE: usize = 25;

/// Gives the user, in some of their direct messages, the name that their account has now, and tells the members of those where
/// it was another. A name that somebody else has chosen there is left to them.
pub(in crate::domain) fn rename(tx: &mut Tx, user: UserId, after: &[u8]) -> Result<Option<Cursor>> {
    let found: Vec<ChannelId> = tx
        .prepare_cached(
            "select c.id from channel_members cm cross join channels c on c.id = cm.channel_id
             where cm.user_id = ?1 and cm.channel_id > ?2 and c.is_dm = 1 and c.deleted_at is null order by cm.channel_id limit ?3",
        )?
        .query_map((user, after, SLICE as i64), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in &found {
        let renamed = tx
            .prepare_cached(
                "update or ignore channel_members set username = u.username from users u
                 where u.id = ?2 and channel_id = ?1 and user_id = ?2 and channel_members.username <> u.username collate binary",
            )?
            .execute((id, user))?;
        if name(tx, *id)? || renamed > 0 {
            let body = members::body_about(tx, *id, "renamed", user)?;
            update_event::emit_to_all(tx, *id, &body)?;
        }
    }
    Ok(found.last().filter(|_| found.len() == SLICE).map(|last| last.0.as_bytes().to_vec()))
}
