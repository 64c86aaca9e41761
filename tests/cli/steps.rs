//! Commands that are killed at each of their calls that change files, one run for each call.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use rusqlite::Connection;
use serde_json::json;

use crate::{
    backups::{back_up, restore, text},
    harness::{BINARY, Server, printed, refused, run},
};

/// Runs a command killed at its `step`th call that makes, renames, removes, cuts or syncs a file. Returns none if it has fewer.
fn killed_at(step: usize, args: &[&str]) -> Option<Output> {
    let calls = "/^(rename|unlink|mkdir|rmdir|link|ftruncate|fsync|fdatasync)";
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace={calls}")]);
    command.args(["-e", &format!("inject={calls}:signal=KILL:when={step}")]).arg(BINARY).args(args);
    let output = command.env_clear().stdin(Stdio::null()).output().unwrap();
    let was_killed = !output.status.success();
    assert!(!was_killed || output.stderr.is_empty(), "it was killed, and did not fail: {output:?}");
    was_killed.then_some(output)
}

fn messages(folder: &Path) -> i64 {
    let conn = Connection::open(folder.join("tidings.db")).unwrap();
    assert_eq!(conn.query_row("pragma integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
    conn.query_row("select count(*) from messages", [], |row| row.get(0)).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in ["tidings.db", "tidings.db-wal", "secret.key", "epoch"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
}

/// A folder of a server that was killed with two messages, the newest of them in the WAL, and a backup with one message.
async fn scene(folder: &Path) -> (PathBuf, PathBuf, String) {
    let (data, file) = (folder.join("data"), folder.join("first.tar.zst"));
    let mut server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    for n in 0..2 {
        server.post(&format!("{channel}/messages"), &token, json!({ "content": format!("{n}") })).await;
        if n == 0 {
            back_up(&data, &file, &[]);
        }
    }
    server.signal("KILL");
    server.end();
    (data, file, token)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_is_killed_at_any_step_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (original, file, _) = scene(folder.path()).await;
    let formers = |data: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| text(path).contains("before-restore-") && path.join("tidings.db").exists()).collect()
    };
    let (mut step, mut again) = (1, 0);
    loop {
        let data = folder.path().join(format!("data {step}"));
        copy(&original, &data);
        let was_killed = killed_at(step, &["restore", text(&file), "--to", text(&data)]).is_some();
        let status = run(&["migrate", "status", "--data-dir", text(&data)]);
        if !status.status.success() {
            again += 1;
            refused(&status, "run `tidings restore` with the backup again");
            refused(&run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", text(&data)]), "run `tidings restore`");
            printed(&restore(&file, &data, &[]));
        }
        match formers(&data).as_slice() {
            [] => assert_eq!(messages(&data), 2, "step {step}"),
            [former] => assert_eq!((messages(&data), messages(former)), (1, 2), "step {step}"),
            more => panic!("step {step}: {more:?}"),
        }
        if was_killed && messages(&data) == 2 {
            printed(&restore(&file, &data, &[])); // what the kill has left is not in the way
            assert_eq!(messages(&data), 1, "step {step}");
        }
        if !was_killed {
            break;
        }
        step += 1;
    }
    assert!(step > 6 && again > 2, "{step} steps, {again} of them while files were moved");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_killed_at_any_step_leaves_none_or_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let (data, _, _) = scene(folder.path()).await;
    let backups = folder.path().join("backups");
    fs::create_dir(&backups).unwrap();
    let file = backups.join("one.tar.zst");
    let mut step = 1;
    while killed_at(step, &["backup", text(&file), "--data-dir", text(&data)]).is_some() {
        if file.exists() {
            printed(&restore(&file, &data, &["--dry-run"]));
            fs::remove_file(&file).unwrap();
        }
        step += 1;
    }
    assert!(step > 3, "{step} steps");
    let left: Vec<_> = fs::read_dir(&backups).unwrap().map(|entry| entry.unwrap()).collect();
    let left: Vec<_> = left.iter().filter(|entry| entry.metadata().unwrap().len() > 0).map(|entry| entry.path()).collect();
    assert_eq!(left, [&*file], "a killed backup leaves nothing in the way, and nothing large");
    let to = folder.path().join("restored");
    printed(&restore(&file, &to, &[]));
    assert_eq!((messages(&to), messages(&data)), (2, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_that_is_killed_at_any_step_keeps_the_former_key() {
    let folder = tempfile::tempdir().unwrap();
    let (data, _, token) = scene(folder.path()).await;
    let read = || fs::read_to_string(data.join("secret.key")).unwrap();
    let first = read().lines().next().unwrap().to_owned();
    let mut step = 1;
    while killed_at(step, &["token", "rotate", "--data-dir", text(&data)]).is_some() {
        assert!(read().contains(&first), "step {step}");
        step += 1;
    }
    assert!(step > 2, "{step} steps");
    assert!(!read().starts_with(&first) && read().contains(&first));
    let server = Server::start(&data, &[]);
    let (status, _) = server.call(reqwest::Method::GET, "/profile", &token, json!({})).await.unwrap();
    assert_eq!(status, 200);
}
