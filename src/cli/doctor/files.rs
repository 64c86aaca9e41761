//! What the doctor finds of the files of messages. It reads all of them.

use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rusqlite::Connection;

use super::finding::{Finding, Outcome, found};
use crate::{
    archive::copy_with_checksum,
    domain::files::{
        inventory::{self, Listed},
        removal,
    },
    error::{Error, Result},
    files::Store,
    secret,
    time::Time,
};

const CHECK: &str = "files";

/// Each file lies in its place, unchanged, and nothing else does.
pub fn check(data: &Path, conn: &Connection) -> Result<Vec<Finding>> {
    let Some(store) = Store::existing(data) else { return Ok(Vec::new()) };
    let _held = store.hold().map_err(Error::internal)?; // a running server removes nothing meanwhile
    let (mut sound, mut missing, mut altered, mut unnamed) = (0_u64, Vec::new(), Vec::new(), Vec::new());
    inventory::each(conn, |Listed { organisation, id, bytes, sha256 }| {
        let path = store.path(organisation, id);
        let sum = secret::hex(&sha256);
        match File::open(&path).and_then(|mut file| copy_with_checksum(&mut file, &mut std::io::sink(), &mut |_| ())) {
            Ok(content) if content == (bytes, sum) => sound += 1,
            Ok(_) => altered.push(path),
            Err(_) => missing.push(path),
        }
    })?;
    store.each_written_before(Time::now() - removal::NAMED_WITHIN, |organisation, ids| {
        unnamed.extend(removal::unknown(conn, &ids)?.into_iter().map(|id| store.path(organisation, id)));
        Ok(())
    })?;
    let first = |paths: &[PathBuf]| format!("{}, the first is {}", paths.len(), paths[0].display());
    let mut findings = Vec::new();
    if !missing.is_empty() {
        findings.push(found(
            Outcome::Bad,
            CHECK,
            format!("missing or unreadable: {}; put them back from a backup", first(&missing)),
        ));
    }
    if !altered.is_empty() {
        findings.push(found(Outcome::Bad, CHECK, format!("altered: {}; put them back from a backup", first(&altered))));
    }
    if !unnamed.is_empty() {
        let finding = format!("no message names {}; a running server removes them within a day", first(&unnamed));
        findings.push(found(Outcome::Warning, CHECK, finding));
    }
    if findings.is_empty() {
        findings.push(found(Outcome::Good, CHECK, format!("{sound} are whole and in their places")));
    }
    Ok(findings)
}

/// The folder of the files, if it is on another disk than the database.
pub fn on_another_disk(data: &Path) -> Option<PathBuf> {
    let files = Store::existing(data)?.folder().to_owned();
    let disk = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
    (disk(data)? != disk(&files)?).then_some(files)
}
