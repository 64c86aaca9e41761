//! `tidings invite …`

use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use super::{
    args::{Limit, Organisation, address},
    folder,
    terminal::Output,
};
use crate::{
    config::Links,
    db,
    domain::organisations::{administration, invitations},
    error::Result,
    time::Time,
};

#[derive(Subcommand)]
pub enum Command {
    /// Print the link of an invitation, without sending a mail
    ///
    /// Creates the invitation in the name of the organisation's owner if there is none. Accepting with this link verifies the
    /// address, so give it only to the address's owner
    Link {
        #[command(flatten)]
        organisation: Organisation,
        /// Address to invite
        #[arg(long, value_name = "ADDRESS", value_parser = address)]
        email: String,
        /// Role in the organisation: a name, a number or a UUID
        #[arg(long, default_value = "member")]
        role: String,
        #[command(flatten)]
        links: Links,
    },
    /// List an organisation's invitations that are not accepted, newest first
    List {
        #[command(flatten)]
        organisation: Organisation,
        #[command(flatten)]
        limit: Limit,
    },
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::Link { organisation: Organisation { organisation }, email, role, links } => {
            let link = folder::change_with(folder, &links, |tx| {
                let id = administration::find(tx, &organisation)?;
                invitations::send::link(tx, id, &email, &role)
            })?;
            output.done(&link, &json!({ "link": link }))
        }
        Command::List { organisation: Organisation { organisation }, limit } => {
            let list = |conn: &_| {
                administration::invitations(conn, administration::find(conn, &organisation)?, limit.rows(), Time::now())
            };
            output.rows(&db::read_once(folder, list)?)
        }
    }
}
