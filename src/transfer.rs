//! Exports one organisation into a file, and imports such a file: what [`crate::domain::transfer`] reads and writes, in an archive.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crate::{
    archive::{self, Content, Destination, Kind, Manifest, Progress},
    db::{self, Tx},
    domain::transfer::{export, import::Import, records::PARTS},
    error::{Error, Result},
    id::OrganisationId,
    time::Time,
};

/// Lines that one transaction imports: some milliseconds.
const BATCH: usize = 200;
/// The longest line: a message of the largest size with a reaction of each of a thousand members has less.
const LINE_MAX: u64 = 4 << 20;

/// Exports an organisation into a file that does not exist yet, as of one moment, also while the server runs.
pub fn export(data: &Path, organisation: OrganisationId, to: &Path, progress: Progress) -> Result<Manifest> {
    let failed = |err: std::io::Error| Error::bad_request(format!("can't write {}: {err}", to.display()));
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = File::options().create_new(true).write(true).mode(0o600).open(to).map_err(failed)?;
    let written = db::read_once(data, |conn| {
        let moment = conn.unchecked_transaction()?;
        let (mut parts, mut counts) = (Vec::new(), std::collections::BTreeMap::new());
        for (n, part) in PARTS.iter().enumerate() {
            progress("reading", n as u64, PARTS.len() as u64);
            let mut lines = BufWriter::new(tempfile::tempfile_in(folder).map_err(failed)?);
            counts.insert((*part).to_owned(), export::write(&moment, part, organisation, &mut lines)?);
            let mut from = lines.into_inner().map_err(|err| failed(err.into_error()))?;
            from.rewind().map_err(failed)?;
            parts.push(Content { name: part, from });
        }
        let manifest = Manifest::new(Kind::Organisation, db::newest_version(), Time::now(), counts);
        archive::write(manifest, parts, &file, progress)
    });
    let done = written.and_then(|(manifest, _)| file.sync_all().map(|()| manifest).map_err(failed));
    if done.is_err() {
        _ = std::fs::remove_file(to);
    }
    done
}

/// Imports a file. All of it is read and checked before the first record is written. `write` runs a write transaction.
pub fn import(
    from: &Path,
    mut write: impl FnMut(&mut dyn FnMut(&mut Tx) -> Result<()>) -> Result<()>,
    progress: Progress,
) -> Result<Import> {
    let failed = |err: std::io::Error| Error::bad_request(format!("can't read {}: {err}", from.display()));
    let mut parts = Unpacked { parts: Vec::new() };
    let manifest = archive::read(File::open(from).map_err(failed)?, &mut parts, progress)?;
    let (mut import, mut done, all) = (Import::default(), 0, manifest.tables.values().sum());
    for (part, mut file) in parts.parts {
        file.rewind().map_err(failed)?;
        let mut lines = BufReader::new(file);
        loop {
            let batch =
                (0..BATCH).map_while(|_| line(&mut lines).transpose()).collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
            if batch.is_empty() {
                break;
            }
            write(&mut |tx| batch.iter().try_for_each(|line| import.line(tx, &part, line)))?;
            done += batch.len() as u64;
            progress("importing", done, all);
        }
    }
    Ok(import)
}

/// The next line; `None` after the last.
fn line(lines: &mut impl BufRead) -> std::io::Result<Option<String>> {
    let mut text = String::new();
    let read = lines.by_ref().take(LINE_MAX).read_line(&mut text)?;
    Ok((read > 0).then_some(text))
}

/// The parts of an export in nameless files.
struct Unpacked {
    parts: Vec<(String, File)>,
}

impl Destination for Unpacked {
    fn begin(&mut self, manifest: &Manifest) -> Result<()> {
        manifest.require(Kind::Organisation)
    }

    fn part(&mut self, name: &str) -> Result<Option<&mut dyn Write>> {
        let is_next = PARTS.get(self.parts.len()) == Some(&name);
        if !is_next {
            return Ok(None);
        }
        self.parts.push((name.to_owned(), tempfile::tempfile().map_err(Error::internal)?));
        Ok(self.parts.last_mut().map(|(_, file)| file as &mut dyn Write))
    }
}
