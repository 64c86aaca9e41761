//! Exports one organisation into a file, and imports such a file: what [`crate::domain::transfer`] reads and writes, in an archive.

use std::{
    collections::{HashSet, VecDeque},
    fs::File,
    io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, Write},
    path::Path,
    time::{Duration, Instant},
};

use tempfile::NamedTempFile;

use crate::{
    archive::{
        self, Content, Destination, FileContent, FileTotals, Manifest, Progress, Scope,
        contents::{Contents, SPACE_KEPT, is_whole},
        staged_files::StagedFiles,
    },
    db::{self, Tx},
    domain::{
        files::inventory,
        transfer::{
            export,
            import::{Import, Report},
            records::{PARTS, Record},
        },
    },
    error::{Error, Result},
    files::Store,
    id::{FileId, OrganisationId},
    regular_file,
    time::Time,
};

/// Records that one transaction imports, and bytes of them: some milliseconds.
const BATCH: usize = 200;
const BATCH_BYTES: usize = 1 << 20;
/// Files that one transaction puts in their places, each of them in a folder that is to be put on disk.
const BATCH_FILES: usize = 20;
/// Bytes that a record counts for in a batch, besides its longer texts.
pub const RECORD: usize = 500;
/// Time after which a transaction takes no further record, because a running server waits for it. A member of a large channel
/// takes longer than other records: the import counts what the member has not read.
const BATCH_TIME: Duration = Duration::from_millis(20);
/// The longest line: a message with half a million reactions has less.
const LINE_MAX: u64 = 64 << 20;

/// Exports an organisation into a file that does not exist yet, as of one moment, also while the server runs.
pub fn export(data: &Path, organisation: OrganisationId, with_files: bool, to: &Path, progress: Progress) -> Result<Manifest> {
    let failed = |err: std::io::Error| Error::failed(format!("can't write {}: {err}", to.display()));
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if to.exists() {
        return Err(failed(ErrorKind::AlreadyExists.into()));
    }
    let file = NamedTempFile::new_in(folder).map_err(failed)?;
    let store = Store::existing(data).filter(|_| with_files);
    // What the records name must be there until it is archived.
    let _held = store.as_ref().map(Store::hold).transpose().map_err(Error::internal)?;
    // Most of them before the moment: for as long as that takes, a running server's log of the database grows.
    let whole = whole(data, organisation, store.as_ref(), progress)?;
    let (manifest, parts, contents) = db::read_once(data, |conn| {
        let moment = conn.unchecked_transaction()?;
        let mut contents = Contents::default();
        if with_files {
            for file in inventory::shown(&moment, organisation)? {
                let is_whole = whole.contains(&file.id) || store.as_ref().is_some_and(|store| is_whole(store, &file));
                contents.add(file, is_whole);
            }
        }
        let files = contents.files.iter().map(|file| (file.id, file.sha256)).collect();
        let (mut parts, mut counts) = (Vec::new(), std::collections::BTreeMap::new());
        for (n, part) in PARTS.iter().enumerate() {
            progress("reading", n as u64, PARTS.len() as u64);
            let mut lines = BufWriter::new(tempfile::tempfile_in(folder).map_err(failed)?);
            counts.insert((*part).to_owned(), export::write_part(&moment, part, organisation, &files, &mut lines)?);
            let mut from = lines.into_inner().map_err(|err| failed(err.into_error()))?;
            from.rewind().map_err(failed)?;
            parts.push(Content { name: part, from });
        }
        let totals = Some(contents.totals).filter(|totals| *totals != FileTotals::default());
        Ok((Manifest::new(Scope::Organisation, db::newest_version(), Time::now(), counts).with_files(totals), parts, contents))
    })?;
    let mut behind: Box<dyn Iterator<Item = Result<FileContent>>> = match &store {
        Some(store) => Box::new(contents.each(store)),
        None => Box::new(std::iter::empty()),
    };
    let (manifest, file) = archive::write(manifest, parts, &mut behind, file, progress)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist_noclobber(to).map_err(|err| failed(err.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(manifest)
}

/// The files that an organisation shows and that are on the disk as their rows say.
fn whole(data: &Path, of: OrganisationId, store: Option<&Store>, progress: Progress) -> Result<HashSet<FileId>> {
    let Some(store) = store else { return Ok(HashSet::new()) };
    let shown = db::read_once(data, |conn| inventory::shown(conn, of))?;
    let mut whole = HashSet::new();
    for (done, file) in shown.iter().enumerate() {
        progress("checking files", done as u64, shown.len() as u64);
        if is_whole(store, file) {
            whole.insert(file.id);
        }
    }
    Ok(whole)
}

/// Runs one write transaction.
pub type Transact<'a> = &'a mut dyn FnMut(&mut dyn FnMut(&mut Tx) -> Result<()>) -> Result<()>;

/// What an import writes with.
pub struct Writer<'a> {
    pub write: Transact<'a>,
    /// Whether it writes to a copy of the database that is forgotten. Then no file gets a place.
    pub is_rehearsal: bool,
}

/// Imports a file, into the organisation `into` if that is here already. All of it is read before the first record is written.
pub fn import(data: &Path, from: &Path, into: Option<OrganisationId>, write: Writer, progress: Progress) -> Result<Report> {
    let failed = unreadable(from);
    let mut file = regular_file::open(from).map_err(failed)?;
    let source = fingerprint(&mut file).map_err(failed)?;
    let mut unpacked = Unpacked { beside: data, parts: Vec::new(), files: StagedFiles::new(data)? };
    archive::read(&mut file, &mut unpacked, progress)?;
    let Unpacked { mut parts, files, .. } = unpacked;
    files.sync()?;
    if parts.len() < PARTS.len() {
        return Err(Error::failed(format!("the file has no {}", PARTS[parts.len()])));
    }
    let mut all = 0;
    for (part, file) in &mut parts {
        for record in Records::new(part, file).map_err(failed)? {
            all += record?.1 as u64;
        }
    }
    let mut batches = Batches::new(Import::new(source, into), write, files);
    let mut done = 0;
    for (part, file) in &mut parts {
        for record in Records::new(part, file).map_err(failed)? {
            let (record, bytes) = record?;
            batches.add(record, bytes)?;
            done += bytes as u64;
            progress("importing", done, all);
        }
    }
    batches.finish()
}

/// The error for a file that can't be read.
pub fn unreadable(from: &Path) -> impl Fn(std::io::Error) -> Error + Copy {
    move |err| Error::failed(format!("can't read {}: {err}", from.display()))
}

/// SHA-256 of a whole file, which is rewound.
pub fn fingerprint(file: &mut File) -> std::io::Result<String> {
    file.rewind()?;
    let (_, sum) = archive::copy_with_checksum(file, &mut std::io::sink(), &mut |_| ())?;
    file.rewind()?;
    Ok(sum)
}

/// Hands records to an import, many in one transaction.
pub struct Batches<'a> {
    pub import: Import,
    write: Writer<'a>,
    pub files: StagedFiles,
    waiting: VecDeque<Record>,
    bytes: usize,
}

impl<'a> Batches<'a> {
    pub fn new(import: Import, write: Writer<'a>, files: StagedFiles) -> Batches<'a> {
        Batches { import, write, files, waiting: VecDeque::new(), bytes: 0 }
    }

    /// Takes a record of about so many bytes.
    pub fn add(&mut self, mut record: Record, bytes: usize) -> Result<()> {
        self.files.complete(&mut record, &mut self.import)?;
        self.waiting.push_back(record);
        self.bytes += bytes;
        if self.waiting.len() >= BATCH || self.bytes >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    pub fn finish(mut self) -> Result<Report> {
        self.flush()?;
        Ok(self.import.report())
    }

    fn flush(&mut self) -> Result<()> {
        self.bytes = 0;
        let Batches { import, write: Writer { write, is_rehearsal }, files, waiting, .. } = self;
        while !waiting.is_empty() {
            write(&mut |tx| {
                let mut placing = files.placing();
                let began = Instant::now();
                let mut placed = 0;
                while began.elapsed() < BATCH_TIME
                    && placed < BATCH_FILES
                    && let Some(record) = waiting.pop_front()
                {
                    import.import_record(tx, record)?;
                    let kept = import.take_files();
                    placed += kept.len();
                    if !*is_rehearsal {
                        files.place(kept, &mut placing)?;
                    }
                }
                placing.sync().map_err(Error::internal)
            })?;
        }
        Ok(())
    }
}

/// Reads the records of a part, each with the length of its line.
struct Records<'a> {
    part: &'a str,
    lines: BufReader<&'a mut File>,
}

impl<'a> Records<'a> {
    fn new(part: &'a str, file: &'a mut File) -> std::io::Result<Records<'a>> {
        file.rewind()?;
        Ok(Records { part, lines: BufReader::new(file) })
    }
}

impl Iterator for Records<'_> {
    type Item = Result<(Record, usize)>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut line = String::new();
        match self.lines.by_ref().take(LINE_MAX + 1).read_line(&mut line) {
            Ok(0) => None,
            Ok(read) if read as u64 > LINE_MAX => {
                Some(Err(Error::failed(format!("{} has a line of more than {} MiB", self.part, LINE_MAX >> 20))))
            }
            Ok(read) => Some(Record::read(self.part, &line).map(|record| (record, read))),
            Err(err) => Some(Err(Error::failed(format!("{}: {err}", self.part)))),
        }
    }
}

/// The parts of an export, in nameless files.
struct Unpacked<'a> {
    /// The folder in whose file system they are.
    beside: &'a Path,
    parts: Vec<(String, File)>,
    files: StagedFiles,
}

impl Destination for Unpacked<'_> {
    fn begin(&mut self, manifest: &Manifest) -> Result<()> {
        manifest.require(Scope::Organisation)?;
        for folder in [self.beside, self.files.folder()] {
            db::require_space(folder, manifest.total_bytes(), SPACE_KEPT, "the unpacked export")?;
        }
        Ok(())
    }

    fn part(&mut self, name: &str) -> Result<Option<&mut dyn Write>> {
        let is_next = PARTS.get(self.parts.len()) == Some(&name);
        if !is_next {
            return Ok(None);
        }
        let unusable = |err| Error::failed(format!("can't write to {}: {err}", self.beside.display()));
        self.parts.push((name.to_owned(), tempfile::tempfile_in(self.beside).map_err(unusable)?));
        Ok(self.parts.last_mut().map(|(_, file)| file as &mut dyn Write))
    }

    fn file(&mut self, sha256: &str) -> Result<Option<Box<dyn Write>>> {
        Ok(self.files.create(sha256)?.map(|file| Box::new(file) as Box<dyn Write>))
    }
}
