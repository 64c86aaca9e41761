//! Former members of an organisation. Its members are still shown whose messages they read.

use crate::{
    db::Tx,
    error::Result,
    id::{OrganisationId, UserId},
};

/// Notes that the organisation has known the user, unless they are a member now. The row stays if they come back.
pub fn note(tx: &Tx, organisation: OrganisationId, user: UserId) -> Result<()> {
    tx.prepare_cached(
        "insert or ignore into former_members (organisation_id, user_id) select ?1, ?2
         where not exists (select 1 from organisation_members where organisation_id = ?1 and user_id = ?2)",
    )?
    .execute((organisation, user))?;
    Ok(())
}
