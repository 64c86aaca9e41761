//! Files that were made to do harm.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{
    empty,
    export::{Export, export},
    is_sound,
    scene::{Scene, text},
    text_of,
};
use crate::harness::{Admin, Server, refused};

const NEW: &str = "01900000-0000-7000-8000-00000000abcd";

/// A change to an export, with what its refusal says. It is told what belongs to the victim.
type Attack = (&'static str, fn(&mut Export, &Export));

fn id(victim: &Export, part: &str) -> Value {
    victim.record(part, 0)["id"].clone()
}

/// The number of the first post.
fn post(export: &Export) -> usize {
    (0..).find(|n| export.record("messages.jsonl", *n)["thread"].is_null()).unwrap()
}

const ATTACKS: &[Attack] = &[
    ("did not come from this file", |file, victim| file.set("organisation.jsonl", 0, "id", id(victim, "organisation.jsonl"))),
    ("is not the organisation's", |file, victim| file.set("roles.jsonl", 0, "id", id(victim, "roles.jsonl"))),
    ("is not the organisation's", |file, victim| file.set("messages.jsonl", 0, "channel", id(victim, "channels.jsonl"))),
    ("replies to no post", |file, victim| file.set("messages.jsonl", 0, "thread", id(victim, "messages.jsonl"))),
    ("is not the organisation's", |file, victim| file.set("channel_members.jsonl", 0, "channel", id(victim, "channels.jsonl"))),
    ("is not the organisation's", |file, victim| file.set("webhooks.jsonl", 0, "channel", id(victim, "channels.jsonl"))),
    ("is not the organisation's", |file, victim| file.set("webhooks.jsonl", 0, "id", id(victim, "webhooks.jsonl"))),
    ("does not describe the role", |file, victim| file.set("members.jsonl", 0, "role", id(victim, "roles.jsonl"))),
    ("does not describe the person", |file, _| file.set("members.jsonl", 0, "person", NEW)),
    ("breaks a rule", |file, _| file.set("members.jsonl", 0, "status", "king")),
    ("is not an e-mail address", |file, _| file.set("people.jsonl", 0, "email", "root")),
    ("several organisations", |file, _| {
        let line = file.lines("organisation.jsonl")[0].clone();
        file.lines_mut("organisation.jsonl").push(line);
    }),
    ("has no organisation", |file, _| file.lines_mut("organisation.jsonl").clear()),
    ("content has 40001 characters", |file, _| file.set("messages.jsonl", 0, "content", "x".repeat(40_001))),
    ("mentions, at most", |file, _| {
        let mention = json!({ "id": NEW, "type": "user", "username": "ada" });
        file.set("messages.jsonl", 0, "mentions", vec![mention; 21]);
    }),
    ("emoji", |file, _| {
        let n = (0..).find(|n| file.record("messages.jsonl", *n)["reactions"] != json!([])).unwrap();
        let mut reactions = file.record("messages.jsonl", n)["reactions"].clone();
        reactions[0]["emoji"] = json!("<b> x");
        file.set("messages.jsonl", n, "reactions", reactions);
    }),
    ("name must have one line", |file, _| file.set("channels.jsonl", 0, "name", "two\nlines")),
    ("messages.jsonl: ", |file, _| file.lines_mut("messages.jsonl").push("{\"id\":".into())),
    ("webhooks.jsonl is missing", |file, _| _ = file.parts.pop()),
    ("does not have the checksum", |file, _| file.contents.values_mut().for_each(|content| content.push(0))),
    ("is not a file of such an archive", |file, _| {
        let (_, content) = file.contents.pop_first().unwrap();
        file.contents.insert("etc".into(), content);
    }),
    ("more than 10", |file, _| {
        let n = file.with_files();
        let one = file.record("messages.jsonl", n)["files"][0].clone();
        file.set("messages.jsonl", n, "files", vec![one; 11]);
    }),
    ("description", |file, _| {
        let n = file.with_files();
        let mut files = file.record("messages.jsonl", n)["files"].clone();
        files[0]["description"] = json!("x".repeat(1001));
        file.set("messages.jsonl", n, "files", files);
    }),
    ("is not a part", |file, _| file.parts.push(("more.jsonl".into(), Vec::new()))),
    ("is not a part", |file, _| file.parts.swap(0, 1)),
    ("is not a part", |file, _| file.parts[0].0 = "other/people.jsonl".into()),
];

/// Copies a data folder that no server holds.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let to = to.join(entry.file_name());
        if entry.path().is_dir() { copy(&entry.path(), &to) } else { _ = fs::copy(entry.path(), to).unwrap() }
    }
}

/// What the folder `victims` exports, and what another server does, which somebody may change.
pub async fn victim_and_attacker(folder: &Path) -> (Export, Export) {
    for name in ["victims", "attackers"] {
        let server = Server::start(&folder.join(name), &[]);
        Scene::make(&server, &folder.join(name)).await;
    }
    let of = |name: &str| export(&folder.join(name), "engines", &folder.join(format!("of {name}")));
    (of("victims"), of("attackers"))
}

#[tokio::test]
async fn a_hostile_file_is_refused_and_changes_nothing_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (victim, file) = victim_and_attacker(folder.path()).await;
    for (n, (says, change)) in ATTACKS.iter().enumerate() {
        let (data, bad) = (at(&format!("data {n}")), at(&format!("bad {n}")));
        copy(&at("victims"), &data);
        let mut file = file.clone();
        change(&mut file, &victim);
        file.write(&bad);
        let says = says.replace("webhooks.jsonl is missing", "has no webhooks.jsonl");
        refused(&Admin(&data).run(&["org", "import", text_of(&bad), "--dry-run"]), &says);
        refused(&Admin(&data).run(&["org", "import", text_of(&bad)]), &says);
        assert_eq!(export(&data, "engines", &at(&format!("after {n}"))), victim, "{says}");
        is_sound(&data);
        fs::remove_dir_all(&data).unwrap();
    }
}

/// What is no harm on a server of its own must not be taken for one.
#[tokio::test]
async fn a_file_is_imported_beside_others_and_never_into_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in ["here", "other"] {
        let server = Server::start(&at(name), &[]);
        Scene::make(&server, &at(name)).await;
    }
    empty(&at("third"));
    let before = export(&at("here"), "engines", &at("before"));
    let mut file = export(&at("other"), "engines", &at("file"));
    let own = text(&before.record("organisation.jsonl", 0)["id"]);
    let admin = Admin(&at("here")).0.to_owned();
    let admin = Admin(&admin);
    refused(
        &admin.run(&["org", "import", text_of(&at("file")), "--organisation", &own]),
        "not the one that --organisation names",
    );
    refused(&admin.run(&["org", "import", text_of(&at("before"))]), "did not come from this file");
    admin.print(&["org", "import", text_of(&at("file"))]);
    assert_eq!(export(&at("here"), &own, &at("after")), before);
    is_sound(&at("here"));
    let id = text(&file.record("organisation.jsonl", 0)["id"]);
    admin.print(&["org", "delete", &id]);
    refused(&admin.run(&["org", "import", text_of(&at("file"))]), "was deleted here");

    let n = post(&file);
    file.set("messages.jsonl", n, "avatar_url", "javascript:alert(1)");
    file.write(&at("script"));
    Admin(&at("third")).print(&["org", "import", text_of(&at("script"))]);
    let third = export(&at("third"), "engines", &at("exported"));
    assert_eq!(third.record("messages.jsonl", n)["avatar_url"], "");
}
