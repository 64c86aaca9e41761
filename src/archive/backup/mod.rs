//! Backups: one file with the database and the secret key, made while the server runs and proven by reading it back, with the files
//! of messages in it or in a pool beside it; and their restoration.

mod files;
mod restore;

use std::{
    fs::{self, File, Permissions},
    io::{Cursor, Read, Seek, SeekFrom, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::geteuid;

use self::files::{Pool, Source, is_within};
pub use self::{
    files::Files,
    restore::{Restored, restore},
};
use crate::{
    archive::{self, Content, FileContent, FileTotals, Manifest, Progress, Scope},
    db::{
        self,
        snapshot::{self, Snapshot},
    },
    error::{Error, Result},
    files::Store,
    regular_file,
    time::Time,
};

/// The names of archives in a folder: `tidings-2027-01-05T170640Z.tar.zst`, so that their order is that of their times.
const NAME: &str = "tidings-%Y-%m-%dT%H%M%SZ.tar.zst";
/// The ending of a name while its archive is written.
const PARTIAL: &str = ".partial";
/// How the names of folders in which backups are proven begin.
const PROOF: &str = ".tidings-proof-";

/// A backup that is written and on disk.
pub struct WrittenBackup {
    pub path: PathBuf,
    pub bytes: u64,
    pub manifest: Manifest,
}

/// The backups that the server makes by itself.
#[derive(Clone)]
pub struct Schedule {
    pub folder: PathBuf,
    /// The time between two backups.
    pub every: Duration,
    /// How many are kept.
    pub keep: usize,
}

impl Schedule {
    /// How long the next backup is not due yet; `None` if it is due. It depends on the newest backup in the folder, so that a
    /// restart of the server doesn't put it off.
    pub fn left(&self, now: Time) -> Option<Duration> {
        let (newest, _) = self.newest(now)?;
        self.every.checked_sub(now.since(newest)).filter(|left| !left.is_zero())
    }

    /// The newest backup in the folder, if there is one.
    pub fn newest(&self, now: Time) -> Option<(Time, PathBuf)> {
        archives(&self.folder, now).ok()?.pop()
    }
}

/// Writes a backup of a data folder into another folder, which is created if it is missing, and names it by the time.
pub fn into_folder(
    data: &Path,
    folder: &Path,
    files: Files,
    proof: Proof,
    now: Time,
    progress: Progress,
) -> Result<WrittenBackup> {
    let unusable = |err| Error::failed(format!("can't make the folder {}: {err}", folder.display()));
    let is_new = !folder.exists();
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unusable)?;
    if is_new && is_within(folder, data) {
        db::give_to_folder_owner(folder, data).map_err(unusable)?;
    }
    into_file(data, &folder.join(now.strftime(NAME)), files, proof, now, progress)
}

/// Prepares a data folder for its migration: writes a backup of an older database, without files, unless `is_left_out`, and returns its path.
/// Refuses a newer database with the command that goes back, and one with other definitions than those of its version.
pub fn before_migration(data: &Path, folder: &Path, is_left_out: bool, now: Time, progress: Progress) -> Result<Option<PathBuf>> {
    let (have, newest) = (db::version(data)?, db::newest_version());
    if have > newest {
        let back = restorable(folder, now).map_or("`tidings restore` with the backup from before the upgrade".into(), |path| {
            format!("`tidings restore {} --data-dir {}`, which loses what was written since", path.display(), data.display())
        });
        return Err(Error::failed(format!(
            "the database in {} has schema version {have}, this binary knows up to {newest}: run a newer tidings, or go back with {back}",
            data.display()
        )));
    }
    db::require_known_definitions(data)?;
    if have == 0 || have == newest || is_left_out {
        return Ok(None);
    }
    let path = folder.join(now.strftime(NAME));
    if path.exists() {
        return Ok(Some(path)); // of this second, made at a start that was killed afterwards: only a complete one has the name
    }
    match into_folder(data, folder, Files::LeftOut, Proof::NotWanted, now, progress) {
        Ok(made) => Ok(Some(made.path)),
        Err(err) => Err(Error::failed(format!(
            "no backup could be made before the migration of the database: {}. Name another folder with --backup-dir, or leave the backup out with --no-migration-backup",
            err.admin_detail()
        ))),
    }
}

/// The newest backup in a folder that this binary can restore.
fn restorable(folder: &Path, now: Time) -> Option<PathBuf> {
    let can = |path: &PathBuf| archive::manifest(open(path)?)?.require(Scope::Backup);
    archives(folder, now).ok()?.into_iter().rev().map(|(_, path)| path).find(|path| can(path).is_ok())
}

/// Whether a backup is proven, as [`verify`] does, before it gets its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    Wanted,
    NotWanted,
}

/// Writes a backup of a data folder into a file that does not exist yet. Until it is complete, on disk and proven, if that is
/// wanted, its name ends with `.partial`: one that fails the proof must not stand for a good one.
pub fn into_file(data: &Path, path: &Path, files: Files, proof: Proof, now: Time, progress: Progress) -> Result<WrittenBackup> {
    let failed = |err: &dyn std::fmt::Display| Error::failed(format!("can't write the backup {}: {err}", path.display()));
    if path.exists() {
        return Err(failed(&"the file exists"));
    }
    let folder = folder_of(path);
    remove_remains(folder);
    let partial = path.with_file_name(format!("{}{PARTIAL}", path.file_name().unwrap_or_default().display()));
    if is_remains(&partial) {
        fs::remove_file(&partial).map_err(|err| failed(&err))?;
    }
    // New, so that nobody else has it open.
    let file = File::options().create_new(true).write(true).mode(0o600).open(&partial).map_err(|err| failed(&err))?;
    // The lock tells a backup that is being written from the remains of one that was killed.
    let written = file.try_lock().map_err(|err| failed(&err)).and_then(|()| {
        let (manifest, file, _pool) = write_and_hold(data, file, folder, files, now, progress)?;
        file.sync_all().map_err(|err| failed(&err))?;
        if proof == Proof::Wanted {
            verify(&partial, progress).map_err(|err| {
                let (data, reason) = (data.display(), err.admin_detail());
                Error::failed(format!("the backup of {data} could not be restored, and is not kept: {reason}"))
            })?;
        }
        if is_within(folder, data) {
            db::give_to_folder_owner(&partial, data).map_err(|err| failed(&err))?;
        }
        fs::rename(&partial, path).and_then(|()| File::open(folder)?.sync_all()).map_err(|err| failed(&err))?;
        Ok(WrittenBackup { path: path.to_owned(), bytes: file.metadata().map_err(|err| failed(&err))?.len(), manifest })
    });
    if written.is_err() {
        _ = fs::remove_file(&partial);
    }
    written
}

/// Writes a backup of a data folder to `to`, files included unless they are left out. The database is first copied to a nameless
/// file in the data folder.
pub fn write_to<W: Write>(data: &Path, to: W, files: Files, now: Time, progress: Progress) -> Result<()> {
    write_and_hold(data, to, data, files, now, progress).map(drop)
}

/// [`write_to`], with the copy of the database and the pool of files in the folder `beside`. What holds the pool is returned.
fn write_and_hold<W: Write>(
    data: &Path,
    to: W,
    beside: &Path,
    files: Files,
    now: Time,
    progress: Progress,
) -> Result<(Manifest, W, Option<File>)> {
    db::require_database(data)?;
    db::existing_key(data)?; // fails before the work
    // For a copy of the database and an archive of it, which is at most as large.
    let needed = 2 * fs::metadata(data.join(db::FILE)).map_or(0, |file| file.len());
    db::require_space(beside, needed, 0, &format!("a backup of {}", data.display()))?;
    let store = Store::existing(data).filter(|_| files != Files::LeftOut);
    // Before the copy: what it names must be there until it is kept.
    let _held = store.as_ref().map(Store::hold).transpose().map_err(Error::internal)?;
    let snapshot = snapshot::take(data, beside, &mut |done, all| progress("copying", done, all))?;
    let contents = store.as_ref().map_or(Ok(None), |store| files::contents(&snapshot, store))?;
    let Snapshot { mut file, version, tables, .. } = snapshot;
    // Read after the database, which may hold what a new key has sealed meanwhile; a key file only gains keys.
    let key = db::existing_key(data)?;
    file.seek(SeekFrom::Start(0)).map_err(Error::internal)?;
    let mut parts: Vec<Content<Box<dyn ReadSeek>>> = Vec::new();
    let (mut totals, mut pool) = (None, None);
    let mut behind: Box<dyn Iterator<Item = Result<FileContent>>> = Box::new(std::iter::empty());
    if let Some((contents, store)) = contents.as_ref().zip(store.as_ref()) {
        totals = Some(contents.totals);
        if files == Files::InPool {
            pool = Some(Pool::beside(beside).add(contents, store, data, progress)?);
            totals = Some(FileTotals { contents: 0, ..contents.totals });
        } else {
            behind = Box::new(contents.each(store));
        }
        parts.push(Content { name: files::LIST, from: Box::new(files::part(contents)) });
    }
    parts.push(Content { name: db::FILE, from: Box::new(file) });
    parts.push(Content { name: db::KEY, from: Box::new(Cursor::new(key)) });
    let manifest = Manifest::new(Scope::Backup, version, now, tables).with_files(totals);
    let (manifest, to) = archive::write(manifest, parts, &mut behind, to, progress)?;
    Ok((manifest, to, pool))
}

trait ReadSeek: Read + Seek {}
impl<T: Read + Seek> ReadSeek for T {}

/// Proves a backup: unpacks it into a temporary folder beside it, and checks the database that comes out, and each file.
pub fn verify(path: &Path, progress: Progress) -> Result<Manifest> {
    let beside = folder_of(path);
    remove_remains(beside);
    let private = Permissions::from_mode(0o700);
    let proof = tempfile::Builder::new().prefix(PROOF).permissions(private).tempdir_in(beside);
    let proof = proof.map_err(|err| Error::failed(format!("can't write to {}: {err}", beside.display())))?;
    let _lock = db::lock(proof.path())?;
    let mut unpacked = restore::unpack(open(path)?, proof.path(), None, progress)?;
    if unpacked.manifest.files.is_some() {
        let source = unpacked.take_source(Source::Pool(Pool::beside(beside)));
        files::require(&proof.path().join(files::LIST), &source, None, progress)?;
    }
    Ok(unpacked.manifest)
}

/// Fails if backups can't be written to a folder, or the folder can't be made for them. Changes nothing.
pub fn require_writable(folder: &Path) -> Result<()> {
    let nearest = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    let refused = |err: &dyn std::fmt::Display| {
        Error::failed(format!("--backup-dir {}: can't write to {}: {err}", folder.display(), nearest.display()))
    };
    if !nearest.is_dir() {
        return Err(refused(&"it is no folder"));
    }
    tempfile::tempfile_in(nearest).map(drop).map_err(|err| refused(&err)) // without a name
}

/// Deletes the oldest backups of a folder but for the newest `keep`, and what of its pool the others don't name; other files stay.
pub fn keep_newest(folder: &Path, keep: usize, now: Time) -> Result<()> {
    let all = archives(folder, now)?;
    for (_, path) in &all[..all.len().saturating_sub(keep)] {
        fs::remove_file(path).map_err(|err| Error::failed(format!("can't delete {}: {err}", path.display())))?;
    }
    let lists = || Ok(named(folder)?.into_iter().map(|(_, path)| archive::first_part(open(&path)?, files::LIST)));
    Pool::beside(folder).keep(lists)
}

/// The backups in a folder that have the usual names, the oldest first. Names of times to come don't count: the clock was wrong
/// when they were made, and the next backup must not wait for that time.
fn archives(folder: &Path, now: Time) -> Result<Vec<(Time, PathBuf)>> {
    Ok(named(folder)?.into_iter().filter(|(made, _)| *made <= now).collect())
}

fn named(folder: &Path) -> Result<Vec<(Time, PathBuf)>> {
    let unreadable = |err| Error::failed(format!("can't read the folder {}: {err}", folder.display()));
    let entries = fs::read_dir(folder).map_err(unreadable)?;
    let named = |entry: fs::DirEntry| Some((Time::strptime(NAME, entry.file_name().to_str()?)?, entry.path()));
    let mut all: Vec<_> = entries.filter_map(|entry| named(entry.ok()?)).collect();
    all.sort();
    Ok(all)
}

/// Deletes what killed backups and proofs have left in a folder.
fn remove_remains(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let Some(name) = name.to_str() else { continue };
        let is_backup = name.strip_suffix(PARTIAL).is_some_and(|name| Time::strptime(NAME, name).is_some());
        if is_backup && is_remains(&path) {
            _ = fs::remove_file(path);
        } else if name.starts_with(PROOF) && is_own(&path, fs::Metadata::is_dir) && db::lock(&path).is_ok() {
            _ = fs::remove_dir_all(path);
        }
    }
}

/// Whether a file is what a killed backup has left. A lock tells one that is under way.
fn is_remains(path: &Path) -> bool {
    is_own(path, fs::Metadata::is_file) && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Whether a path is this user's, and of the kind. Others may write to the folder, too: theirs is neither opened nor deleted.
fn is_own(path: &Path, kind: fn(&fs::Metadata) -> bool) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| kind(&found) && found.uid() == geteuid().as_raw())
}

fn open(path: &Path) -> Result<File> {
    regular_file::open(path).map_err(|err| Error::failed(format!("can't read the backup {}: {err}", path.display())))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
