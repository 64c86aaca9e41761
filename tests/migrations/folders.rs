//! Folders of older releases, which other checks start a server on: `tests/root.sh` does.

use std::{fs, path::Path};

use rusqlite::Connection;

use crate::{RELEASES, database::Database};

/// Leaves a folder for each release, with a database of its version and a key.
#[test]
fn a_folder_of_each_release_is_left_for_other_checks() {
    for &(release, version) in RELEASES {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(release);
        _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        let database = Database::of(release, version);
        for file in ["tidings.db", "secret.key"] {
            fs::copy(database.folder.path().join(file), folder.join(file)).unwrap();
        }
        let left = Connection::open(folder.join("tidings.db")).unwrap();
        let found: u32 = left.query_row("pragma user_version", (), |row| row.get(0)).unwrap();
        assert_eq!(found, version, "{release}");
    }
}
