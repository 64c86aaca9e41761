//! The tables in `tests/api/tables/`, a file for each area of the API: who may call its operations, and what they refuse.

use std::{fs, path::PathBuf, sync::LazyLock};

const REFUSALS: &str = "## What is refused\n";

/// A file of tables.
pub struct Area {
    pub path: PathBuf,
    /// The title, and who may do what.
    pub permissions: String,
    /// What is refused, with its heading.
    pub refusals: String,
}

impl Area {
    fn read(path: PathBuf) -> Area {
        let text = fs::read_to_string(&path).unwrap();
        let at = text.find(REFUSALS).unwrap_or_else(|| panic!("{}: no refusals", path.display()));
        let (permissions, refusals) = text.split_at(at);
        Area { permissions: permissions.to_owned(), refusals: refusals.to_owned(), path }
    }

    /// The tags that the operations have in the OpenAPI document.
    pub fn tags(&self) -> impl Iterator<Item = &str> {
        let title = self.permissions.lines().next().and_then(|line| line.strip_prefix("# "));
        title.expect("a file begins with its title").split(", ")
    }
}

/// All areas, by the names of their files. They are read once, because a run that renews refusals writes the files.
pub fn areas() -> &'static [Area] {
    static AREAS: LazyLock<Vec<Area>> = LazyLock::new(|| {
        let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/tables")).unwrap();
        let mut paths: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| !path.ends_with("README.md"));
        paths.sort();
        paths.into_iter().map(Area::read).collect()
    });
    &AREAS
}

pub fn is_row(line: &str) -> bool {
    line.starts_with("| `")
}

/// The cells of a table's rows, without backticks.
pub fn rows(table: &str) -> impl Iterator<Item = Vec<String>> {
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect();
    table.lines().filter(|line| is_row(line)).map(cells)
}
