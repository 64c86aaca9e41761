//! An answer to a write leaves the server after the fsync of what it answers: seen from outside, by the system calls.

use std::{collections::HashMap, path::Path, process::Command};

use serde_json::json;
use tokio::time::{Duration, sleep};

use crate::harness::{BINARY, Server};

/// A server whose calls that write or sync are noted in `trace`.
fn traced(folder: &Path, trace: &Path) -> Server {
    let data = folder.to_str().unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--rate-limit", "off", "--log", "error", "--data-dir", data];
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-qq", "-s", "9000", "-e", "signal=none"]);
    command.args(["-e", "trace=pwrite64,pwritev,fsync,fdatasync,write,writev,sendto,sendmsg", "-o"]).arg(trace);
    command.arg(BINARY).args(serve).env_clear().stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    Server::spawn(&mut command)
}

/// Ends the server, whose tracer is the process that was started, and reads the trace.
fn end(mut server: Server, folder: &Path, trace: &Path) -> String {
    let data = folder.to_str().unwrap();
    assert!(Command::new("pkill").args(["-KILL", "-f", &format!("^{BINARY} serve .*{data}$")]).status().unwrap().success());
    server.end();
    std::fs::read_to_string(trace).unwrap()
}

/// Fails unless each of these texts was written into the WAL, then the WAL synced, and then the text answered.
fn check(trace: &str, texts: &[String]) {
    let lines: Vec<&str> = trace.lines().collect();
    let mut syncing: HashMap<&str, bool> = HashMap::new();
    // The lines at which a sync of the WAL has begun and ended.
    let (mut begun, mut syncs) = (HashMap::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        let (thread, call) = line.split_once(' ').unwrap_or((line, ""));
        let call = call.trim_start();
        if call.starts_with("fsync(") || call.starts_with("fdatasync(") {
            let is_wal = call.contains("tidings.db-wal>");
            syncing.insert(thread, is_wal);
            begun.insert(thread, at);
        }
        let ends = call.contains("sync(") || call.contains("sync resumed>");
        if ends && call.ends_with("= 0") && syncing.remove(thread) == Some(true) {
            syncs.push((begun[thread], at));
        }
    }
    for text in texts {
        // In the page, the mentions follow the content; in the answer, a quote.
        let (stored, answered) = (format!("{text}[]"), format!(r#"{text}\""#));
        let written = lines.iter().position(|line| line.contains("pwrite") && line.contains("-wal>") && line.contains(&stored));
        let answered = lines.iter().position(|line| line.contains("HTTP/1.1 201") && line.contains(&answered));
        let (written, answered) = (written.expect(text), answered.expect(text));
        assert!(
            syncs.iter().any(|(begun, ended)| *begun > written && *ended < answered),
            "{text} was written at line {written} and answered at {answered}, with no sync of the WAL between them"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lone_post_is_answered_after_its_fsync() {
    let (folder, trace) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let server = traced(folder.path(), trace.path());
    let (token, channel) = server.poster().await;
    let mut texts = Vec::new();
    for n in 0..20 {
        texts.push(format!("lone {n}"));
        server.post(&format!("{channel}/messages"), &token, json!({ "content": texts[n] })).await;
        sleep(Duration::from_millis(10)).await; // so that no post shares the batch of another
    }
    let trace = end(server, folder.path(), trace.path());
    check(&trace, &texts);
    let unsynced: String = trace.split_inclusive('\n').filter(|line| !line.contains("sync")).collect();
    assert!(std::panic::catch_unwind(|| check(&unsynced, &texts)).is_err(), "the trace shows whether it was synced");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_posts_of_a_batch_are_answered_after_its_fsync() {
    let (folder, trace) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let server = traced(folder.path(), trace.path());
    let (token, channel) = server.poster().await;
    let (posters, mut answers) = server.posters(32, &token, &channel, "batch");
    let mut texts = Vec::new();
    while texts.len() < 300 {
        texts.push(answers.recv().await.unwrap());
    }
    let trace = end(server, folder.path(), trace.path());
    posters.join_all().await;
    check(&trace, &texts);
}
