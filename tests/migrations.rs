//! A database of each release, with rows in every table, gets the schema of `schema.sql` and keeps its rows.
//! The head of `src/db/schema.rs` says how the schema is changed.
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

/// Releases with the version of their schema.
const RELEASES: &[(&str, u32)] = &[("0.1.0", 1)];

/// Tables, and columns as `table.column`, whose values a step changes on purpose, or whose rows it deletes.
const REWRITTEN: &[&str] = &["chores", "events.body"];

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
             src/db/migrations/{:04}.sql, and include it in STEPS: the head of src/db/schema.rs says how.",
            only(&written, &stepped),
            only(&stepped, &written),
            steps().len() + 2,
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
            let Some(remaining) = remaining.get(&table).filter(|_| !REWRITTEN.contains(&&*table)) else { continue };
            let kept = |column: &&String| remaining.contains(column) && !REWRITTEN.contains(&&*format!("{table}.{column}"));
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
fn released_steps_and_schemas_are_not_edited() {
    let list = fs::read_to_string(root().join(CHECKSUMS)).unwrap();
    let listed: BTreeMap<&str, &str> =
        list.lines().map(|line| line.split_once("  ").unwrap()).map(|(sum, file)| (file, sum)).collect();
    let mut files: Vec<_> = steps();
    files.extend(RELEASES.iter().map(|(release, _)| format!("tests/schemas/{release}.sql")));
    for file in &files {
        let digest = ring::digest::digest(&ring::digest::SHA256, &fs::read(root().join(file)).unwrap());
        let sum: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        match listed.get(file.as_str()) {
            Some(listed) => assert_eq!(
                *listed,
                sum,
                "{file} was edited, but there are databases that have run it. Restore it, and write the change as the \
                 next step, src/db/migrations/{:04}.sql",
                steps().len() + 2
            ),
            None => panic!("add this line to {CHECKSUMS}:\n{sum}  {file}"),
        }
    }
    for file in listed.keys() {
        assert!(files.iter().any(|kept| kept == file), "{file} is gone, but there are databases that still need it");
    }
}

#[test]
fn every_step_is_included() {
    for (step, version) in steps().iter().zip(2..) {
        assert_eq!(*step, format!("src/db/migrations/{version:04}.sql"), "steps are numbered from 0002 without a gap");
    }
    let status = tidings(&["migrate", "status"], Path::new("/nonexistent"));
    assert_eq!(
        status,
        format!("database 0, binary {}\n", steps().len() + 1),
        "the files in src/db/migrations are one less than the versions: include each in STEPS of src/db/schema.rs, in order"
    );
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
        conn.execute_batch(&read(&format!("tests/schemas/{release}.sql"))).unwrap();
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

/// The files of the steps, in their order.
fn steps() -> Vec<String> {
    let Ok(folder) = fs::read_dir(root().join("src/db/migrations")) else { return Vec::new() };
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut steps: Vec<_> = names.map(|name| format!("src/db/migrations/{name}")).collect();
    steps.sort_unstable();
    steps
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
