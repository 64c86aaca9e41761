//! Databases of releases, and what they contain.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use rusqlite::{Connection, Row};

/// What was built before the first release; its schema is the first step.
pub const OLDEST: &str = "2026-11-21";

/// A data folder with a database.
pub struct Database {
    pub folder: tempfile::TempDir,
}

impl Database {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // As the first start makes one; the backup before the steps contains it.
        fs::write(folder.path().join("secret.key"), format!("{}=", "A".repeat(43))).unwrap();
        Database { folder }
    }

    /// An empty database, as the release made it on its first start.
    pub fn empty_of(release: &str, version: u32) -> Self {
        let database = Database::new();
        let conn = database.open();
        conn.execute_batch(&read(&schema(release))).unwrap();
        conn.pragma_update(None, "user_version", version).unwrap();
        fs::write(database.folder.path().join("secret.key"), "YSBrZXkgb2YgMzIgYnl0ZXMgb2YgdGhlIHJlbGVhc2U=").unwrap();
        database
    }

    /// A database of the release with rows in every table.
    pub fn of(release: &str, version: u32) -> Self {
        let database = Database::empty_of(release, version);
        database.open().execute_batch(&read(&format!("tests/schemas/{release}.rows.sql"))).unwrap();
        database.assert_sound();
        database
    }

    pub fn copy(&self) -> Self {
        let copy = Database::new();
        fs::copy(self.file(), copy.file()).unwrap();
        copy
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("tidings.db")
    }

    pub fn open(&self) -> Connection {
        let conn = Connection::open(self.file()).unwrap();
        conn.pragma_update(None, "foreign_keys", true).unwrap();
        conn
    }

    pub fn migrate(&self) {
        tidings(&["migrate", "up"], self.folder.path());
    }

    pub fn assert_sound(&self) {
        let conn = self.open();
        let dangling = select(&conn, "select \"table\", parent from pragma_foreign_key_check", |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        assert!(dangling.is_empty(), "rows of the left refer to missing rows of the right: {dangling:?}");
        assert_eq!(select(&conn, "pragma integrity_check", |row| row.get::<_, String>(0)), ["ok"]);
    }
}

/// All tables but virtual ones, with their columns by name: SQLite's own, and those in which the full text is kept, too.
pub fn tables(conn: &Connection) -> BTreeMap<String, Vec<String>> {
    let sql = "select l.name, c.name from pragma_table_list l join pragma_table_xinfo(l.name) c
               where l.schema = 'main' and l.type <> 'virtual' and l.name <> 'sqlite_schema' order by 1, 2";
    let mut tables = BTreeMap::<String, Vec<String>>::new();
    for (table, column) in select(conn, sql, |row| Ok((row.get(0)?, row.get(1)?))) {
        tables.entry(table).or_default().push(column);
    }
    tables
}

/// The rows as text, sorted.
pub fn rows(conn: &Connection, table: &str, columns: &[String]) -> Vec<String> {
    let values: Vec<_> = columns.iter().map(|column| format!("'{column} ' || quote(\"{column}\")")).collect();
    select(conn, &format!("select concat_ws(', ', {}) from {table} order by 1", values.join(", ")), |row| row.get(0))
}

pub fn select<T>(conn: &Connection, sql: &str, read: impl FnMut(&Row) -> rusqlite::Result<T>) -> Vec<T> {
    conn.prepare(sql).unwrap().query_map([], read).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// The folder of the steps between the schemas of version 1.
pub const FIRST: &str = "src/db/migrations/0001/";

/// The files of the steps, in their order.
pub fn steps() -> Vec<String> {
    let list = |folder: &str| {
        let files = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        let names = files.filter(|path| path.is_file()).map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
        names.map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
    };
    let mut steps = [list("src/db/migrations/"), list(FIRST)].concat();
    steps.sort_unstable();
    steps
}

/// The file with the schema of a release.
pub fn schema(release: &str) -> String {
    if release == OLDEST { "src/db/migrations/0001.sql".into() } else { format!("tests/schemas/{release}.sql") }
}

fn root() -> PathBuf {
    env!("CARGO_MANIFEST_DIR").into()
}

pub fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// What the binary prints.
pub fn tidings(arguments: &[&str], folder: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tidings"));
    let output = command.args(arguments).arg("--data-dir").arg(folder).output().unwrap();
    assert!(output.status.success(), "tidings {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
