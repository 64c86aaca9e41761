//! The definitions of a database in a comparable form: however a table came to its columns, by one statement or by several.

use std::collections::BTreeSet;

use rusqlite::Connection;

/// The definitions of a database: a line for each column and constraint, index, trigger and view.
///
/// Without the tables that SQLite keeps for itself (statistics, sequences, those behind a virtual one), and without the two that
/// Litestream adds. An index, trigger or view of such a name counts: somebody may have named it so to hide it.
pub fn definitions(conn: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut select = conn.prepare(
        "select type, name, sql from sqlite_schema
         where sql is not null and not (type = 'table' and (
             name in ('sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4', '_litestream_seq', '_litestream_lock')
             or name in (select name from pragma_table_list where schema = 'main' and type = 'shadow')))",
    )?;
    let mut rows = select.query([])?;
    let mut lines = BTreeSet::new();
    while let Some(row) = rows.next()? {
        let (kind, name, sql): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let parts = if kind == "table" { parts(&sql) } else { [tokens(&sql).join(" ")].into() };
        lines.extend(parts.into_iter().map(|part| format!("{kind} {name}: {part}")));
    }
    Ok(lines)
}

/// The definitions in a `create table`, without their order: `alter table` puts a new column after the others.
fn parts(sql: &str) -> BTreeSet<String> {
    let (mut parts, mut part, mut depth) = (BTreeSet::new(), Vec::new(), 0);
    for token in tokens(sql) {
        let ends = match token {
            "(" => depth == 0,
            ")" | "," => depth == 1,
            _ => false,
        };
        depth += match token {
            "(" => 1,
            ")" => -1,
            _ => 0,
        };
        if ends {
            parts.insert(std::mem::take(&mut part).join(" "));
        } else {
            part.push(token);
        }
    }
    parts.insert(part.join(" "));
    parts
}

/// SQL without spaces, comments, and the quotes around names that need none: `alter table` adds these.
fn tokens(sql: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = sql.trim_start();
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            // A doubled quote ends one token and begins the next, the same on both sides.
            '\'' | '"' => rest[1..].find(c).map_or(rest.len(), |at| at + 2),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let bare = token.trim_matches('"');
        if !token.starts_with("--") {
            tokens.push(if bare.chars().all(is_word) { bare } else { token });
        }
        rest = after.trim_start();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_the_order_of_columns_do_not_count_as_differences() {
        let written =
            "CREATE TABLE a (b text default 'x, -- y', -- c, (d\n  c integer check (c in (1,  2)), primary key (b, c)) strict";
        let stepped = "CREATE TABLE \"a\"(c integer check (c in (1,2)), primary key (b,c), b text default 'x, -- y') strict";
        assert_eq!(parts(written), parts(stepped));
        for (word, other) in [("strict", ""), ("x,", "x"), ("(1,", "(1, 3,"), ("(b, c)", "(c, b)"), ("text", "text unique")] {
            assert_ne!(parts(written), parts(&written.replace(word, other)), "{word} -> {other}");
        }
    }

    #[test]
    fn what_sqlite_and_litestream_keep_for_themselves_is_no_definition() {
        let conn = Connection::open_in_memory().unwrap();
        let define = "create table a (n integer primary key autoincrement, t text unique);
            create virtual table s using fts5 (t); create trigger told after insert on a begin select 1; end;";
        conn.execute_batch(define).unwrap();
        let before = definitions(&conn).unwrap();
        assert_eq!(before.iter().filter(|line| line.starts_with("trigger told: ")).count(), 1, "{before:?}");
        conn.execute_batch("insert into a (t) values ('x'); analyze; create table _litestream_seq (id integer);").unwrap();
        assert_eq!(definitions(&conn).unwrap(), before);
        conn.execute_batch("create index more on a (t); create view _litestream_all as select 1").unwrap();
        assert_eq!(definitions(&conn).unwrap().len(), before.len() + 2);
    }
}
