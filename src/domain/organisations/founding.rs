//! Who makes organisations: those whom `--organisations-by` names, and superadmins.

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        organisations::{self, Edit, Organisation, join_links},
    },
    error::Result,
};

/// [`organisations::found`] for a caller who may: 403 if the setting lets them make none, or while a link keeps the place that they
/// registered by. Their first organisation is the link's.
pub fn create(tx: &mut Tx, caller: Caller, new: Edit) -> Result<Organisation> {
    access::require_founder(tx, caller)?;
    join_links::require_no_kept_place(tx, caller.user)?;
    organisations::found(tx, caller, new)
}
