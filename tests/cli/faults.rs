//! Disks that are full, read-only or broken: a clear error or 503, nothing that was answered is lost, and the server goes on once
//! the fault is gone.

use std::{
    fs::{self, DirBuilder, File},
    io::{ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, FileExt},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use reqwest::Method;
use serde_json::{Value, json};
use tidings::{db::free_bytes, error::Code};

use crate::{
    backups::{back_up, contents, restore, text},
    harness::{Dice, PASSWORD, Server, printed, refused, run, tidings},
};

/// A file system of its own, in memory.
pub struct Disk(PathBuf);

impl Disk {
    /// None, with the reason printed, where this process may not mount.
    pub fn mount(path: PathBuf, megabytes: u32) -> Option<Disk> {
        fs::create_dir(&path).unwrap();
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path).output();
        match mounted {
            Ok(output) if output.status.success() => Some(Disk(path)),
            other => {
                println!("skipped, because no file system can be mounted: {other:?}");
                None
            }
        }
    }

    pub fn remount(&self, mode: &str) {
        let output = Command::new("mount").args(["-o", &format!("remount,{mode}")]).arg(&self.0).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Fills the disk until these bytes are left. Returns the file that does.
    fn fill_to(&self, left: u64) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::options().create(true).append(true).open(&path).unwrap();
        let block = vec![1; 1 << 20];
        while free_bytes(&self.0).unwrap() > left + block.len() as u64 {
            file.write_all(&block).unwrap();
        }
        path
    }

    /// Fills the disk to its last byte. Returns the file that does.
    fn fill(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::create(&path).unwrap();
        for block in [1 << 20, 4096, 1] {
            let block = vec![1; block];
            let end = loop {
                if let Err(err) = file.write_all(&block) {
                    break err;
                }
            };
            assert_eq!(end.kind(), ErrorKind::StorageFull);
        }
        path
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// The id of an access token's session.
fn session_of(token: &str) -> Value {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    let claims = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
    serde_json::from_slice::<Value>(&claims).unwrap()["sid"].take()
}

async fn health(server: &Server) -> u16 {
    reqwest::get(format!("{}/health", server.url)).await.unwrap().status().as_u16()
}

/// Posts until the status of the answer is as expected. Adds the texts that were answered 201.
async fn post_until(server: &Server, (token, channel): (&str, &str), status: u16, answered: &mut Vec<String>) {
    for n in 0..2000 {
        let content = format!("post {n} of {}", answered.len());
        let path = format!("{channel}/messages");
        let (found, reply) = server.call(Method::POST, &path, token, json!({ "content": content })).await.unwrap();
        // The write that meets the end of the disk may be answered first: its outcome is unknown.
        let is_full = reply["code"] == Code::DiskFull.name();
        assert!(found == 201 || is_full || reply["code"] == Code::OutcomeUnknown.name(), "{found} {reply}");
        if found == 201 {
            answered.push(content);
        }
        if found == status && (found == 201 || is_full) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await; // the server looks for space now and then
    }
    panic!("no post was answered {status}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_until_there_is_space() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path().join("disk"), 100) else { return };
    let data = disk.0.join("data");
    let mut server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    let mut answered = Vec::new();
    for _ in 0..3 {
        post_until(&server, (&token, &channel), 201, &mut answered).await;
        let filler = disk.fill();
        post_until(&server, (&token, &channel), 503, &mut answered).await;
        while health(&server).await != 503 {}
        assert_eq!(contents(&server, &token, &channel).await.len(), answered.len(), "it can be read");
        refused(&run(&["backup", text(&disk.0), "--data-dir", text(&data)]), "of free space in");
        fs::remove_file(filler).unwrap();
        post_until(&server, (&token, &channel), 201, &mut answered).await;
        assert_eq!(health(&server).await, 200);
    }
    let filler = disk.fill();
    post_until(&server, (&token, &channel), 503, &mut answered).await;
    server.signal("KILL");
    server.end();
    fs::remove_file(filler).unwrap();
    let server = Server::start(&data, &[]);
    let there = contents(&server, &token, &channel).await;
    assert!(answered.iter().all(|text| there.contains(text)), "{} of {}", there.len(), answered.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_disk_that_is_nearly_full_deletions_log_outs_and_superadmins_pass() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path().join("disk"), 100) else { return };
    let data = disk.0.join("data");
    let server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    let admin = ["user", "create", "--email", "root@x.example", "--password", PASSWORD, "--role", "superadmin"];
    printed(&run(&[&admin[..], &["--data-dir", text(&data)]].concat()));
    let [other, last] = [server.log_in("ada@x.example").await.unwrap(), server.log_in("ada@x.example").await.unwrap()];
    let messages = format!("{channel}/messages");
    let mut posted = Vec::new();
    for n in 0..3 {
        posted.push(server.post(&messages, &token, json!({ "content": format!("post {n}") })).await["id"].clone());
    }
    let call = async |method: Method, path: &str, token: &str, body: Value| {
        let (status, reply) = server.call(method, path, token, body).await.unwrap();
        (status, reply["code"].as_str().unwrap_or_default().to_owned())
    };
    let post = async |token: &str| call(Method::POST, &messages, token, json!({ "content": "more" })).await;
    let delete = async |n: usize| {
        let path = format!("{messages}/{}", posted[n].as_str().unwrap());
        call(Method::DELETE, &path, &token, json!(null)).await
    };
    let refused = (503, Code::DiskFull.name().to_owned());
    let taken = |status: u16| (status, String::new());

    disk.fill_to(40 << 20);
    while health(&server).await != 503 {}
    assert_eq!(post(&token).await, refused);
    assert_eq!(call(Method::PATCH, "/profile", &token, json!({ "first_name": "Ada" })).await, refused);
    assert_eq!(call(Method::PUT, &format!("{channel}/read"), &token, json!({})).await, refused, "work in steps is held, too");
    assert_eq!(server.log_in("ada@x.example").await, None);
    assert_eq!(delete(0).await, taken(200));
    let session = session_of(&last);
    assert_eq!(call(Method::PUT, "/users/revoke-session", &token, json!({ "session_id": session })).await, taken(200));
    assert_eq!(call(Method::POST, "/auth/logout", &other, json!({})).await, taken(200));
    assert_eq!(call(Method::GET, "/profile", &other, json!(null)).await.0, 401);
    let root = server.log_in("root@x.example").await.expect("a superadmin can log in");
    assert_eq!(call(Method::POST, "/organisations", &root, json!({ "name": "Looms" })).await, taken(201));
    let said = server.call(Method::POST, &messages, &token, json!({ "content": "more" })).await.unwrap().1["message"].clone();
    assert_eq!(
        said,
        "the server's disk is nearly full: until an administrator frees some space, you can read, delete and log out"
    );

    // Below the last floor, nobody writes.
    let filler = disk.fill_to(4 << 20);
    while delete(1).await != refused {
        assert_eq!(post(&token).await, refused, "it was below the floor all the time");
    }
    assert_eq!(post(&root).await, refused);
    fs::remove_file(filler).unwrap();
    let mut answered = Vec::new();
    post_until(&server, (&token, &channel), 201, &mut answered).await;
    assert_eq!((health(&server).await, delete(2).await), (200, taken(200)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_ends_no_restore_halfway() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path().join("disk"), 8) else { return };
    let (data, file) = (folder.path().join("data"), folder.path().join("one.tar.zst"));
    let server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    let mut answered = Vec::new();
    post_until(&server, (&token, &channel), 201, &mut answered).await;
    back_up(&data, &file, &[]);
    let to = disk.0.join("data");
    fs::create_dir(&to).unwrap();
    let filler = disk.fill();
    refused(&restore(&file, &to, &[]), "of free space in");
    fs::remove_file(filler).unwrap();
    printed(&restore(&file, &to, &[]));
    let left: Vec<_> = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "the database, the key and the lock: {left:?}");
    let copy = Server::start(&to, &[]);
    assert_eq!(contents(&copy, &token, &channel).await.len(), 1);
}

#[tokio::test]
async fn a_read_only_disk_is_refused_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(folder.path().join("disk"), 200) else { return };
    let (data, file) = (disk.0.join("data"), folder.path().join("one.tar.zst"));
    let mut server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    let mut answered = Vec::new();
    post_until(&server, (&token, &channel), 201, &mut answered).await;
    back_up(&data, &file, &[]);
    server.signal("KILL");
    server.end();
    disk.remount("ro");
    let at = ["--data-dir", text(&data)];
    let create = ["user", "create", "--email", "b@x.example", "--password", PASSWORD];
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &create, &["migrate", "up"], &["token", "rotate"]] {
        refused(&run(&[command, &at].concat()), "Read-only file system");
    }
    refused(&restore(&file, &data, &[]), "Read-only file system");
    refused(&run(&[&["backup", text(folder.path())], &at[..]].concat()), "Read-only file system");
    disk.remount("rw");
    let server = Server::start(&data, &[]);
    assert_eq!(contents(&server, &token, &channel).await.len(), 1);
    post_until(&server, (&token, &channel), 201, &mut answered).await;
}

/// Pages that are free or hold rows that nobody asks for may be overwritten without a sign of it; then nothing is missing.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_with_overwritten_pages_is_told_of_and_never_backed_up_as_whole() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original");
    printed(&run(&["demo", "--data-dir", text(&original)]));
    let mut server = Server::start(&original, &[]);
    server.signal("TERM");
    server.end();
    let size = fs::metadata(original.join("tidings.db")).unwrap().len();
    let (mut dice, mut damaged) = (Dice(15), 0);
    for n in 0..20 {
        let data = folder.path().join(format!("data {n}"));
        DirBuilder::new().mode(0o700).create(&data).unwrap(); // or the doctor finds that others can read it
        for file in ["tidings.db", "secret.key", "epoch"] {
            fs::copy(original.join(file), data.join(file)).unwrap();
        }
        let file = File::options().write(true).open(data.join("tidings.db")).unwrap();
        for _ in 0..3 {
            let noise: Vec<u8> = (0..4096).map(|_| dice.roll(256) as u8).collect();
            file.write_all_at(&noise, dice.roll(size as usize) as u64).unwrap();
        }
        let at = ["--data-dir", text(&data)];
        let doctor = run(&[&["doctor"], &at[..]].concat());
        let backup = run(&[&["backup", text(&folder.path().join(format!("{n}.tar.zst"))), "--verify"], &at[..]].concat());
        let says = String::from_utf8_lossy(&doctor.stdout).into_owned() + &String::from_utf8_lossy(&doctor.stderr);
        assert_eq!(doctor.status.success(), backup.status.success(), "{n}: {says} {backup:?}");
        if !doctor.status.success() {
            damaged += 1;
            assert!(says.contains("database"), "{n}: {says}");
        }
        serves_or_says_why(&data, n).await;
    }
    assert!(damaged > 15, "{damaged} of 20");
}

/// Starts a server on a damaged database. It either refuses with one line, or answers, without a word of what is not so.
async fn serves_or_says_why(data: &Path, n: u32) {
    let mut command = tidings(&["serve", "--listen", "127.0.0.1:0", "--log", "off", "--data-dir", text(data)]);
    let log = data.join("log");
    let mut process = command.stderr(File::create(&log).unwrap()).spawn().unwrap();
    let said = std::io::BufRead::lines(std::io::BufReader::new(process.stdout.take().unwrap()));
    let url = said.map_while(Result::ok).find_map(|line| Some(line.split_once("API    ")?.1.to_owned()));
    let Some(url) = url else {
        let status = process.wait().unwrap();
        let log = fs::read_to_string(log).unwrap();
        assert_eq!((status.code(), log.lines().count()), (Some(1), 1), "{n}: {log}");
        return;
    };
    for path in ["/blogs", "/profile"] {
        if let Ok(reply) = reqwest::get(format!("{url}{path}")).await {
            assert!([200, 401, 500, 503].contains(&reply.status().as_u16()), "{n}: {path} {}", reply.status());
        }
    }
    _ = process.kill();
    _ = process.wait();
}
