//! What is kept of one person, written into a folder.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    scene::{Scene, text},
    text_of,
};
use crate::harness::{Admin, Server, refused};

/// All files of a folder, by their paths in it.
fn all(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => _ = found.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read(path).unwrap()),
            }
        }
    }
    found
}

fn lines(from: &BTreeMap<PathBuf, Vec<u8>>, name: &str) -> Vec<Value> {
    let text = str::from_utf8(&from[Path::new(name)]).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn it_is_all_of_theirs_and_nothing_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let [data, to] = ["data", "ada"].map(|name| folder.path().join(name));
    let server = Server::start(&data, &[]);
    let scene = Scene::make(&server, &data).await;
    let untaken = server.upload(&scene.ada, "later.txt", "not sent yet").await;
    let reminder = json!({ "text": "oil the engine", "due_at": "2031-01-01T00:00:00Z" });
    server.post("/reminders", &scene.ada, reminder).await;
    let post = server.post(&format!("{}/messages", scene.dev), &scene.ada, json!({ "content": "the mill" })).await;
    let left = format!("/threads/{}/follow", text(&post["id"]));
    assert_eq!(server.call(Method::DELETE, &left, &scene.ada, json!({})).await.unwrap().0, 200);
    server.post(&format!("{}/notification-preference", scene.dev), &scene.ada, json!({ "notify_about": "nothing" })).await;

    let printed = Admin(&data).json(&["user", "export", "--email", "ada@x.example", text_of(&to)]);
    assert_eq!(printed, json!({ "messages": 7, "reactions": 1, "files": 4, "missing_files": 0 }));
    assert_eq!(fs::metadata(&to).unwrap().permissions().mode() & 0o777, 0o700, "for whoever made it alone");
    let found = all(&to);
    let account: Value = serde_json::from_slice(&found[Path::new("account.json")]).unwrap();
    assert_eq!(account["email"], "ada@x.example");
    assert_eq!(account["organisations"][0]["role"], "owner");
    assert_eq!(account["reminders"][0]["text"], "oil the engine");
    assert_eq!(account["left_threads"], json!([post["id"]]));
    let dev = scene.dev.trim_start_matches("/channels/");
    let chosen = json!([{ "channel": dev, "device": "web", "notify_about": "nothing", "at_channel": true }]);
    assert_eq!(account["notifications"], chosen);
    assert!(
        account["mails"].as_array().is_some_and(|mails| mails.iter().any(|mail| mail["kind"] == "verification")),
        "{account:#}"
    );
    assert!(account["sessions"].as_array().is_some_and(|sessions| !sessions.is_empty()), "{account:#}");
    assert!(account["channels"].as_array().unwrap().iter().any(|channel| channel["name"] == "secret"), "{account:#}");
    let written: Vec<_> = lines(&found, "messages.jsonl").iter().map(|message| text(&message["content"])).collect();
    assert_eq!(written[0], "the difference engine");
    assert!(written.iter().any(|content| content == "with @grace") && !written.iter().any(|content| content == "a mistake"));
    assert_eq!(lines(&found, "reactions.jsonl")[0]["emoji"], "\u{1f389}");
    assert!(found[Path::new("picture.jpg")].starts_with(b"\xff\xd8"));

    // Each file is where its line says, as it was uploaded.
    let files = lines(&found, "files.jsonl");
    assert_eq!(files.len(), 4);
    for file in &files {
        let content = &found[&Path::new("files").join(text(&file["id"])).join(text(&file["name"]))];
        assert_eq!(file["size"], content.len());
        assert_eq!(file["message"].is_null(), file["id"] == untaken.as_str());
    }
    // Of others, nothing but the names that she wrote herself; and no secret.
    let everything: String = found.values().map(|content| String::from_utf8_lossy(content)).collect();
    for absent in
        ["look again", "an answer", "between us", "hello Ada", "what Linus wrote", "build 7", "grace@x.example", "argon2", "hash"]
    {
        assert!(!everything.contains(absent), "{absent} is not hers");
    }
}

#[tokio::test]
async fn what_can_not_be_written_whole_is_said_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::start(&data, &[]);
    let scene = Scene::make(&server, &data).await;
    let admin = Admin(&data);
    let to = |name: &str| text_of(&folder.path().join(name)).to_owned();
    refused(&admin.run(&["user", "export", "--email", "nobody@x.example", &to("nobody")]), "Account not found");
    refused(&admin.run(&["user", "export", "--email", "ada@x.example", text_of(&data)]), "exists");
    refused(&admin.run(&["user", "export", "--email", "ada@x.example", &to("no/such/folder")]), "can't write");
    // Others could put something else in its place there; not so where each may move their own alone, as in /tmp.
    let shared = folder.path().join("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o777)).unwrap();
    refused(&admin.run(&["user", "export", "--email", "ada@x.example", &to("shared/ada")]), "others may write");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    admin.print(&["user", "export", "--email", "ada@x.example", &to("shared/ada")]);
    admin.print(&["user", "export", "--email", "ada@x.example", &to("first")]);
    let id = text(&lines(&all(&folder.path().join("first")), "files.jsonl")[0]["id"]);
    let place = data.join("files").join(&scene.organisation).join(&id[34..]).join(&id);
    fs::write(&place, "something else").unwrap();
    let printed = admin.json(&["user", "export", "--email", "ada@x.example", &to("altered")]);
    assert_eq!([&printed["files"], &printed["missing_files"]], [2, 1], "{printed}");
    assert_eq!(lines(&all(&folder.path().join("altered")), "files.jsonl").len(), 3, "what it was is said");
    // Names come from a database that another user than the operator may write.
    let database = rusqlite::Connection::open(data.join("tidings.db")).unwrap();
    database.execute("update files set name = '../../../escaped'", []).unwrap();
    admin.print(&["user", "export", "--email", "ada@x.example", &to("shared/again")]);
    let escaped = all(folder.path()).into_keys().filter(|path| path.ends_with("escaped")).collect::<Vec<_>>();
    assert!(!escaped.is_empty() && escaped.iter().all(|path| path.starts_with("shared/again/files")), "{escaped:?}");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 4, "refused ones leave nothing: {left:?}");
}
