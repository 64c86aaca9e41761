//! Archives that were made to take all memory or to break the import, the largest ones that are allowed, and random damage.

use std::{
    fs::File,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::json;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::{generate, left_out, pack};
use crate::{
    harness::{Admin, BINARY, Dice, refused},
    transfer::{empty, text_of},
};

/// Mebibytes of memory that an import may use: 300 MB.
pub const MEMORY: f64 = 286.0;

/// Runs a command, and returns the most memory that it has used, in MiB: the allocator prints it at the end. The shell between
/// keeps the memory of the tests out of that: a process begins with the peak of the one that it was forked from.
pub fn measured(args: &[&str]) -> (Output, f64) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "\"$0\" \"$@\"; exit $?", BINARY]).args(args).env_clear().env("MIMALLOC_SHOW_STATS", "1");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    let peak = error.split("peak rss: ").nth(1).and_then(|rest| rest.split_once(' ')).unwrap_or_else(|| panic!("{error}"));
    let unit = if peak.1.starts_with("GiB") { 1024.0 } else { 1.0 };
    let peak = peak.0.parse::<f64>().unwrap() * unit;
    (output, peak)
}

/// Imports without writing. Fails if that takes too much memory.
#[track_caller]
fn rehearsed(data: &Path, file: &Path, what: &str) -> Output {
    let args = ["import", "slack", text_of(file), "--name", "Engines", "--dry-run", "--json", "--data-dir", text_of(data)];
    let (output, peak) = measured(&args);
    println!("{what}: {peak} MiB");
    assert!(peak < MEMORY, "{what}: {peak} MiB");
    output
}

#[track_caller]
fn report(output: &Output) -> serde_json::Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Writes a zip of an export with a channel, more people than its owner, and days of that channel.
fn write(to: &Path, people: &str, days: &[(&str, &str)]) {
    let owner = r#"{"id":"U0","name":"ada","is_primary_owner":true,"profile":{"email":"ada@x.example"}}"#;
    let mut zip = ZipWriter::new(File::create(to).unwrap());
    let mut entry = |path: &str, content: &str| {
        zip.start_file(path, SimpleFileOptions::default().compression_method(CompressionMethod::Stored)).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    };
    entry("users.json", &format!("[{owner}{people}]"));
    entry("channels.json", r#"[{"id":"C1","name":"dev","members":["U0"]}]"#);
    days.iter().for_each(|(day, content)| entry(&format!("dev/{day}.json"), content));
    zip.finish().unwrap();
}

fn message(n: usize, more: &str) -> String {
    format!(r#"{{"type":"message","user":"U0","text":"hello","ts":"1577836800.{n:06}"{more}}}"#)
}

/// A list of so many values, all alike.
fn list(value: &str, number: usize) -> String {
    format!("[{}]", vec![value; number].join(","))
}

#[test]
fn the_largest_imports_take_less_memory_than_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    empty(&data);
    // People with long identifiers, and those whom only a reaction names, up to the most that may be held: 64 MiB.
    let long = |number: usize| -> String {
        (0..number).map(|n| format!(r#",{{"id":"{n:0>60000}","profile":{{"email":"u{n}@x.example"}}}}"#)).collect()
    };
    let unknown: Vec<_> = (0..5_000).map(|n| format!("\"V{n}\"")).collect();
    let reactions = format!(r#","reactions":[{{"name":"eyes","users":[{}]}}]"#, unknown.join(","));
    // The empty pieces of blocks take the most memory for their text; a message may have 4 MiB.
    let pieces = list(&format!(r#"{{"elements":{}}}"#, list("{}", 9_999)), 138);
    let blocks = format!(r#","blocks":[{{"type":"rich_text","elements":{pieces}}}]"#);
    let texts = format!(r#","x":"{}""#, "y".repeat(1 << 20));
    let messages = |number: usize| {
        let all = (0..number).map(|n| message(n, &texts)).chain([message(900, &blocks), message(901, &reactions)]);
        format!("[{}]", all.collect::<Vec<_>>().join(","))
    };
    write(&file, &long(1_050), &[("2020-01-01", &messages(40))]);
    let largest = report(&rehearsed(&data, &file, "people, a day and messages at their bounds"));
    assert_eq!(
        left_out(&largest)["people who are not in the list of people: an account that nobody can use stands for each"],
        5_000
    );
    write(&file, &long(1_100), &[("2020-01-01", &messages(1))]);
    refused(&rehearsed(&data, &file, "more people"), "more than 64 MiB of memory");

    let (mut files, _) = generate(20);
    let padded = |bytes: usize| json!([{ "type": "message", "user": "U0", "text": "x", "ts": "1577836800.000001", "x": "y".repeat(bytes) }]);
    let rest = padded(0).to_string().len() - 2;
    files.insert("dev/2020-01-01.json".into(), padded((4 << 20) - rest));
    pack(&file, &files);
    report(&rehearsed(&data, &file, "a message at its bound"));
    files.insert("dev/2020-01-01.json".into(), padded((4 << 20) - rest + 1));
    pack(&file, &files);
    refused(&rehearsed(&data, &file, "a larger message"), "dev/2020-01-01.json has a value of more than 4 MiB");
}

#[test]
fn a_zip_of_a_million_entries_is_imported_and_one_of_more_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    empty(&data);
    write(&file, "", &[("2020-01-01", &format!("[{}]", message(1, "")))]);
    let whole = std::fs::read(&file).unwrap();
    let with_entries = |number: usize| std::fs::write(&file, multiplied(&whole, number)).unwrap();
    with_entries(1_000_000);
    let imported = report(&rehearsed(&data, &file, "a million entries"));
    assert_eq!(left_out(&imported)["days of folders that no list of channels names"], 1_000_000 - 3);
    with_entries(1_000_001);
    refused(&rehearsed(&data, &file, "more entries"), "the zip has 1000001 entries, at most 1000000 are allowed");
}

/// A zip with so many entries in its list, most of which are the last one under other names.
fn multiplied(zip: &[u8], number: usize) -> Vec<u8> {
    let number_at = |at: usize| u32::from_le_bytes(zip[at..at + 4].try_into().unwrap()) as usize;
    let end = zip.len() - 22;
    let (start, size) = (number_at(end + 16), number_at(end + 12));
    let last = zip[..end].windows(4).rposition(|four| four == b"PK\x01\x02").unwrap();
    let mut all = zip[..start + size].to_vec();
    for n in 3..number {
        let name = format!("{n:07x}/2020-01-01.json");
        let mut header = zip[last..last + 46].to_vec();
        header[28..30].copy_from_slice(&(name.len() as u16).to_le_bytes());
        header[30..34].fill(0); // neither an extra field nor a comment
        all.extend(header);
        all.extend(name.into_bytes());
    }
    let (directory, bytes) = (all.len(), all.len() - start);
    let long = |number: usize| (number as u64).to_le_bytes();
    all.extend(
        [&b"PK\x06\x06"[..], &long(44), &[45, 0, 45, 0], &[0; 8], &long(number), &long(number), &long(bytes), &long(start)]
            .concat(),
    );
    all.extend([&b"PK\x06\x07"[..], &[0; 4], &long(directory), &[1, 0, 0, 0]].concat());
    all.extend([&b"PK\x05\x06"[..], &[0; 4], &[0xff; 12], &[0; 2]].concat());
    all
}

#[test]
fn bombs_are_refused_or_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("export.zip"));
    empty(&data);
    let import = |day: &str, what: &str| {
        write(&file, "", &[("2020-01-01", day)]);
        rehearsed(&data, &file, what)
    };
    let of = |more: &str| format!("[{},{}]", message(1, ""), message(2, more));
    let attachments = |number| of(&format!(r#","attachments":{}"#, list("{}", number)));
    refused(&import(&attachments(6_000_000), "6,000,000 attachments"), "has a value of more than 4 MiB");
    let is_left_out =
        |output: &Output, reason: &str, number: u64| assert_eq!(left_out(&report(output)).get(reason), Some(&number));
    let unreadable = "messages that are not in a form that Slack documents";
    is_left_out(&import(&attachments(1_300_000), "1,300,000 attachments"), unreadable, 1);
    is_left_out(&import(&attachments(101), "101 attachments"), unreadable, 1);
    assert_eq!(report(&import(&attachments(100), "100 attachments"))["left_out"], json!([]));
    let fields = of(&format!(r#","attachments":{}"#, list(&format!(r#"{{"fields":{}}}"#, list("{}", 13_000)), 100)));
    import(&fields, "1,300,000 fields");
    let blocks = |blocks: String| of(&format!(r#","blocks":{blocks}"#));
    let unknown = "blocks that are not in a form that Slack documents";
    is_left_out(&import(&blocks(list("{}", 1_300_000)), "1,300,000 blocks"), unknown, 1);
    is_left_out(&import(&blocks("[".repeat(100_000) + &"]".repeat(100_000)), "blocks 100,000 deep"), unknown, 1);
    let quoted =
        list(r#"{"type":"rich_text_quote","elements":[{"type":"text","text":"NN"}]}"#, 1).replace("NN", &"\\n".repeat(1_000_000));
    import(&blocks(format!(r#"[{{"type":"rich_text","elements":{quoted}}}]"#)), "a quote of 1,000,000 lines");
    for piece in ["<", ":", "`", "<@U0>"] {
        let text = piece.repeat(300_000);
        import(&format!("[{}]", message(1, "").replace("hello", &text)), &format!("{piece} 300,000 times"));
    }
    let kinds: Vec<_> =
        (0..50_000).map(|n| format!(r#"{{"type":"message","subtype":"kind {n}","ts":"1577836800.000001"}}"#)).collect();
    let reported = report(&import(&format!("[{}]", kinds.join(",")), "50,000 kinds of messages"));
    assert_eq!(left_out(&reported)["other things, for other reasons"], 49_000);
    is_left_out(&import(&format!("[{}]", vec!["7"; 200_000].join(",")), "200,000 numbers"), unreadable, 200_000);
    refused(&import(&format!("[{}]", vec!["7"; 200_001].join(",")), "200,001 numbers"), "more than 200000 values");
}

/// Changes an archive at random, as often as the number of rounds says: bits, lengths, order, and the texts in it.
#[test]
fn damaged_archives_are_refused_or_imported_and_never_break_the_import() {
    let folder = tempfile::tempdir().unwrap();
    let (data, good, bad) = (folder.path().join("data"), folder.path().join("good.zip"), folder.path().join("bad.zip"));
    empty(&data);
    let (files, _) = generate(60);
    pack(&good, &files);
    let whole = std::fs::read(&good).unwrap();
    let directory = whole.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let (mut dice, mut imported, mut most) = (Dice::of_run(), 0, 0.0_f64);
    for round in 0..120 {
        let mut bytes = whole.clone();
        match round % 6 {
            0 => bytes.truncate(dice.roll(whole.len())),
            1 => (0..4).for_each(|_| bytes[dice.roll(whole.len())] ^= 1 << dice.roll(8)),
            2 => (0..4).for_each(|_| bytes[directory + dice.roll(whole.len() - directory)] = dice.roll(256) as u8),
            3 => {
                let (from, to, length) = (dice.roll(whole.len()), dice.roll(whole.len()), dice.roll(200));
                let moved = whole[from..(from + length).min(whole.len())].to_vec();
                bytes.splice(to..to, moved);
            }
            _ => bytes = torn(&files, &mut dice, &bad),
        }
        std::fs::write(&bad, &bytes).unwrap();
        let args = ["import", "slack", text_of(&bad), "--name", "Engines", "--dry-run", "--data-dir", text_of(&data)];
        let (output, peak) = measured(&args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "round {round}: {output:?}");
        assert!(!error.contains("panicked") && !error.contains("internal"), "round {round}: {error}");
        assert!(output.status.success() || error.starts_with("tidings: "), "round {round}: {error}");
        assert!(peak < MEMORY, "round {round}: {peak} MiB");
        (imported, most) = (imported + u32::from(output.status.success()), most.max(peak));
    }
    println!("{imported} of 120 were imported, with at most {most} MiB");
    assert!((10..=110).contains(&imported), "both are tried: {imported} of 120 were imported");
    assert_eq!(Admin(&data).json(&["org", "list"]), json!([]));
}

/// A right zip of an export in one of whose texts some bytes are left out, doubled or replaced.
fn torn(files: &std::collections::BTreeMap<String, serde_json::Value>, dice: &mut Dice, at: &Path) -> Vec<u8> {
    let chosen = dice.roll(files.len());
    let mut zip = ZipWriter::new(File::create(at).unwrap());
    for (n, (path, content)) in files.iter().enumerate() {
        let mut text = content.to_string().into_bytes();
        if n == chosen {
            let (from, length) = (dice.roll(text.len()), dice.roll(20));
            let range = from..(from + length).min(text.len());
            let new = [Vec::new(), text[range.clone()].repeat(2), vec![b"[{\"0,:n"[dice.roll(7)]; dice.roll(3_000)]];
            text.splice(range, new[dice.roll(3)].clone());
        }
        zip.start_file(path.as_str(), SimpleFileOptions::default()).unwrap();
        zip.write_all(&text).unwrap();
    }
    zip.finish().unwrap();
    std::fs::read(at).unwrap()
}
