//! Who makes organisations: those whom `--organisations-by` names, and superadmins.

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        organisations::{self, Edit, Organisation},
    },
    error::Result,
};

/// [`organisations::found`] for a caller who may: 403 if the setting lets them make none.
pub fn create(tx: &mut Tx, caller: Caller, new: Edit) -> Result<Organisation> {
    access::require_founder(tx, caller)?;
    organisations::found(tx, caller, new)
}
