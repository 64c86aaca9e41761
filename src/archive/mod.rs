//! Archives, of a whole server or of one organisation: a tar, compressed with Zstandard (RFC 8878). Its first file is the
//! manifest, and the parts that the manifest lists follow in their order. The files of messages may come behind them, each content
//! once and named by its SHA-256.
//!
//! A [`backup`] is of a whole server, and a [`transfer`] of one organisation. [`slack`] turns what Slack exports into the records
//! of a transfer. What is kept of one [`person`] is no archive: it becomes a folder that they can look into.

pub mod backup;
mod contents;
pub mod person;
pub mod slack;
mod staged_files;
pub mod transfer;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read, Seek, Write},
    path::Path,
};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::{
    db::{self, Version},
    error::{Error, Result},
    secret,
    time::Time,
};

/// The version of the archive's own form, without files of messages and with them.
const FORMAT: u32 = 1;
const WITH_FILES: u32 = 2;
const MANIFEST: &str = "manifest.json";
/// The largest manifest: that of this version has less than 2 KiB.
const MANIFEST_MAX: u64 = 1 << 20;
/// The longest first part that is read into memory: the list of some two million files.
const FIRST_MAX: u64 = 300 << 20;
/// Bytes behind the last part, at most: the blocks of zeros that a tar ends with.
const END_MAX: u64 = 1 << 20;
/// The most that unpacking keeps of what it has unpacked, as a power of two: 8 MiB, which every level of Zstandard but the
/// last three gets by with (RFC 8878, section 3.1.1.1.2).
const WINDOW_LOG: u32 = 23;
/// Zstandard's own default.
const LEVEL: i32 = 3;
/// Bytes that are read at once.
const BLOCK: usize = 128 << 10;

/// Called with what is being done, how much of it is done, and how much that is of.
pub type Progress<'a> = &'a mut dyn FnMut(&'static str, u64, u64);

/// The scope of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The whole server.
    Backup,
    Organisation,
}

/// The list of an archive's content.
#[derive(Debug, Serialize, Deserialize)]
pub struct Manifest {
    format: u32,
    kind: Scope,
    /// The version of the binary that made the archive.
    pub tidings: String,
    /// The version of the database's schema.
    pub schema: Version,
    pub created_at: Time,
    /// The number of rows of each table, or of records of each part.
    pub tables: BTreeMap<String, u64>,
    parts: Vec<Part>,
    /// The files of messages, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<FileTotals>,
}

/// The files of messages in an archive. One of its parts lists them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTotals {
    pub count: u64,
    /// Of all of them together.
    pub bytes: u64,
    /// Contents that follow the parts; the others lie in a pool beside the archive.
    pub contents: u64,
    /// Files that were missing on the disk, or altered, when the backup was made.
    pub missing: u64,
}

/// A file of the data folder.
#[derive(Debug, Serialize, Deserialize)]
struct Part {
    name: String,
    bytes: u64,
    /// SHA-256 of the content, in hexadecimal digits.
    sha256: String,
}

/// A file of messages that is to be archived.
pub struct FileContent {
    /// In hexadecimal digits.
    pub sha256: String,
    pub bytes: u64,
    pub from: File,
}

/// A part that is to be archived.
pub struct Content<'a, R> {
    pub name: &'a str,
    pub from: R,
}

impl Manifest {
    pub fn new(kind: Scope, schema: Version, created_at: Time, tables: BTreeMap<String, u64>) -> Manifest {
        let tidings = env!("CARGO_PKG_VERSION").to_owned();
        Manifest { format: FORMAT, kind, tidings, schema, created_at, tables, parts: Vec::new(), files: None }
    }

    pub fn with_files(self, files: Option<FileTotals>) -> Manifest {
        Manifest { format: if files.is_some() { WITH_FILES } else { FORMAT }, files, ..self }
    }

    /// The bytes of all parts, and of the files in the archive.
    pub fn total_bytes(&self) -> u64 {
        let files = self.files.filter(|files| files.contents > 0).map_or(0, |files| files.bytes);
        self.parts.iter().fold(files, |sum, part| sum.saturating_add(part.bytes))
    }

    /// Fails for an archive of another kind, or whose schema this binary doesn't know.
    pub fn require(&self, kind: Scope) -> Result<()> {
        match (self.kind, kind) {
            (Scope::Organisation, Scope::Backup) => {
                return Err(Error::failed("this is the export of an organisation: use `tidings org import`"));
            }
            (Scope::Backup, Scope::Organisation) => {
                return Err(Error::failed("this is the backup of a server: use `tidings restore`"));
            }
            _ => {}
        }
        let (schema, known) = (self.schema, db::newest_version());
        if schema == 0 || schema > known {
            return Err(Error::failed(format!(
                "the archive was made by tidings {} and has schema version {schema}, this binary knows up to {known}: use a newer tidings",
                self.tidings
            )));
        }
        Ok(())
    }
}

/// Writes an archive of the parts, and of files behind them. Each part is read twice: its checksum is in the manifest, which comes
/// first.
pub fn write<W: Write, R: Read + Seek>(
    mut manifest: Manifest,
    parts: Vec<Content<R>>,
    files: &mut dyn Iterator<Item = Result<FileContent>>,
    to: W,
    progress: Progress,
) -> Result<(Manifest, W)> {
    let mut parts = parts;
    for part in &mut parts {
        let (bytes, sha256) = copy_with_checksum(&mut part.from, &mut io::sink(), &mut |_| ()).map_err(Error::internal)?;
        part.from.rewind().map_err(Error::internal)?;
        manifest.parts.push(Part { name: part.name.to_owned(), bytes, sha256 });
    }
    let all = manifest.total_bytes();
    let failed = |err: io::Error| Error::failed(format!("can't write the archive: {err}"));
    let mut encoder = zstd::Encoder::new(to, LEVEL).map_err(failed)?;
    encoder.include_checksum(true).map_err(failed)?;
    let mut tar = tar::Builder::new(encoder);
    let text = serde_json::to_vec_pretty(&manifest).map_err(Error::internal)?;
    let time = manifest.created_at.unix_seconds().try_into().unwrap_or(0);
    append(&mut tar, MANIFEST, text.len() as u64, time, text.as_slice()).map_err(failed)?;
    let mut done = 0;
    for (part, Part { name, bytes, .. }) in parts.into_iter().zip(&manifest.parts) {
        let counted = Counted {
            from: part.from,
            count: |more| {
                done += more;
                progress("compressing", done, all);
            },
        };
        append(&mut tar, name, *bytes, time, counted).map_err(failed)?;
    }
    for file in files {
        let FileContent { sha256, bytes, from } = file?;
        let mut read = 0;
        let counted = Counted { from, count: |more| read += more };
        append(&mut tar, &sha256, bytes, time, counted).map_err(failed)?;
        if read != bytes {
            return Err(Error::failed(format!("the file {sha256} has {read} bytes, not {bytes}")));
        }
        done += bytes;
        progress("compressing", done, all);
    }
    let encoder = tar.into_inner().map_err(failed)?;
    Ok((manifest, encoder.finish().map_err(failed)?))
}

fn append<W: Write>(tar: &mut tar::Builder<W>, name: &str, bytes: u64, time: u64, from: impl Read) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(time);
    tar.append_data(&mut header, Path::new(name), from)
}

/// A reader that tells how many bytes were read.
struct Counted<R, F> {
    from: R,
    count: F,
}

impl<R: Read, F: FnMut(u64)> Read for Counted<R, F> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        (self.count)(read as u64);
        Ok(read)
    }
}

/// Copies all bytes, and returns their number and checksum.
pub fn copy_with_checksum(from: &mut impl Read, to: &mut impl Write, count: &mut dyn FnMut(u64)) -> io::Result<(u64, String)> {
    let (mut sum, mut bytes, mut block) = (Context::new(&SHA256), 0, vec![0; BLOCK]);
    loop {
        match from.read(&mut block)? {
            0 => break,
            read => {
                sum.update(&block[..read]);
                to.write_all(&block[..read])?;
                bytes += read as u64;
                count(read as u64);
            }
        }
    }
    Ok((bytes, secret::hex(sum.finish().as_ref())))
}

/// A writer that tells a failure of its own from one of what it is fed with.
struct Written<W> {
    to: W,
    failed: bool,
}

impl<W: Write> Write for Written<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes).inspect_err(|err| self.failed = err.kind() != io::ErrorKind::Interrupted)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Where the parts of an archive that is read go.
pub trait Destination {
    /// Called once the manifest is read, before any part.
    fn begin(&mut self, manifest: &Manifest) -> Result<()>;
    /// The destination of the part of this name; `None` for a name that no archive has.
    fn part(&mut self, name: &str) -> Result<Option<&mut dyn Write>>;
    /// The destination of a file of messages; `None` if such an archive has none.
    fn file(&mut self, _sha256: &str) -> Result<Option<Box<dyn Write>>> {
        Ok(None)
    }
}

/// Reads what an archive says of itself, and not its parts.
pub fn manifest(from: impl Read) -> Result<Manifest> {
    first(&mut entries(&mut tar::Archive::new(decoder(from)?))?)
}

/// Reads the first part of an archive, if it has this name.
pub fn first_part(from: impl Read, name: &str) -> Result<Vec<u8>> {
    let mut tar = tar::Archive::new(decoder(from)?);
    let mut entries = entries(&mut tar)?;
    let manifest = first(&mut entries)?;
    let mut content = Vec::new();
    if manifest.parts.first().is_some_and(|part| part.name == name) {
        let part = entries.next().transpose().map_err(|err| damaged(&err))?;
        let part =
            part.filter(|part| part.size() <= FIRST_MAX).ok_or_else(|| damaged(&format!("{name} is missing or too long")))?;
        part.take(FIRST_MAX).read_to_end(&mut content).map_err(|err| damaged(&err))?;
    }
    Ok(content)
}

fn decoder<R: Read>(from: R) -> Result<zstd::Decoder<'static, io::BufReader<R>>> {
    let mut decoder = zstd::Decoder::new(from).map_err(|err| damaged(&err))?;
    decoder.window_log_max(WINDOW_LOG).map_err(|err| damaged(&err))?;
    Ok(decoder)
}

/// The entries as they are: extensions for long names, which the library reads into memory as a whole, count as entries. No
/// part needs one.
fn entries<R: Read>(tar: &mut tar::Archive<R>) -> Result<tar::Entries<'_, R>> {
    Ok(tar.entries().map_err(|err| damaged(&err))?.raw(true))
}

/// Reads the manifest, which is the first entry.
fn first<R: Read>(entries: &mut tar::Entries<R>) -> Result<Manifest> {
    let first = entries.next().transpose().map_err(|err| damaged(&err))?;
    let first = first.filter(|entry| entry.path_bytes() == MANIFEST.as_bytes() && entry.size() <= MANIFEST_MAX);
    let mut first = first.ok_or_else(|| damaged(&format!("it does not begin with {MANIFEST}")))?;
    let mut text = Vec::new();
    first.read_to_end(&mut text).map_err(|err| damaged(&err))?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|err| damaged(&format!("{MANIFEST}: {err}")))?;
    if ![FORMAT, WITH_FILES].contains(&manifest.format) {
        let Manifest { format, tidings, .. } = manifest;
        return Err(Error::failed(format!(
            "the archive has form {format} of tidings {tidings}, this binary knows up to {WITH_FILES}: use a newer tidings"
        )));
    }
    Ok(manifest)
}

fn damaged(why: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("this is no complete archive: {why}"))
}

/// Copies an entry. Fails if it has another checksum, or another length where one is told.
fn copy_entry(
    name: &str,
    from: &mut impl Read,
    into: impl Write,
    bytes: Option<u64>,
    sha256: &str,
    count: &mut dyn FnMut(u64),
) -> Result<()> {
    let mut into = Written { to: into, failed: false };
    let (copied, sum) = copy_with_checksum(from, &mut into, count).map_err(|err| match into.failed {
        true => Error::failed(format!("can't write {name} of the archive: {err}")),
        false => damaged(&format!("{name}: {err}")),
    })?;
    if sum != sha256 || bytes.is_some_and(|bytes| bytes != copied) {
        return Err(damaged(&format!("{name} does not have the checksum that it should")));
    }
    Ok(())
}

/// Reads an archive. Fails unless all parts are there, and as the manifest says.
pub fn read(from: impl Read, to: &mut impl Destination, progress: Progress) -> Result<Manifest> {
    let mut tar = tar::Archive::new(decoder(from)?);
    let mut entries = entries(&mut tar)?;
    let manifest = first(&mut entries)?;
    let mut next = || entries.next().transpose().map_err(|err| damaged(&err));
    to.begin(&manifest)?;
    let (mut done, all) = (0, manifest.total_bytes());
    for Part { name, bytes, sha256 } in &manifest.parts {
        let found = next()?.filter(|entry| entry.path_bytes() == name.as_bytes() && entry.size() == *bytes);
        let mut found = found.ok_or_else(|| damaged(&format!("{name} is missing or has another size")))?;
        let into = to.part(name)?.ok_or_else(|| damaged(&format!("{name} is not a part of such an archive")))?;
        let mut count = |more| {
            done += more;
            progress("reading", done, all);
        };
        copy_entry(name, &mut found, into, Some(*bytes), sha256, &mut count)?;
    }
    let FileTotals { contents, bytes: mut left, .. } = manifest.files.unwrap_or_default();
    for _ in 0..contents {
        let mut found = next()?.ok_or_else(|| damaged(&"files are missing"))?;
        left = left.checked_sub(found.size()).ok_or_else(|| damaged(&"its files have more bytes than the manifest says"))?;
        let name = String::from_utf8_lossy(&found.path_bytes()).into_owned();
        let is_name = name.len() == 64 && name.bytes().all(|digit| digit.is_ascii_hexdigit());
        let into = if is_name { to.file(&name)? } else { None };
        let into = into.ok_or_else(|| damaged(&format!("{name} is not a file of such an archive")))?;
        let mut count = |more| {
            done += more;
            progress("reading", done, all);
        };
        copy_entry(&name, &mut found, into, None, &name, &mut count)?;
    }
    if next()?.is_some() {
        return Err(damaged(&"it has more parts than the manifest says"));
    }
    // What is behind the tar: Zstandard's own checksum at the end.
    let end = io::copy(&mut tar.into_inner().take(END_MAX + 1), &mut io::sink()).map_err(|err| damaged(&err))?;
    if end > END_MAX {
        return Err(damaged(&format!("it has more than {} MiB behind its parts", END_MAX >> 20)));
    }
    Ok(manifest)
}
