//! What `tidings doctor` finds, and what it mends.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, path::Path, process::Output};

use rusqlite::Connection;
use serde_json::json;

use crate::{
    certificate::Certificate,
    faults::Disk,
    harness::{Admin, PASSWORD, Server, printed, refused, run, until},
    secured::Pair,
};

#[tokio::test]
async fn the_doctor_finds_and_mends_what_is_wrong() {
    let parent = tempfile::tempdir().unwrap();
    let folder = &parent.path().join("data"); // which the server makes, for its own user alone
    let admin = Admin(folder);
    let server = Server::start(folder, &[]);
    let (token, channel) = server.poster().await;
    let root = server.post(&format!("{channel}/messages"), &token, json!({ "content": "one" })).await;
    let root = root["id"].as_str().or(root["message_id"].as_str()).unwrap().to_owned();
    server.post(&format!("{channel}/messages"), &token, json!({ "content": "two", "thread_id": root })).await;
    server.upload(&token, "plan.txt", "The plan").await;
    let base = ["--base-url", &server.url];
    let doctor = |more: &[&str]| admin.run(&[&["doctor"], &base[..], more].concat());
    let healthy = printed(&doctor(&[]));
    assert!(!healthy.contains("bad ") && healthy.contains("the database is intact"), "{healthy}");

    let database = Connection::open(folder.join("tidings.db")).unwrap();
    for damage in [
        "update channels set user_count = user_count + 1",
        "update channels set message_count = 9, mention_count = 1",
        "update messages set reply_count = 5 where root is null",
        "update organisations set channels_count = 0",
        "update file_totals set bytes = 1",
    ] {
        database.execute(damage, []).unwrap();
        refused(&doctor(&[]), "checks failed");
        let mended = printed(&doctor(&["--fix"]));
        assert!(mended.contains("mended"), "{mended}");
        let healthy = printed(&doctor(&[]));
        assert!(!healthy.contains("bad "), "{damage}: {healthy}");
    }
    database
        .execute_batch("pragma foreign_keys = off; update messages set channel_id = randomblob(16) where root is not null")
        .unwrap();
    for more in [&[][..], &["--fix"]] {
        let lost = doctor(more);
        assert!(!lost.status.success() && String::from_utf8_lossy(&lost.stdout).contains("1 messages belong to no channel"));
    }
    database.execute("update messages set channel_id = (select channel_id from messages where root is null)", []).unwrap();
    let key = folder.join("secret.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(String::from_utf8_lossy(&doctor(&[]).stdout).contains("others can read"));
    printed(&doctor(&["--fix"]));
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    refused(&run(&["doctor", "--data-dir", folder.join("none").to_str().unwrap()]), "checks failed");
}

#[tokio::test]
async fn the_doctor_finds_messages_that_are_not_in_the_search_index() {
    let parent = tempfile::tempdir().unwrap();
    let folder = &parent.path().join("data");
    let admin = Admin(folder);
    let server = Server::start(folder, &[]);
    let (token, channel) = server.poster().await;
    for content in ["one", "two"] {
        server.post(&format!("{channel}/messages"), &token, json!({ "content": content })).await;
    }
    let doctor = |more: &[&str]| admin.run(&[&["doctor", "--base-url", &server.url], more].concat());
    let database = Connection::open(folder.join("tidings.db")).unwrap();
    let indexed = || database.query_row("select count(*) from message_search_docsize", [], |row| row.get::<_, i64>(0)).unwrap();
    until("both messages in the index", async || (indexed() == 2).then_some(())).await;
    database.execute("delete from message_search where rowid = (select min(n) from messages)", []).unwrap();
    refused(&doctor(&[]), "checks failed");
    assert!(printed(&doctor(&["--fix"])).contains("1 messages were missing"));
    until("both messages in the index", async || (indexed() == 2).then_some(())).await;
    let healthy = printed(&doctor(&[]));
    assert!(healthy.contains("0 messages behind"), "{healthy}");
}

#[test]
fn the_doctor_looks_for_backups_and_the_mail_server() {
    let parent = tempfile::tempdir().unwrap();
    let folder = &parent.path().join("data");
    let admin = Admin(folder);
    admin.print(&["user", "create", "--email", "ada@x.example", "--password", PASSWORD]);
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    let doctor = |more: &[&str]| admin.run(&[&["doctor", "--base-url", "http://127.0.0.1:1"], more].concat());
    let backups = parent.path().join("backups");
    let scheduled = ["--backup-every", "24h", "--backup-dir", backups.to_str().unwrap()];
    assert!(printed(&doctor(&scheduled)).contains("there is no folder"));
    fs::write(&backups, "").unwrap();
    let unusable = doctor(&scheduled);
    assert!(!unusable.status.success() && String::from_utf8_lossy(&unusable.stdout).contains("can't write to"), "{unusable:?}");
    fs::remove_file(&backups).unwrap();
    fs::create_dir(&backups).unwrap();
    assert!(
        printed(&doctor(&scheduled)).contains("is newer than --backup-every") && printed(&doctor(&scheduled)).contains("none in")
    );
    admin.print(&["backup", backups.to_str().unwrap()]);
    assert!(printed(&doctor(&scheduled)).contains("one in"));

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let unheard = doctor(&["--mail-url", &format!("smtp://{}?tls=none", silent.local_addr().unwrap())]);
    assert!(String::from_utf8_lossy(&unheard.stdout).contains("the mail server has not answered within 10 s"), "{unheard:?}");
}

/// A data folder with one account, for its owner alone.
fn create(folder: &Path) {
    Admin(folder).print(&["user", "create", "--email", "ada@x.example", "--password", PASSWORD]);
}

/// The line of one check.
fn line(output: &Output, check: &str) -> String {
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = lines.lines().find(|line| line.contains(&format!("  {check}  ")));
    line.unwrap_or_else(|| panic!("no {check} in {output:?}")).to_owned()
}

#[test]
fn a_disk_on_which_the_server_refuses_writes_is_bad() {
    let parent = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(parent.path().join("disk"), 60) else { return };
    let folder = parent.path().join("disk/data");
    create(&folder);
    let full = Admin(&folder).run(&["doctor"]);
    refused(&full, "1 of ");
    assert!(line(&full, "free space").starts_with("bad"), "{full:?}");
    assert!(
        line(&full, "free space")
            .ends_with("MiB: below 64 MiB the server takes only deletions, log-outs and what superadmins write"),
        "{full:?}"
    );
    for (size, outcome) in [("size=80m", "warning"), ("size=2g", "good")] {
        disk.remount(size);
        let output = Admin(&folder).run(&["doctor"]);
        printed(&output);
        assert!(line(&output, "free space").starts_with(outcome), "{output:?}");
    }
}

#[test]
fn a_settings_file_that_tells_everybody_a_secret_is_a_warning() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, file) = (parent.path().join("data"), parent.path().join("settings.toml"));
    create(&folder);
    let secret = "metrics_token = \"a-long-metrics-token\"\n";
    for (text, mode, outcome) in
        [(secret, 0o644, "warning"), (secret, 0o640, "good"), (secret, 0o600, "good"), ("purge_days = 7\n", 0o644, "good")]
    {
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let output = Admin(&folder).run(&["doctor", "--config", file.to_str().unwrap()]);
        let found = line(&output, "settings file");
        assert!(output.status.success() && found.starts_with(outcome), "{found}");
        assert_eq!(found.contains("others can read metrics_token in"), outcome == "warning", "{found}");
    }
    assert!(!printed(&Admin(&folder).run(&["doctor"])).contains("settings file"));
}

#[test]
fn the_doctor_looks_at_the_certificate_the_backup_folder_and_links_in_the_log() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("data");
    create(&folder);
    let doctor = |more: &[&str]| Admin(&folder).run(&[&["doctor"], more].concat());
    let pair = Pair::write(parent.path(), &Certificate::of("127.0.0.1"));
    assert!(line(&doctor(&pair.flags()), "certificate").ends_with("it ends at 2049-12-31T23:59:59.000000Z"));
    let ended = Pair::write(parent.path(), &Certificate::until("127.0.0.1", "240101000000Z"));
    let output = doctor(&ended.flags());
    refused(&output, "1 of ");
    assert!(line(&output, "certificate").starts_with("bad"), "{output:?}");

    let unwritable = doctor(&["--backup-dir", "/proc/backups"]);
    refused(&unwritable, "1 of ");
    assert!(line(&unwritable, "settings").contains("--backup-dir /proc/backups: can't write to /proc"), "{unwritable:?}");

    assert!(line(&doctor(&[]), "mail server").starts_with("good"));
    let public = doctor(&["--base-url", "http://192.0.2.1:9"]);
    assert!(line(&public, "mail server").starts_with("warning"), "{public:?}");
    let unreachable = line(&doctor(&["--base-url", "http://127.0.0.1:1"]), "base URL");
    assert!(unreachable.ends_with("  http://127.0.0.1:1 can't be reached: Connection refused (os error 111)"), "{unreachable}");
}
