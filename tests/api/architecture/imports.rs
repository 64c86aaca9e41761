//! Which file imports which: directions of folders, and circles of files.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::{files, root, uncommented};

#[test]
fn no_two_files_import_each_other_in_a_circle() {
    let imports = imports();
    let circles = circles(&imports);
    assert!(circles.is_empty(), "files that import each other in a circle: {circles:#?}");
}

#[test]
fn the_table_in_lib_rs_says_who_imports_whom() {
    let told: BTreeMap<_, _> = table().into_iter().collect();
    let found = imports_of_folders();
    let line = |(folder, others): (&String, &BTreeSet<String>)| {
        let others = Vec::from_iter(others.iter().map(|other| other.trim_start_matches("domain/")));
        format!("{folder}: {}", if others.is_empty() { "-".to_owned() } else { others.join(", ") })
    };
    let wrong: Vec<_> = found.iter().filter(|(folder, others)| told.get(*folder) != Some(others)).map(line).collect();
    assert!(wrong.is_empty(), "the table in src/lib.rs should have these lines:\n{}", wrong.join("\n"));
    assert_eq!(Vec::from_iter(told.keys()), Vec::from_iter(found.keys()), "folders that there are");
}

#[test]
fn a_folder_imports_only_what_stands_below_it_in_the_table() {
    let table = table();
    for (at, (folder, others)) in table.iter().enumerate() {
        let above: Vec<_> = table[..at].iter().map(|(upper, _)| upper).filter(|upper| others.contains(*upper)).collect();
        assert!(above.is_empty(), "{folder} imports {above:?}, which the table in src/lib.rs has above it");
    }
}

/// The files of `push/embedded` that know of this crate only each other and these leaves.
pub const CORE: [&str; 7] = ["hub.rs", "connection.rs", "outbox.rs", "unsent.rs", "protocol", "encoding.rs", "codes.rs"];
const LEAVES: [&str; 5] = ["error", "event", "id", "net::client_socket", "time"];

#[test]
fn the_hub_and_the_protocol_stand_alone() {
    let core = CORE.map(|file| format!("push::embedded::{}", file.trim_end_matches(".rs")));
    let is_core = |module: &str| core.iter().any(|file| module == file || module.starts_with(&format!("{file}::")));
    let imports = imports();
    let files: Vec<_> = imports.iter().filter(|(file, _)| is_core(file)).collect();
    assert!(files.len() > CORE.len(), "the files of protocol/ are among them");
    for (file, imported) in files {
        let others: Vec<_> = imported.iter().filter(|other| !is_core(other) && !LEAVES.contains(&other.as_str())).collect();
        assert!(others.is_empty(), "{file} imports {others:?}");
    }
}

/// The folders and files below `src` and below `src/domain`, with those of their own kind that they import.
fn imports_of_folders() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, imported) in imports().into_iter().filter(|(file, _)| !file.is_empty()) {
        for folder_of in [folder, folder_of_domain] {
            let Some(own) = folder_of(&file) else { continue };
            let others = imported.iter().filter_map(|other| folder_of(other)).filter(|other| *other != own);
            found.entry(own.clone()).or_default().extend(others);
        }
    }
    found
}

/// The lines `folder: other, other` of the table in lib.rs, in their order; a line that begins with a space goes on with the one
/// before.
fn table() -> Vec<(String, BTreeSet<String>)> {
    let text = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let (_, table) = text.split_once("# Who imports whom").unwrap();
    let table = table.split("```").nth(1).unwrap().strip_prefix("text").unwrap();
    let table = table.replace("//! ", "").replace("//!", "").replace("\n ", "");
    let lines = table.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(folder, others)| {
            let prefix = if folder.starts_with("domain/") { "domain/" } else { "" };
            let others = others.split([',', ' ']).filter(|other| !other.is_empty() && *other != "-");
            (folder.to_owned(), others.map(|other| format!("{prefix}{other}")).collect())
        })
        .collect()
}

/// Tests the tests: imports are found in each way of writing them.
#[test]
fn imports_are_found_however_they_are_written() {
    let imports = imports();
    let has = |file: &str, other: &str| assert!(imports[file].contains(other), "{file}: {:?}", imports[file]);
    has("domain::log::events", "domain::log::cursors"); // use crate::{…{…}}
    has("limits", "limits::networks"); // use self::…
    has("limits::guesses", "limits::networks"); // use super::…
    has("api", "api::routes"); // a path through a module that is declared in the file
    let circle = BTreeMap::from([("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")].map(|(a, b)| (a.into(), [b.into()].into())));
    assert_eq!(circles(&circle), [["a", "b", "c"].map(str::to_owned)]);
}

/// The folder of a file, or the file itself, below `src`.
fn folder(module: &str) -> Option<String> {
    module.split("::").next().filter(|folder| !folder.is_empty()).map(str::to_owned)
}

/// The same below `src/domain`.
fn folder_of_domain(module: &str) -> Option<String> {
    module.strip_prefix("domain::").map(|path| format!("domain/{}", path.split("::").next().expect("splitting gives one")))
}

/// Each module of the library with those that it imports or names by a path. That a file declares another is no import.
fn imports() -> BTreeMap<String, BTreeSet<String>> {
    let sources: BTreeMap<String, String> = files(&root().join("src"))
        .into_iter()
        .filter(|file| !file.ends_with("main.rs"))
        .map(|file| {
            let path = file.strip_prefix(root().join("src")).unwrap().with_extension("");
            let module = path.to_str().unwrap().replace('/', "::");
            let module = module.strip_suffix("::mod").unwrap_or(if module == "lib" { "" } else { &module }).to_owned();
            let text = fs::read_to_string(&file).unwrap();
            let text = ["mod tests", "pub mod tests"]
                .iter()
                .fold(&*text, |text, tests| text.split(&format!("#[cfg(test)]\n{tests}")).next().unwrap());
            (module, text.lines().map(uncommented).collect::<Vec<_>>().join("\n"))
        })
        .collect();
    let is_module = |path: &str| sources.contains_key(path);
    let of = |(module, text): (&String, &String)| {
        let mut found = BTreeSet::new();
        for path in paths(module, text) {
            let segments: Vec<_> = path.split("::").collect();
            let longest = (1..=segments.len()).rev().map(|n| segments[..n].join("::")).find(|path| is_module(path));
            found.extend(longest.filter(|other| other != module));
        }
        (module.clone(), found)
    };
    sources.iter().map(of).collect()
}

/// The paths of this crate that a file names, from the crate's root.
fn paths(module: &str, text: &str) -> Vec<String> {
    let mut written = Vec::new();
    let mut code = String::new();
    for (n, part) in text.split(';').enumerate() {
        let after = |word: &str| part.rfind(word).filter(|at| *at == 0 || part[..*at].ends_with(['\n', ' ', '}', '{']));
        match after("use ") {
            Some(at) => written.extend(expanded(&part[at + 4..].replace(char::is_whitespace, ""))),
            None if n == 0 => code.push_str(part),
            None => code.push_str(&format!(";{part}")),
        }
    }
    let named = code.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').filter(|path| path.contains("::"));
    let children: Vec<_> = text
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").trim_start_matches("pub(crate) ").strip_prefix("mod "))
        .filter_map(|line| line.strip_suffix(';'))
        .collect();
    for path in named {
        let first = path.split("::").next().unwrap();
        let is_imported = written.iter().any(|used: &String| used.ends_with(&format!("::{first}")));
        if ["crate", "super", "self"].contains(&first) {
            written.push(path.to_owned());
        } else if children.contains(&first) && !is_imported {
            written.push(format!("self::{path}"));
        }
    }
    written.iter().filter_map(|path| absolute(module, path)).collect()
}

/// `a::{b, c::{d, self}}` as `a::b`, `a::c::d`, `a::c`.
fn expanded(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else { return vec![tree.to_owned()] };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    let whole = |part: &String| expanded(part).into_iter().map(|path| format!("{head}{path}")).collect::<Vec<_>>();
    parts.iter().filter(|part| !part.is_empty()).flat_map(whole).collect()
}

fn absolute(module: &str, path: &str) -> Option<String> {
    let mut segments: Vec<_> = path.split("::").collect();
    let mut base: Vec<_> = module.split("::").filter(|segment| !segment.is_empty()).collect();
    match segments[0] {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            while segments.get(1) == Some(&"super") {
                segments.remove(1);
                base.pop();
            }
            base.pop();
        }
        _ => return None,
    }
    base.extend(segments[1..].iter().filter(|segment| **segment != "self"));
    Some(base.join("::"))
}

/// Groups of modules of which each imports, by way of others, each other one.
fn circles(imports: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = imports.keys().map(|module| (module, reached(imports, module))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for module in imports.keys().filter(|module| reached[module].contains(module)) {
        let of = |other: &&&String| reached.get(*other).is_some_and(|back| back.contains(module));
        circles.insert(reached[module].iter().filter(of).map(|other| (*other).clone()).collect());
    }
    circles.into_iter().collect()
}

fn reached<'a>(imports: &'a BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<&'a String> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(module) = left.pop() {
        for other in imports.get(module).into_iter().flatten() {
            if found.insert(other) {
                left.push(other);
            }
        }
    }
    found
}
