//! Each code is met with each of its statuses: by a row of the tables, or in a test that names it.

use std::{collections::BTreeSet, fs, path::Path};

use tidings::error::Code;

use super::table;
use crate::documents::root;

#[test]
fn every_code_is_met_with_each_of_its_statuses() {
    let mut met: BTreeSet<(String, String)> = table().into_iter().map(|row| (row.status, row.code)).collect();
    for folder in ["tests/api", "tests/cli"] {
        read(&root().join(folder), &mut met);
    }
    let all = Code::all().flat_map(|code| code.statuses().iter().map(move |status| (status.to_string(), code.name().to_owned())));
    let unmet: Vec<_> = all.filter(|pair| !met.contains(pair)).collect();
    assert!(unmet.is_empty(), "no test is refused with {unmet:?}");
}

/// Notes the codes that the tests in a folder expect. One of several statuses stands before the code, as in
/// `refused(422, Code::TooLong)`.
fn read(folder: &Path, met: &mut BTreeSet<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(&path, met);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            for (at, _) in text.match_indices("Code::") {
                let rest = &text[at + "Code::".len()..];
                let named = &rest[..rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len())];
                let Some(code) = Code::all().find(|code| format!("{code:?}") == named) else { continue };
                let is_meant = |status: &str| code.statuses().len() == 1 || text[..at].ends_with(&format!("{status}, "));
                let statuses = code.statuses().iter().map(u16::to_string).filter(|status| is_meant(status));
                met.extend(statuses.map(|status| (status, code.name().to_owned())));
            }
        }
    }
}
