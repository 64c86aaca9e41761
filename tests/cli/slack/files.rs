//! Files of an export that somebody has fetched already.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{generator::generate, left_out, pack, written};
use crate::{
    harness::{Admin, PASSWORD, refused},
    transfer::{empty, export::export, is_sound, numbers, text_of},
};

const LINE: &str = "files: a line has the name and the address of each";

/// An export and the folder of its files, each tenth message with one and the first with twelve. Returns how many there are.
fn make(folder: &Path) -> (PathBuf, PathBuf, u64) {
    let (zip, fetched) = (folder.join("export.zip"), folder.join("fetched"));
    fs::create_dir(&fetched).unwrap();
    let (mut content, _) = generate(2000);
    let mut number = 0;
    for message in messages(&mut content).step_by(10) {
        let many = if number == 0 { 12 } else { 1 };
        let files = (0..many).map(|_| {
            number += 1;
            let id = format!("FP{number}");
            let place = if number % 3 == 0 {
                fs::create_dir(fetched.join(&id)).unwrap();
                fetched.join(&id).join("plan of a name.txt")
            } else {
                fetched.join(&id)
            };
            fs::write(place, format!("plan {}", number / 2)).unwrap();
            let permalink = format!("https://x.slack.com/files/{id}");
            json!({ "id": id, "name": format!("plan {number}.txt"), "mode": "hosted", "permalink": permalink })
        });
        message["files"] = files.collect();
    }
    pack(&zip, &content);
    (zip, fetched, number)
}

/// What people have written.
fn messages(content: &mut BTreeMap<String, Value>) -> impl Iterator<Item = &mut Value> {
    let days = content.iter_mut().filter(|(path, _)| path.starts_with("dev/")).map(|(_, day)| day);
    let written = |message: &&mut Value| message["type"] == "message" && message["subtype"].is_null();
    days.flat_map(|day| day.as_array_mut().unwrap()).filter(written)
}

#[test]
fn files_in_a_folder_come_along_and_move_on() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (zip, fetched, number) = make(folder.path());
    let (here, there) = (at("here"), at("there"));
    empty(&here);
    let admin = Admin(&here);
    let import = ["import", "slack", text_of(&zip), "--name", "Engines", "--files", text_of(&fetched)];
    let rehearsed = admin.json(&[&import[..], &["--dry-run"]].concat());
    let report = admin.json(&import);
    assert_eq!(report, rehearsed, "a dry run tells what the import does");
    assert_eq!(written(&report)["files"], number - 2, "a message has at most ten");
    // Two past the most, and one that the generator names and nobody has fetched.
    assert_eq!(left_out(&report)[LINE], 3, "{report:#}");
    is_sound(&here);
    let again = admin.json(&import);
    assert!(numbers(&again).iter().all(|(_, written, _)| *written == 0), "{again}");

    empty(&there);
    let first = export(&here, "engines", &at("first"));
    assert_eq!((number, first.contents.len()), (41, 21), "two share a content");
    Admin(&there).print(&["org", "import", text_of(&at("first"))]);
    assert_eq!(export(&there, "engines", &at("second")), first);
    is_sound(&there);
}

#[test]
fn files_that_were_missing_at_first_are_added_by_the_next_import() {
    let folder = tempfile::tempdir().unwrap();
    let (zip, fetched, number) = make(folder.path());
    let here = folder.path().join("here");
    Admin(&here).print(&["user", "create", "--email", "ada@x.example", "--username", "countess", "--password", PASSWORD]);
    let admin = Admin(&here);
    let import = ["import", "slack", text_of(&zip), "--name", "Engines"];
    let without = admin.json(&import);
    assert_eq!(left_out(&without)[LINE], number + 1);
    let files = ["--files", text_of(&fetched)];
    let with = admin.json(&[&import[..], &files].concat());
    for (records, written, _) in numbers(&with) {
        assert_eq!(written, if records == "files" { number - 2 } else { 0 }, "{records}: {with}");
    }
    is_sound(&here);
    let again = admin.json(&[&import[..], &files].concat());
    assert!(numbers(&again).iter().all(|(_, written, _)| *written == 0), "{again}");
    refused(&admin.run(&[&import[..], &["--files", "/nowhere/at/all"]].concat()), "is no folder");
    refused(&admin.run(&[&import[..], &["--fetch-files", "--dry-run"]].concat()), "cannot be used with");
}
