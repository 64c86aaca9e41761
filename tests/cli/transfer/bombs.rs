//! Exports and backups that were made to take all memory, all space or all time, and the largest ones that are allowed.

use std::{fs, io::Write, path::Path};

use super::{Export, empty, export, scene::Scene, text_of};
use crate::{
    backups::{back_up, restore},
    harness::{Admin, Dice, Server, printed, refused},
    slack::bombs::{MEMORY, measured},
};

const MIB: usize = 1 << 20;

/// The tar in an archive.
fn unpacked(file: &Path) -> Vec<u8> {
    zstd::decode_all(fs::File::open(file).unwrap()).unwrap()
}

fn pack(tar: &[u8], window_log: u32, to: &Path) {
    let mut encoder = zstd::Encoder::new(fs::File::create(to).unwrap(), 1).unwrap();
    encoder.window_log(window_log).unwrap();
    encoder.write_all(tar).unwrap();
    encoder.finish().unwrap();
}

#[test]
fn archives_that_unpack_to_more_than_they_may_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    empty(&at("data"));
    back_up(&at("data"), &at("good.tar.zst"), &[]);
    let tar = unpacked(&at("good.tar.zst"));
    let restored = |tar: &[u8], window_log: u32| {
        pack(tar, window_log, &at("bad"));
        restore(&at("bad"), &at("data"), &["--dry-run"])
    };
    printed(&restored(&tar, 23));
    refused(&restored(&tar, 24), "Frame requires too much memory for decoding");
    printed(&restored(&[&tar[..], &vec![0; MIB - 1024]].concat(), 20));
    refused(&restored(&[&tar[..], &vec![0; MIB + 1024]].concat(), 20), "more than 1 MiB behind its parts");

    let entry = |name: &str, kind: tar::EntryType, size: u64, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_path(name).unwrap();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        let mut block = header.as_bytes().to_vec();
        block.extend(content);
        block.resize(block.len().next_multiple_of(512), 0);
        block
    };
    let manifest = |bytes: u64| {
        serde_json::json!({ "format": 1, "kind": "backup", "tidings": "0.1.0", "schema": 1, "created_at": "2026-01-01T00:00:00Z", "tables": {},
            "parts": [{ "name": "tidings.db", "bytes": bytes, "sha256": "0" }] })
        .to_string()
    };
    let file = |content: &str| entry("manifest.json", tar::EntryType::Regular, content.len() as u64, content.as_bytes());
    let padded = |bytes: usize| manifest(1) + &" ".repeat(bytes - manifest(1).len());
    refused(&restored(&file(&padded(MIB)), 20), "tidings.db is missing");
    refused(&restored(&file(&padded(MIB + 1)), 20), "it does not begin with manifest.json");
    refused(&restored(&file(&manifest(1 << 50)), 20), "the unpacked backup needs 1073741824 MiB of free space in ");
    // A file with holes that claims a terabyte, and one that is shorter than it says.
    let sparse = entry("tidings.db", tar::EntryType::GNUSparse, 4096, &[7; 512]);
    refused(&restored(&[file(&manifest(4096)), sparse].concat(), 20), "this is no complete archive");
    let short = entry("tidings.db", tar::EntryType::Regular, 4096, &[7; 512]);
    refused(&restored(&[file(&manifest(4096)), short].concat(), 20), "this is no complete archive");
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

/// The export of another server's organisation, beside an empty server `data`.
async fn exported(folder: &Path) -> Export {
    let other = folder.join("other");
    let server = Server::start(&other, &[]);
    Scene::make(&server, &other).await;
    drop(server);
    empty(&folder.join("data"));
    export(&other, "engines", &folder.join("good"))
}

#[tokio::test]
async fn the_largest_exports_are_imported_with_bounded_memory() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let good = exported(folder.path()).await;
    let import = |what: &str| {
        let (output, peak) = measured(&["org", "import", text_of(&at("bad")), "--dry-run", "--data-dir", text_of(&at("data"))]);
        println!("{what}: {peak} MiB");
        assert!(peak < MEMORY, "{what}: {peak} MiB");
        output
    };
    let mut file = good.clone();
    let line = file.lines("people.jsonl")[0].clone();
    let id = file.record("people.jsonl", 0)["id"].as_str().unwrap().to_owned();
    let people = file.lines("people.jsonl").len();
    file.lines_mut("people.jsonl")
        .extend((people..200_000).map(|n| line.replace(&id, &format!("01900000-0000-7000-8000-{n:012x}"))));
    file.write(&at("bad"));
    printed(&import("200,000 people"));
    file.lines_mut("people.jsonl").push(line.replace(&id, "01900000-0000-7000-8000-ffffffffffff"));
    file.write(&at("bad"));
    refused(&import("200,001 people"), "the file has more than 200000 people");

    let mut file = good.clone();
    let line = file.lines("messages.jsonl")[0].clone();
    file.lines_mut("messages.jsonl")[0] = line.clone() + &" ".repeat(64 * MIB - 1 - line.len());
    file.write(&at("bad"));
    printed(&import("a line of 64 MiB"));
    file.lines_mut("messages.jsonl")[0] += " ";
    file.write(&at("bad"));
    refused(&import("a longer line"), "messages.jsonl has a line of more than 64 MiB");
    for (part, field, number) in [("messages.jsonl", "mentions", 1_001), ("channels.jsonl", "participants", 1_001)] {
        let mut file = good.clone();
        let value = if field == "mentions" {
            serde_json::json!({ "id": id, "type": "user", "username": "ada" })
        } else {
            id.as_str().into()
        };
        file.set(part, 0, field, vec![value; number]);
        file.write(&at("bad"));
        refused(&import(&format!("{number} {field}")), "more than 1000 values");
    }
    let mut file = good.clone();
    let reaction = serde_json::json!({ "emoji": "x", "person": id, "created_at": "2026-01-01T00:00:00Z" });
    file.set("messages.jsonl", 0, "reactions", vec![reaction; 500_001]);
    file.write(&at("bad"));
    refused(&import("500,001 reactions"), "more than 500000 values");
}

#[tokio::test]
async fn a_damaged_export_never_breaks_the_import() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let good = exported(folder.path()).await;
    let mut dice = Dice::of_run();
    let mut imported = 0;
    for round in 0..60 {
        let mut file = good.clone();
        let part = dice.roll(file.parts.len());
        let lines = &mut file.parts[part].1;
        let (a, b) = (dice.roll(lines.len()), dice.roll(lines.len()));
        match round % 4 {
            0 => lines.swap(a, b),
            1 => _ = lines.remove(a),
            2 => lines.insert(a, lines[b].clone()),
            _ => {
                let mut bytes = lines[a].clone().into_bytes();
                let at = dice.roll(bytes.len());
                bytes[at] = b"x0-\" "[dice.roll(5)];
                lines[a] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        file.write(&at("bad"));
        let (output, peak) = measured(&["org", "import", text_of(&at("bad")), "--dry-run", "--data-dir", text_of(&at("data"))]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "round {round}: {output:?}");
        assert!(!error.contains("panicked") && !error.contains("internal"), "round {round}: {error}");
        assert!(peak < MEMORY, "round {round}: {peak} MiB");
        imported += u32::from(output.status.success());
    }
    println!("{imported} of 60 were imported");
    assert!((5..=55).contains(&imported), "both are tried: {imported} of 60 were imported");
    assert_eq!(Admin(&at("data")).json(&["org", "list"]), serde_json::json!([]));
}
