//! A database of each release, with rows in every table, gets the schema of `schema.sql` and keeps its rows.
//! The head of `src/db/schema.rs` says how the schema is changed.
//!
//! Every schema that lands on the main branch is released: somebody may have built it. `tests/schemas/checksums` has the
//! checksum of each step, and of what a database defines after it, so that a version never names two schemas.
//!
//! At a release whose schema is a new one, copy `schema.sql` to `tests/schemas/<release>.sql`, write rows for every table to
//! `<release>.rows.sql` beside it, and add a line to [`RELEASES`].

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rusqlite::{Connection, Row};
use tidings::db::definitions::definitions;

/// Releases with the version of their schema, and those that were built before the first one.
const RELEASES: &[(&str, u32)] = &[(OLDEST, 1), ("0.1.0", 1)];
/// Its schema is the first step.
const OLDEST: &str = "2026-11-21";

/// Tables, and columns as `table.column`, whose values a step changes on purpose, or whose rows it deletes.
const REWRITTEN: &[&str] = &["chores", "events.body"];
/// The same, of the steps between [`OLDEST`] and 0.1.0: they empty the full text, and `meta` says that it is empty.
const REINDEXED: &[&str] =
    &["meta.value", "message_search_config", "message_search_data", "message_search_docsize", "message_search_idx"];

const CHECKSUMS: &str = "tests/schemas/checksums";

#[test]
fn the_steps_from_each_release_lead_to_the_schema() {
    let current = Database::new();
    current.migrate();
    for &(release, version) in RELEASES {
        let old = Database::of(release, version);
        old.migrate();
        old.assert_sound();
        let (stepped, written) = (definitions(&old.open()).unwrap(), definitions(&current.open()).unwrap());
        let only = |here: &BTreeSet<String>, there: &BTreeSet<String>| {
            let lines: Vec<_> = here.difference(there).map(|line| format!("    {line}")).collect();
            lines.join("\n")
        };
        assert!(
            stepped == written,
            "schema.sql and the steps from {release} lead to different schemas.\n  Only in schema.sql:\n{}\n  \
             Only after the steps:\n{}\n  \
             Databases that exist run steps, and never schema.sql. Write the difference as the next step, \
             src/db/migrations/{:04}.sql, and include it in HISTORY: the head of src/db/schema.rs says how.",
            only(&written, &stepped),
            only(&stepped, &written),
            next(),
        );
    }
}

#[test]
fn a_new_database_begins_with_the_rows_that_an_old_one_has() {
    let current = Database::new();
    current.migrate();
    for &(release, version) in RELEASES {
        let old = Database::empty_of(release, version);
        old.migrate();
        let [stepped, written] = [&old, &current].map(|database| {
            let conn = database.open();
            conn.execute("update meta set value = 'random' where key = 'epoch'", []).unwrap();
            let tables = tables(&conn).into_iter();
            tables.map(|(table, columns)| (rows(&conn, &table, &columns), table)).collect::<Vec<_>>()
        });
        assert_eq!(
            stepped, written,
            "left: an empty database of {release} after the steps, right: a new one. \
             Rows that schema.sql inserts into a new database are inserted by a step, too."
        );
    }
}

#[test]
fn the_steps_keep_all_rows() {
    for &(release, version) in RELEASES {
        let database = Database::of(release, version);
        let copy = database.copy();
        let old = copy.open();
        database.migrate();
        let stepped = database.open();
        let remaining = tables(&stepped);
        for (table, columns) in tables(&old) {
            assert!(!rows(&old, &table, &columns).is_empty(), "{release}.rows.sql has no row for {table}");
            let is_kept = |name: &str| !(REWRITTEN.contains(&name) || release == OLDEST && REINDEXED.contains(&name));
            let Some(remaining) = remaining.get(&table).filter(|_| is_kept(&table)) else { continue };
            let kept = |column: &&String| remaining.contains(column) && is_kept(&format!("{table}.{column}"));
            let columns: Vec<_> = columns.iter().filter(kept).cloned().collect();
            assert_eq!(
                rows(&stepped, &table, &columns),
                rows(&old, &table, &columns),
                "left: {table} after the steps, right: in {release}. \
                 If a step changes these rows on purpose, name the table or its column in REWRITTEN."
            );
        }
    }
}

/// As `domain/organisations/slugs.rs` makes them, except for the numbers.
#[test]
fn the_step_to_version_4_gives_each_organisation_a_slug() {
    let database = Database::of("0.1.0", 1);
    let long = "x".repeat(60);
    let names =
        ["Engines", "Ada's  (2nd) \u{2014} Caf\u{e9}!", "ENGINES", "-client-", "\u{65e5}\u{672c}", "gone", "A_b/c", &long];
    for (number, name) in (0_i64..).zip(names) {
        let sql = "insert into organisations (id, name, owner_id, created_at, updated_at)
                   select unhex(printf('f%031x', ?1)), ?2, owner_id, 1, 2 from organisations limit 1";
        database.open().execute(sql, (number, name)).unwrap();
    }
    database.migrate();
    let sql = "select slug from organisations where name <> 'Gone' order by id";
    let slugs = select(&database.open(), sql, |row| row.get::<_, String>(0));
    let numbered = |slug: &str, base: &str| {
        let number = slug.strip_prefix(base).unwrap_or_else(|| panic!("{slug} begins with {base}"));
        assert!((1..=10).contains(&number.len()) && number.parse::<u64>().is_ok(), "{slug}");
    };
    assert_eq!(slugs[0], "engines", "the oldest has the slug without a number");
    numbered(&slugs[1], "engines");
    assert_eq!(slugs[2], "ada-s-2nd-caf");
    numbered(&slugs[3], "engines");
    numbered(&slugs[4], "client");
    assert_eq!(slugs[5], "organisation");
    assert_eq!(slugs[6], "gone", "a deleted organisation's slug is free");
    assert_eq!(slugs[7..], ["a-b-c".to_owned(), "x".repeat(50)]);
}

/// For `tests/root.sh`, which starts a server on one: a folder for each release, with a database and a key.
#[test]
fn a_folder_of_each_release_is_left_for_other_checks() {
    for &(release, version) in RELEASES {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(release);
        _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let database = Database::of(release, version);
        for file in ["tidings.db", "secret.key"] {
            fs::copy(database.folder.path().join(file), folder.join(file)).unwrap();
        }
    }
}

#[test]
fn what_landed_is_not_edited() {
    let list = read(CHECKSUMS);
    let listed: BTreeMap<&str, &str> =
        list.lines().map(|line| line.split_once("  ").unwrap()).map(|(sum, what)| (what, sum)).collect();
    let mut sums: Vec<(String, String)> = steps().into_iter().map(|step| (sum(&read(&step)), step)).collect();
    let releases = RELEASES.iter().filter(|(release, _)| *release != OLDEST);
    sums.extend(releases.map(|(release, _)| schema(release)).map(|file| (sum(&read(&file)), file)));
    let conn = Connection::open_in_memory().unwrap();
    for step in steps() {
        conn.execute_batch(&read(&step)).unwrap();
        let lines = Vec::from_iter(definitions(&conn).unwrap());
        sums.push((sum(&lines.join("\n")), format!("the schema after {step}")));
    }
    let missing: Vec<_> = sums.iter().filter(|(_, what)| !listed.contains_key(what.as_str())).collect();
    let lines: Vec<_> = missing.iter().map(|(sum, what)| format!("{sum}  {what}")).collect();
    assert!(missing.is_empty(), "add these lines to {CHECKSUMS}:\n{}", lines.join("\n"));
    for (sum, what) in &sums {
        assert_eq!(
            listed[what.as_str()],
            sum,
            "{what} was changed, but there are databases that have it. Restore it, and write the change as the next step, \
             src/db/migrations/{:04}.sql. Only what is not on the main branch yet may get another line in {CHECKSUMS}",
            next()
        );
    }
    for what in listed.keys() {
        assert!(sums.iter().any(|(_, kept)| kept == what), "{what} is gone, but there are databases that still need it");
    }
}

#[test]
fn every_step_is_included() {
    let numbered: Vec<_> = steps().into_iter().filter(|step| !step.starts_with(FIRST)).collect();
    for (step, version) in numbered.iter().zip(1..) {
        assert_eq!(*step, format!("src/db/migrations/{version:04}.sql"), "steps are numbered from 0001 without a gap");
    }
    let status = tidings(&["migrate", "status"], Path::new("/nonexistent"));
    assert_eq!(
        status,
        format!("database 0, binary {}\n", numbered.len()),
        "the files in src/db/migrations are as many as the versions: include each in HISTORY of src/db/schema.rs, in order"
    );
}

/// Rows of tables that came after [`OLDEST`], with the number of the step that made the table.
const BORN: &[(usize, &str)] = &[
    (6, "insert into used_id_tokens values (x'01', 99)"),
    (7, "insert into chores (id, kind, cursor) values (5, 'departure', x'0c')"),
    (AFTER_VERSION_1, "insert into former_members select organisation_id, user_id from organisation_members"),
    (AFTER_VERSION_1, "insert into code_requests values (x'01', 0, 99)"),
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
        BORN.iter().filter(|(born, _)| *born > done).for_each(|(_, row)| conn.execute_batch(row).unwrap());
        let tables = tables(&conn).into_iter().filter(|(table, _)| !table.starts_with("message_search"));
        let rows: Vec<_> = tables.map(|(table, columns)| (rows(&conn, &table, &columns), table)).collect();
        (definitions(&conn).unwrap(), rows)
    };
    let last = migrated(first.len());
    assert!(
        first.len() > 10
            && last
                .1
                .iter()
                .all(|(rows, table)| !rows.is_empty() || ["unindexed_edits", "reply_mentions"].contains(&table.as_str())),
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

#[test]
fn an_older_database_gets_its_former_members_and_the_times_of_its_channels() {
    let database = Database::of("0.1.0", 1);
    let conn = database.open();
    conn.execute_batch(
        "insert into users (id, email, username, created_at, updated_at)
           values (x'0190000000007000800000000000a003', 'eve@example.org', 'eve', 1, 1);
         update messages set user_id = x'0190000000007000800000000000a003', content = '会議は日本で' where n = 2;
         update messages set content = 'Ĥello, ½ €' where n = 1;
         update meta set value = '3' where key = 'search_cursor';
         delete from unindexed_edits",
    )
    .unwrap();
    drop(conn);
    database.migrate();
    database.assert_sound();
    let conn = database.open();
    let text = |sql: &str| select(&conn, sql, |row| row.get::<_, String>(0)).join(" ");
    assert_eq!(
        text("select hex(organisation_id) || ' ' || hex(user_id) from former_members"),
        "0190000000007000800000000000C001 0190000000007000800000000000A003",
        "an author who is no member, and none who is"
    );
    let times = text(
        "select group_concat(c.last_message_at is m.created_at) from channels c left join messages m on m.n = c.last_n order by c.id",
    );
    assert_eq!(times, "1,1,1");
    assert_eq!(text("select cast(n as text) from unindexed_edits where n < 3"), "2", "the text with ideographs");
}

/// A data folder with a database.
struct Database {
    folder: tempfile::TempDir,
}

impl Database {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // As the first start makes one; the backup before the steps contains it.
        fs::write(folder.path().join("secret.key"), format!("{}=", "A".repeat(43))).unwrap();
        Database { folder }
    }

    /// An empty database, as the release made it on its first start.
    fn empty_of(release: &str, version: u32) -> Self {
        let database = Database::new();
        let conn = database.open();
        conn.execute_batch(&read(&schema(release))).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        fs::write(database.folder.path().join("secret.key"), "YSBrZXkgb2YgMzIgYnl0ZXMgb2YgdGhlIHJlbGVhc2U=").unwrap();
        database
    }

    /// A database of the release with rows in every table.
    fn of(release: &str, version: u32) -> Self {
        let database = Database::empty_of(release, version);
        database.open().execute_batch(&read(&format!("tests/schemas/{release}.rows.sql"))).unwrap();
        database.assert_sound();
        database
    }

    fn copy(&self) -> Self {
        let copy = Database::new();
        fs::copy(self.file(), copy.file()).unwrap();
        copy
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("tidings.db")
    }

    fn open(&self) -> Connection {
        let conn = Connection::open(self.file()).unwrap();
        conn.pragma_update(None, "foreign_keys", true).unwrap();
        conn
    }

    fn migrate(&self) {
        tidings(&["migrate", "up"], self.folder.path());
    }

    fn assert_sound(&self) {
        let conn = self.open();
        let dangling = select(&conn, "select \"table\", parent from pragma_foreign_key_check", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        assert!(dangling.is_empty(), "rows of the left refer to missing rows of the right: {dangling:?}");
        assert_eq!(select(&conn, "pragma integrity_check", |row| row.get::<_, String>(0)), ["ok"]);
    }
}

/// All tables but virtual ones, with their columns by name: SQLite's own, and those in which the full text is kept, too.
fn tables(conn: &Connection) -> BTreeMap<String, Vec<String>> {
    let sql = "select l.name, c.name from pragma_table_list l join pragma_table_xinfo(l.name) c
               where l.schema = 'main' and l.type <> 'virtual' and l.name <> 'sqlite_schema' order by 1, 2";
    let mut tables = BTreeMap::<String, Vec<String>>::new();
    for (table, column) in select(conn, sql, |row| Ok((row.get(0)?, row.get(1)?))) {
        tables.entry(table).or_default().push(column);
    }
    tables
}

/// The rows as text, sorted.
fn rows(conn: &Connection, table: &str, columns: &[String]) -> Vec<String> {
    let values: Vec<_> = columns.iter().map(|column| format!("'{column} ' || quote(\"{column}\")")).collect();
    select(conn, &format!("select concat_ws(', ', {}) from {table} order by 1", values.join(", ")), |row| row.get(0))
}

fn select<T>(conn: &Connection, sql: &str, read: impl FnMut(&Row) -> rusqlite::Result<T>) -> Vec<T> {
    conn.prepare(sql).unwrap().query_map([], read).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// The folder of the steps between the schemas of version 1.
const FIRST: &str = "src/db/migrations/0001/";

/// The files of the steps, in their order.
fn steps() -> Vec<String> {
    let list = |folder: &str| {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let names = files.filter(|path| path.is_file()).map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
        names.map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
    };
    let mut steps = [list("src/db/migrations/"), list(FIRST)].concat();
    steps.sort_unstable();
    steps
}

/// The number of the next step.
fn next() -> usize {
    steps().iter().filter(|step| !step.starts_with(FIRST)).count() + 1
}

/// The file with the schema of a release.
fn schema(release: &str) -> String {
    if release == OLDEST { "src/db/migrations/0001.sql".into() } else { format!("tests/schemas/{release}.sql") }
}

fn sum(text: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// What the binary prints.
fn tidings(arguments: &[&str], folder: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    let output = command.args(arguments).arg("--data-dir").arg(folder).output().unwrap();
    assert!(output.status.success(), "tidings {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
