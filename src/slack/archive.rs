//! The zip of an export. Its entries are only read, never written to a file, so their paths can do no harm.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    fs::File,
    io::{BufReader, Read},
    marker::PhantomData,
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _, SeqAccess, Visitor},
};
use zip::ZipArchive;

use crate::error::{Error, Result};

/// Bytes of an entry that are unpacked at most: a list of some 100,000 people, or a day of 100,000 messages. A zip can pretend
/// any size, and unpack to a thousand times its own.
const ENTRY_MAX: u64 = 256 << 20;

/// Values of a list, at most. An empty value takes a hundred times its text in memory, so a bound on the text is not enough.
const LIST_MAX: usize = 200_000;

/// A list of at most [`LIST_MAX`] values.
struct List<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
        deserializer.deserialize_seq(Values(PhantomData))
    }
}

struct Values<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
    type Value = List<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<List<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            if list.len() == LIST_MAX {
                return Err(A::Error::custom(format_args!("more than {LIST_MAX} values")));
            }
            list.push(value);
        }
        Ok(List(list))
    }
}

/// An opened export.
pub struct Archive {
    zip: ZipArchive<BufReader<File>>,
    /// Entries by their path.
    entries: HashMap<String, usize>,
}

impl Archive {
    pub fn open(file: File) -> Result<Archive> {
        let unreadable = |err| Error::bad_request(format!("this is no zip of an export: {err}"));
        let zip = ZipArchive::new(BufReader::new(file)).map_err(unreadable)?;
        let entries = (0..zip.len()).filter_map(|n| Some((zip.name_for_index(n)?.ok()?.into_owned(), n))).collect();
        Ok(Archive { zip, entries })
    }

    /// Reads an entry, which is a list; `None` if there is none. Also returns its length in bytes.
    pub fn read<T: DeserializeOwned>(&mut self, path: &str) -> Result<Option<(Vec<T>, u64)>> {
        let Some(index) = self.entries.get(path) else { return Ok(None) };
        let entry = self.zip.by_index(*index).map_err(|err| Error::bad_request(format!("{path}: {err}")))?;
        let mut entry = BufReader::new(entry.take(ENTRY_MAX));
        let read = serde_json::from_reader(&mut entry);
        let bytes = ENTRY_MAX - entry.get_ref().limit();
        match read {
            Ok(List(list)) => Ok(Some((list, bytes))),
            Err(_) if bytes == ENTRY_MAX => Err(Error::bad_request(format!("{path} has more than {ENTRY_MAX} bytes"))),
            Err(err) => Err(Error::bad_request(format!("{path} is not as Slack documents it: {err}"))),
        }
    }

    /// The days of the export, oldest first, each with its folders; and all other entries.
    pub fn days(&self) -> (BTreeMap<String, BTreeSet<String>>, Vec<String>) {
        let (mut days, mut others) = (BTreeMap::<String, BTreeSet<String>>::new(), Vec::new());
        for path in self.entries.keys().filter(|path| !path.ends_with('/')) {
            let day = path.split_once('/').and_then(|(folder, file)| Some((folder, file.strip_suffix(".json")?)));
            match day.filter(|(_, day)| is_date(day)) {
                Some((folder, day)) => _ = days.entry(day.to_owned()).or_default().insert(folder.to_owned()),
                None => others.push(path.clone()),
            }
        }
        (days, others)
    }
}

/// Whether a text has the form `YYYY-MM-DD`.
fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().enumerate().all(|(n, byte)| if n == 4 || n == 7 { byte == b'-' } else { byte.is_ascii_digit() })
}
