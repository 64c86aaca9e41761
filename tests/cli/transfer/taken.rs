//! Files whose identifiers something else on the server has.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Export, empty, export,
    hostile::{copy, victim_and_attacker},
    is_sound, numbers,
    scene::{Scene, text},
    text_of,
};
use crate::harness::{Admin, Server};

/// The export with other identifiers in the place of these.
fn renamed(file: &Export, ids: &[(String, String)]) -> Export {
    let mut file = file.clone();
    for (_, lines) in &mut file.parts {
        for line in lines {
            *line = ids.iter().fold(line.clone(), |line, (from, to)| line.replace(from, to));
        }
    }
    file
}

/// The lines of a part in one order, without whom they name.
fn without_people(file: &Export, part: &str) -> Vec<String> {
    let line = |line: &String| {
        let mut record: Value = serde_json::from_str(line).unwrap();
        for field in ["owner", "created_by", "author", "person", "pinned_by", "participants", "reactions", "mentions"] {
            record.as_object_mut().unwrap().remove(field);
        }
        record.to_string()
    };
    let mut lines: Vec<_> = file.lines(part).iter().map(line).collect();
    lines.sort();
    lines
}

/// Whatever of a file is taken by messages that clients have posted under these identifiers: its organisation, one of its channels,
/// a reply and its post, and a message that somebody has read last.
#[tokio::test]
async fn an_identifier_that_is_taken_is_replaced_wherever_it_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let other = Server::start(&at("other"), &[]);
    let scene = Scene::make(&other, &at("other")).await;
    let file = export(&at("other"), "engines", &at("file"));
    let part = |part: &str| file.lines(part).iter().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    let reply = part("messages.jsonl").into_iter().find(|message| !message["thread"].is_null()).unwrap();
    let channel = text(&reply["channel"]);
    let members = part("channel_members.jsonl");
    let read = members.iter().map(|member| &member["read"]).find(|read| !read.is_null()).expect("somebody has read something");
    let messages = BTreeSet::from([text(&reply["thread"]), text(&reply["id"]), text(read)]);
    let taken: Vec<String> = [scene.organisation.clone(), channel.clone()].into_iter().chain(messages.clone()).collect();

    let here = Server::start(&at("here"), &[]);
    let (token, post_in) = here.poster().await;
    for id in &taken {
        here.post(&format!("{post_in}/messages"), &token, json!({ "content": "mine", "id": id })).await;
    }
    drop(here);
    let before = export(&at("here"), "engines", &at("before"));
    let admin_folder = at("here");
    let admin = Admin(&admin_folder);
    let rehearsed = admin.json(&["org", "import", text_of(&at("file")), "--dry-run"]);
    let report = admin.json(&["org", "import", text_of(&at("file"))]);
    assert_eq!(numbers(&report), numbers(&rehearsed));
    let own = text(&report["organisation"]);
    assert_ne!(own, scene.organisation);
    assert_eq!(export(&at("here"), &text(&before.record("organisation.jsonl", 0)["id"]), &at("after")), before);
    is_sound(&at("here"));

    // What it exports differs in these identifiers alone, and the people who had an account.
    let now = export(&at("here"), &own, &at("now"));
    let found = |file: &Export, part: &str, field: &str, value: &Value| {
        (0..file.lines(part).len()).map(|n| file.record(part, n)).find(|record| record[field] == *value).unwrap()
    };
    let of_reply = found(&now, "messages.jsonl", "content", &reply["content"]);
    let mut new = vec![own.clone(), text(&of_reply["channel"])];
    for id in &messages {
        let before = found(&file, "messages.jsonl", "id", &json!(id));
        new.push(text(&found(&now, "messages.jsonl", "content", &before["content"])["id"]));
    }
    assert!(new.iter().all(|id| !taken.contains(id)), "{new:?}");
    let ids: Vec<_> = taken.iter().cloned().zip(new.clone()).collect();
    let expected = renamed(&file, &ids);
    for part in ["organisation.jsonl", "channels.jsonl", "messages.jsonl", "channel_members.jsonl", "webhooks.jsonl"] {
        assert_eq!(without_people(&now, part), without_people(&expected, part), "{part}");
    }

    let again = admin.json(&["org", "import", text_of(&at("file"))]);
    assert!(numbers(&again).iter().all(|(_, written, _)| *written == 0), "{again}");
    other
        .post(&format!("/channels/{channel}/messages"), &scene.ada, json!({ "content": "later", "thread_id": reply["thread"] }))
        .await;
    export(&at("other"), "engines", &at("late"));
    let added = admin.json(&["org", "import", text_of(&at("late")), "--organisation", &own]);
    assert!(numbers(&added).iter().any(|(records, written, _)| records == "messages" && *written == 1), "{added}");
    is_sound(&at("here"));
}

#[tokio::test]
async fn what_a_file_takes_of_another_organisation_stays_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (victim, file) = victim_and_attacker(folder.path()).await;
    let id = |part: &str| victim.record(part, 0)["id"].clone();
    let own = text(&victim.record("organisation.jsonl", 0)["id"]);
    for (n, (part, stolen)) in [
        ("organisation.jsonl", id("channels.jsonl")),
        ("channels.jsonl", id("channels.jsonl")),
        ("channels.jsonl", id("organisation.jsonl")),
        ("channels.jsonl", id("messages.jsonl")),
        ("messages.jsonl", id("messages.jsonl")),
        ("messages.jsonl", id("channels.jsonl")),
    ]
    .into_iter()
    .enumerate()
    {
        let (data, bad) = (at(&format!("data {n}")), at(&format!("bad {n}")));
        copy(&at("victims"), &data);
        let from = text(&file.record(part, 0)["id"]);
        renamed(&file, &[(from, text(&stolen))]).write(&bad);
        let report = Admin(&data).json(&["org", "import", text_of(&bad)]);
        assert_eq!(export(&data, &own, &at(&format!("after {n}"))), victim, "{part} with {stolen}");
        let imported = export(&data, &text(&report["organisation"]), &at(&format!("imported {n}")));
        assert_eq!(imported.lines("messages.jsonl").len(), file.lines("messages.jsonl").len());
        assert_ne!(imported.record(part, 0)["id"], stolen);
        is_sound(&data);
    }
}

#[tokio::test]
async fn a_role_with_the_name_of_a_built_in_one_gets_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let server = Server::start(&at("other"), &[]);
    Scene::make(&server, &at("other")).await;
    let mut file = export(&at("other"), "engines", &at("file"));
    let roles = ["Admin", "owner", "writer", "WRITER", "project-lead", "Administrator", "0190a1b2-0000-7000-8000-000000000001"];
    let line = file.record("roles.jsonl", 0);
    let with = |(n, name): (usize, &&str)| {
        let mut role = line.clone();
        role["id"] = json!(format!("01900000-0000-7000-8000-abcdef{n:06x}"));
        role["name"] = json!(name);
        role.to_string()
    };
    let more: Vec<_> = roles.iter().enumerate().map(with).collect();
    *file.lines_mut("roles.jsonl") = [vec![line.to_string()], more].concat();
    file.write(&at("roles"));
    empty(&at("here"));
    let here = at("here");
    let report = Admin(&here).json(&["org", "import", text_of(&at("roles"))]);
    let found = export(&here, "engines", &at("now"));
    let names: Vec<_> = (0..roles.len() + 1).map(|n| text(&found.record("roles.jsonl", n)["name"])).collect();
    for expected in ["writer", "Admin2", "owner2", "writer2", "WRITER3", "project-lead2", "Administrator2"] {
        assert!(names.iter().any(|name| name == expected), "{expected}: {names:?}");
    }
    assert!(names.iter().all(|name| name.parse::<uuid::Uuid>().is_err()), "{names:?}");
    let left_out = report["left_out"].to_string();
    assert!(left_out.contains("the name of the role Admin, which another one has: it is Admin2"), "{left_out}");
    let again = Admin(&here).json(&["org", "import", text_of(&at("roles"))]);
    assert!(numbers(&again).iter().all(|(_, written, _)| *written == 0), "{again}");
}
