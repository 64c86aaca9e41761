//! Fetches the files of an export from Slack into a folder. The addresses in an export carry the right to open them, for a while.
//! What is in the folder already is not fetched again, and what was cut goes on where it ended.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use rustix::{fs::OFlags, process::geteuid};
use tokio::time::{sleep, timeout};
use url::{Host, Url};

use super::{
    archive::Archive,
    fetched::{FACES, Fetched, find, is_id},
    format::{self, Message, cut_to_one_line},
};
use crate::{
    archive::{Progress, contents::SPACE_KEPT},
    db,
    error::{Error, Result},
    outgoing::{Download, Failure, Outgoing},
};

/// Characters of a person's name in the list.
const NAME: usize = 100;
/// Bytes of a file, at most.
const LARGEST: u64 = 100_000_000;
/// Files that an export may name, and characters of the address of one: they are in memory.
const MOST: usize = 200_000;
const ADDRESS: usize = 500;
/// The list of what could not be had.
const MISSING: &str = "missing.txt";
/// Files that are fetched at once.
const AT_ONCE: usize = 4;
const TRIES: u32 = 5;
/// The wait after the first try that failed; it doubles. Slack may ask for a longer one.
const BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// How long a try may take: 100 MB at 170 kB a second.
const LONGEST_TRY: Duration = Duration::from_secs(600);
/// Where Slack keeps files and pictures of people. An export may name any address, and the machine that imports may reach others.
const HOSTS: [&str; 3] = ["slack.com", "slack-files.com", "slack-edge.com"];
const SIGN_IN: &str = "Slack asks to sign in: the addresses of an export end after a while, and another export has new ones";

/// A file that is to be fetched.
struct Wanted {
    /// What people know it by.
    name: String,
    address: String,
    /// Bytes, as the export says.
    size: u64,
    /// Whether a page is what it should be.
    is_page: bool,
}

/// Fetches what an export names. Returns why files could not be had, with how many; the list of them is in the folder.
pub fn fetch(
    archive: &mut Archive,
    people: &'static str,
    Fetched { folder, runtime }: &Fetched,
    outgoing: &Outgoing,
    progress: Progress,
) -> Result<BTreeMap<String, u64>> {
    let failed = |err: io::Error| Error::failed(format!("can't write to {}: {err}", folder.display()));
    make_private(&[folder, &folder.join(FACES)]).map_err(failed)?;
    let wanted = wanted(archive, people, folder)?;
    let needed = wanted.values().map(|wanted| wanted.size.min(LARGEST)).sum();
    db::require_space(folder, needed, SPACE_KEPT, "the files of the export")?;
    let (all, mut done, mut missing, mut list) = (wanted.len() as u64, 0, BTreeMap::new(), String::new());
    let fetching = async {
        let mut fetched = stream::iter(&wanted)
            .map(|(path, wanted)| async move { (wanted, fetch_one(path, wanted, outgoing).await) })
            .buffer_unordered(AT_ONCE);
        while let Some((Wanted { name, .. }, outcome)) = fetched.next().await {
            done += 1;
            progress("fetching files", done, all);
            if let Err(why) = outcome {
                list += &format!("{name}: {why}\n");
                *missing.entry(format!("files and pictures of people that could not be fetched: {why}")).or_default() += 1;
            }
        }
    };
    runtime.block_on(fetching);
    fs::write(folder.join(MISSING), list).map_err(failed)?;
    Ok(missing)
}

/// Makes folders for files of private channels, each of the owner's alone. One that somebody else may write could lead elsewhere.
fn make_private(folders: &[&Path]) -> io::Result<()> {
    for folder in folders {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let found = fs::symlink_metadata(folder)?;
        if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o022 != 0 {
            return Err(io::Error::other(format!("{} is not a folder that you alone may write", folder.display())));
        }
    }
    Ok(())
}

/// The files of all messages, and the pictures of people, that are not in the folder, by their places in it.
fn wanted(archive: &mut Archive, people: &'static str, folder: &Path) -> Result<BTreeMap<PathBuf, Wanted>> {
    let (faces, mut wanted) = (folder.join(FACES), BTreeMap::new());
    archive.each_in_list(people, &mut |user: format::User| {
        // Others come from elsewhere, and are nobody's choice.
        let picture = user.profile.picture().filter(|address| is_slacks(address) && is_id(&user.id));
        if let Some(address) = picture.filter(|_| find(&faces, &user.id).is_none()) {
            let name = format!("the picture of {}", cut_to_one_line(&user.name, NAME));
            wanted.insert(faces.join(&user.id), Wanted { name, address: address.to_owned(), size: 0, is_page: false });
        }
        Ok(())
    })?;
    for day in archive.days(&|_| Some(0), &mut |_| ())? {
        archive.messages(&day.name(), day, &mut |message| {
            let Ok(message) = serde_json::from_str::<Message>(message.get()) else { return Ok(()) };
            for file in message.all_files().filter(|file| file.is_kept_by_slack()) {
                let Some((id, address)) = file.id.as_deref().zip(file.address()) else { continue };
                if !is_id(id) || address.len() > ADDRESS || find(folder, id).is_some() {
                    continue;
                }
                let name = format!("the file {id} {}", file.shown_name());
                let is_page = file.mimetype.as_deref() == Some("text/html");
                wanted.insert(folder.join(id), Wanted { name, address: address.to_owned(), size: file.bytes(), is_page });
            }
            match wanted.len() {
                0..=MOST => Ok(()),
                _ => Err(Error::failed(format!(
                    "the export names more than {MOST} files: fetch them otherwise, and name their folder with --files"
                ))),
            }
        })?;
    }
    Ok(wanted)
}

/// Why a try failed.
enum Failed {
    /// Another one may succeed, after a while if that is told.
    ForNow(String, Option<Duration>),
    ForGood(String),
}

fn for_now(why: impl ToString) -> Failed {
    Failed::ForNow(why.to_string(), None)
}

fn unwritten(err: io::Error) -> Failed {
    Failed::ForGood(format!("it can't be written: {err}"))
}

/// Fetches one file into its place, where it is whole.
async fn fetch_one(path: &Path, Wanted { address, is_page, .. }: &Wanted, outgoing: &Outgoing) -> Result<(), String> {
    let url = Url::parse(address).ok().filter(|_| is_slacks(address)).ok_or("its address is not one of Slack's")?;
    let partial = path.with_extension("partial");
    let mut wait = BACKOFF;
    let mut tries = 0;
    loop {
        tries += 1;
        match try_once(&url, *is_page, &partial, outgoing).await {
            Ok(()) => return fs::rename(&partial, path).map_err(|err| format!("it can't be written: {err}")),
            Err(Failed::ForNow(_, asked)) if tries < TRIES => {
                sleep(asked.unwrap_or_default().max(wait).min(LONGEST_WAIT)).await;
                wait *= 2;
            }
            Err(Failed::ForNow(why, _) | Failed::ForGood(why)) => return Err(why),
        }
    }
}

async fn try_once(url: &Url, is_page: bool, partial: &Path, outgoing: &Outgoing) -> Result<(), Failed> {
    let have = fs::symlink_metadata(partial).map_or(0, |found| found.len());
    let download = outgoing.fetch(url, have).await.map_err(|failure| match failure {
        Failure::Refused(_) => Failed::ForGood(failure.to_string()),
        _ => for_now(failure),
    })?;
    let mut options = File::options();
    let (options, have) = match download.status() {
        206 if download.starts_at() == Some(have) => (options.append(true), have),
        200 => (options.write(true).create(true).truncate(true), 0),
        416 | 206 => {
            _ = fs::remove_file(partial); // if there is one
            return Err(for_now("Slack sent another part than it was asked for"));
        }
        300..=399 => return Err(Failed::ForGood(SIGN_IN.into())),
        status @ (408 | 429 | 500..=599) => {
            return Err(Failed::ForNow(format!("Slack answered with the status {status}"), download.retry_after()));
        }
        status => return Err(Failed::ForGood(format!("Slack answered with the status {status}"))),
    };
    if download.content_type().starts_with("text/html") && !is_page {
        return Err(Failed::ForGood(SIGN_IN.into()));
    }
    let more = download.length().unwrap_or_default().min(LARGEST);
    let folder = partial.parent().expect("it lies in a folder");
    db::require_space(folder, more, SPACE_KEPT, "the file").map_err(|err| Failed::ForGood(err.admin_detail()))?;
    let file = options.mode(0o600).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(partial).map_err(unwritten)?;
    save(download, have, file).await.inspect_err(|failed| {
        if matches!(failed, Failed::ForGood(_)) {
            _ = fs::remove_file(partial);
        }
    })
}

/// Writes what comes behind the bytes that are there.
async fn save(download: Download, have: u64, file: File) -> Result<(), Failed> {
    let saved = timeout(LONGEST_TRY, save_all(download, have, file)).await;
    saved.unwrap_or_else(|_| Err(for_now(format!("it takes more than {} minutes", LONGEST_TRY.as_secs() / 60))))
}

async fn save_all(mut download: Download, mut have: u64, mut file: File) -> Result<(), Failed> {
    let too_large = || Failed::ForGood(format!("it has more than {LARGEST} bytes"));
    if download.length().is_some_and(|length| have.saturating_add(length) > LARGEST) {
        return Err(too_large());
    }
    let cut = |failure| for_now(format!("it was cut: {failure}"));
    while let Some(part) = download.next().await.map_err(cut)? {
        have += part.len() as u64;
        if have > LARGEST {
            return Err(too_large());
        }
        file.write_all(&part).map_err(unwritten)?;
    }
    file.sync_all().map_err(unwritten)
}

/// Whether an address is one of Slack's own, over TLS and at its usual port.
fn is_slacks(address: &str) -> bool {
    let Ok(url) = Url::parse(address) else { return false };
    let Some(Host::Domain(host)) = url.host() else { return false };
    let is_host = |known: &&str| host.strip_suffix(*known).is_some_and(|before| before.is_empty() || before.ends_with('.'));
    url.scheme() == "https" && url.port().is_none() && HOSTS.iter().any(is_host)
}

#[cfg(test)]
mod tests {
    use super::is_slacks;

    #[test]
    fn only_slacks_own_addresses_are_fetched() {
        for good in [
            "https://files.slack.com/files-pri/T1-F1/a.png?t=xoxe-1",
            "https://slack-files.com/T1-F1",
            "https://ca.slack-edge.com/a",
        ] {
            assert!(is_slacks(good), "{good}");
        }
        for bad in [
            "http://files.slack.com/a",
            "https://files.slack.com:8443/a",
            "https://files.slack.com.example.org/a",
            "https://notslack.com/a",
            "https://files.slack.com@example.org/a",
            "https://127.0.0.1/a",
            "https://example.org/files.slack.com",
            "file:///etc/passwd",
            "",
        ] {
            assert!(!is_slacks(bad), "{bad}");
        }
    }
}
