//! The SQL in the sources: every string literal that is a statement, or a part of one.

use std::{fs, path::Path};

/// A string literal that holds SQL.
pub struct Literal {
    /// `file:line`
    pub place: String,
    /// In one line. `{}` stands for each part that the code puts in.
    pub sql: String,
}

impl Literal {
    /// Whether it is a statement as it stands.
    pub fn is_whole(&self) -> bool {
        is_statement(&self.sql) && !self.sql.contains("{}")
    }

    /// Whether the statement contains the literal, with anything in its gaps.
    pub fn is_in(&self, statement: &str) -> bool {
        self.after(statement).is_some()
    }

    /// Whether the statement begins with the literal.
    pub fn begins(&self, statement: &str) -> bool {
        let head = self.sql.split("{}").next().unwrap_or_default();
        is_statement(&self.sql) && statement.starts_with(head) && self.is_in(statement)
    }

    fn after<'a>(&self, statement: &'a str) -> Option<&'a str> {
        self.sql.split("{}").try_fold(statement, |rest, part| {
            let at = rest.find(part)?;
            Some(&rest[at + part.len()..])
        })
    }
}

/// SQL in one line, without the spaces at its ends.
pub fn in_one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Files whose statements read all of a database or an organisation on purpose, for a command that an administrator waits for.
const WHOLE: [&str; 4] =
    ["src/db/snapshot.rs", "src/domain/consistency.rs", "src/domain/transfer/export.rs", "src/domain/transfer/notifications.rs"];

pub fn literals() -> Vec<Literal> {
    let mut found = Vec::new();
    for folder in ["db", "domain", "jobs", "push", "state", "cli"] {
        below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder), &mut found);
    }
    found
}

fn below(path: &Path, found: &mut Vec<Literal>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            below(&entry.unwrap().path(), found);
        }
    } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap();
        if WHOLE.iter().any(|whole| name.ends_with(whole)) {
            return;
        }
        let name = name.display();
        for (line, literal) in strings(code) {
            // The space at the end of a literal is there for what `concat!` puts after it.
            let gap = if literal.ends_with(' ') { " {}" } else { "" };
            let sql = with_gaps(&in_one_line(&literal)) + gap;
            if is_statement(&sql) || is_part(&sql) {
                found.push(Literal { place: format!("{name}:{line}"), sql });
            }
        }
    }
}

const VERBS: [&str; 6] = ["select ", "insert into ", "insert or ", "update ", "delete from ", "with "];

fn is_statement(sql: &str) -> bool {
    VERBS.iter().any(|verb| sql.starts_with(verb))
        && [" from ", " set ", "insert ", "select "].iter().any(|word| sql.contains(word))
}

/// Whether it can be a part of a statement that decides over its plan.
fn is_part(sql: &str) -> bool {
    let has_parameter = sql.as_bytes().windows(2).any(|pair| pair[0] == b'?' && pair[1].is_ascii_digit());
    let sql = sql.replace(" join link", ""); // words about the links by which people join
    (has_parameter && !sql.starts_with("vacuum "))
        || ["order by ", "group by ", "select ", " join ", "from ("].iter().any(|word| sql.contains(word))
}

/// A format string with `{}` in the place of `{NAME}`.
fn with_gaps(sql: &str) -> String {
    let (mut with_gaps, mut rest) = (String::new(), sql);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, after)) = after.split_once('}') else { break };
        with_gaps += before;
        with_gaps += "{}";
        rest = after;
    }
    with_gaps + rest
}

/// The string literals of a source with their lines; comments have none.
fn strings(code: &str) -> Vec<(usize, String)> {
    let (mut found, mut line) = (Vec::new(), 1);
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => line += 1,
            '/' if chars.peek() == Some(&'/') => {
                chars.by_ref().find(|c| *c == '\n');
                line += 1;
            }
            // A character such as '"', and no lifetime.
            '\'' => {
                let mut ahead = chars.clone();
                let first = ahead.next();
                let second = ahead.next();
                if first == Some('\\') || second == Some('\'') {
                    chars.next();
                    if first == Some('\\') {
                        chars.next();
                    }
                    chars.find(|c| *c == '\'');
                }
            }
            'r' if chars.clone().take(2).eq(['#', '"']) => {
                let raw: String = chars.by_ref().skip(2).take_while(|c| *c != '#').collect();
                line += raw.matches('\n').count();
            }
            '"' => {
                let (begins, mut literal) = (line, String::new());
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => match chars.next() {
                            Some('\n') => line += 1,
                            Some(escaped) => literal.push(escaped),
                            None => {}
                        },
                        _ => {
                            line += usize::from(c == '\n');
                            literal.push(c);
                        }
                    }
                }
                found.push((begins, literal));
            }
            _ => {}
        }
    }
    found
}

/// Tests the test: what it must find, and what it must not.
#[test]
fn literals_are_found_in_code_and_not_in_comments() {
    let code = "// \"no\"\nlet a = '\"'; fn f<'a>() { g(\"select \\\"x\\\" \\\n  from t\") } '\\'' \"{A} where {}\"";
    assert_eq!(strings(code), [(2, "select \"x\"   from t".to_owned()), (3, "{A} where {}".to_owned())]);
    assert_eq!(with_gaps("{A} where {}"), "{} where {}");
    assert!(literals().len() > 300);
}
