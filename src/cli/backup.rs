//! `tidings backup` and `tidings restore`

use std::{
    fs::File,
    io::{IsTerminal, stdout},
    path::{Path, PathBuf},
};

use clap::Args;
use rustix::fs::FileType;
use serde_json::json;

use super::output::{Output, bar};
use crate::{
    archive::{
        FileTotals, Manifest,
        backup::{self, Files, Proof, Restored, WrittenBackup},
    },
    error::{Error, Result},
    regular_file,
    time::Time,
};

#[derive(Args)]
pub struct Backup {
    /// A folder, a file whose name ends with .zst, or - for standard output
    ///
    /// In a folder the file is named by the time, as in `tidings-2027-01-05T170640Z.tar.zst`. An existing file is never replaced
    #[arg(value_name = "TO", default_value = ".")]
    to: PathBuf,
    /// Prove the backup before it gets its name: read it back, and check the database in it
    #[arg(long)]
    verify: bool,
    /// Leave the files of messages out, as before an upgrade
    ///
    /// With a folder they are kept in `files` beside the backups, each once for all of them; with a file or standard output they
    /// are in the backup itself
    #[arg(long)]
    database_only: bool,
    /// Backups to keep in the folder; older ones are deleted after the new one is made
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    keep: Option<u32>,
}

#[derive(Args)]
pub struct Restore {
    /// A file that `tidings backup` or the server has made; - for standard input, which --dry-run can't read
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Folder to restore, instead of that of `--data-dir`; created if it is missing
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Restore although the files of messages are not there; those that are in the folder already stay
    #[arg(long)]
    without_files: bool,
    /// Only check whether the backup could be restored
    #[arg(long)]
    dry_run: bool,
}

pub fn run(data: &Path, output: Output, Backup { to, verify, database_only, keep }: Backup) -> Result<()> {
    let now = Time::now();
    if to == Path::new("-") {
        if verify || keep.is_some() {
            return Err(Error::failed("--verify and --keep need a file or a folder to write to"));
        }
        if stdout().is_terminal() {
            return Err(Error::failed("a backup is not written to a terminal: redirect standard output, or name a folder"));
        }
        if is_open_to_others() {
            eprintln!(
                "tidings: other users can read the file that standard output goes to, and a backup holds the key to all tokens: use umask 077"
            );
        }
        let files = if database_only { Files::LeftOut } else { Files::InArchive };
        return backup::write_to(data, stdout().lock(), files, now, &mut bar());
    }
    let is_folder = to.is_dir() || !to.exists() && to.extension().is_none_or(|kind| kind != "zst");
    if keep.is_some() && !is_folder {
        return Err(Error::failed(format!("--keep needs a folder, and {} is none", to.display())));
    }
    let proof = if verify { Proof::Wanted } else { Proof::NotWanted };
    let files = if database_only {
        Files::LeftOut
    } else if is_folder {
        Files::InPool
    } else {
        Files::InArchive
    };
    let WrittenBackup { path, bytes, manifest } = match is_folder {
        true => backup::into_folder(data, &to, files, proof, now, &mut bar())?,
        false => backup::into_file(data, &to, files, proof, now, &mut bar())?,
    };
    if let Some(keep) = keep {
        backup::keep_newest(&to, keep as usize, now)?;
    }
    let verified = if verify { "\nverified: it can be restored" } else { "" };
    let sentence = format!("{}: {:.1} MB, {}{verified}", path.display(), bytes as f64 / 1e6, described(&manifest));
    output.done(&sentence, &json!({ "file": path, "bytes": bytes, "verified": verify, "manifest": manifest }))
}

/// Whether standard output goes to a file that its group or others can read. The shell has made it under its umask. A warning, and
/// no refusal: where a timer runs the command, a missing backup is worse than one that others on the machine can read.
fn is_open_to_others() -> bool {
    let file = rustix::fs::fstat(stdout());
    file.is_ok_and(|file| FileType::from_raw_mode(file.st_mode) == FileType::RegularFile && file.st_mode & 0o044 != 0)
}

pub fn restore(data: &Path, output: Output, Restore { file, to, without_files, dry_run }: Restore) -> Result<()> {
    if dry_run {
        if file == Path::new("-") {
            return Err(Error::failed("--dry-run can't read standard input: name a file"));
        }
        let manifest = backup::verify(&file, &mut bar())?;
        let sentence = format!("{} can be restored: {}", file.display(), described(&manifest));
        return output.done(&sentence, &json!({ "file": file, "manifest": manifest }));
    }
    let folder = to.as_deref().unwrap_or(data);
    let from = if file == Path::new("-") { File::open("/dev/stdin") } else { regular_file::open(&file) };
    let from = from.map_err(|err| Error::failed(format!("can't read the backup {}: {err}", file.display())))?;
    let beside = file.parent().filter(|_| file != Path::new("-"));
    let Restored { manifest, former } = backup::restore(from, beside, without_files, folder, Time::now(), &mut bar())?;
    let kept = former.as_ref().map_or_else(String::new, |former| {
        format!("\nthe former files are in {}; delete them when you no longer need them", former.display())
    });
    let sentence = format!("restored {}: {}{kept}", folder.display(), described(&manifest));
    output.done(&sentence, &json!({ "folder": folder, "former": former, "manifest": manifest }))
}

fn described(manifest: &Manifest) -> String {
    let rows = |table: &str| manifest.tables.get(table).copied().unwrap_or(0);
    let (messages, accounts) = (rows("messages"), rows("users"));
    let what = match manifest.files {
        None => format!("{messages} messages and {accounts} accounts"),
        Some(FileTotals { count, bytes, missing, .. }) => {
            let missing =
                if missing > 0 { format!(" ({missing} more are MISSING on the disk, or altered)") } else { String::new() };
            format!("{messages} messages, {accounts} accounts and {count} files of {:.1} MB{missing}", bytes as f64 / 1e6)
        }
    };
    format!("{what} as of {}, schema version {}", manifest.created_at, manifest.schema)
}
