//! `tidings files …`

use std::{path::Path, time::Duration};

use clap::{Args, Subcommand};
use serde::Serialize;

use super::{folder, import_runner::find_organisation, output::Output, shared_args::Limit};
use crate::{
    db,
    domain::{
        files::inventory::{self, Chosen},
        messages::media,
    },
    error::Result,
    time::Time,
};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Files that one write takes out of their messages: the server's own writes wait for it.
const SLICE: usize = 100;

#[derive(Subcommand)]
pub enum Command {
    /// List files, the largest first
    List {
        #[command(flatten)]
        of: Of,
        /// Only files that were uploaded so many days ago or earlier
        #[arg(long, value_name = "DAYS", default_value_t = 0, hide_default_value = true)]
        older_than: u16,
        #[command(flatten)]
        limit: Limit,
    },
    /// Take old files out of their messages, for good; backups that are there already keep theirs
    ///
    /// The words of the messages stay; a message that was such a file alone is deleted. A running server removes the bytes within
    /// minutes, and else the next one
    Purge {
        #[command(flatten)]
        of: Of,
        /// Files that were uploaded so many days ago or earlier
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..))]
        older_than: u16,
        /// Print how many there are and their bytes, and remove none
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Args)]
pub struct Of {
    /// Identifier or slug of the organisation whose files they are [default: all]
    #[arg(long, value_name = "ID|SLUG")]
    organisation: Option<String>,
}

impl Of {
    fn chosen(&self, folder: &Path, older_than: u16) -> Result<Chosen> {
        let organisation = find_organisation(folder, self.organisation.as_deref())?;
        Ok(Chosen { organisation, before: Time::now() - DAY * older_than.into() })
    }
}

#[derive(Serialize)]
struct Purged {
    files: usize,
    bytes: i64,
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::List { of, older_than, limit } => {
            let chosen = of.chosen(folder, older_than)?;
            output.rows(&db::read_once(folder, |conn| inventory::list(conn, chosen, limit.rows()))?)
        }
        Command::Purge { of, older_than, dry_run } => {
            let chosen = of.chosen(folder, older_than)?;
            let (ids, sizes): (Vec<_>, Vec<_>) =
                db::read_once(folder, |conn| inventory::in_messages(conn, chosen))?.into_iter().unzip();
            let slices = ids.chunks(SLICE).filter(|_| !dry_run);
            slices.into_iter().try_for_each(|slice| folder::change(folder, |tx| media::purge(tx, slice)))?;
            let purged = Purged { files: ids.len(), bytes: sizes.iter().sum() };
            let would = if dry_run { "would remove" } else { "removed" };
            output.done(&format!("{would} {} files of {} bytes", purged.files, purged.bytes), &purged)
        }
    }
}
