//! The files of messages in archives: those that are on the disk as their rows say, and the way of one to its place.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use crate::{
    archive::{self, FileContent, FileTotals},
    db,
    domain::files::inventory::Listed,
    error::{Error, Result},
    files::{INCOMING, Store},
    id::{FileId, OrganisationId},
    regular_file, secret,
};

/// Free space that an import leaves to the server.
pub const SPACE_KEPT: u64 = 1 << 30;
/// The end of a copy's name until it is whole.
pub(super) const DRAFT: &str = ".partial";

/// The user that commands may be run by.
const ROOT: u32 = 0;

/// Files whose contents are on the disk as they should be.
#[derive(Default)]
pub struct Contents {
    pub files: Vec<Listed>,
    pub totals: FileTotals,
    seen: HashSet<secret::Hash>,
}

/// Whether the disk has a file as its row says.
pub fn is_whole(store: &Store, file: &Listed) -> bool {
    has_content(&store.path(file.organisation, file.id), &secret::hex(&file.sha256))
}

impl Contents {
    /// Adds a file. One that the disk has lost or changed is counted alone: it must not make every archive fail its proof.
    pub fn add(&mut self, file: Listed, is_whole: bool) {
        if !is_whole {
            self.totals.missing += 1;
            return;
        }
        self.totals.count += 1;
        if self.seen.insert(file.sha256) {
            self.totals.contents += 1;
            self.totals.bytes += file.bytes;
        }
        self.files.push(file);
    }

    /// Each content once, opened.
    pub fn each<'a>(&'a self, store: &'a Store) -> impl Iterator<Item = Result<FileContent>> + 'a {
        let mut seen = HashSet::new();
        self.files.iter().filter(move |file| seen.insert(file.sha256)).map(|Listed { organisation, id, bytes, sha256 }| {
            let from = File::open(store.path(*organisation, *id)).map_err(Error::internal)?;
            Ok(FileContent { sha256: secret::hex(sha256), bytes: *bytes, from })
        })
    }
}

/// The files of a data folder, which are its owner's whoever opens them; makes their folder if there is none.
pub fn open_store(data: &Path) -> Result<Store> {
    let store = Store::open(data)?;
    let folders = [store.folder().to_owned(), store.folder().join(INCOMING)];
    let own = folders.iter().try_for_each(|folder| make_folder(folder, data));
    own.map_err(|err| Error::failed(format!("can't write to {}: {err}", store.folder().display())))?;
    Ok(store)
}

/// Puts files in their places in a data folder.
pub struct Placing<'a> {
    store: &'a Store,
    data: &'a Path,
    /// Folders with names that are not on disk yet.
    touched: HashSet<PathBuf>,
}

impl Placing<'_> {
    pub fn new<'a>(store: &'a Store, data: &'a Path) -> Placing<'a> {
        Placing { store, data, touched: HashSet::new() }
    }

    /// Puts a file in its place. That its content is on disk is the caller's part.
    pub fn place(&mut self, from: &Path, organisation: OrganisationId, id: FileId) -> io::Result<()> {
        let to = self.store.path(organisation, id);
        let folder = to.parent().expect("it lies in a folder");
        let of_organisation = folder.parent().expect("that of its organisation");
        make_folder(of_organisation, self.data)?;
        make_folder(folder, self.data)?;
        link_or_copy(from, &to, self.data)?;
        self.touched.extend([of_organisation, self.store.folder(), folder].map(Path::to_owned));
        Ok(())
    }

    /// Puts the names of all on disk.
    pub fn sync(self) -> io::Result<()> {
        self.touched.iter().try_for_each(|folder| File::open(folder)?.sync_all())
    }
}

/// Whether a path is a file, and no link, with a content of this SHA-256.
pub(super) fn has_content(path: &Path, sha256: &str) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let sum = regular_file::open(path).and_then(|mut file| archive::copy_with_checksum(&mut file, &mut io::sink(), &mut |_| ()));
    sum.is_ok_and(|(_, sum)| sum == sha256)
}

/// Gives a file a second name where the disk is the same and it is the data folder's owner's, and else a copy. Whatever had the name is
/// replaced.
pub(super) fn link_or_copy(from: &Path, to: &Path, data: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(from)?;
    if !found.is_file() {
        return Err(io::Error::other(format!("{} is no file", from.display())));
    }
    remove(to)?;
    // Whoever else owns it could change it later.
    if owns(data, &found) && fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    // On another disk, or under too many names already.
    let folder = to.parent().expect("it lies in a folder");
    if db::free_bytes(folder).is_some_and(|free| free < found.len()) {
        return Err(ErrorKind::StorageFull.into());
    }
    let draft = to.with_extension(format!("{}{DRAFT}", std::process::id()));
    remove(&draft)?;
    let mut copy = File::options().create_new(true).write(true).mode(0o600).open(&draft)?;
    io::copy(&mut regular_file::open(from)?, &mut copy)?;
    copy.sync_all()?;
    db::give_to_folder_owner(&draft, data)?;
    fs::rename(draft, to)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(err) if err.kind() != ErrorKind::NotFound => Err(err),
        _ => Ok(()),
    }
}

fn owns(folder: &Path, file: &fs::Metadata) -> bool {
    fs::metadata(folder).is_ok_and(|folder| folder.uid() == file.uid())
}

/// Makes a folder of the owner of another alone, unless it is there.
pub(super) fn make_folder(folder: &Path, owner: &Path) -> io::Result<()> {
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        Ok(()) => db::give_to_folder_owner(folder, owner),
        // A link could lead out of the folder. Between the two steps above, a kill may have left it to root.
        Err(err) if err.kind() == ErrorKind::AlreadyExists => match fs::symlink_metadata(folder)? {
            found if !found.is_dir() => Err(err),
            found if found.uid() == ROOT => db::give_to_folder_owner(folder, owner),
            _ => Ok(()),
        },
        Err(err) => Err(err),
    }
}
