//! Files of messages in backups, and what is restored of them.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    backups::{back_up, restore, text},
    harness::{Server, printed, refused, run, until},
};

struct Place {
    folder: TempDir,
    server: Server,
    token: String,
    channel: String,
}

impl Place {
    async fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&folder.path().join("data"), &[]);
        let (token, channel) = server.poster().await;
        Place { folder, server, token, channel }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Posts a message with a file; gives the ids of both.
    async fn post(&self, name: &str, content: &str) -> (String, String) {
        let file = self.server.upload(&self.token, name, content).await;
        let body = json!({ "content": name, "files": [file] });
        let posted = self.server.post(&format!("{}/messages", self.channel), &self.token, body).await;
        (file, posted["id"].as_str().unwrap().to_owned())
    }

    async fn delete(&self, message: &str) {
        let path = format!("{}/messages/{message}", self.channel);
        assert_eq!(self.server.call(Method::DELETE, &path, &self.token, json!({})).await.unwrap().0, 200);
    }

    fn backup(&self) -> String {
        back_up(&self.path("data"), &self.path("backups"), &["--verify"])
    }
}

/// The files of a data folder, by their ids.
fn files(data: &Path) -> BTreeMap<String, String> {
    let all = below(&data.join("files"), 3).into_iter().filter(|path| !text(path).contains("/before-restore-"));
    let content = |path: &Path| match fs::read_to_string(path) {
        Err(err) if err.kind() == ErrorKind::NotFound => None, // a job has removed it meanwhile
        read => Some(read.unwrap()),
    };
    all.filter_map(|path| Some((name(&path), content(&path)?))).collect()
}

/// The names in a pool.
fn pool(folder: &Path) -> Vec<PathBuf> {
    below(&folder.join("files"), 2)
}

/// The files so many folders deep.
fn below(folder: &Path, deep: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    match deep {
        1 => entries.filter(|path| path.is_file()).collect(),
        _ => entries.filter(|path| path.is_dir()).flat_map(|path| below(&path, deep - 1)).collect(),
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// The archives of a folder, the oldest first.
fn archives(folder: &Path) -> Vec<PathBuf> {
    let mut all = below(folder, 1);
    all.sort();
    all
}

#[tokio::test]
async fn backups_of_a_folder_keep_each_file_once_and_forget_what_none_names() {
    let place = Place::new().await;
    let (first, message) = place.post("plan.txt", "The plan").await;
    place.post("copy.txt", "The plan").await;
    let said = place.backup();
    assert!(said.contains("2 messages, 1 accounts and 2 files of 0.0 MB") && said.contains("verified"), "{said}");
    let backups = place.path("backups");
    let kept = pool(&backups);
    assert_eq!(kept.len(), 1, "both have the same content");
    assert_eq!(kept[0].metadata().unwrap().nlink(), 2, "a hard link on the same disk");

    place.post("later.txt", "Later").await;
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await; // names have seconds
    place.backup();
    assert_eq!(pool(&backups).len(), 2);
    place.delete(&message).await;
    until("its bytes are gone", async || (!files(&place.path("data")).contains_key(&first)).then_some(())).await;
    // The first backup has it still.
    let restored = place.path("restored");
    let oldest = archives(&backups).remove(0);
    printed(&restore(&oldest, &restored, &[]));
    let back = files(&restored);
    assert_eq!((back.len(), back[&first].as_str()), (2, "The plan"));
    let copy = Server::start(&restored, &[]);
    let opened =
        copy.http.get(format!("{}/api/v1/files/{first}/plan.txt", copy.url)).bearer_auth(&place.token).send().await.unwrap();
    assert_eq!(opened.text().await.unwrap(), "The plan");

    // Others may write beside backups: what a link leads to is not the pool's.
    let elsewhere = place.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for name in ["film.partial", &"a".repeat(64)] {
        fs::write(elsewhere.join(name), "").unwrap();
    }
    std::os::unix::fs::symlink(&elsewhere, backups.join("files/zz")).unwrap();
    fs::write(kept[0].with_file_name("x.1.partial"), "").unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    back_up(&place.path("data"), &backups, &["--keep", "1"]);
    assert_eq!(below(&elsewhere, 1).len(), 2);
    fs::remove_file(backups.join("files/zz")).unwrap();
    assert_eq!(archives(&backups).len(), 1);
    assert_eq!(pool(&backups).len(), 2, "the copy and the later one");
}

#[tokio::test]
async fn a_single_file_has_all_of_a_backup() {
    let place = Place::new().await;
    place.post("plan.txt", "The plan").await;
    place.post("copy.txt", "The plan").await;
    place.post("empty.txt", "").await;
    let whole = place.path("whole.tar.zst");
    let said = back_up(&place.path("data"), &whole, &["--verify"]);
    assert!(said.contains("3 messages, 1 accounts and 3 files"), "{said}");
    printed(&restore(&whole, &place.path("restored"), &["--dry-run"]));
    printed(&restore(&whole, &place.path("restored"), &[]));
    assert_eq!(files(&place.path("restored")), files(&place.path("data")));
    assert!(!place.path("restored").join("files/restoring").exists());
    // Standard output and input as well.
    let piped = run(&["backup", "-", "--data-dir", text(&place.path("data"))]).stdout;
    fs::write(place.path("piped"), piped).unwrap();
    printed(&restore(&place.path("piped"), &place.path("from a pipe"), &[]));
    assert_eq!(files(&place.path("from a pipe")), files(&place.path("data")));

    let database = place.path("database.tar.zst");
    let said = back_up(&place.path("data"), &database, &["--database-only"]);
    assert!(said.contains("3 messages and 1 accounts"), "{said}");
    printed(&restore(&database, &place.path("without"), &[]));
    assert_eq!(files(&place.path("without")).len(), 0);
}

#[tokio::test]
async fn a_restore_keeps_what_is_there_and_what_the_backup_does_not_name() {
    let mut place = Place::new().await;
    let (first, _) = place.post("first.txt", "First").await;
    place.backup();
    let (second, _) = place.post("second.txt", "Second").await;
    place.server.signal("TERM");
    place.server.end();
    let data = place.path("data");
    fs::remove_dir_all(place.path("backups").join("files")).unwrap();
    printed(&restore(&archives(&place.path("backups"))[0], &data, &[]));
    let there = files(&data);
    assert_eq!(there.keys().collect::<Vec<_>>(), [&first], "the pool was not needed");
    let aside = fs::read_dir(data.join("files")).unwrap().map(|entry| entry.unwrap().path());
    let aside = aside.filter(|path| name(path).starts_with("before-restore-")).flat_map(|path| below(&path, 2));
    assert_eq!(aside.map(|path| name(&path)).collect::<Vec<_>>(), [second]);
}

#[tokio::test]
async fn a_backup_whose_files_are_lost_is_refused_and_changes_nothing() {
    let place = Place::new().await;
    place.post("plan.txt", "The plan").await;
    place.backup();
    let (backups, restored) = (place.path("backups"), place.path("restored"));
    let (archive, kept) = (archives(&backups).remove(0), pool(&backups).remove(0));
    let content = fs::read(&kept).unwrap();
    for damage in [None, Some(&b"The plam"[..]), Some(b"The pla")] {
        fs::remove_file(&kept).unwrap_or_default();
        damage.into_iter().for_each(|damage| fs::write(&kept, damage).unwrap());
        for more in [&[][..], &["--dry-run"]] {
            refused(&restore(&archive, &restored, more), "1 of 1 files of the backup are missing or damaged");
        }
        assert!(!restored.join("tidings.db").exists());
    }
    printed(&restore(&archive, &restored, &["--without-files"]));
    assert_eq!(files(&restored).len(), 0);
    fs::write(&kept, content).unwrap();
    printed(&restore(&archive, &place.path("again"), &[]));
    assert_eq!(files(&place.path("again")).len(), 1);
}

#[tokio::test]
async fn no_bytes_are_removed_while_a_backup_is_made() {
    let place = Place::new().await;
    let (first, message) = place.post("first.txt", "First").await;
    let (_, other) = place.post("second.txt", "Second").await;
    let backup = File::open(place.path("data").join("files")).unwrap();
    backup.lock_shared().unwrap();
    place.delete(&message).await;
    for _ in 0..20 {
        place.server.post(&format!("{}/messages", place.channel), &place.token, json!({ "content": "meanwhile" })).await;
    }
    assert!(files(&place.path("data")).contains_key(&first));
    drop(backup);
    place.delete(&other).await; // which wakes the job
    until("both are gone", async || files(&place.path("data")).is_empty().then_some(())).await;
}

#[tokio::test]
async fn the_doctor_names_files_that_are_missing_altered_and_unknown() {
    let place = Place::new().await;
    let (first, _) = place.post("first.txt", "First").await;
    let (second, _) = place.post("second.txt", "Second").await;
    let data = place.path("data");
    let doctor = || {
        let said = run(&["doctor", "--data-dir", text(&data), "--base-url", &place.server.url]);
        let said = String::from_utf8(said.stdout).unwrap();
        let lines = said.lines().filter(|line| line.split_whitespace().nth(1) == Some("files"));
        lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
    };
    assert_eq!(doctor(), ["good files 2 are whole and in their places"]);
    let path = |id: &str| below(&data.join("files"), 3).into_iter().find(|path| path.ends_with(id)).unwrap();
    let (lost, changed) = (path(&first), path(&second));
    fs::remove_file(&lost).unwrap();
    fs::write(&changed, "Sec0nd").unwrap();
    let unknown = changed.with_file_name("01890000-0000-7000-8000-0000000000ff");
    fs::write(&unknown, "x").unwrap();
    File::options().write(true).open(&unknown).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let found = doctor();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("bad files missing or unreadable: 1, the first is ") && found[0].contains(&first), "{found:?}");
    assert!(found[1].starts_with("bad files altered: 1, the first is ") && found[1].contains(&second), "{found:?}");
    assert!(found[2].starts_with("warning files no message names 1, the first is "), "{found:?}");
}
