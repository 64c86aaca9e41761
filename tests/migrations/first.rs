//! The steps between the schemas that version 1 named.

use tidings::db::comparable_schema::definitions;

use crate::{
    RENAMED,
    database::{Database, FIRST, OLDEST, read, rows, select, steps, tables},
};

/// Rows of tables that came after [`OLDEST`], with the number of the step that made the table.
const BORN: &[(usize, &str)] = &[
    (6, "insert into used_id_tokens values (x'01', 99)"),
    (7, "insert into chores (id, kind, cursor) values (5, 'departure', x'0c')"),
    (AFTER_VERSION_1, "insert into former_members select organisation_id, user_id from organisation_members"),
    (AFTER_VERSION_1, "insert into code_requests select x'01', 0, 99, min(id) from users"),
    (
        AFTER_VERSION_1,
        "insert into join_links select id, organisation_id, id, role_id, invited_by, '', 25, 1, 1, 99 from invitations",
    ),
];
const AFTER_VERSION_1: usize = 99;

/// Version 1 names the schema after each of the first steps.
#[test]
fn every_schema_that_version_1_has_named_is_migrated() {
    let first: Vec<_> = steps().into_iter().filter(|step| step.starts_with(FIRST) || step.ends_with("/0001.sql")).collect();
    let migrated = |done: usize| {
        let database = Database::new();
        let conn = database.open();
        conn.pragma_update(None, "foreign_keys", false).unwrap();
        for (step, number) in first[..done].iter().zip(1..) {
            conn.execute_batch(&read(step)).unwrap();
            if number == 1 {
                conn.execute_batch(&read(&format!("tests/schemas/{OLDEST}.rows.sql"))).unwrap();
                conn.execute("update meta set value = 'the same' where key = 'epoch'", []).unwrap();
            }
            BORN.iter().filter(|(born, _)| *born == number).for_each(|(_, row)| conn.execute_batch(row).unwrap());
        }
        conn.pragma_update(None, "user_version", 1).unwrap();
        drop(conn);
        database.migrate();
        database.assert_sound();
        let conn = database.open();
        conn.execute("update invitations set mailed_hash = id", []).unwrap(); // it is random
        let renamed = |row: &str| RENAMED.iter().fold(row.to_owned(), |row, (former, name)| row.replace(former, name));
        BORN.iter().filter(|(born, _)| *born > done).for_each(|(_, row)| conn.execute_batch(&renamed(row)).unwrap());
        let tables = tables(&conn).into_iter().filter(|(table, _)| !table.starts_with("message_search"));
        let rows: Vec<_> = tables.map(|(table, columns)| (rows(&conn, &table, &columns), table)).collect();
        (definitions(&conn).unwrap(), rows)
    };
    let last = migrated(first.len());
    assert!(
        first.len() > 10
            && last.1.iter().all(|(rows, table)| !rows.is_empty()
                || [
                    "unindexed_edits",
                    "reply_mentions",
                    "token_channels",
                    "bots",
                    "commands",
                    "calls",
                    "reminders",
                    "join_places",
                    "unfinished_accounts",
                    "files",
                    "file_totals",
                    "uploads",
                    "faces",
                    "organisation_notifications",
                    "channel_notifications"
                ]
                .contains(&table.as_str())),
        "{last:?}"
    );
    for done in 1..first.len() {
        assert_eq!(migrated(done), last, "left: migrated from the schema after {}", first[done - 1]);
    }
}

#[test]
fn the_steps_from_the_oldest_schema_make_what_it_lacks() {
    let database = Database::of(OLDEST, 1);
    database.migrate();
    let conn = database.open();
    let text = |sql: &str| select(&conn, sql, |row| row.get::<_, String>(0)).join(" ");
    assert_eq!(text("select value from meta where key = 'search_cursor'"), "0", "the full text is made anew");
    assert_eq!(text("select n || ' ' || emoji || ' ' || count || ' ' || first_at from reaction_counts"), "1 👍 2 4");
    assert_eq!(
        text("select iif(url_by is null, 'none', hex(url_by)) from webhooks order by id"),
        "0190000000007000800000000000A001 none none"
    );
    assert_eq!(
        text("select hex(counted) || ' ' || day || ' ' || mailed from invitation_counts"),
        "0190000000007000800000000000C001 20000 2"
    );
    assert_eq!(text("select distinct kind from mails"), "notice");
    assert_eq!(text("select distinct cast(length(mailed_hash) as text) from invitations where mailed_hash <> token_hash"), "32");
    assert_eq!(text("select distinct cast(generation as text) from webhooks"), "0", "their addresses had none");
}
