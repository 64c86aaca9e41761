//! The event `member_update`, which tells an organisation of one of its members.

use serde_json::json;

use crate::{
    db::Tx,
    domain::{accounts, log::events, rights::MemberStatus},
    error::Result,
    event::Kind,
    id::OrganisationId,
};

/// Tells the organisation that a member has `joined`, was `updated` or `removed`.
pub fn announce(
    tx: &mut Tx,
    organisation: OrganisationId,
    user: &accounts::User,
    action: &str,
    role: &str,
    status: MemberStatus,
) -> Result<()> {
    let data = json!({
        "action": action, "organisation_id": organisation, "user_id": user.id, "username": user.username,
        "name": user.shown_name(), "full_name": user.full_name(), "email": user.email, "phone_number": user.phone,
        "avatar_url": user.avatar_url, "is_verified": user.is_verified, "role": role, "status": status.as_str(),
    });
    events::tell_organisation(tx, organisation, Kind::Member, user.id, data)
}
