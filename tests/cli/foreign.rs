//! Backups whose database has another schema than a server's, or one of a former release.

use std::{fs, path::Path};

use rusqlite::Connection;

use crate::{
    backups::{back_up, restore, text},
    harness::{Server, printed, refused, run},
    transfer::empty,
};

/// What is done to a database, and what the refusal of its backup says.
const CHANGES: &[(&str, &str)] = &[
    ("create trigger spy after insert on messages begin delete from users; end", "Unexpected: [trigger spy: "),
    ("create trigger search after delete on users begin select 1; end", "Unexpected: [trigger search: "),
    ("create view everything as select * from users", "Unexpected: [view everything: "),
    ("create table more (a text)", "Unexpected: [table more: "),
    ("create virtual table more using fts5 (a)", "Unexpected: [table more: "),
    ("create index more on users (first_name)", "Unexpected: [index more: "),
    ("drop index messages_active", "Missing: [index messages_active: "),
    ("alter table users add column more text", "Unexpected: [table users: more text]"),
    (
        "pragma writable_schema = on;
         update sqlite_schema set sql = replace(sql, 'value text not null', 'value text') where name = 'meta'",
        "Unexpected: [table meta: value text]",
    ),
    (
        "pragma writable_schema = on;
         insert into sqlite_schema values ('trigger', 'sqlite_sequence', 'users', 0,
           'create trigger sqlite_sequence after insert on users begin delete from users; end')",
        "sqlite_sequence",
    ),
];

#[test]
fn a_backup_with_a_foreign_schema_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    empty(&at("here"));
    let before = fs::read(at("here").join("tidings.db")).unwrap();
    for (n, (change, says)) in CHANGES.iter().enumerate() {
        let (data, file) = (at(&format!("data {n}")), at(&format!("{n}.tar.zst")));
        empty(&data);
        let conn = Connection::open(data.join("tidings.db")).unwrap();
        conn.execute_batch(change).unwrap();
        drop(conn);
        let made = run(&["backup", text(&file), "--data-dir", text(&data)]);
        if !made.status.success() {
            refused(&made, "malformed"); // SQLite itself refuses such a schema
            continue;
        }
        refused(&restore(&file, &at("here"), &[]), "its definitions differ from that version's, and nothing was changed");
        refused(&restore(&file, &at("here"), &["--dry-run"]), says);
        refused(&run(&["backup", text(&at("proven.tar.zst")), "--verify", "--data-dir", text(&data)]), says);
    }
    assert!(fs::read(at("here").join("tidings.db")).unwrap() == before);
}

#[test]
fn a_backup_of_a_former_release_is_restored_and_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let (old, file, to) = (folder.path().join("old"), folder.path().join("old.tar.zst"), folder.path().join("to"));
    first_release(&old);
    back_up(&old, &file, &["--verify"]);
    printed(&restore(&file, &to, &[]));
    printed(&run(&["migrate", "up", "--no-migration-backup", "--data-dir", text(&to)]));
    let newest = folder.path().join("newest.tar.zst");
    back_up(&to, &newest, &["--verify"]);
    printed(&restore(&newest, &to, &[]));
    let server = Server::start(&to, &[]);
    drop(server);

    let conn = Connection::open(old.join("tidings.db")).unwrap();
    conn.execute_batch("create trigger spy after insert on meta begin delete from users; end").unwrap();
    drop(conn);
    let spied = folder.path().join("spied.tar.zst");
    back_up(&old, &spied, &[]);
    refused(&restore(&spied, &to, &[]), "Unexpected: [trigger spy: ");
}

fn first_release(folder: &Path) {
    fs::create_dir(folder).unwrap();
    let conn = Connection::open(folder.join("tidings.db")).unwrap();
    conn.execute_batch(include_str!("../schemas/0.1.0.sql")).unwrap();
    conn.execute_batch(include_str!("../schemas/0.1.0.rows.sql")).unwrap();
    conn.pragma_update(None, "user_version", 1).unwrap();
    fs::write(folder.join("secret.key"), "YSBrZXkgb2YgMzIgYnl0ZXMgb2YgdGhlIHJlbGVhc2U=").unwrap();
}
