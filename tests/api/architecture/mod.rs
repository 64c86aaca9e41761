//! The dependency rules of src/lib.rs, checked on the text of the sources.

mod imports;

use std::{
    fs,
    path::{Path, PathBuf},
};

const STATEMENTS: &[&str] = &["begin", "commit", "rollback", "savepoint"];

#[test]
fn the_domain_knows_neither_http_nor_the_runtime() {
    forbid("src/domain", &["poem", "tokio"]); // the table in src/lib.rs says what it imports
}

#[test]
fn the_domain_takes_the_time_from_its_job() {
    forbid("src/domain", &["time::now", "timestamp::now", "instant::now", "systemtime"]);
}

#[test]
fn the_api_contains_no_sql() {
    forbid("src/api", &["rusqlite", "select ", "insert into", "delete from", "update set", " set "]);
}

#[test]
fn the_hub_and_the_protocol_know_neither_http_nor_sql() {
    for file in imports::CORE {
        forbid(&format!("src/push/embedded/{file}"), &["poem", "rusqlite"]);
    }
}

#[test]
fn only_db_opens_the_database() {
    forbid_outside(&["src/db"], &["Connection::open", "SqliteConnectionManager"]);
}

#[test]
fn only_config_reads_the_environment() {
    forbid_outside(&["src/config/"], &["env::var", "env =", ".env("]);
}

#[test]
fn no_job_ends_the_transaction_that_it_shares() {
    for (place, code) in code("src/domain") {
        let code = code.to_lowercase();
        let words: Vec<_> = code.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for statement in STATEMENTS {
            assert!(!words.contains(statement), "{place}: {statement:?} does not belong here: {code}");
        }
    }
    forbid("src", &["or rollback", "raise(rollback"]);
    let schema = fs::read_to_string(root().join("schema.sql")).unwrap().to_lowercase();
    assert!(!schema.contains("or rollback") && !schema.contains("raise(") && !schema.contains("on conflict rollback"));
}

#[test]
fn bodies_are_built_by_the_envelope() {
    // The records of a webhook's history have a field of that name, too.
    let homes = [
        "src/api/http/envelope.rs",
        "src/api/http/failure.rs",
        "src/api/webhooks/history_entry.rs",
        "src/domain/webhooks/history.rs",
    ];
    forbid_outside(&homes, &["\"status_code\"", "status_code:"]);
}

#[test]
fn unsafe_code_is_in_two_files_of_tests() {
    let tests = ["tests/frames.rs", "tests/plans/collector.rs"];
    for (folder, homes) in [("src", &[][..]), ("tests", &tests), ("benches", &[]), ("examples", &[])] {
        for (place, code) in code(folder) {
            let at_home = homes.iter().any(|home| place.starts_with(home));
            assert!(at_home || !code.contains(concat!("allow(un", "safe_code")), "{place}: {code}");
        }
    }
    for file in ["src/lib.rs", "src/main.rs"] {
        assert!(fs::read_to_string(root().join(file)).unwrap().contains("#![forbid(unsafe_code)]"), "{file}");
    }
}

#[test]
fn no_test_sleeps_or_is_ignored() {
    let banned = [concat!("time::", "sleep"), concat!("thread::", "sleep"), concat!("#[ig", "nore")];
    forbid("tests/api", &banned);
}

/// Tests the tests: each rule finds what it looks for.
#[test]
fn the_scan_skips_comments_and_keeps_strings() {
    assert_eq!(uncommented("let a = 1; // begin"), "let a = 1; ");
    assert_eq!(uncommented("/// select"), "");
    assert_eq!(uncommented(r#"let url = "http://x"; // y"#), r#"let url = "http://x"; "#);
    assert!(code("src/db").iter().any(|(_, code)| code.contains("Connection::open")));
    assert!(code("src/config/mod.rs").iter().any(|(_, code)| code.contains("env =")));
    assert!(code("src/domain").iter().any(|(_, code)| code.contains("insert into")));
}

#[track_caller]
fn forbid(path: &str, words: &[&str]) {
    for (place, code) in code(path) {
        let lower = code.to_lowercase();
        for word in words {
            assert!(!code.contains(word) && !lower.contains(word), "{place}: {word:?} does not belong here: {code}");
        }
    }
}

#[track_caller]
fn forbid_outside(homes: &[&str], words: &[&str]) {
    for (place, code) in code("src") {
        if homes.iter().any(|home| place.starts_with(home)) {
            continue;
        }
        for word in words {
            assert!(!code.contains(word), "{place}: {word:?} belongs to {homes:?}: {code}");
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every line of code below a path with its place, `file:line`; comments are cut off.
fn code(path: &str) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    for file in files(&root().join(path)) {
        let name = file.strip_prefix(root()).unwrap().display().to_string();
        let text = fs::read_to_string(&file).unwrap();
        lines.extend(text.lines().enumerate().map(|(n, line)| (format!("{name}:{}", n + 1), uncommented(line).to_owned())));
    }
    assert!(!lines.is_empty(), "{path} has no sources");
    lines
}

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()));
    let below = entries.flat_map(|entry| files(&entry.unwrap().path()));
    below.filter(|file| file.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// The line up to its comment; `//` inside a string begins none.
fn uncommented(line: &str) -> &str {
    let comment = line.match_indices("//").find(|(at, _)| line[..*at].matches('"').count().is_multiple_of(2));
    comment.map_or(line, |(at, _)| &line[..at])
}
