//! Direct messages: one private channel for each set of members, which can't be joined, left, changed or deleted.

use std::collections::BTreeSet;

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        accounts,
        channels::{
            lists::{self, Described},
            members, updates,
        },
        rights::Rights,
    },
    error::{Error, Result},
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
    access::may(tx, caller, Rights::POST_MESSAGES, organisation, access::UNKNOWN_ORGANISATION)?;
    let named = others.len();
    let others = members::others(caller, "user_ids", others)?;
    if others.is_empty() || named > OTHERS_MAX {
        return Err(Error::invalid(format!("user_ids names {named} users, 1 to {OTHERS_MAX} besides the caller are allowed")));
    }
    let mut accounts = Vec::new();
    for user in others.into_iter().chain([caller.user]) {
        accounts.push(members::account(tx, organisation, user)?);
    }
    let key = key(&accounts.iter().map(|account| account.id).collect::<Vec<_>>());
    let is_new = insert(tx, organisation, caller.user, &accounts, &key)?;
    if is_new && count_opened(tx, organisation, caller.user)? > OPENED_MAX {
        return Err(Error::invalid(format!("a member opens at most {OPENED_MAX} direct messages in an organisation")));
    }
    let id: ChannelId = tx
        .prepare_cached("select id from channels where organisation_id = ?1 and dm_key = ?2")?
        .query_row((organisation, &key[..]), |row| row.get(0))?;
    for account in &accounts {
        // A member who left the organisation and came back is added again.
        if members::name(tx, id, account.id)?.is_none() {
            members::insert(tx, id, account, None)?;
        }
    }
    if is_new {
        updates::announce(tx, id, "created", caller.user)?;
    }
    Ok((lists::get(tx, caller, id)?, is_new))
}

/// The key that identifies a set of members, regardless of their order in the request.
pub(in crate::domain) fn key(users: &[UserId]) -> [u8; 32] {
    let users: BTreeSet<String> = users.iter().map(UserId::to_string).collect();
    secret::sha256(&users.into_iter().collect::<Vec<_>>().join(" "))
}

fn count_opened(tx: &Tx, organisation: OrganisationId, user: UserId) -> Result<i64> {
    Ok(tx
        .prepare_cached("select count(*) from channels where organisation_id = ?1 and created_by = ?2 and is_dm = 1")?
        .query_row((organisation, user), |row| row.get(0))?)
}

fn insert(tx: &Tx, organisation: OrganisationId, owner: UserId, accounts: &[accounts::User], key: &[u8]) -> Result<bool> {
    let names: BTreeSet<&str> = accounts.iter().map(|account| account.username.as_str()).collect();
    let name = names.into_iter().collect::<Vec<_>>().join(", ");
    let made = tx
        .prepare_cached(
            "insert into channels (id, organisation_id, name, is_private, is_dm, dm_key, owner_id, created_by, created_at, updated_at)
             values (?1, ?2, ?3, 1, 1, ?4, ?5, ?5, ?6, ?6) on conflict do nothing",
        )?
        .execute((ChannelId::new(), organisation, name, key, owner, tx.now()))?;
    Ok(made > 0)
}
