//! `tidings org …`

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;

use super::{
    folder,
    import_runner::{self, DryRun},
    output::{Output, bar},
    shared_args::{Limit, email_address},
};
use crate::{
    archive::{FileTotals, Manifest, transfer},
    db,
    domain::organisations::by_operator,
    error::{Error, Result},
};

#[derive(Subcommand)]
pub enum Command {
    /// List organisations, the oldest first
    List {
        #[command(flatten)]
        limit: Limit,
    },
    /// Show an organisation with its size
    Show(Subject),
    /// Create an organisation with an account as its owner and first member
    Create {
        /// Name of the organisation
        #[arg(value_name = "NAME")]
        name: String,
        /// Address of the owner
        #[arg(long, value_name = "ADDRESS", value_parser = email_address)]
        owner: String,
    },
    /// Make another member the owner
    Transfer {
        #[command(flatten)]
        organisation: Subject,
        /// Address of the member
        #[arg(long, value_name = "ADDRESS", value_parser = email_address)]
        email: String,
    },
    /// Delete an organisation: it disappears for its members
    Delete(Subject),
    /// Export an organisation into a file: people, channels, messages with their files, webhooks without their secrets
    Export {
        #[command(flatten)]
        organisation: Subject,
        /// File to write, as in engines.tar.zst
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Export no files of messages. A message that has only files gets their names as its text
        #[arg(long)]
        without_files: bool,
    },
    /// Import an organisation from a file that `tidings org export` has made on another server
    ///
    /// People are matched by their addresses; those without an account get one without a password. If it is interrupted, run it
    /// again: what is there already stays as it is. Import only what comes from somebody you trust: a file may say anything in
    /// the name of anybody, within its organisation
    Import {
        /// File to read
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Organisation of the file that is on this server already, to add what a later file has more
        #[arg(long, value_name = "ID|SLUG")]
        organisation: Option<String>,
        #[command(flatten)]
        dry_run: DryRun,
    },
}

/// What an export has.
#[derive(Serialize)]
struct Exported {
    /// Records of each part.
    #[serde(flatten)]
    tables: BTreeMap<String, u64>,
    files: u64,
    bytes_of_files: u64,
    /// Files that are missing on the disk, or altered.
    missing_files: u64,
}

/// The organisation that a command is about.
#[derive(Args)]
pub struct Subject {
    /// Identifier or slug of the organisation
    #[arg(value_name = "ORGANISATION")]
    organisation: String,
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::List { limit } => output.rows(&db::read_once(folder, |conn| by_operator::list(conn, limit.rows()))?),
        Command::Show(Subject { organisation }) => {
            let show = |conn: &_| by_operator::show(conn, by_operator::find(conn, &organisation)?);
            output.one(&db::read_once(folder, show)?)
        }
        Command::Create { name, owner } => {
            let id = folder::change(folder, |tx| by_operator::create(tx, &name, &owner))?;
            output.one(&db::read_once(folder, |conn| by_operator::show(conn, id))?.listed)
        }
        Command::Transfer { organisation: Subject { organisation }, email } => {
            folder::change(folder, |tx| {
                let id = by_operator::find(tx, &organisation)?;
                by_operator::transfer(tx, id, &email)
            })?;
            output.done(&format!("{email} owns {organisation}"), &json!({ "organisation": organisation, "owner": email }))
        }
        Command::Export { organisation: Subject { organisation }, file, without_files } => {
            if file == Path::new("-") {
                return Err(Error::failed("an export is written to a file only: name one, as in engines.tar.zst"));
            }
            let id = db::read_once(folder, |conn| by_operator::find(conn, &organisation))?;
            let Manifest { tables, files, .. } = transfer::export(folder, id, !without_files, &file, &mut bar())?;
            let FileTotals { count, bytes, missing, .. } = files.unwrap_or_default();
            output.one(&Exported { tables, files: count, bytes_of_files: bytes, missing_files: missing })
        }
        Command::Import { file, organisation, dry_run } => {
            let into = import_runner::find_organisation(folder, organisation.as_deref())?;
            let import = |write: transfer::Writer| transfer::import(folder, &file, into, write, &mut bar());
            import_runner::print(output, &import_runner::run_with_writer(folder, dry_run, import)?)
        }
        Command::Delete(Subject { organisation }) => {
            folder::change(folder, |tx| {
                let id = by_operator::find(tx, &organisation)?;
                by_operator::delete(tx, id)
            })?;
            output.done(&format!("deleted {organisation}"), &json!({ "deleted": organisation }))
        }
    }
}
