//! Rows in numbers that no client would make: copies of rows that the API has made.

use rusqlite::Connection;

/// Copies rows, whatever columns there are.
pub struct Copies<'a>(pub &'a Connection);

/// A source of as many rows, numbered `s.n` from 1.
pub fn times(number: u32) -> String {
    format!("(with recursive k (n) as (select 1 union all select n + 1 from k where n < {number}) select n from k) s")
}

/// A source of the users that the database was filled with.
pub const PEOPLE: &str = "(select id, username from users where username glob 'u[0-9]*')";

impl Copies<'_> {
    /// Copies the row `o` that `which` finds for each row of the source, with changes.
    #[track_caller]
    pub fn make(&self, table: &str, which: &str, source: &str, changes: &[(&str, &str)]) {
        let mut select = self.0.prepare("select name from pragma_table_info(?1)").unwrap();
        let columns: Vec<String> = select.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let value = |column: &String| {
            let changed = changes.iter().find(|(name, _)| name == column);
            changed.map_or_else(|| format!("o.{column}"), |(_, value)| (*value).to_owned())
        };
        let values: Vec<String> = columns.iter().map(value).collect();
        let (columns, values) = (columns.join(", "), values.join(", "));
        // The original is read first: the source may be the same table, and grow.
        let sql = format!(
            "insert into {table} ({columns}) select {values} from (select * from {table} o where {which} limit 1) o, {source}"
        );
        let made = self.0.execute(&sql, []).unwrap_or_else(|err| panic!("{err}: {sql}"));
        assert!(made > 0, "it made nothing: {sql}");
    }

    #[track_caller]
    pub fn run(&self, sql: &str) {
        assert!(self.0.execute(sql, []).unwrap_or_else(|err| panic!("{err}: {sql}")) > 0, "it changed nothing: {sql}");
    }
}
