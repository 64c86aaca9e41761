//! `tidings invite …`

use std::path::Path;

use clap::Subcommand;
use uuid::Uuid;

use super::{folder, terminal};
use crate::{config::Links, db, domain::organisations::invitations, error::Result, id::OrganisationId};

#[derive(Subcommand)]
pub enum Command {
    /// Print the link of an invitation, without sending a mail
    ///
    /// Creates the invitation in the name of the organisation's owner if there is none. Accepting with this link verifies the
    /// address, so give it only to the address's owner
    Link {
        /// Identifier of the organisation
        #[arg(long, value_name = "ID")]
        organisation: Uuid,
        /// Address to invite
        #[arg(long, value_name = "ADDRESS")]
        email: String,
        /// Role in the organisation: a name, a number or a UUID
        #[arg(long, default_value = "member")]
        role: String,
        #[command(flatten)]
        links: Links,
    },
}

pub fn run(folder: &Path, command: Command) -> Result<()> {
    let Command::Link { organisation, email, role, links } = command;
    db::require(folder)?;
    let organisation = OrganisationId(organisation);
    let link = folder::write(folder, &links, |tx| invitations::send::link(tx, organisation, &email, &role))?;
    terminal::print(&link)
}
