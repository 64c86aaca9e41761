//! The file of the secret key. Its first line is the key in force. Each further line is a former key, the newest first, with the
//! time until which the tokens that it signed are accepted, as long as they are.
//!
//! Former keys stay in the file: webhooks' secrets and mails are sealed with them, and feed addresses derived from them. All
//! keys are one file, so that a rename replaces all of them at once, and so that a backup has all that its database needs.

use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{
    file_names::{FILE, KEY},
    file_replacement,
    folder::{give_to_folder_owner, lock_files},
};
use crate::{
    error::{Error, Result},
    secret::{self, Keys},
    time::Time,
};

/// The keys in a data folder's key file.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyFile {
    current: [u8; 32],
    former: Vec<Former>,
}

#[derive(Clone, PartialEq, Eq)]
struct Former {
    key: [u8; 32],
    /// Until when its tokens are accepted; none if they are not.
    accepted_until: Option<Time>,
}

impl KeyFile {
    /// Reads the keys as of `now`. A new data folder gets a key, in a file of mode 0600. Fails if the key of a database is
    /// missing: another key would make its mails and secrets unreadable.
    pub fn open(folder: &Path, now: Time) -> Result<KeyFile> {
        file_replacement::require_done(folder)?;
        let path = folder.join(KEY);
        if !path.exists() {
            let _files = lock_files(folder)?;
            if fs::metadata(folder.join(FILE)).is_ok_and(|database| database.len() > 0) {
                return Err(Error::failed(format!(
                    "the key file {} is missing: put it back from a backup, or, if it is lost, make a new one with `tidings token rotate --lost --data-dir {}`",
                    path.display(),
                    folder.display()
                )));
            }
            if !path.exists() {
                KeyFile::new().write(folder)?;
            }
        }
        KeyFile::read(folder, now)
    }

    /// Reads the keys of a data folder as of `now`.
    pub fn read(folder: &Path, now: Time) -> Result<KeyFile> {
        KeyFile::parse(&existing_key(folder)?).map(|keys| keys.at(now))
    }

    /// Reads the text of a key file.
    pub fn parse(text: &[u8]) -> Result<KeyFile> {
        let key = |text: &str| BASE64_STANDARD.decode(text).ok()?.try_into().ok();
        let former = |line: &str| {
            let (text, until) = line.split_once(' ').map_or((line, None), |(key, until)| (key, Some(until)));
            Some(Former { key: key(text)?, accepted_until: until.map(str::parse).transpose().ok()? })
        };
        let read = || {
            let mut lines = std::str::from_utf8(text).ok()?.trim().lines();
            Some(KeyFile { current: key(lines.next()?)?, former: lines.map(former).collect::<Option<_>>()? })
        };
        read().ok_or_else(|| Error::failed("each line of a key file must begin with 32 bytes in base64"))
    }

    fn new() -> KeyFile {
        KeyFile { current: secret::random(), former: Vec::new() }
    }

    /// The same keys, without the times that are past.
    fn at(mut self, now: Time) -> KeyFile {
        for former in &mut self.former {
            former.accepted_until = former.accepted_until.filter(|until| *until > now);
        }
        self
    }

    pub fn keys(&self) -> Keys {
        let add = |keys: Keys, former: &Former| keys.with_former(&former.key, former.accepted_until.is_some());
        self.former.iter().fold(Keys::derive(&self.current), add)
    }

    /// Writes the file under another name, and renames it, so that a kill leaves the former file or this one. The caller holds
    /// [`lock_files`].
    fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(KEY);
        let draft = path.with_extension("key.new");
        let mut text = BASE64_STANDARD.encode(self.current) + "\n";
        for Former { key, accepted_until } in &self.former {
            text += &BASE64_STANDARD.encode(key);
            text += &accepted_until.map_or_else(String::new, |until| format!(" {until}"));
            text.push('\n');
        }
        let write = || {
            let mut file = File::options().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            give_to_folder_owner(&draft, folder)?;
            fs::rename(&draft, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|err: std::io::Error| unusable(&path, &err))
    }
}

/// Puts a new key in force. The tokens of the former ones are accepted for `grace`, or no longer than before; without a grace
/// they are refused from now on. Returns the end of the grace.
pub fn rotate(folder: &Path, now: Time, grace: Option<Duration>) -> Result<Option<Time>> {
    file_replacement::require_done(folder)?;
    let _files = lock_files(folder)?;
    let KeyFile { current, mut former } = KeyFile::read(folder, now)?;
    let until = grace.map(|grace| now + grace);
    for known in &mut former {
        known.accepted_until = known.accepted_until.min(until); // none is less than any time
    }
    former.insert(0, Former { key: current, accepted_until: until });
    KeyFile { former, ..KeyFile::new() }.write(folder)?;
    Ok(until)
}

/// Makes a new key in the place of one that is lost. Fails if there is one.
pub fn replace_lost(folder: &Path) -> Result<()> {
    file_replacement::require_done(folder)?;
    let _files = lock_files(folder)?;
    let path = folder.join(KEY);
    if path.exists() {
        return Err(Error::failed(format!("the key file {} is there: leave --lost out", path.display())));
    }
    KeyFile::new().write(folder)
}

/// The text of a data folder's key file. Fails if there is none, or it has no key.
pub fn existing_key(folder: &Path) -> Result<Vec<u8>> {
    let path = folder.join(KEY);
    let text = fs::read(&path).map_err(|err| unusable(&path, &err))?;
    KeyFile::parse(&text).map_err(|err| unusable(&path, &err))?;
    Ok(text)
}

fn unusable(path: &Path, err: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("the key file {}: {err}", path.display()))
}
