//! Files of 50 MB that come by one connection and by eight, each in one piece.

use std::sync::Mutex;

use crate::{
    FILE, Subject, compare,
    line::{Line, in_turns},
    served::{Secured, bare, tidings},
};

const UPLOADS: &str = "/api/v1/files/uploads";

pub fn measure(tls: bool) {
    let folder = tempfile::tempdir().unwrap();
    let secured = Secured::new(tls, folder.path());
    let (ours, address, people) = tidings(folder.path(), &secured);
    let token = &people.tokens[0];
    let (theirs, beside) = bare(folder.path());
    let content: Vec<u8> = (0..FILE).map(|n| (n * 31 % 251) as u8).collect();
    let kept = Mutex::new(Vec::new());
    let subjects = [
        Subject {
            name: "Tidings",
            processes: ours.all(),
            run: Box::new(|times, connections| {
                in_turns(times, connections, address, &secured.trust, |_, line| {
                    let id = upload(line, token, &content);
                    kept.lock().unwrap().push(id);
                });
                // The disk has no room for all rounds.
                let mut line = Line::open(address, &secured.trust);
                for id in std::mem::take(&mut *kept.lock().unwrap()) {
                    let gone = head("DELETE", &format!("/api/v1/files/file/{id}"), token, 0, "");
                    assert_eq!(line.ask(&gone, b"").0, 200);
                }
            }),
        },
        Subject {
            name: "a program that hashes, writes and syncs",
            processes: theirs.all(),
            run: Box::new(|times, connections| {
                let request = head("PATCH", "/", "", FILE, "");
                let plain = crate::line::Trust::none();
                in_turns(times, connections, beside, &plain, |_, line| assert_eq!(line.ask(&request, &content).0, 204));
            }),
        },
    ];
    for connections in [1, 8] {
        compare(if tls { "upload, TLS (the program without)" } else { "upload" }, connections, &subjects);
    }
}

pub fn head(method: &str, path: &str, token: &str, length: usize, more: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\ntus-resumable: 1.0.0\r\n{more}\
         content-length: {length}\r\n\r\n"
    )
}

/// Uploads a file in one piece; gives its identifier.
pub fn upload(line: &mut Line, token: &str, content: &[u8]) -> String {
    let length = format!("upload-length: {}\r\nupload-metadata: filename Zmls\r\n", content.len());
    let path = line.begin(&head("POST", UPLOADS, token, 0, &length));
    let piece = "upload-offset: 0\r\ncontent-type: application/offset+octet-stream\r\n";
    assert_eq!(line.ask(&head("PATCH", &path, token, content.len(), piece), content).0, 204);
    path.rsplit_once('/').unwrap().1.to_owned()
}
