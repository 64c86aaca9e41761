//! `model.md`: what is done, by whom, section by section; and which operations push nothing, and why.

use std::collections::BTreeMap;

use serde_json::Value;

/// The section that runs before each other section.
pub const WORLD: &str = "The world";
const SILENT: &str = "What is not pushed";

pub struct Row {
    pub who: String,
    pub method: String,
    /// The path, with `<names>` as in the body.
    pub path: String,
    pub body: String,
    /// The name that a part of the answer gets, and where that part stands.
    gives: Option<(String, String)>,
}

/// The text's tables under their headings, each row as its cells.
fn tables() -> BTreeMap<&'static str, Vec<Vec<&'static str>>> {
    let mut tables: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut heading = "";
    for line in include_str!("../model.md").lines() {
        if let Some(title) = line.strip_prefix("## ") {
            heading = title;
        } else if line.starts_with("| ") && line.contains('`') {
            let cells = line.trim_matches('|').split(" | ").map(|cell| cell.trim().trim_matches('`')).collect();
            tables.entry(heading).or_default().push(cells);
        }
    }
    tables
}

/// The rows of each section of things done.
pub fn sections() -> BTreeMap<&'static str, Vec<Row>> {
    let told = tables().into_iter().filter(|(heading, _)| *heading != SILENT);
    told.map(|(heading, rows)| (heading, rows.into_iter().map(row).collect())).collect()
}

fn row(cells: Vec<&str>) -> Row {
    let [who, operation, body, gives] = cells[..] else { panic!("four cells: {cells:?}") };
    let (method, path) = operation.split_once(' ').unwrap_or_else(|| panic!("a method and a path: {operation}"));
    let gives = gives.split_once(" = ").map(|(name, place)| (name.to_owned(), place.to_owned()));
    Row { who: who.into(), method: method.into(), path: path.into(), body: body.into(), gives }
}

/// The operations that push nothing, each with the reason.
pub fn silent() -> BTreeMap<&'static str, &'static str> {
    tables()[SILENT].iter().map(|cells| (cells[0], cells[1])).collect()
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} {} {}", self.who, self.method, self.path, self.body)
    }
}

impl Row {
    pub fn new(who: &str, method: &str, path: String, body: String) -> Row {
        Row { who: who.into(), method: method.into(), path, body, gives: None }
    }

    /// `PUT /channels/{channel_id}/archive` of `PUT /channels/<news>/archive`, among all the operations.
    pub fn operation<'a>(&self, all: &'a [String]) -> &'a str {
        let own: Vec<_> = self.path.split('?').next().unwrap().split('/').collect();
        let fits = |name: &&String| {
            let (method, path) = name.split_once(' ').unwrap();
            let path: Vec<_> = path.split('/').collect();
            let same = |(own, other): (&&str, &&str)| own == other || other.starts_with('{');
            method == self.method && path.len() == own.len() && own.iter().zip(&path).all(same)
        };
        // `backend-queue` is no slug.
        let found = all.iter().filter(fits).min_by_key(|name| name.matches('{').count());
        found.unwrap_or_else(|| panic!("no operation: {} {}", self.method, self.path))
    }

    /// Keeps what the answer gives.
    pub fn keep(&self, answer: &Value, names: &mut BTreeMap<String, String>) {
        let Some((name, place)) = &self.gives else { return };
        let found = answer.pointer(place).unwrap_or_else(|| panic!("no {place} for {name}: {answer:#}"));
        names.insert(name.clone(), found.as_str().map_or_else(|| found.to_string(), str::to_owned));
    }
}

/// The text with what the names stand for.
pub fn filled(text: &str, names: &BTreeMap<String, String>) -> String {
    let filled = names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value));
    assert!(!filled.contains('<'), "an unknown name: {filled}");
    filled
}
