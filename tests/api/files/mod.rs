//! Files: uploads, messages that show them, who opens them, and their end.

mod downloads;
mod in_messages;
pub mod pictures;
mod removal;
mod resumable;
mod rights;
mod uploads;

use std::path::{Path, PathBuf};

pub use crate::harness::PNG;
use crate::harness::Server;

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
