//! Files, faces and logos move with their organisation.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    empty, export,
    export::read,
    hostile::victim_and_attacker,
    is_sound, log_in_anew, numbers,
    scene::{Scene, text},
    text_of,
};
use crate::harness::{Admin, Server};

/// The messages of a direct message that have files.
async fn shown(server: &Server, token: &str, channel: &str) -> Vec<Value> {
    let (status, answer) = server.call(Method::GET, &format!("/channels/{channel}/messages"), token, json!({})).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let rows = answer["messages"].as_array().unwrap();
    rows.iter().filter(|row| row["media"].as_array().is_some_and(|media| !media.is_empty())).cloned().collect()
}

/// What an address gives: its status, type and bytes.
async fn open(server: &Server, token: &str, address: &str) -> (u16, String, Vec<u8>) {
    let path = &address[address.find("/api/").unwrap()..];
    let reply = server.http.get(format!("{}{path}", server.url)).bearer_auth(token).send().await.unwrap();
    let kind = reply.headers()["content-type"].to_str().unwrap().to_owned();
    (reply.status().as_u16(), kind, reply.bytes().await.unwrap().to_vec())
}

#[tokio::test]
async fn they_look_as_they_did_and_their_bytes_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there, file] = ["here", "there", "file"].map(|name| folder.path().join(name));
    let server = Server::start(&here, &[]);
    let scene = Scene::make(&server, &here).await;
    let printed = Admin(&here).json(&["org", "export", "engines", text_of(&file)]);
    assert_eq!([&printed["files"], &printed["missing_files"]], [3, 0], "{printed}");
    assert_eq!(read(&file).contents.len(), 2, "two have the same content");
    empty(&there);
    let report = Admin(&there).json(&["org", "import", text_of(&file)]);
    assert!(numbers(&report).contains(&("files".into(), 3, 0)), "{report}");
    assert_eq!(report["left_out"], json!([]));
    let again = Admin(&there).json(&["org", "import", text_of(&file)]);
    assert!(numbers(&again).contains(&("files".into(), 0, 3)), "{again}");
    is_sound(&there);

    // It starts for the first time, at an address of its own.
    let server_there = Server::start(&there, &[]);
    let ada = log_in_anew(&server_there, &Admin(&there), "ada@x.example").await;
    let [before, after] = [shown(&server, &scene.ada, &scene.direct).await, shown(&server_there, &ada, &scene.direct).await];
    assert_eq!(before.len(), 2);
    let media =
        |messages: &[Value]| messages.iter().flat_map(|message| message["media"].as_array().unwrap().clone()).collect::<Vec<_>>();
    let contents = |messages: &[Value]| messages.iter().map(|message| message["content"].clone()).collect::<Vec<_>>();
    assert_eq!(contents(&before), contents(&after));
    let fields = ["id", "file_name", "mime_type", "size", "width", "height", "color", "description", "user_id", "created_at"];
    assert_eq!(media(&before).len(), media(&after).len());
    for (before, after) in media(&before).iter().zip(&media(&after)) {
        assert_eq!(fields.map(|field| &before[field]), fields.map(|field| &after[field]));
        for link in ["file_link", "thumbnail_link"].into_iter().filter(|link| !before[link].is_null()) {
            let opened = open(&server, &scene.ada, &text(&before[link])).await;
            assert_eq!(opened.0, 200);
            assert_eq!(opened, open(&server_there, &ada, &text(&after[link])).await, "{link}");
        }
    }
    let faces = async |server: &Server, token: &str| {
        let (_, profile) = server.call(Method::GET, "/profile", token, json!({})).await.unwrap();
        let path = format!("/organisations/{}", scene.organisation);
        let (_, organisation) = server.call(Method::GET, &path, token, json!({})).await.unwrap();
        let mut found = Vec::new();
        for address in [find(&profile, "avatar_url"), find(&organisation, "logo_url")] {
            assert!(address.starts_with(&server.url), "{address}");
            found.push(open(server, token, &address).await);
        }
        found
    };
    assert_eq!(faces(&server, &scene.ada).await, faces(&server_there, &ada).await);
}

/// The first text with this name, however deep.
fn find(value: &Value, name: &str) -> String {
    let text = value.to_string();
    let at = text.find(&format!("\"{name}\":\"")).unwrap_or_else(|| panic!("{name} is not in {value}"));
    text[at + name.len() + 4..].split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_left_out_or_gone_leaves_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("here");
    let server = Server::start(&here, &[]);
    let scene = Scene::make(&server, &here).await;
    let admin = Admin(&here);
    let names = |file: &str| {
        let file = read(&folder.path().join(file));
        let contents =
            file.lines("messages.jsonl").iter().map(|line| text(&serde_json::from_str::<Value>(line).unwrap()["content"]));
        (contents.filter(|content| content.contains("plan.txt")).collect::<Vec<_>>(), file.contents.len())
    };
    let without = folder.path().join("without");
    admin.print(&["org", "export", "engines", text_of(&without), "--without-files"]);
    assert_eq!(names("without"), (vec!["photo.png\nplan.txt".to_owned()], 0));

    let media = shown(&server, &scene.ada, &scene.direct).await.into_iter().find(|message| message["content"] == "").unwrap();
    for (index, gone) in [(0, 1), (1, 2)] {
        let id = text(&media["media"][index]["id"]);
        fs::remove_file(here.join("files").join(&scene.organisation).join(&id[34..]).join(&id)).unwrap();
        let name = format!("gone {index}");
        let printed = admin.json(&["org", "export", "engines", text_of(&folder.path().join(&name))]);
        assert_eq!(printed["missing_files"], gone, "{printed}");
        let expected = if index == 0 { vec![] } else { vec!["photo.png\nplan.txt".to_owned()] };
        assert_eq!(names(&name).0, expected);
    }
    fs::rename(here.join("files"), folder.path().join("lost")).unwrap();
    let printed = admin.json(&["org", "export", "engines", text_of(&folder.path().join("all gone"))]);
    assert_eq!([&printed["files"], &printed["missing_files"]], [0, 3], "{printed}");
    assert!(!here.join("files").exists(), "an export makes nothing in the data folder");
}

#[tokio::test]
async fn a_file_says_of_its_files_what_it_likes_and_their_content_counts() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there, file] = ["here", "there", "file"].map(|name| folder.path().join(name));
    let server = Server::start(&here, &[]);
    let scene = Scene::make(&server, &here).await;
    let honest = export(&here, "engines", &file);
    let (n, people) = (honest.with_files(), honest.lines("people.jsonl").len());
    let ada = (0..people).find(|n| !honest.record("people.jsonl", *n)["face"].is_null()).unwrap();
    let mut lying = honest.clone();
    let mut files = honest.record("messages.jsonl", n)["files"].clone();
    files[0]["mime_type"] = json!("text/html");
    files[0]["width"] = json!(0);
    files[0]["size"] = json!(-5);
    files[0]["name"] = json!("../../etc/pass\u{202e}wd");
    files[1]["sha256"] = json!("../../../../etc/passwd");
    lying.set("messages.jsonl", n, "files", files);
    lying.set("people.jsonl", ada, "face", json!(["PGh0bWw+", "PGh0bWw+"]));
    lying.write(&file);
    empty(&there);
    let admin = Admin(&there);
    let rehearsed = admin.json(&["org", "import", text_of(&file), "--dry-run"]);
    assert_eq!(fs::read_dir(there.join("files")).unwrap().count(), 1, "a dry run leaves no file");
    assert_eq!(fs::read_dir(there.join("files/incoming")).unwrap().count(), 0);
    let report = admin.json(&["org", "import", text_of(&file)]);
    assert_eq!(report, rehearsed);
    assert_eq!(report["left_out"].as_array().unwrap().iter().map(|row| &row["number"]).collect::<Vec<_>>(), [1, 1], "{report}");
    assert_eq!(fs::read_dir(there.join("files/incoming")).unwrap().count(), 0);
    is_sound(&there);
    let server_there = Server::start(&there, &[]);
    let token = log_in_anew(&server_there, &admin, "ada@x.example").await;
    let message = shown(&server_there, &token, &scene.direct).await.into_iter().find(|message| message["content"] == "").unwrap();
    let media = message["media"].as_array().unwrap();
    assert_eq!(media.len(), 1);
    let size = honest.record("messages.jsonl", n)["files"][0]["size"].clone();
    let said = ["file_name", "mime_type", "size", "width"].map(|field| &media[0][field]);
    assert_eq!(said, [&json!("passwd"), &json!("image/png"), &size, &Value::Null]);
}

#[tokio::test]
async fn a_file_that_has_the_identifier_of_anothers_gets_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (victim, mut file) = victim_and_attacker(folder.path()).await;
    let own = text(&victim.record("organisation.jsonl", 0)["id"]);
    let stolen = victim.record("messages.jsonl", victim.with_files())["files"].clone();
    let n = file.with_files();
    let mut files = file.record("messages.jsonl", n)["files"].clone();
    for (file, stolen) in files.as_array_mut().unwrap().iter_mut().zip(stolen.as_array().unwrap()) {
        file["id"] = stolen["id"].clone();
        file["description"] = json!("mine");
    }
    file.set("messages.jsonl", n, "files", files);
    file.write(&at("file"));
    let victims = at("victims");
    let admin = Admin(&victims);
    let report = admin.json(&["org", "import", text_of(&at("file"))]);
    assert_eq!(export(&victims, &own, &at("after")), victim);
    let imported = export(&victims, &text(&report["organisation"]), &at("imported"));
    let imported = imported.record("messages.jsonl", imported.with_files())["files"].clone();
    assert_eq!(imported[0]["description"], "mine");
    assert_ne!(imported[0]["id"], stolen[0]["id"]);
    is_sound(&victims);
}
