//! Backups of a running server, and what they restore.

use std::{
    collections::HashSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use reqwest::Method;
use serde_json::json;

use crate::harness::{Dice, PASSWORD, Server, file_in, printed, refused, run, tidings, until};

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

pub fn back_up(data: &Path, to: &Path, more: &[&str]) -> String {
    printed(&run(&[&["backup", text(to), "--data-dir", text(data)], more].concat()))
}

pub fn restore(file: &Path, to: &Path, more: &[&str]) -> std::process::Output {
    run(&[&["restore", text(file), "--to", text(to)], more].concat())
}

/// Makes a data folder with one account.
fn create_account(data: &Path, email: &str, role: &str) {
    let account = ["user", "create", "--email", email, "--password", PASSWORD, "--role", role];
    printed(&run(&[&account[..], &["--data-dir", text(data)]].concat()));
}

/// The only file of a folder.
fn only(folder: &Path) -> PathBuf {
    let all: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [only] = &all[..] else { panic!("{all:?}") };
    only.clone()
}

/// The texts of a channel's messages.
pub async fn contents(server: &Server, token: &str, channel: &str) -> HashSet<String> {
    let (mut all, mut before) = (HashSet::new(), String::new());
    loop {
        let path = format!("{channel}/messages?limit=200{before}");
        let (status, page) = server.call(Method::GET, &path, token, json!({})).await.unwrap();
        assert_eq!(status, 200, "{page}");
        let page = page["messages"].as_array().unwrap();
        let Some(last) = page.last() else { return all };
        before = format!("&before={}", last["id"].as_str().unwrap());
        all.extend(page.iter().map(|message| message["content"].as_str().unwrap().to_owned()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_under_load_has_every_message_that_was_answered_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups) = (folder.path().join("data"), folder.path().join("backups"));
    let mut server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    let (posters, mut answers) = server.posters(8, &token, &channel, "post");
    for round in 0..3 {
        let mut answered = HashSet::new();
        while answered.len() < 100 {
            answered.insert(answers.recv().await.unwrap());
        }
        fs::create_dir(&backups).unwrap();
        let said = back_up(&data, &backups, &["--verify"]);
        assert!(said.contains("verified: it can be restored"), "{said}");
        let file = only(&backups);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

        let to = folder.path().join(format!("restored {round}"));
        let restored = printed(&restore(&file, &to, &[]));
        assert!(restored.contains("restored") && !restored.contains("former"), "{restored}");
        let copy = Server::start(&to, &[]);
        assert!(copy.log_in("ada@x.example").await.is_some());
        let there = contents(&copy, &token, &channel).await; // the token is good, as the key is in the backup
        let lost: Vec<_> = answered.difference(&there).collect();
        assert!(lost.is_empty(), "of {} messages: {lost:?}", there.len());
        fs::remove_dir_all(&backups).unwrap();
    }
    server.signal("KILL");
    server.end();
    posters.join_all().await;
}

#[tokio::test]
async fn a_restored_folder_has_a_new_epoch_and_keeps_its_former_files() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("one.tar.zst"));
    let mut server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    let say = async |server: &Server, content: &str| {
        server.post(&format!("{channel}/messages"), &token, json!({ "content": content })).await;
    };
    say(&server, "before").await;
    back_up(&data, &file, &[]);
    say(&server, "after").await;
    refused(&restore(&file, &data, &[]), "another server is running");
    assert_eq!(contents(&server, &token, &channel).await.len(), 2);
    printed(&restore(&file, &data, &["--dry-run"]));
    server.signal("KILL"); // what was written last is in the WAL alone
    server.end();
    let epoch = fs::read_to_string(data.join("epoch")).unwrap();

    let said = printed(&restore(&file, &data, &[]));
    let former = said.lines().find_map(|line| line.strip_prefix("the former files are in ")).expect("it says where");
    let former = PathBuf::from(former.split(';').next().unwrap());
    let server = Server::start(&data, &[]);
    assert_eq!(contents(&server, &token, &channel).await, HashSet::from(["before".into()]));
    let renewed = fs::read_to_string(data.join("epoch")).unwrap();
    assert_ne!(renewed.split(' ').next(), epoch.split(' ').next(), "clients that know the lost message fetch anew");
    drop(server);
    let server = Server::start(&former, &[]);
    assert_eq!(contents(&server, &token, &channel).await.len(), 2, "nothing of the former folder is lost");
}

#[test]
fn backups_are_named_kept_and_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups) = (folder.path().join("data"), folder.path().join("backups"));
    refused(&run(&["backup", "--data-dir", text(&data)]), "there is no database");
    create_account(&data, "ada@x.example", "user");
    fs::create_dir(&backups).unwrap();
    for name in ["tidings-2020-01-05T170640Z.tar.zst", "tidings-2021-01-05T170640Z.tar.zst", "other.tar.zst"] {
        fs::write(backups.join(name), "").unwrap();
    }
    // The remains of a backup that was killed.
    fs::write(backups.join("tidings-2021-01-05T170641Z.tar.zst.partial"), "").unwrap();
    let said = back_up(&data, &backups, &["--keep", "2"]);
    assert!(said.contains(", 0 messages and 1 accounts as of "), "{said}");
    let mut names: Vec<_> =
        fs::read_dir(&backups).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let [other, old, new] = &names[..] else { panic!("{names:?}") };
    assert_eq!([other, old], ["other.tar.zst", "tidings-2021-01-05T170640Z.tar.zst"]);
    assert!(new.starts_with("tidings-20") && new.ends_with("Z.tar.zst"));

    let here = |args: &[&str]| run(&[&["backup", "--data-dir", text(&data)], args].concat());
    refused(&here(&[text(&backups.join("other.tar.zst"))]), "the file exists");
    refused(&here(&[text(&backups.join("other.tar.zst")), "--keep", "3"]), "--keep needs a folder");
    refused(&here(&[text(&folder.path().join("no such folder/x.zst"))]), "can't write the backup");
    refused(&here(&["-", "--verify"]), "need a file or a folder");
    let piped = here(&["-"]);
    assert!(piped.status.success());
    fs::write(folder.path().join("piped"), piped.stdout).unwrap();
    printed(&restore(&folder.path().join("piped"), &folder.path().join("copy"), &[]));
    let left: Vec<_> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".tidings")), "{left:?}");
}

#[test]
fn a_backup_that_fails_its_proof_takes_the_place_of_no_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups) = (folder.path().join("data"), folder.path().join("backups"));
    create_account(&data, "ada@x.example", "user");
    back_up(&data, &backups, &["--verify"]);
    let good = only(&backups);
    let database = rusqlite::Connection::open(data.join("tidings.db")).unwrap();
    database
        .execute_batch(
            "pragma foreign_keys = off;
             insert into sessions (id, user_id, notification_hash, created_at, expires_at)
               values (randomblob(16), randomblob(16), randomblob(32), 1, 1)",
        )
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100)); // the next backup has another second in its name
    let failing = run(&["backup", text(&backups), "--data-dir", text(&data), "--verify", "--keep", "1"]);
    refused(&failing, "could not be restored, and is not kept: ");
    refused(&failing, "a row of sessions refers to no row of users");
    assert_eq!(only(&backups), good, "the proven one, and no remains of the other");
}

#[test]
fn a_damaged_backup_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("one.tar.zst"));
    create_account(&data, "ada@x.example", "user");
    back_up(&data, &file, &[]);
    let whole = fs::read(&file).unwrap();
    let listed = || {
        let mut names: Vec<_> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.retain(|name| name != "tidings.lock");
        names.sort();
        (names, fs::read(data.join("tidings.db")).unwrap())
    };
    let before = listed();
    let plain = zstd::decode_all(&whole[..]).unwrap();
    let mut dice = Dice(7);
    let bad = folder.path().join("bad");
    for n in 0..60 {
        let mut bytes = whole.clone();
        match n % 3 {
            0 => bytes.truncate(dice.roll(whole.len())),
            1 => bytes[16 + dice.roll(whole.len() - 16)] ^= 1 << dice.roll(8), // behind a header with bits that don't matter
            _ => bytes.extend(b"more"),
        }
        if zstd::decode_all(&bytes[..]).is_ok_and(|content| content == plain) {
            continue; // a bit of the compression that doesn't matter
        }
        fs::write(&bad, &bytes).unwrap();
        refused(&restore(&bad, &data, &[]), "this is no complete archive");
        refused(&restore(&bad, &data, &["--dry-run"]), "this is no complete archive");
    }
    assert!(listed() == before);
    refused(&restore(&folder.path().join("none"), &data, &[]), "can't read the backup");
}

#[tokio::test]
async fn a_restore_waits_for_a_command_that_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("one.tar.zst"));
    create_account(&data, "ada@x.example", "user");
    back_up(&data, &file, &[]);
    // As a command holds it until its transaction is committed.
    let writing = fs::File::open(&data).unwrap();
    writing.lock_shared().unwrap();
    let mut restoring = tidings(&["restore", text(&file), "--to", text(&data)]).stdout(Stdio::null()).spawn().unwrap();
    let unpacked = data.join("restoring/tidings.db");
    until("an unpacked backup", async || unpacked.exists().then_some(())).await;
    std::thread::sleep(std::time::Duration::from_millis(500)); // in which it would move the files
    assert!(restoring.try_wait().unwrap().is_none() && data.join("tidings.db").exists(), "no file was moved away");
    drop(writing);
    assert!(restoring.wait().unwrap().success());
    // Another command goes on while one writes, and after the restore.
    create_account(&data, "grace@x.example", "user");
}

#[tokio::test]
async fn the_server_backs_itself_up_and_tells_its_administrators_of_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups, mails) = (folder.path().join("data"), folder.path().join("backups"), folder.path().join("mails"));
    create_account(&data, "root@x.example", "superadmin");
    let mail_url = format!("file://{}", mails.display());
    let settings = ["--mail-url", &mail_url, "--backup-every", "24h", "--backup-dir", text(&backups)];
    let server = Server::start(&data, &settings);
    let made = file_in(&backups, ".tar.zst").await;
    drop(server);
    printed(&restore(&made, &data, &["--dry-run"]));
    let server = Server::start(&data, &settings);
    let (token, _) = server.poster().await;
    assert!(!token.is_empty());
    drop(server);
    only(&backups); // the next one is due tomorrow

    fs::write(folder.path().join("no folder"), "").unwrap();
    let nowhere = folder.path().join("no folder/backups");
    let _server = Server::start(&data, &[&settings[..5], &[text(&nowhere)]].concat());
    let mut mail = String::new();
    while !mail.contains("root@x.example") {
        let path = file_in(&mails, ".eml").await;
        mail = fs::read_to_string(&path).unwrap().replace("=\r\n", ""); // quoted-printable breaks lines
        fs::remove_file(path).unwrap();
    }
    assert!(mail.contains("Subject: A backup failed") && mail.contains("can't make the folder"), "{mail}");
}

#[test]
fn a_backup_to_a_file_that_others_can_read_is_made_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    create_account(&data, "ada@x.example", "user");
    for (mode, warns) in [(0o644, true), (0o640, true), (0o600, false)] {
        let file = folder.path().join("one.tar.zst");
        let to = fs::File::create(&file).unwrap();
        to.set_permissions(fs::Permissions::from_mode(mode)).unwrap();
        let output = tidings(&["backup", "-", "--data-dir", text(&data)]).stdout(to).output().unwrap();
        printed(&restore(&file, &folder.path().join("restored"), &["--dry-run"]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(
            (output.status.success(), said.contains("other users can read the file"), said.is_empty()),
            (true, warns, !warns)
        );
    }
    let piped = run(&["backup", "-", "--data-dir", text(&data)]);
    assert!(piped.status.success() && piped.stderr.is_empty() && !piped.stdout.is_empty(), "{piped:?}");
}

#[tokio::test]
async fn the_time_of_the_newest_backup_is_measured_whoever_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let (data, backups) = (folder.path().join("data"), folder.path().join("backups"));
    create_account(&data, "ada@x.example", "user");
    back_up(&data, &backups, &[]);
    // As if a timer had made it an hour ago.
    let made = tidings::time::Time::now() - std::time::Duration::from_secs(3600);
    let newest = backups.join(made.strftime("tidings-%Y-%m-%dT%H%M%SZ.tar.zst"));
    fs::rename(only(&backups), &newest).unwrap();
    let token = "a-token-for-the-tests";
    let settings = ["--backup-every", "24h", "--backup-dir", text(&backups), "--metrics-token", token];
    let server = Server::start(&data, &settings);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let page = loop {
        assert!(std::time::Instant::now() < until, "no backup is measured");
        let page = server.http.get(format!("{}/metrics", server.url)).bearer_auth(token).send().await.unwrap();
        let page = page.text().await.unwrap();
        if !page.contains("\ntidings_backup_time_seconds 0\n") {
            break page;
        }
    };
    let (seconds, bytes) = (made.unix_seconds(), fs::metadata(&newest).unwrap().len());
    for sample in
        [format!("backup_time_seconds {seconds}"), format!("backup_bytes {bytes}"), "backups_total{made=\"true\"} 0".into()]
    {
        assert!(page.contains(&format!("\ntidings_{sample}\n")), "{sample} in {page}");
    }
}
