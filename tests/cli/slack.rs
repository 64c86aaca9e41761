//! Imports of exports after Slack's documented format.

pub mod bombs;
mod files;
mod generator;

use std::{collections::BTreeMap, fs::File, io::Write, path::Path, process::Stdio};

use reqwest::Method;
use serde_json::{Value, json};
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use self::generator::{Counts, generate};
use crate::{
    harness::{Admin, PASSWORD, Server, refused, tidings},
    transfer::{empty, is_sound, log_in_anew, numbers, text_of},
};

/// Writes a zip of JSON files.
fn pack(to: &Path, files: &BTreeMap<String, Value>) {
    let mut zip = ZipWriter::new(File::create(to).unwrap());
    for (path, content) in files {
        zip.start_file(path.as_str(), SimpleFileOptions::default()).unwrap();
        zip.write_all(content.to_string().as_bytes()).unwrap();
    }
    zip.finish().unwrap();
}

fn left_out(report: &Value) -> BTreeMap<String, u64> {
    let rows = report["left_out"].as_array().unwrap().iter();
    rows.map(|row| (row["left_out"].as_str().unwrap().to_owned(), row["number"].as_u64().unwrap())).collect()
}

fn written(report: &Value) -> BTreeMap<String, u64> {
    numbers(report).into_iter().map(|(records, written, _)| (records, written)).collect()
}

#[tokio::test]
async fn ten_thousand_messages_keep_what_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    let (files, counts) = generate(10_000);
    pack(&file, &files);
    // Ada has an account here already, the others don't.
    Admin(&data).print(&["user", "create", "--email", "ada@x.example", "--username", "countess", "--password", PASSWORD]);
    let server = Server::start(&data, &[]);
    let admin = Admin(&data);
    let import = |more: &[&str]| admin.json(&[&["import", "slack", text_of(&file), "--name", "Engines"], more].concat());
    let rehearsed = import(&["--dry-run"]);
    assert_eq!(admin.json(&["org", "list"]), json!([]));
    let report = import(&[]);
    assert_eq!(report, rehearsed, "a dry run tells what the import does");
    let messages = counts.posts + counts.replies + counts.fed;
    let expected = [("messages", messages), ("channels", 6), ("organisation", 1), ("people", 5), ("members", 3)];
    let made = written(&report);
    // Ada's account was there.
    for (records, number) in expected {
        assert_eq!(made[records], number, "{records}: {report:#}");
    }
    let left = left_out(&report);
    for (reason, number) in [
        ("messages of the kind channel_join", counts.joins),
        ("files: a line has the name and the address of each", counts.files),
        ("messages without a text", counts.empty),
        ("bots: an account that nobody can use stands for each", 1),
        ("people without an address: an account that nobody can use stands for each", 1),
        ("people who are not in the list of people: an account that nobody can use stands for each", 1),
        ("the threads of replies whose first post is not imported: each reply is a post", counts.orphans),
        ("integration_logs.json", 1),
    ] {
        assert_eq!(left.get(reason), Some(&number), "{reason}: {left:#?}");
    }
    assert_eq!(left.values().sum::<u64>(), counts.left_out() + 4, "nothing is left out in silence: {left:#?}");
    assert_eq!(admin.json(&["org", "show", "engines"])["messages"], messages);
    is_sound(&data);

    let again = import(&[]);
    assert!(numbers(&again).iter().all(|(_, written, _)| *written == 0), "{again}");
    assert_eq!(admin.json(&["org", "show", "engines"])["messages"], messages);
    for more in [&["--name", "Others"][..], &["--name", "Engines", "--owner", "grace@x.example"]] {
        let other = admin.run(&[&["import", "slack", text_of(&file)], more].concat());
        refused(&other, "imported already: as Engines, which ada@x.example owns. To add to it, use --organisation engines");
    }
    shows(&server, &admin, &counts).await;
}

/// What the API shows of the import.
async fn shows(server: &Server, admin: &Admin<'_>, counts: &Counts) {
    let grace = log_in_anew(server, admin, "grace@x.example").await;
    let ada = server.log_in("ada@x.example").await.unwrap();
    let get = async |token: &str, path: &str| server.call(Method::GET, path, token, json!({})).await.unwrap();
    let (_, own) = get(&grace, "/users/organisations").await;
    let organisation = own["data"][0]["id"].as_str().or(own["data"][0]["organisation_id"].as_str()).unwrap().to_owned();
    let (_, channels) = get(&grace, &format!("/organisations/{organisation}/user-channels")).await;
    let channels = channels["data"].as_array().unwrap();
    let named = |name: &str| channels.iter().find(|channel| channel["name"] == name).unwrap_or_else(|| panic!("{channels:#?}"));
    for channel in channels {
        assert_eq!([&channel["thread_count"], &channel["mention_count"]], [0, 0], "what was said in Slack is not news");
    }
    assert_eq!([&named("general")["is_private"], &named("secret")["is_private"]], [false, true]);
    let guest = log_in_anew(server, admin, "guest@x.example").await;
    let id = |name: &str| named(name)["id"].as_str().or(named(name)["channels_id"].as_str()).unwrap().to_owned();
    let (status, _) = get(&guest, &format!("/channels/{}/messages", id("secret"))).await;
    assert_eq!(status, 404, "who was not in a private channel is not told of it");

    let (mut posts, mut replies, mut reactions, mut edited, mut fed, mut before) = (0, 0, 0, 0, 0, String::new());
    loop {
        let (_, page) = get(&grace, &format!("/channels/{}/messages?limit=200{before}", id("dev"))).await;
        let page = page["messages"].as_array().unwrap();
        let Some(last) = page.last() else { break };
        before = format!("&before={}", last["id"].as_str().unwrap());
        for message in page {
            posts += 1;
            replies += message["message_count"].as_u64().unwrap();
            reactions += message["reactions"].as_array().unwrap().len() as u64;
            edited += u64::from(message["edited"] == true);
            fed += u64::from(message["user_type"] == "webhook" && message["username"] == "Deploys");
        }
    }
    let dev = &counts.dev;
    assert_eq!([posts, replies, reactions, edited, fed], [dev.posts, dev.replies, dev.reactions, dev.edited, dev.fed]);

    let (_, page) = get(&ada, &format!("/channels/{}/messages?limit=5", id("general"))).await;
    let newest = &page["messages"][0];
    assert_eq!(
        newest["content"],
        "@grace & @channel: see #dev and the plan (https://plan.example/?a=1&b=2) \u{1f389}\nplan.pdf: https://files.example/F1"
    );
    let mentions: Vec<_> = newest["mentions"].as_array().unwrap().iter().map(|mention| mention["username"].clone()).collect();
    assert_eq!(mentions, ["grace", "channel"]);
    assert_eq!(newest["reactions"][0]["emoji"], "\u{1f44d}\u{1f3fc}");
    assert_eq!([&newest["username"], &newest["is_pinned"]], [&json!("ada"), &json!(true)]);
    let (_, direct) = get(&grace, &format!("/organisations/{organisation}/dms")).await;
    assert_eq!(direct["data"].as_array().unwrap().len(), 2, "{direct}");
}

#[tokio::test]
async fn an_import_that_is_killed_is_completed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    let (files, counts) = generate(2_000);
    pack(&file, &files);
    empty(&data);
    let began = std::time::Instant::now();
    Admin(&data).print(&["import", "slack", text_of(&file), "--name", "Engines", "--dry-run"]);
    let lasts = began.elapsed();
    for n in 1..8 {
        let mut command = tidings(&["import", "slack", text_of(&file), "--name", "Engines", "--data-dir", text_of(&data)]);
        let mut process = command.stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(lasts * n / 8); // the moment of the kill
        _ = process.kill();
        _ = process.wait();
    }
    Admin(&data).print(&["import", "slack", text_of(&file), "--name", "Engines"]);
    let listed = Admin(&data).json(&["org", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    let shown = Admin(&data).json(&["org", "show", "engines"]);
    assert_eq!(shown["messages"], counts.posts + counts.replies + counts.fed);
    is_sound(&data);
}

#[tokio::test]
async fn an_export_is_added_to_an_organisation_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    let (mut files, counts) = generate(200);
    pack(&file, &files);
    let server = Server::start(&data, &[]);
    let (token, channel) = server.poster().await;
    server.post(&format!("{channel}/messages"), &token, json!({ "content": "before" })).await;
    let admin = Admin(&data);
    let add = |file: &Path| admin.json(&["import", "slack", text_of(file), "--organisation", "engines"]);
    let report = add(&file);
    let renamed = |name: &str| format!("the name of the channel {name}, which another one has: it is {name}2");
    assert_eq!([left_out(&report)[&renamed("general")], left_out(&report)[&renamed("dev")]], [1, 1]);
    let messages = counts.posts + counts.replies + counts.fed;
    let number = || admin.json(&["org", "show", "engines"])["messages"].as_u64().unwrap();
    assert_eq!(number(), messages + 1);
    // A later export of the same workspace has more.
    let later = json!([{ "type": "message", "user": "U1", "text": "later", "ts": "1800000000.000001" }]);
    files.insert("general/2027-01-15.json".into(), later);
    let next = folder.path().join("next.zip");
    pack(&next, &files);
    assert_eq!(written(&add(&next))["messages"], 1);
    assert_eq!(number(), messages + 2);
    is_sound(&data);
}

#[test]
fn what_is_no_export_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    empty(&data);
    let admin = Admin(&data);
    let import = |more: &[&str]| admin.run(&[&["import", "slack", text_of(&file)], more].concat());
    let named = ["--name", "Engines"];
    refused(&import(&named), "can't read");
    std::fs::write(&file, "no zip").unwrap();
    refused(&import(&named), "this is no zip of an export");
    refused(&import(&[]), "--name");
    refused(&import(&["--name", "a", "--organisation", "b"]), "cannot be used with");
    refused(&import(&["--organisation", "none"]), "Organisation not found");
    let pack_and = |files: Value, says: &str| {
        pack(&file, &files.as_object().unwrap().clone().into_iter().collect());
        refused(&import(&named), says);
    };
    pack(&file, &BTreeMap::from([("users.json".to_owned(), json!([]))]));
    refused(&import(&[&named[..], &["--owner", "tpyo@x.example"]].concat()), "tpyo@x.example has no account, and is not in");
    pack_and(json!({ "my export/users.json": [] }), "the zip has no users.json");
    pack_and(json!({ "users.json": {} }), "users.json is not as Slack documents it");
    pack_and(json!({ "users.json": [] }), "say with --owner");
    refused(&import(&[&named[..], &["--owner", "ada"]].concat()), "this is not an e-mail address");
    let user = json!({ "id": "U0", "name": "ada", "is_primary_owner": true, "profile": { "email": "ada@x.example" } });
    pack_and(
        json!({ "users.json": [user], "channels.json": [{ "id": "C1", "name": "general" }], "general/2020-01-01.json": 7 }),
        "general/2020-01-01.json is not as Slack documents it",
    );
    // A file that unpacks to a thousand times its size.
    let padded = |values: usize, last: &[u8]| {
        let mut zip = ZipWriter::new(File::create(&file).unwrap());
        // Stored, because packing takes longer than what is tested.
        zip.start_file("users.json", SimpleFileOptions::default().compression_method(CompressionMethod::Stored)).unwrap();
        let value = [vec![b' '; (1 << 20) - 4], b"{}, ".to_vec()].concat();
        zip.write_all(b"[").unwrap();
        (0..values).for_each(|_| zip.write_all(&value).unwrap());
        zip.write_all(last).unwrap();
        zip.finish().unwrap();
        import(&named)
    };
    let rest = |bytes: usize| [vec![b' '; bytes - 4], b"{}]".to_vec()].concat();
    refused(&padded(255, &rest(1 << 20)), "the export names no owner"); // 256 MiB
    refused(&padded(255, &rest((1 << 20) + 1)), "users.json has more than 256 MiB");
    refused(&padded(0, &[b' '; 5 << 20]), "users.json has a value of more than 4 MiB");
    // Values that take far more memory than their text.
    let users = |number: usize| {
        let list = vec![r#"{"id":"U"}"#; number].join(",");
        let mut zip = ZipWriter::new(File::create(&file).unwrap());
        zip.start_file("users.json", SimpleFileOptions::default()).unwrap();
        zip.write_all(format!("[{list}]").as_bytes()).unwrap();
        zip.finish().unwrap();
        import(&named)
    };
    refused(&users(200_001), "users.json has more than 200000 values, the most that an import takes from a file");
    refused(&users(200_000), "the export names no owner");
}

#[tokio::test]
async fn what_programs_attach_is_kept_once() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    let (mut files, _) = generate(20);
    let section = |text: &str| json!({ "type": "section", "text": { "type": "mrkdwn", "text": text } });
    let rich =
        |elements: Value| json!([{ "type": "rich_text", "elements": [{ "type": "rich_text_section", "elements": elements }] }]);
    let bot = |n: u32, more: Value| {
        let mut message = json!({ "type": "message", "subtype": "bot_message", "username": "Deploys", "text": "",
            "ts": format!("1800000000.{n:06}") });
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    let attachment = json!({ "fallback": "short", "pretext": "Build <https://ci.example/7|7>", "author_name": "Bob & <@U1>",
        "title": "Passed", "title_link": "https://ci.example", "text": "on &amp; on", "fields": [{ "title": "Took", "value": "3 min" }, { "title": "By", "value": "<@U1>" }],
        "blocks": [section("more")], "footer": "ci" });
    let said = [
        (
            bot(1, json!({ "attachments": [attachment] })),
            "Build 7 (https://ci.example/7)\nBob & @grace\nPassed (https://ci.example)\non & on\nTook: 3 min\nBy: @grace\nmore\nci",
        ),
        (bot(2, json!({ "attachments": [{ "fallback": "short", "author_name": "Bob" }] })), "Bob\nshort"),
        (
            bot(3, json!({ "text": "Build 7", "blocks": [section("Build *7*"), { "type": "divider" }, section("passed")] })),
            "Build *7*\npassed",
        ),
        (bot(4, json!({ "text": "A summary", "blocks": [section("the whole")] })), "A summary\nthe whole"),
        (bot(5, json!({ "text": "kept", "blocks": "in no known form" })), "kept"),
        (
            json!({ "type": "message", "user": "U0", "ts": "1800000000.000006", "text": "<@U1> look *now* :tada:", "blocks": rich(json!([
            { "type": "user", "user_id": "U1" }, { "type": "text", "text": " look " },
            { "type": "text", "text": "now", "style": { "bold": true } }, { "type": "text", "text": " " },
            { "type": "emoji", "name": "tada", "unicode": "1f389" }])) }),
            "@grace look *now* \u{1f389}",
        ),
        (
            bot(7, json!({ "blocks": rich(json!([{ "type": "text", "text": "for " }, { "type": "user", "user_id": "U1" }])) })),
            "for @grace",
        ),
    ];
    files.insert("dev/2027-01-15.json".into(), said.iter().map(|(message, _)| message.clone()).collect());
    pack(&file, &files);
    empty(&data);
    let server = Server::start(&data, &[]);
    let admin = Admin(&data);
    let report = admin.json(&["import", "slack", text_of(&file), "--name", "Engines"]);
    assert_eq!(left_out(&report)["blocks that are not in a form that Slack documents"], 1);
    let grace = log_in_anew(&server, &admin, "grace@x.example").await;
    let listed = admin.json(&["channel", "list", "--organisation", "engines"]);
    let dev = listed.as_array().unwrap().iter().find(|channel| channel["name"] == "dev").unwrap_or_else(|| panic!("{listed}"));
    let path = format!("/channels/{}/messages?limit=7", dev["id"].as_str().unwrap());
    let (_, page) = server.call(Method::GET, &path, &grace, json!({})).await.unwrap();
    let newest: Vec<_> = page["messages"].as_array().unwrap().iter().rev().collect();
    for (shown, (_, expected)) in newest.iter().zip(&said) {
        assert_eq!(shown["content"], *expected);
    }
    assert_eq!([&newest[5]["mentions"][0]["username"], &newest[6]["mentions"][0]["username"]], ["grace", "grace"]);
    is_sound(&data);
}

/// More messages of a day than are put in order together: those of a channel keep their order.
#[test]
fn a_day_that_is_imported_in_parts_keeps_the_order_of_each_channel() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    let (mut files, counts) = generate(20);
    let root = "1577836800.000000";
    let pad = "y".repeat(1 << 20);
    let messages = |n: u32| {
        json!({ "type": "message", "user": "U0", "text": format!("{n}"), "ts": format!("1577836800.{n:06}"),
        "thread_ts": root, "pad": pad })
    };
    for channel in ["general", "dev"] {
        files.insert(format!("{channel}/2020-01-01.json"), (0..12).map(messages).collect());
    }
    pack(&file, &files);
    empty(&data);
    let report = Admin(&data).json(&["import", "slack", text_of(&file), "--name", "Engines"]);
    assert_eq!(written(&report)["messages"], counts.posts + counts.replies + counts.fed + 24);
    let conn = rusqlite::Connection::open(data.join("tidings.db")).unwrap();
    let sql = "select group_concat(content, ' ' order by m.n) from messages m join channels c on c.id = m.channel_id
               where c.name in ('general', 'dev') and m.created_at < 1600000000000000 group by c.id";
    let order: Vec<String> = conn.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(order, ["0 1 2 3 4 5 6 7 8 9 10 11"; 2]);
    let replies: i64 = conn
        .query_row("select sum(reply_count) from messages where created_at < 1600000000000000", [], |row| row.get(0))
        .unwrap();
    assert_eq!(replies, 22, "the first of each channel is the thread of the others");
    is_sound(&data);
}

#[test]
fn paths_in_a_zip_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    empty(&data);
    let (mut files, _) = generate(20);
    for path in ["../../escaped.json", "/tmp/escaped.json", "general/../2020-01-01.json"] {
        files.insert(path.into(), json!([]));
    }
    pack(&file, &files);
    let report = Admin(&data).json(&["import", "slack", text_of(&file), "--name", "Engines"]);
    assert_eq!(left_out(&report)["entries of the zip that Slack does not document"], 3, "{report}");
    assert!(!folder.path().join("escaped.json").exists() && !Path::new("/tmp/escaped.json").exists());
}
