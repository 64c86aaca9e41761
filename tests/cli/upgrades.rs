//! The migration of a database of the first release by the real binary, which may be killed in it, and the way back.

use std::{
    collections::BTreeMap,
    fs,
    hash::{BuildHasher, RandomState},
    path::{Path, PathBuf},
    process::Stdio,
    time::Instant,
};

use rusqlite::{Connection, types::Value as Sql};
use serde_json::{Value, json};

use crate::{
    backups::{restore, text},
    harness::{Server, printed, refused, run, tidings},
};

/// Rows of the log beside those of the release, so that a migration takes a while.
const MANY: u32 = 20_000;

/// Makes a data folder of the first release, with rows in every table.
fn first_release(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let conn = Connection::open(folder.join("tidings.db")).unwrap();
    conn.execute_batch(include_str!("../schemas/0.1.0.sql")).unwrap();
    conn.execute_batch(include_str!("../schemas/0.1.0.rows.sql")).unwrap();
    let more = "insert into events (stream, audience, type, message_n, body, created_at)
        select 's' || value, 'both', '', 1, '{\"content\": \"a message\"}', value from generate_series(1, ?1)";
    let series = more.replace(
        "generate_series(1, ?1)",
        "(with recursive n(value) as (select 1 union all select value + 1 from n where value < ?1) select value from n)",
    );
    conn.execute(&series, [MANY]).unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    fs::write(folder.join("secret.key"), "YSBrZXkgb2YgMzIgYnl0ZXMgb2YgdGhlIHJlbGVhc2U=").unwrap();
}

/// The rows of all tables, after a check of the whole database.
fn content(folder: &Path) -> BTreeMap<String, Vec<Vec<Sql>>> {
    let conn = Connection::open(folder.join("tidings.db")).unwrap();
    assert_eq!(conn.query_row("pragma integrity_check", [], |row| row.get::<_, String>(0)).unwrap(), "ok");
    assert!(!conn.prepare("pragma foreign_key_check").unwrap().exists([]).unwrap());
    let sql = "select name from pragma_table_list where schema = 'main' and type <> 'virtual' and name <> 'sqlite_schema'";
    let names: Vec<String> =
        conn.prepare(sql).unwrap().query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap();
    let rows = |name: String| {
        let mut select = conn.prepare(&format!("select * from \"{name}\"")).unwrap();
        let columns = select.column_count();
        let row = |row: &rusqlite::Row| (0..columns).map(|column| row.get(column)).collect();
        let rows = select.query_map([], row).unwrap().collect::<rusqlite::Result<_>>().unwrap();
        (name, rows)
    };
    names.into_iter().map(rows).collect()
}

fn version(folder: &Path) -> u32 {
    let conn = Connection::open(folder.join("tidings.db")).unwrap();
    conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

fn migrate(folder: &Path) -> String {
    printed(&run(&["migrate", "up", "--data-dir", text(folder)]))
}

fn backups(folder: &Path) -> Vec<PathBuf> {
    let found = fs::read_dir(folder.join("backups")).into_iter().flatten().map(|entry| entry.unwrap().path());
    found.filter(|path| text(path).ends_with(".tar.zst")).collect()
}

#[test]
fn a_migration_that_is_killed_at_any_moment_leaves_the_old_schema_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("original");
    first_release(&original);
    let old = content(&original);
    assert!(old.iter().all(|(_, rows)| !rows.is_empty()), "rows in every table");
    let copy = |name: String| {
        let to = folder.path().join(name);
        fs::create_dir(&to).unwrap();
        for file in ["tidings.db", "secret.key"] {
            fs::copy(original.join(file), to.join(file)).unwrap();
        }
        to
    };
    // With its backup and without: half of the kills shall fall into the migration itself.
    let ways = [&[][..], &["--no-migration-backup"]];
    let took = ways.map(|flags| {
        let whole = copy(format!("never killed {flags:?}"));
        let began = Instant::now();
        printed(&run(&[&["migrate", "up", "--data-dir", text(&whole)], flags].concat()));
        began.elapsed()
    });
    let whole = folder.path().join(format!("never killed {:?}", ways[0]));
    let (newest, new) = (version(&whole), content(&whole));
    for n in 0..20 {
        let data = copy(format!("killed {n}"));
        let way = n as usize % 2;
        let mut command = tidings(&[&["migrate", "up", "--data-dir", text(&data)], ways[way]].concat());
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let moment = took[way] * (RandomState::new().hash_one(n) % 1000) as u32 / 1000;
        std::thread::sleep(moment); // of the kill
        _ = process.kill();
        process.wait().unwrap();
        let (found, after) = (content(&data), version(&data));
        match after {
            1 => assert!(found == old, "killed after {moment:?}"),
            after => assert!(after == newest && found == new, "killed after {moment:?} with version {after}"),
        }
        for made in backups(&data) {
            printed(&restore(&made, &data, &["--dry-run"])); // complete, or it has another name
        }
        migrate(&data);
        assert!(content(&data) == new, "killed after {moment:?}, and migrated again");
    }
}

#[test]
fn a_plan_tells_the_steps_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    first_release(&data);
    let before = content(&data);
    let args = ["migrate", "plan", "--data-dir", text(&data)];
    let plan: Value = serde_json::from_str(&printed(&run(&[&args[..], &["--json"]].concat()))).unwrap();
    let plan = plan.as_array().unwrap();
    assert_eq!((&plan[1]["version"], &plan[1]["what"]), (&3.into(), &"Members star channels for themselves.".into()));
    assert!(plan.iter().all(|step| step["seconds"].as_f64().unwrap() > 0.0), "{plan:?}");
    assert!(printed(&run(&args)).contains("Organisations count their live channels."));
    assert_eq!((version(&data), content(&data)), (1, before));
    migrate(&data);
    assert_eq!(u64::from(version(&data)), plan.last().unwrap()["version"].as_u64().unwrap());
    assert!(printed(&run(&args)).contains("nothing to do"));
    let left: Vec<_> = fs::read_dir(&data).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".tidings")), "{left:?}");
}

#[test]
fn a_server_makes_a_backup_before_it_migrates_and_an_older_binary_says_how_to_go_back() {
    let folder = tempfile::tempdir().unwrap();
    let (data, log) = (folder.path().join("data"), folder.path().join("log"));
    first_release(&data);
    let before = content(&data);
    let start = |more: &[&str]| {
        let args = [&["serve", "--listen", "127.0.0.1:0", "--data-dir", text(&data)], more].concat();
        Server::logging(&mut tidings(&args), fs::File::create(&log).unwrap().into())
    };
    drop(start(&[]));
    let made = backups(&data);
    let [made] = &made[..] else { panic!("{made:?}") };
    let said = fs::read_to_string(&log).unwrap();
    assert!(
        said.contains(&format!("made a backup of the database alone before its migration path={}", made.display())),
        "{said}"
    );
    drop(start(&[]));
    assert_eq!(backups(&data).len(), 1, "nothing is to be migrated any more");

    // For the binary, a version that it doesn't know is that of a newer one.
    Connection::open(data.join("tidings.db")).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let serve = run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", text(&data)]);
    let back = format!("tidings restore {} --data-dir {}", made.display(), data.display());
    refused(&serve, "run a newer tidings, or go back with");
    for output in [&serve, &run(&["migrate", "up", "--data-dir", text(&data)])] {
        refused(output, &format!("`{back}`"));
    }
    printed(&run(&back.split(' ').skip(1).collect::<Vec<_>>()));
    assert_eq!((version(&data), content(&data)), (1, before));

    fs::remove_dir_all(data.join("backups")).unwrap();
    fs::write(data.join("backups"), "in the way").unwrap();
    let serve = run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", text(&data)]);
    refused(&serve, "or leave the backup out with --no-migration-backup");
    assert_eq!(version(&data), 1);
    drop(start(&["--no-migration-backup"]));
    assert!(version(&data) > 1 && backups(&data).is_empty());
}

/// Makes a data folder of a binary that was built before the first release, whose schema has the same version.
fn oldest(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let conn = Connection::open(folder.join("tidings.db")).unwrap();
    conn.execute_batch(include_str!("../../src/db/migrations/0001.sql")).unwrap();
    conn.execute_batch(include_str!("../schemas/2026-11-21.rows.sql")).unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    fs::write(folder.join("secret.key"), "YSBrZXkgb2YgMzIgYnl0ZXMgb2YgdGhlIHJlbGVhc2U=").unwrap();
}

#[tokio::test]
async fn a_database_from_before_the_first_release_is_served_and_fed_at_its_old_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    oldest(&data);
    let before = content(&data);
    let status = printed(&run(&["migrate", "status", "--data-dir", text(&data)]));
    assert!(status.starts_with("database 1, "), "{status}");
    let plan = printed(&run(&["migrate", "plan", "--data-dir", text(&data)]));
    assert!(plan.contains("Work that a change leaves to the jobs is kept in chores."), "{plan}");

    let server = Server::start(&data, &[]);
    // It is derived as the former binary did, without a generation.
    let feed = format!("{}/api/v1/webhooks/feed/Owzz3bXmFRA8U8OV3F6JkytKrjVPiuJk2sdlslL4LNM", server.url);
    let reply = server.http.post(feed).json(&json!({ "message": "Build mended" })).send().await.unwrap();
    assert_eq!(reply.status(), 200);
    drop(server);
    let messages = content(&data).remove("messages").unwrap();
    assert!(messages.iter().flatten().any(|value| *value == Sql::Text("Build mended".into())), "{messages:?}");

    let made = backups(&data);
    let [made] = &made[..] else { panic!("{made:?}") };
    printed(&restore(made, &data, &[]));
    assert_eq!((version(&data), content(&data)), (1, before));
}

#[test]
fn a_database_with_other_definitions_than_its_version_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let new = |name: &str| {
        let data = folder.path().join(name);
        migrate(&data);
        data
    };
    let first = |name: &str| {
        let data = folder.path().join(name);
        first_release(&data);
        data
    };
    for (data, change, says) in [
        (new("a trigger"), "create trigger spy after insert on messages begin select 1; end", "Unexpected: [trigger spy: "),
        (new("a table less"), "drop table deferred_work", "Missing: [index deferred_work_by_subject: "),
        (new("a column"), "alter table users add column age integer", "Unexpected: [table users: age integer]"),
        (first("of no state"), "drop index sessions_open", "Missing: [index sessions_open: "),
        (
            first("with the version of another"),
            "pragma user_version = 3",
            "schema version 3, but its definitions differ from that version's",
        ),
        (
            first("another program's"),
            "pragma user_version = 0",
            "schema version 0, but its definitions differ from that version's",
        ),
    ] {
        Connection::open(data.join("tidings.db")).unwrap().execute_batch(change).unwrap();
        let before = (version(&data), content(&data));
        for command in [
            &["serve", "--listen", "127.0.0.1:0"][..],
            &["migrate", "up"],
            &["migrate", "plan"],
            &["migrate", "status"],
            &["config", "check"],
        ] {
            let output = run(&[command, &["--data-dir", text(&data)]].concat());
            refused(&output, says);
            refused(&output, "undo that");
        }
        let doctor = String::from_utf8(run(&["doctor", "--data-dir", text(&data)]).stdout).unwrap();
        assert!(doctor.contains(says), "{doctor}");
        assert!(backups(&data).is_empty() && (version(&data), content(&data)) == before, "{says}");
    }
}
