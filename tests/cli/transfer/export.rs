//! Exports as files: read, changed and written again.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Read,
    path::Path,
};

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::harness::Admin;

/// The parts of an export, each with its lines, and the contents of files by their hashes.
#[derive(Clone, PartialEq)]
pub struct Export {
    pub parts: Vec<(String, Vec<String>)>,
    pub contents: BTreeMap<String, Vec<u8>>,
}

/// Exports an organisation to a file that is not there yet, and reads it. The manifest, which has the time, is left out.
pub fn export(data: &Path, organisation: &str, to: &Path) -> Export {
    Admin(data).print(&["org", "export", organisation, to.to_str().unwrap()]);
    read(to)
}

pub fn read(from: &Path) -> Export {
    let mut tar = tar::Archive::new(zstd::Decoder::new(File::open(from).unwrap()).unwrap());
    let (mut parts, mut contents) = (Vec::new(), BTreeMap::new());
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        if name.contains('.') {
            parts.push((name, String::from_utf8(content).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()));
        } else {
            contents.insert(name, content);
        }
    }
    let (name, _) = parts.remove(0);
    assert_eq!(name, "manifest.json");
    Export { parts, contents }
}

impl Export {
    pub fn lines(&self, part: &str) -> &[String] {
        &self.parts.iter().find(|(name, _)| name == part).unwrap().1
    }

    pub fn lines_mut(&mut self, part: &str) -> &mut Vec<String> {
        &mut self.parts.iter_mut().find(|(name, _)| name == part).unwrap().1
    }

    /// A record of a part.
    pub fn record(&self, part: &str, n: usize) -> Value {
        serde_json::from_str(&self.lines(part)[n]).unwrap()
    }

    /// Changes one field of a record.
    pub fn set(&mut self, part: &str, n: usize, field: &str, value: impl Into<Value>) {
        let mut record = self.record(part, n);
        record[field] = value.into();
        self.lines_mut(part)[n] = record.to_string();
    }

    /// The number of the first message with files.
    pub fn with_files(&self) -> usize {
        (0..).find(|n| !self.record("messages.jsonl", *n)["files"].is_null()).unwrap()
    }

    /// Adds so many posts to the channel of the first, of which each tenth has a file.
    pub fn multiply_messages(&mut self, number: u32) {
        let mut message = self.record("messages.jsonl", 0);
        let mut file = self.record("messages.jsonl", self.with_files())["files"][0].clone();
        for n in 0..number {
            message["id"] = json!(format!("01900000-0000-7000-8000-{n:012x}"));
            message["content"] = json!(format!("post {n}"));
            file["id"] = json!(format!("01900000-0000-7000-8001-{n:012x}"));
            message["files"] = if n % 10 == 0 { json!([file]) } else { json!([]) };
            self.lines_mut("messages.jsonl").push(message.to_string());
        }
    }

    /// Writes the parts as an archive with a right manifest.
    pub fn write(&self, to: &Path) {
        let contents: Vec<(String, String)> = self
            .parts
            .iter()
            .map(|(name, lines)| (name.clone(), lines.iter().map(|line| format!("{line}\n")).collect()))
            .collect();
        let part = |(name, content): &(String, String)| {
            let sum = digest(&SHA256, content.as_bytes());
            let sum: String = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "name": name, "bytes": content.len(), "sha256": sum })
        };
        let bytes: usize = self.contents.values().map(Vec::len).sum();
        let files = json!({ "count": 1, "bytes": bytes, "contents": self.contents.len(), "missing": 0 });
        let manifest = json!({ "format": 2, "files": files, "kind": "organisation", "tidings": "0.1.0", "schema": 1, "created_at": "2026-01-01T00:00:00Z",
            "tables": {}, "parts": contents.iter().map(part).collect::<Vec<_>>() });
        let mut tar = tar::Builder::new(zstd::Encoder::new(Vec::new(), 3).unwrap());
        let parts = [("manifest.json".to_owned(), manifest.to_string())].into_iter().chain(contents);
        for (name, content) in parts.map(|(name, text)| (name, text.into_bytes())).chain(self.contents.clone()) {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            tar.append_data(&mut header, name, content.as_slice()).unwrap();
        }
        fs::write(to, tar.into_inner().unwrap().finish().unwrap()).unwrap();
    }
}
