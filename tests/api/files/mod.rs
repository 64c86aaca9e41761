//! Files: uploads, messages that show them, who opens them, and their end.

mod downloads;
mod in_messages;
mod pictures;
mod removal;
mod resumable;
mod rights;
mod uploads;

use std::path::{Path, PathBuf};

use crate::harness::Server;

/// A picture of one pixel by two.
pub const PNG: &[u8] =
    b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x02\x08\x06\x00\x00\x00\x99\x81\xb6'\
      \x00\x00\x00\x11IDATx\xdac\xf8\xcf\xc0\x00D\x0c\xff\xff\x03\x00\x11\xf8\x03\xfd\x08\xed\xb1V\x00\x00\x00\x00IE\
      ND\xaeB`\x82";

/// The files of the server that are in their places, and those that are on their way.
pub fn on_disk(server: &Server) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let folder = server.folder().join("files");
    let all = walk(&folder);
    all.into_iter().partition(|path| !path.starts_with(folder.join("incoming")))
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
