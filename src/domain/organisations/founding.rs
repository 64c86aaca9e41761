//! Who makes organisations: those whom `--organisations-by` names, and superadmins.

use crate::{
    db::{Tx, View},
    domain::{
        access::{self, Caller},
        organisations::{self, Edit, Organisation, join_links},
    },
    error::Result,
};

/// [`organisations::found`] for a caller who may: 403 as in [`require_may`].
pub fn create(tx: &mut Tx, caller: Caller, new: Edit) -> Result<Organisation> {
    require_may(tx, caller)?;
    organisations::found(tx, caller, new)
}

/// Checks that the caller may make an organisation: 403 if the setting lets them make none, or while a link keeps the place that they
/// registered by. Their first organisation is the link's.
pub fn require_may(conn: &View, caller: Caller) -> Result<()> {
    access::require_founder(conn, caller)?;
    join_links::require_no_kept_place(conn, caller.user)
}
