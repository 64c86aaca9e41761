//! The documents: what the guide serves, what is generated from the code, and the commands and links in them.

mod commands;
mod constants;
mod events;
mod examples;
mod fields;
mod generated;
mod pages;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

pub use generated::is_renewing;
use pulldown_cmark::{Event, Options, Parser, Tag};

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// README.md, SECURITY.md, CHANGELOG.md and everything in docs/, by path from the root.
pub fn documents() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = ["README.md", "SECURITY.md", "CHANGELOG.md"].map(PathBuf::from).into();
    let folder = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    paths.extend(folder.map(|name| Path::new("docs").join(name)).filter(|path| path.extension().is_some_and(|end| end == "md")));
    paths
}

pub fn parsed(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The targets of a document's links and pictures that lead to no other host.
fn links(text: &str) -> Vec<String> {
    let targets = parsed(text).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.to_string()),
        _ => None,
    });
    targets.filter(|target| !target.contains("://")).collect()
}

#[test]
fn every_relative_link_in_a_document_names_a_file() {
    for document in documents() {
        let file = root().join(&document);
        for link in links(&fs::read_to_string(&file).unwrap()) {
            let path = link.split('#').next().unwrap();
            let target = if path.is_empty() { file.clone() } else { file.parent().unwrap().join(path) };
            assert!(target.is_file(), "{} links to {link}, which does not exist", document.display());
        }
    }
}

/// Files that are not ours: users have them.
const OF_USERS: [&str; 3] = ["mcp.json", "manifest.json", "team.txt"];
const ENDS: [&str; 9] = [".rs", ".js", ".mjs", ".sql", ".sh", ".py", ".css", ".toml", ".md"];

/// The files that a text names between backticks, but addresses below the server.
fn named_files(text: &str) -> impl Iterator<Item = &str> {
    let named = text.split('`').skip(1).step_by(2).filter(|name| ENDS.iter().any(|end| name.ends_with(end)));
    let is_path = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    named.filter(move |name| is_path(name) && !name.starts_with(['/', '.']))
}

/// Of a path, the end is enough.
#[test]
fn every_file_that_a_document_or_a_comment_names_exists() {
    let all: Vec<_> =
        ["src", "tests", "benches", "docs", "examples"].iter().flat_map(|folder| files(&root().join(folder))).collect();
    let top = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let known: Vec<_> = all.iter().cloned().chain(top).collect();
    let written = documents().into_iter().map(|document| root().join(document)).chain(all);
    let mut missing = Vec::new();
    for file in written.filter(|file| file.extension().is_some_and(|end| end == "md" || end == "rs")) {
        let text = fs::read_to_string(&file).unwrap();
        let is_code = file.extension().is_some_and(|end| end == "rs");
        for line in text.lines().filter(|line| !is_code || line.trim_start().starts_with("//")) {
            let gone =
                named_files(line).filter(|name| !OF_USERS.contains(name) && !known.iter().any(|path| path.ends_with(name)));
            missing.extend(gone.map(|name| format!("{}: {name}", file.display())));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_readme_has_at_most_150_lines() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 150, "{lines} lines: what is more belongs into docs/");
}

#[test]
fn every_mention_of_a_section_of_the_decisions_names_one_that_exists() {
    let decisions = fs::read_to_string(root().join("docs/decisions.md")).unwrap();
    let sections: BTreeSet<&str> =
        decisions.lines().filter_map(|line| line.strip_prefix("## ")?.split_once('.')).map(|(number, _)| number).collect();
    assert!(sections.len() >= 15, "{sections:?}");
    // A mention may be broken between two lines of a comment.
    let mentions = |text: &str| -> Vec<String> {
        let text = text.to_lowercase();
        let words: Vec<_> = text.split_whitespace().filter(|word| !matches!(*word, "//" | "///" | "//!")).collect();
        words.join(" ").split(concat!("decisions,", " section ")).skip(1).map(number).collect()
    };
    assert_eq!(mentions("// see Decisions,\n// section 14."), ["14"]);
    for file in ["src", "tests", "benches", "docs"].iter().flat_map(|folder| files(&root().join(folder))) {
        for number in mentions(&fs::read_to_string(&file).unwrap_or_default()) {
            assert!(sections.contains(&*number), "{} mentions section {number} of the decisions", file.display());
        }
    }
}

/// The number that a text begins with.
fn number(text: &str) -> String {
    text.chars().take_while(char::is_ascii_digit).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let kept = entries.filter(|path| !path.ends_with("node_modules") && !path.ends_with("out"));
    kept.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
