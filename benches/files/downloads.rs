//! A file of 50 MB, which lies in the memory of the machine, read by one connection and by fifty.

use std::fs;

use crate::{
    FILE, Subject, compare,
    line::{Line, in_turns},
    served::{Secured, nginx, tidings},
    uploads,
};

pub fn measure(tls: bool) {
    let folder = tempfile::tempdir().unwrap();
    let secured = Secured::new(tls, folder.path());
    let (ours, address, people) = tidings(folder.path(), &secured);
    let content = vec![b'x'; FILE];
    let mut line = Line::open(address, &secured.trust);
    let id = uploads::upload(&mut line, &people.tokens[0], &content);
    let post = format!("{{\"content\":\"\",\"files\":[\"{id}\"]}}");
    let head = uploads::head(
        "POST",
        &format!("/api/v1{}", people.messages),
        &people.tokens[0],
        post.len(),
        "content-type: application/json\r\n",
    );
    assert_eq!(line.ask(&head, post.as_bytes()).0, 201);
    drop(line);
    fs::create_dir(folder.path().join("served")).unwrap();
    fs::write(folder.path().join("served/film.txt"), &content).unwrap();
    let (theirs, beside) = nginx(folder.path(), &secured);
    let get =
        |path: &str, token: &str| format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {token}\r\n\r\n");
    let own: Vec<_> = people.tokens.iter().map(|token| get(&format!("/api/v1/files/{id}/film.txt"), token)).collect();
    let foreign = get("/film.txt", "");
    let read = |head: &str, line: &mut Line| assert_eq!(line.ask(head, b""), (200, FILE));
    let subjects = [
        Subject {
            name: "Tidings",
            processes: ours.all(),
            run: Box::new(|times, connections| {
                in_turns(times, connections, address, &secured.trust, |n, line| read(&own[n % own.len()], line));
            }),
        },
        Subject {
            name: "nginx",
            processes: theirs.all(),
            run: Box::new(|times, connections| {
                in_turns(times, connections, beside, &secured.trust, |_, line| read(&foreign, line));
            }),
        },
    ];
    for connections in [1, 50] {
        compare(if tls { "download, TLS" } else { "download" }, connections, &subjects);
    }
}
