//! The binary itself, and its installer.

use std::process::Command;

use serde_json::Value;

use crate::harness::{BINARY, printed, refused, run, tidings};

#[test]
fn the_binary_is_static() {
    let elf = std::fs::read(BINARY).unwrap();
    assert_eq!(&elf[..5], b"\x7fELF\x02", "a 64-bit ELF file");
    let number = |at: usize, bytes: usize| elf[at..at + bytes].iter().rev().fold(0_usize, |n, byte| n << 8 | usize::from(*byte));
    let (headers, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let kinds: Vec<usize> = (0..count).map(|n| number(headers + n * size, 4)).collect();
    const PT_INTERP: usize = 3;
    assert!(!kinds.contains(&PT_INTERP), "it asks for a dynamic loader");
}

#[test]
fn the_installer_puts_the_binary_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/install.sh");
    let prefix = folder.path().join("usr");
    let install = |more: &[&str]| {
        let mut command = Command::new("sh");
        command.arg(script).arg("--prefix").arg(&prefix).args(more);
        command.output().unwrap()
    };
    let settings = folder.path().join("tidings.env");
    printed(&install(&["--binary", BINARY, "--service", "--env-file", settings.to_str().unwrap()]));
    let installed = prefix.join("bin/tidings");
    let version = Command::new(&installed).arg("version").output().unwrap();
    assert_eq!(printed(&version), concat!("tidings ", env!("CARGO_PKG_VERSION"), "\n"));
    let unit = std::fs::read_to_string(prefix.join("lib/systemd/system/tidings.service")).unwrap();
    for line in [
        format!("ExecStart={} serve", installed.display()),
        format!("ExecStartPre={} config check", installed.display()),
        format!("LoadCredential=tidings:{}", folder.path().join("tidings.secrets").display()),
        "Type=notify".into(),
        "LimitCORE=0".into(),
        "Environment=MIMALLOC_PURGE_DELAY=0".into(),
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}: {unit}");
    }
    for file in ["man/man1/tidings.1", "man/man1/tidings-user-list.1", "zsh/site-functions/_tidings"] {
        assert!(std::fs::metadata(prefix.join("share").join(file)).unwrap().len() > 0, "{file}");
    }
    refused(&install(&["--binary", "/nowhere/tidings"]), "/nowhere/tidings");
    refused(&install(&["--nonsense"]), "--nonsense");
    printed(&install(&["--uninstall"]));
    assert!(!installed.exists() && settings.exists() && !prefix.join("share/man/man1/tidings.1").exists());
}

#[test]
fn the_documents_are_printed() {
    let document: Value = serde_json::from_str(&printed(&run(&["asyncapi"]))).unwrap();
    assert_eq!(document["asyncapi"], "3.0.0");
    let document: Value = serde_json::from_str(&printed(&run(&["openapi"]))).unwrap();
    assert_eq!(document["openapi"], "3.0.0");
    assert!(document["paths"]["/channels/{channel_id}/messages"]["post"].is_object());
    assert_eq!(printed(&run(&["version"])), printed(&run(&["--version"])));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for command in [&["openapi"][..], &["man"], &["completions", "bash"], &["completions", "zsh"], &["config", "default"]] {
        let mut process = tidings(command).spawn().unwrap();
        drop(process.stdout.take()); // before anything is printed, mostly; the document is larger than a pipe
        let output = process.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}
