//! The commands in the documents' blocks of shell: their programs, flags and files exist.

use std::{collections::BTreeSet, fs, process::Command};

use pulldown_cmark::{CodeBlockKind, CowStr, Event, Tag, TagEnd};

use tidings::cli;

use super::{documents, parsed, root};

/// Programs of the machine, and words of the shell.
const KNOWN: &[&str] =
    &["curl", "umask", "sqlite3", "cp", "tar", "cd", "export", "set", "while", "systemctl", "journalctl", "pip", "python3"];

#[test]
fn every_command_in_a_document_exists_with_its_flags() {
    let mut checked = 0;
    for document in documents() {
        for line in shell(&fs::read_to_string(root().join(&document)).unwrap()) {
            if let Err(why) = check(&line) {
                panic!("{}: `{line}`: {why}", document.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 30, "only {checked} commands were found");
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    for line in
        ["tidings serve --colour blue", "tidings users", "cargo run --example none", "./install.sh --none", "make none", "ls"]
    {
        assert!(check(line).is_err(), "{line}");
    }
    assert_eq!(shell("```sh\none \\\n  two   # why\n\nname=...\n```\n\n```js\nthree\n```\n"), ["one two"]);
}

#[test]
fn every_flag_that_a_document_names_exists() {
    let mut known = flags(&cli::command());
    let installer = fs::read_to_string(root().join("install.sh")).unwrap();
    known.extend(installer.split_whitespace().filter(|word| word.starts_with("--")).map(str::to_owned));
    known
        .extend(["--help", "--test", "--bench", "--release", "--example", "--minutes", "--server", "--write"].map(str::to_owned));
    for document in documents() {
        for event in parsed(&fs::read_to_string(root().join(&document)).unwrap()) {
            let Event::Code(code) = event else { continue };
            for word in code.split([' ', '=']).filter(|word| word.len() > 2 && word.starts_with("--")) {
                assert!(known.contains(word), "{} names {word}, which is no flag", document.display());
            }
        }
    }
}

/// The flags of a command and of those below it.
fn flags(command: &clap::Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(|flag| flag.get_long()).map(|flag| format!("--{flag}"));
    own.chain(command.get_subcommands().flat_map(flags)).collect()
}

/// The commands of a document's blocks of shell, without comments and assignments.
fn shell(text: &str) -> Vec<String> {
    let mut is_shell = false;
    let mut commands = Vec::new();
    for event in parsed(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(CowStr::Borrowed("sh")))) => is_shell = true,
            Event::End(TagEnd::CodeBlock) => is_shell = false,
            Event::Text(block) if is_shell => {
                let lines = block.replace("\\\n", " ");
                let lines = lines.lines().map(|line| line.split(" # ").next().unwrap());
                let lines = lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
                commands.extend(lines.filter(|line| !line.is_empty() && !is_assignment(line)));
            }
            _ => {}
        }
    }
    commands
}

fn is_assignment(line: &str) -> bool {
    line.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase()))
}

fn check(line: &str) -> Result<(), String> {
    let is_variable =
        |word: &&str| word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    let words: Vec<&str> = line.split(' ').skip_while(is_variable).collect();
    let stands_in = |text: &str, file: &str| {
        let found = fs::read_to_string(root().join(file)).unwrap().contains(text);
        if found { Ok(()) } else { Err(format!("{file} has no {text:?}")) }
    };
    match words[..] {
        // Help is printed only when what stands before it is understood.
        ["tidings", ..] => {
            let script = format!("{} --help", line.replacen("tidings", env!("CARGO_BIN_EXE_tidings"), 1));
            succeeds(Command::new("sh").args(["-c", &script]))
        }
        ["./install.sh", ..] => succeeds(Command::new("sh").current_dir(root()).args(words).arg("--help")),
        ["cargo", "run", "--example", name, ..] => {
            if root().join(format!("examples/{name}.rs")).is_file() {
                Ok(())
            } else {
                Err("no such example".into())
            }
        }
        ["cargo", "bench", "--bench", name, ..] => stands_in(&format!("name = \"{name}\""), "Cargo.toml"),
        ["cargo", "run" | "test" | "bench", ..] => Ok(()),
        ["make", target] => stands_in(&format!("\n{target}:"), "Makefile"),
        [file, ..] if file.contains('/') && root().join(file).is_file() => Ok(()),
        [program, ..] if KNOWN.contains(&program) => Ok(()),
        _ => Err("an unknown program".into()),
    }
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|err| err.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}
