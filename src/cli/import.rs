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
    error::{Error, Result},
    net::trusted_authorities::Authorities,
    outgoing::Outgoing,
};

#[derive(Subcommand)]
pub enum Command {
    /// Import the zip that Slack exports: people, channels, messages with their threads, reactions, edits and files
    ///
    /// People are matched by their addresses; those without an account get one without a password. Prints what was imported and
    /// what was left out. If it is interrupted, run it again: what is there already stays as it is, but
    /// that messages get the files that they have not
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
    /// Folder with the files of the export, each with its identifier at Slack as its name, or in a folder of that name [default with
    /// --fetch-files: FILE.zip.files]
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,
    /// Fetch the files that the export names from Slack, and the pictures of people, into the folder that `--files` names. What is there
    /// is not fetched again
    #[arg(long, conflicts_with = "dry_run")]
    fetch_files: bool,
    /// File with certificates (PEM) of authorities that are trusted besides the well-known ones while files are fetched
    #[arg(long, value_name = "FILE", requires = "fetch_files")]
    ca_file: Option<PathBuf>,
    #[command(flatten)]
    dry_run: DryRun,
}

impl Slack {
    /// Where the files are, if they are to come along.
    fn files(&self) -> Result<Option<slack::Files>> {
        let beside = || PathBuf::from(format!("{}.files", self.file.display()));
        let folder = self.files.clone().or_else(|| self.fetch_files.then(beside));
        let Some(folder) = folder else { return Ok(None) };
        let fetch = match self.fetch_files {
            true => Some(Outgoing::new(&[], &Authorities::read(self.ca_file.as_deref())?)?),
            false if folder.is_dir() => None,
            false => return Err(Error::failed(format!("{} is no folder", folder.display()))),
        };
        Ok(Some(slack::Files { folder, fetch }))
    }
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
    let Command::Slack(command) = command;
    let files = command.files()?;
    let Slack { file, to, owner, dry_run, .. } = command;
    let target = match import_runner::find_organisation(folder, to.organisation.as_deref())? {
        Some(id) => {
            let owner = db::read_once(folder, |conn| by_operator::show(conn, id))?.listed.owner;
            Target::Existing { id, owner }
        }
        None => Target::New { name: to.name.unwrap_or_default(), owner },
    };
    let import = |write: Writer| slack::import(folder, &file, target, files.as_ref(), write, &mut bar());
    import_runner::print(output, &import_runner::run_with_writer(folder, dry_run, import)?)
}
