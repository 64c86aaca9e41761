//! The files of messages in backups. One part of an archive lists them; their bytes follow the parts, or lie in a pool beside the
//! archives of a folder, where all of them share what they have in common.

use std::{
    collections::HashSet,
    fmt,
    fs::{self, File, TryLockError},
    io::{self, BufRead, BufReader, Cursor},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    archive::{
        Progress,
        contents::{Contents, DRAFT, Placing, has_content, is_whole, link_or_copy, make_folder},
    },
    db::snapshot::Snapshot,
    domain::files::inventory::{self, Listed},
    error::{Error, Result},
    files::Store,
    id::{FileId, OrganisationId},
    secret,
};

/// The part with a line for each file: its organisation, its id, its bytes and its SHA-256. It is the first, so that those of many
/// archives are read in no time.
pub(super) const LIST: &str = "files";
/// The folder of the pool, beside the archives: `<first two digits of the hash>/<hash>`.
const POOL: &str = "files";

/// Where the bytes of a backup's files go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// Nowhere: the backup is the database alone.
    LeftOut,
    /// Behind the parts of the archive.
    InArchive,
    /// Into the pool of the folder.
    InPool,
}

/// The files that the database of a snapshot names; none where there are none.
pub(super) fn contents(snapshot: &Snapshot, store: &Store) -> Result<Option<Contents>> {
    let mut contents = Contents::default();
    snapshot.read(|conn| {
        inventory::each(conn, |file| {
            let is_whole = is_whole(store, &file);
            contents.add(file, is_whole);
        })
    })?;
    let is_any = contents.totals.count + contents.totals.missing > 0;
    Ok(is_any.then_some(contents))
}

/// The list, as a part.
pub(super) fn part(contents: &Contents) -> Cursor<Vec<u8>> {
    Cursor::new(contents.files.iter().map(Line::of).map(|line| line.to_string()).collect::<String>().into_bytes())
}

struct Line {
    organisation: OrganisationId,
    id: FileId,
    bytes: u64,
    sha256: String,
}

impl Line {
    fn of(&Listed { organisation, id, bytes, sha256 }: &Listed) -> Line {
        Line { organisation, id, bytes, sha256: secret::hex(&sha256) }
    }

    fn parse(line: &str) -> Result<Line> {
        let fields: Vec<_> = line.split(' ').collect();
        let parsed =
            match fields[..] {
                [organisation, id, bytes, sha256] if is_hash(sha256) => {
                    organisation.parse().ok().zip(id.parse().ok()).zip(bytes.parse().ok()).map(|((organisation, id), bytes)| {
                        Line { organisation: OrganisationId(organisation), id: FileId(id), bytes, sha256: sha256.to_owned() }
                    })
                }
                _ => None,
            };
        parsed.ok_or_else(|| Error::failed("the list of files in the backup is damaged"))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { organisation, id, bytes, sha256 } = self;
        writeln!(f, "{organisation} {id} {bytes} {sha256}")
    }
}

/// No name of a file elsewhere.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// The pool of a folder of archives.
pub(super) struct Pool(PathBuf);

impl Pool {
    pub fn beside(folder: &Path) -> Pool {
        Pool(folder.join(POOL))
    }

    fn path(&self, sha256: &str) -> PathBuf {
        self.0.join(&sha256[..2]).join(sha256)
    }

    /// Adds the files of a list, as hard links where the disk is the same. Nothing is removed while what is returned is held.
    pub fn add(&self, contents: &Contents, store: &Store, data: &Path, progress: Progress) -> Result<File> {
        let failed = |err: io::Error| Error::failed(format!("can't write to {}: {err}", self.0.display()));
        let around = self.0.parent().expect("it is beside archives");
        let owner = if is_within(around, data) { data } else { around };
        make_folder(&self.0, owner).map_err(failed)?;
        let lock = File::open(&self.0).map_err(failed)?;
        lock.lock_shared().map_err(failed)?;
        let mut touched = HashSet::new();
        for (done, Listed { organisation, id, sha256, .. }) in contents.files.iter().enumerate() {
            let sha256 = secret::hex(sha256);
            let (from, to) = (store.path(*organisation, *id), self.path(&sha256));
            progress("keeping files", done as u64, contents.totals.count);
            if is_same(&from, &to) || has_content(&to, &sha256) {
                continue;
            }
            let folder = to.parent().expect("it lies in a folder").to_owned();
            make_folder(&folder, owner).map_err(failed)?;
            link_or_copy(&from, &to, data).map_err(failed)?;
            touched.insert(folder);
        }
        touched.insert(self.0.clone());
        touched.iter().try_for_each(|folder| File::open(folder)?.sync_all()).map_err(failed)?;
        Ok(lock)
    }

    /// Removes what none of the lists of the folder names, and what a kill has left; nothing where one of them can't be read, and while a backup is made.
    pub fn keep<L: Iterator<Item = Result<Vec<u8>>>>(&self, lists: impl FnOnce() -> Result<L>) -> Result<()> {
        if !is_folder(&self.0) {
            return Ok(());
        }
        let Ok(lock) = File::open(&self.0) else { return Ok(()) };
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(err)) => return Err(Error::internal(err)),
        }
        let mut named = HashSet::new();
        for list in lists()? {
            let list = match list {
                Ok(list) => list,
                Err(err) => {
                    tracing::warn!(folder = %self.0.display(), "kept what no backup may name: {}", err.admin_detail());
                    return Ok(());
                }
            };
            for line in list.lines() {
                named.insert(Line::parse(&line.map_err(Error::internal)?)?.sha256);
            }
        }
        for folder in fs::read_dir(&self.0).map_err(Error::internal)?.flatten().filter(|folder| is_folder(&folder.path())) {
            for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                if file.file_name().to_str().is_some_and(|name| name.ends_with(DRAFT) || is_hash(name) && !named.contains(name)) {
                    fs::remove_file(file.path()).map_err(Error::internal)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps all of it in place for as long as what is returned is held; none without a pool.
    pub fn hold(&self) -> Result<Option<File>> {
        let Ok(lock) = File::open(&self.0) else { return Ok(None) };
        lock.lock_shared().map_err(Error::internal)?;
        Ok(Some(lock))
    }

    /// Whether its files can be linked from a folder.
    pub fn is_on_disk_of(&self, folder: &Path) -> bool {
        let disk = |path: &Path| fs::metadata(path).ok().map(|found| found.dev());
        disk(&self.0) == disk(folder)
    }
}

/// Where the bytes of the files of a backup are.
pub(super) enum Source {
    /// The contents with these hashes were in the archive, and as they should be.
    Read(HashSet<String>),
    /// In a folder, by their hashes.
    Folder(PathBuf),
    Pool(Pool),
    Nowhere,
}

impl Source {
    fn path(&self, sha256: &str) -> Option<PathBuf> {
        match self {
            Source::Folder(folder) => Some(folder.join(sha256)),
            Source::Pool(pool) => Some(pool.path(sha256)),
            Source::Read(_) | Source::Nowhere => None,
        }
    }

    /// Whether a content is there, and as its hash says.
    fn has(&self, sha256: &str) -> bool {
        match self {
            Source::Read(seen) => seen.contains(sha256),
            Source::Folder(folder) => folder.join(sha256).is_file(), // it was compared as it was unpacked
            _ => self.path(sha256).is_some_and(|path| has_content(&path, sha256)),
        }
    }
}

/// Fails if a file of an unpacked list is neither at its source nor in its place. Returns those that are in their places, unchanged.
pub(super) fn require(list: &Path, source: &Source, store: Option<&Store>, progress: Progress) -> Result<HashSet<FileId>> {
    let lines = read(list)?;
    let (mut known, mut missing, mut in_place) = (HashSet::new(), Vec::new(), HashSet::new());
    for (done, Line { organisation, id, sha256, .. }) in lines.iter().enumerate() {
        progress("checking files", done as u64, lines.len() as u64);
        if store.is_some_and(|store| has_content(&store.path(*organisation, *id), sha256)) {
            in_place.insert(*id);
        } else if !known.contains(sha256) {
            if source.has(sha256) { _ = known.insert(sha256.clone()) } else { missing.push(sha256) }
        }
    }
    let Some(first) = missing.first() else { return Ok(in_place) };
    let place = source.path(first).map_or_else(|| "the backup".into(), |path| path.display().to_string());
    Err(Error::failed(format!(
        "{} of {} files of the backup are missing or damaged, the first is {place}: put them there, or leave all files out with --without-files",
        missing.len(),
        lines.len()
    )))
}

/// Puts the files of an unpacked list in their places but for those that are `in_place`, and moves those that it does not name into
/// `former`.
pub(super) fn put(
    list: &Path,
    source: &Source,
    in_place: &HashSet<FileId>,
    store: &Store,
    data: &Path,
    former: &Path,
) -> Result<()> {
    let failed = |err: io::Error| Error::failed(format!("can't write to {}: {err}", store.folder().display()));
    let lines = read(list)?;
    let named: HashSet<FileId> = lines.iter().map(|line| line.id).collect();
    store.each(|organisation, ids| {
        for id in ids.into_iter().filter(|id| !named.contains(id)) {
            make_folder(former, data).map_err(failed)?;
            let folder = former.join(organisation.to_string());
            make_folder(&folder, data).map_err(failed)?;
            store.remove_copies(organisation, id).map_err(failed)?;
            fs::rename(store.path(organisation, id), folder.join(id.to_string())).map_err(failed)?;
        }
        Ok(())
    })?;
    let mut placing = Placing::new(store, data);
    for Line { organisation, id, sha256, .. } in lines {
        if let Some(from) = source.path(&sha256).filter(|_| !in_place.contains(&id)) {
            placing.place(&from, organisation, id).map_err(failed)?;
            File::open(store.path(organisation, id)).and_then(|file| file.sync_all()).map_err(failed)?;
        }
    }
    placing.sync().map_err(failed)
}

fn read(list: &Path) -> Result<Vec<Line>> {
    let lines = BufReader::new(File::open(list).map_err(Error::internal)?).lines();
    lines.map(|line| Line::parse(&line.map_err(Error::internal)?)).collect()
}

/// Whether it is a folder itself: others may write beside backups, and a link would lead elsewhere.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Whether both are names of one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let inode = |path: &Path| fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()));
    inode(one).is_some_and(|found| inode(other) == Some(found))
}

/// Whether a folder is inside the data folder. What a command writes there belongs to the owner of the data folder, even if
/// root runs it.
pub(super) fn is_within(folder: &Path, data: &Path) -> bool {
    folder.canonicalize().ok().zip(data.canonicalize().ok()).is_some_and(|(folder, data)| folder.starts_with(data))
}
