//! The zip of an export. Its entries are only read, never written to a file, so their paths can do no harm. A zip can pretend any
//! size, and unpack to a thousand times its own: an entry is read value by value, and nothing of it is kept here.

use std::{
    cell::Cell,
    collections::HashMap,
    fs::File,
    io::{self, BufReader, Read},
    rc::Rc,
};

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use zip::{read::Config, unstable::read::ZipIterable};

use super::zip_entry::Entry;
use crate::{
    error::{Error, Result},
    formats::bounded_lists,
};

/// Entries of a zip, each of which takes 32 bytes in memory: 500 channels with messages on each day of five years.
const ENTRIES_MAX: usize = 1_000_000;
/// Bytes of an entry that are unpacked at most: a list of some 100,000 people, or a channel's day of 100,000 messages.
const ENTRY_MAX: u64 = 256 << 20;
/// Values of an entry, at most.
const LIST_MAX: usize = 200_000;
/// Bytes of a value in an entry, such as a message with all that is attached to it: a hundred times the longest text.
const VALUE_MAX: usize = 4 << 20;
/// Bytes that are read ahead of a value.
const AHEAD: usize = 64 << 10;

/// An opened export.
pub struct Archive {
    zip: ZipIterable<BufReader<File>>,
    /// The entries at the top that are lists of people and channels.
    lists: HashMap<&'static str, Entry>,
    /// The bytes of all entries, as far as the zip tells.
    pub bytes: u64,
}

/// An entry with the messages of a channel on one day.
#[derive(Clone, Copy)]
pub struct Day {
    /// As in `2020-01-01`, without the dashes.
    pub date: u32,
    /// The caller's name for the folder.
    pub folder: u32,
    entry: Entry,
}

impl Day {
    /// The date as the entry has it.
    pub fn name(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.date / 10_000, self.date / 100 % 100, self.date % 100)
    }
}

/// An entry that is no day of a known folder.
pub enum Other<'a> {
    /// A day of another folder.
    Day,
    Entry(&'a str),
}

impl Archive {
    /// Opens a zip, in which the entries with the names `lists` are lists.
    pub fn open(file: File, lists: &[&'static str]) -> Result<Archive> {
        let zip = ZipIterable::try_new(BufReader::new(file), Config::default()).map_err(|err| unreadable(&err))?;
        if zip.len() > ENTRIES_MAX {
            return Err(Error::failed(format!(
                "the zip has {} entries, at most {ENTRIES_MAX} are allowed: ask Slack for exports of shorter times, and add the later ones with --organisation",
                zip.len()
            )));
        }
        let mut archive = Archive { zip, lists: HashMap::new(), bytes: 0 };
        let (mut bytes, mut found) = (0_u64, HashMap::new());
        archive.look(&mut |path, size, entry| {
            bytes = bytes.saturating_add(size);
            if let Some(list) = lists.iter().find(|list| **list == path) {
                found.entry(*list).or_insert(entry);
            }
        })?;
        (archive.bytes, archive.lists) = (bytes, found);
        Ok(archive)
    }

    /// Tells of each entry in the zip: its path, its bytes when unpacked, and where it is.
    fn look(&mut self, tell: &mut dyn FnMut(&str, u64, Entry)) -> Result<()> {
        for entry in self.zip.files().map_err(|err| unreadable(&err))? {
            let entry = entry.map_err(|err| unreadable(&err))?;
            let path = entry.name().map_err(|err| unreadable(&err))?;
            tell(&path, entry.size(), Entry::of(&entry));
        }
        Ok(())
    }

    /// Reads an entry that is a list, and hands each value to `take`. Returns false if there is no such entry.
    pub fn each_in_list<T: DeserializeOwned>(&mut self, list: &str, take: &mut dyn FnMut(T) -> Result<()>) -> Result<bool> {
        let Some(entry) = self.lists.get(list).copied() else { return Ok(false) };
        self.values(list, entry, &mut |value| {
            let value = serde_json::from_str(value.get());
            take(value.map_err(|err| Error::failed(format!("{list} has a value that can't be imported: {err}")))?)
        })?;
        Ok(true)
    }

    /// Reads the messages of a day, whose path is for errors. Each is a value by itself, so that one in an unknown form doesn't
    /// hide the others.
    pub fn messages(&mut self, path: &str, day: Day, take: &mut dyn FnMut(Box<RawValue>) -> Result<()>) -> Result<()> {
        self.values(path, day.entry, take)
    }

    /// The days of the export in their order, those of folders that `folder` knows; `other` is told of all other entries.
    pub fn days(&mut self, folder: &dyn Fn(&str) -> Option<u32>, other: &mut dyn FnMut(Other)) -> Result<Vec<Day>> {
        let mut days = Vec::new();
        self.look(&mut |path, _, entry| {
            let day = path.split_once('/').and_then(|(folder, file)| Some((folder, date(file.strip_suffix(".json")?)?)));
            match day.map(|(name, date)| (folder(name), date)) {
                Some((Some(folder), date)) => days.push(Day { date, folder, entry }),
                Some((None, _)) => other(Other::Day),
                None if path.ends_with('/') => {}
                None => other(Other::Entry(path)),
            }
        })?;
        days.sort_unstable_by_key(|day| (day.date, day.folder, day.entry.start));
        Ok(days)
    }

    fn values(&mut self, path: &str, entry: Entry, take: &mut dyn FnMut(Box<RawValue>) -> Result<()>) -> Result<()> {
        let entry = self.zip.files().map_err(|err| unreadable(&err)).and_then(|files| {
            entry.open(files.reader_mut()).map_err(|err| Error::failed(format!("{path} can't be read: {err}")))
        })?;
        let (whole, value) = (Rc::new(Cell::new(ENTRY_MAX + 1)), Rc::new(Cell::new(0)));
        let allow = || value.set((VALUE_MAX + AHEAD) as u64);
        allow();
        let entry = Metered { from: Metered { from: entry, left: whole.clone() }, left: value.clone() };
        let mut reader = serde_json::Deserializer::from_reader(BufReader::new(entry));
        let (mut failed, mut values) = (None, 0);
        let read = bounded_lists::each(&mut reader, usize::MAX, |read: Box<RawValue>| {
            allow();
            values += 1;
            let taken = match read.get().len() {
                _ if values > LIST_MAX => Err(too_many(path)),
                length if length > VALUE_MAX => Err(too_large(path)),
                _ => take(read),
            };
            taken.map_err(|err| {
                failed = Some(err);
                String::new()
            })
        });
        match read.and_then(|()| reader.end()) {
            _ if failed.is_some() => failed.map_or(Ok(()), Err),
            Ok(()) => Ok(()),
            Err(_) if whole.get() == 0 => Err(Error::failed(format!("{path} has more than {} MiB", ENTRY_MAX >> 20))),
            Err(_) if value.get() == 0 => Err(too_large(path)),
            Err(err) => Err(Error::failed(format!("{path} is not as Slack documents it: {err}"))),
        }
    }
}

fn too_many(path: &str) -> Error {
    Error::failed(format!("{path} has more than {LIST_MAX} values, the most that an import takes from a file"))
}

fn unreadable(why: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("this is no zip of an export: {why}"))
}

fn too_large(path: &str) -> Error {
    Error::failed(format!("{path} has a value of more than {} MiB", VALUE_MAX >> 20))
}

/// The number of a date in the form `YYYY-MM-DD`.
fn date(text: &str) -> Option<u32> {
    let has_form = text.len() == 10
        && text.bytes().enumerate().all(|(n, byte)| if n == 4 || n == 7 { byte == b'-' } else { byte.is_ascii_digit() });
    if has_form { text.replace('-', "").parse().ok() } else { None }
}

/// A reader that fails when more than so many bytes are read.
struct Metered<R> {
    from: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !into.is_empty() {
            return Err(io::Error::other("more bytes than are allowed"));
        }
        let most = usize::try_from(left).map_or(into.len(), |left| left.min(into.len()));
        let read = self.from.read(&mut into[..most])?;
        self.left.set(left - read as u64);
        Ok(read)
    }
}
