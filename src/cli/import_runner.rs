//! The common part of the commands that import.

use std::path::Path;

use clap::Args;

use super::{folder, output::Output};
use crate::{
    archive::transfer::Writer,
    db,
    domain::{organisations::by_operator, transfer::import::Report},
    error::Result,
    id::OrganisationId,
};

#[derive(Args, Clone, Copy)]
pub struct DryRun {
    /// Print the same report, and write nothing: the import is made on a copy of the database, and forgotten
    #[arg(long)]
    pub dry_run: bool,
}

/// The organisation of a data folder that a flag names.
pub fn find_organisation(folder: &Path, organisation: Option<&str>) -> Result<Option<OrganisationId>> {
    organisation.map(|name| db::read_once(folder, |conn| by_operator::find(conn, name))).transpose()
}

/// Runs an import with a function that runs its write transactions.
pub fn run_with_writer(folder: &Path, dry_run: DryRun, import: impl FnOnce(Writer) -> Result<Report>) -> Result<Report> {
    if dry_run.dry_run {
        return folder::rehearse(folder, |tx| import(Writer { write: &mut |work| work(tx), is_rehearsal: true }));
    }
    import(Writer { write: &mut |work| folder::change(folder, work), is_rehearsal: false })
}

/// Prints what was imported, and what was not.
pub fn print(output: Output, report: &Report) -> Result<()> {
    output.tables_or_json(report, |output| {
        output.rows(&report.imported)?;
        output.rows(&report.left_out)
    })
}
