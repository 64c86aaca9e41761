//! `tidings import …`

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{
    import_runner::{self, DryRun},
    output::{Output, bar},
    shared_args::email_address,
};
use crate::{
    archive::{
        slack::{self, Target},
        transfer::Writer,
    },
    db,
    domain::organisations::by_operator,
    error::Result,
};

#[derive(Subcommand)]
pub enum Command {
    /// Import the zip that Slack exports: people, channels, messages with their threads, reactions and edits
    ///
    /// People are matched by their addresses; those without an account get one without a password. Prints what was imported and
    /// what was left out. If it is interrupted, run it again: what is there already stays as it is
    Slack(Slack),
}

#[derive(Args)]
pub struct Slack {
    /// File to read
    #[arg(value_name = "FILE.zip")]
    file: PathBuf,
    #[command(flatten)]
    to: To,
    /// Address of the owner of the new organisation, who has an account or is in the export [default: the export's primary owner]
    #[arg(long, value_name = "ADDRESS", value_parser = email_address, conflicts_with = "organisation")]
    owner: Option<String>,
    #[command(flatten)]
    dry_run: DryRun,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct To {
    /// Make an organisation with this name
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Add to this organisation
    #[arg(long, value_name = "ID|SLUG")]
    organisation: Option<String>,
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    let Command::Slack(Slack { file, to, owner, dry_run }) = command;
    let target = match import_runner::find_organisation(folder, to.organisation.as_deref())? {
        Some(id) => {
            let owner = db::read_once(folder, |conn| by_operator::show(conn, id))?.listed.owner;
            Target::Existing { id, owner }
        }
        None => Target::New { name: to.name.unwrap_or_default(), owner },
    };
    let import = |write: Writer| slack::import(folder, &file, target, write, &mut bar());
    import_runner::print(output, &import_runner::run_with_writer(folder, dry_run, import)?)
}
