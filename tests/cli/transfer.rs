//! One organisation, out of a server and into another.

mod bombs;
pub mod export;
mod files;
mod hostile;
mod marks;
mod person;
mod scene;
mod taken;

use std::{fs, os::unix::process::ExitStatusExt, path::Path, process::Stdio, time::Instant};

use reqwest::Method;
use serde_json::{Value, json};

use self::{
    export::{Export, export},
    scene::{Scene, text},
};
use crate::harness::{Admin, Dice, Server, refused, tidings};

/// A data folder of a server with an administrator and nothing else.
pub fn empty(folder: &Path) {
    let root = ["user", "create", "--email", "root@x.example", "--password", "correct horse battery", "--role", "superadmin"];
    Admin(folder).print(&root);
}

/// Fails if the server's counters are not what they count, or its database is damaged.
#[track_caller]
pub fn is_sound(folder: &Path) {
    let output = Admin(folder).run(&["doctor", "--json"]);
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    let findings = findings.as_array().unwrap();
    assert!(findings.iter().filter(|finding| finding["check"] == "counters").count() > 4, "{findings:#?}");
    for finding in findings
        .iter()
        .filter(|finding| ["counters", "files", "orphans", "integrity"].contains(&finding["check"].as_str().unwrap()))
    {
        assert_eq!(finding["outcome"], "good", "{finding}");
    }
}

/// The numbers of written and found records, by kind.
pub fn numbers(report: &Value) -> Vec<(String, u64, u64)> {
    let number = |outcome: &Value, name: &str| outcome[name].as_u64().unwrap();
    let outcomes = report["imported"].as_array().unwrap().iter();
    outcomes.map(|outcome| (text(&outcome["records"]), number(outcome, "written"), number(outcome, "found"))).collect()
}

/// Sets a password by a link, as the operator hands it out, and logs in.
pub async fn log_in_anew(server: &Server, admin: &Admin<'_>, email: &str) -> String {
    assert!(server.log_in(email).await.is_none(), "an imported account has no password");
    let link = admin.print(&["user", "reset-link", "--email", email]);
    let token = link.trim_end().rsplit_once("token=").unwrap().1.to_owned();
    let body = json!({ "token": token, "new_password": crate::harness::PASSWORD });
    server.post("/auth/password-reset/verify", "", body).await;
    server.log_in(email).await.unwrap()
}

#[tokio::test]
async fn an_organisation_that_was_moved_is_exported_alike() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
    let server = Server::start(&here, &[]);
    let scene = Scene::make(&server, &here).await;
    let file = folder.path().join("engines.tar.zst");
    let first = export(&here, "engines", &file);
    for (part, least) in
        [("people", 5), ("roles", 1), ("members", 3), ("channels", 5), ("messages", 10), ("channel_members", 8), ("webhooks", 1)]
    {
        assert!(first.lines(&format!("{part}.jsonl")).len() >= least, "{part}: {first:?}");
    }
    assert!(!format!("{first:?}").contains("argon2"), "passwords stay");
    let webhook = first.record("webhooks.jsonl", 0);
    assert_eq!(webhook["url"], "https://hooks.example/in", "its receiver's secret stays");
    refused(&Admin(&here).run(&["org", "export", "engines", text_of(&file)]), "can't write");

    empty(&there);
    let server_there = Server::start(&there, &[]);
    let admin = Admin(&there);
    let rehearsed = admin.json(&["org", "import", text_of(&file), "--dry-run"]);
    refused(&admin.run(&["org", "show", "engines"]), "Organisation not found");
    let report = admin.json(&["org", "import", text_of(&file)]);
    assert_eq!(report, rehearsed, "a dry run tells what the import does");
    assert!(numbers(&report).iter().all(|(_, written, found)| *written > 0 && *found == 0), "{report}");
    assert_eq!(report["left_out"], json!([]));
    assert_eq!(export(&there, "engines", &folder.path().join("again")), first);
    let again = admin.json(&["org", "import", text_of(&file)]);
    assert!(numbers(&again).iter().all(|(_, written, found)| *written == 0 && *found > 0), "{again}");
    assert_eq!(export(&there, "engines", &folder.path().join("third")), first);
    is_sound(&there);

    let grace = log_in_anew(&server_there, &admin, "grace@x.example").await;
    let own = |channels: Value| -> Vec<Value> {
        let fields = ["name", "thread_count", "mention_count", "message_count", "is_private"];
        channels["data"].as_array().unwrap().iter().map(|channel| json!(fields.map(|field| &channel[field]))).collect()
    };
    let path = format!("/organisations/{}/user-channels", scene.organisation);
    let (_, before) = server.call(Method::GET, &path, &scene.grace, json!({})).await.unwrap();
    let (_, after) = server_there.call(Method::GET, &path, &grace, json!({})).await.unwrap();
    assert_eq!(own(after), own(before.clone()), "she sees the same channels, with the same unread");
    assert!(before["data"].as_array().unwrap().iter().any(|channel| channel["mention_count"] == 2), "one in a reply: {before}");
    let opened = server_there
        .post(&format!("/organisations/{}/dms", scene.organisation), &grace, json!({ "user_ids": [scene.id_of_ada] }))
        .await;
    assert_eq!(opened["id"].as_str().or(opened["channel_id"].as_str()), Some(scene.direct.as_str()), "{opened}");
    let search = format!("/organisations/{}/search?q=difference", scene.organisation);
    let found = async || server_there.call(Method::GET, &search, &grace, json!({})).await.unwrap().1["data"].clone();
    let indexed = async { while found().await.as_array().unwrap().len() != 1 {} };
    tokio::time::timeout(std::time::Duration::from_secs(20), indexed).await.expect("imported messages are found");
}

#[tokio::test]
async fn a_later_export_adds_what_is_new_if_the_operator_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there] = ["here", "there"].map(|name| folder.path().join(name));
    let server = Server::start(&here, &[]);
    let scene = Scene::make(&server, &here).await;
    let [early, late] = ["early", "late"].map(|name| folder.path().join(name));
    export(&here, "engines", &early);
    server.post(&format!("{}/messages", scene.dev), &scene.ada, json!({ "content": "later" })).await;
    let last = export(&here, "engines", &late);
    empty(&there);
    let admin = Admin(&there);
    admin.print(&["org", "import", text_of(&early)]);
    refused(&admin.run(&["org", "import", text_of(&late)]), "did not come from this file");
    let report = admin.json(&["org", "import", text_of(&late), "--organisation", "engines"]);
    assert!(numbers(&report).contains(&("messages".into(), 1, last.lines("messages.jsonl").len() as u64 - 1)), "{report}");
    let now = export(&there, "engines", &folder.path().join("now"));
    assert_eq!(now.lines("messages.jsonl"), last.lines("messages.jsonl"));
    is_sound(&there);
}

#[tokio::test]
async fn an_import_that_is_killed_is_completed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let [here, timed, there, file] = ["here", "timed", "there", "file"].map(|name| folder.path().join(name));
    let server = Server::start(&here, &[]);
    Scene::make(&server, &here).await;
    drop(server);
    let mut whole = export(&here, "engines", &file);
    whole.multiply_messages(3000);
    whole.write(&file);
    empty(&timed);
    empty(&there);
    let began = Instant::now();
    Admin(&timed).print(&["org", "import", text_of(&file)]);
    let (mut lasts, mut dice) = (began.elapsed(), Dice(7));
    let mut killed = 0;
    while killed < 10 {
        let mut command = tidings(&["org", "import", text_of(&file), "--data-dir", text_of(&there)]);
        let mut process = command.stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(lasts * (killed * 100 + dice.roll(100) as u32) / 1000); // the moment of the kill
        _ = process.kill();
        let ended = process.wait().unwrap();
        if ended.success() {
            // It was faster than the one that was timed: it is tried anew in an empty folder, and killed sooner.
            fs::remove_dir_all(&there).unwrap();
            empty(&there);
            lasts = lasts * 4 / 5;
        } else {
            assert_eq!(ended.signal(), Some(9), "{ended}");
            killed += 1;
        }
    }
    Admin(&there).print(&["org", "import", text_of(&file)]);
    let [expected, found] = [(&timed, "a"), (&there, "b")].map(|(data, name)| export(data, "engines", &folder.path().join(name)));
    assert_eq!(found, expected);
    is_sound(&there);
    let left: Vec<_> = fs::read_dir(&there).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".tidings")), "{left:?}");
}

pub fn text_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl std::fmt::Debug for Export {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.parts.iter().try_for_each(|(name, lines)| writeln!(f, "{name}:\n{}", lines.join("\n")))
    }
}
