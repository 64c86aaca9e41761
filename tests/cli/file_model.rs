//! Files against a model, over kills: whoever may read a file gets its bytes, and everybody else 404, by its address, links, the list of
//! its channel, its message, pins, the search, uploads and deletion; and what lies on disk is what the database names, here and in what backups restore.

mod actor;
mod office;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use rusqlite::Connection;
use tokio::task::JoinSet;

use self::{
    actor::{Actor, Kept},
    office::Office,
};
use crate::{
    backups::restore,
    harness::{Dice, printed, until},
};

const ACTORS: usize = 3;
const STEPS: usize = 200;
/// Milliseconds between two kills: as long as some steps take.
const BETWEEN_KILLS: usize = 600;

#[tokio::test(flavor = "multi_thread")]
async fn files_are_whole_and_for_their_readers_over_kills_purges_and_backups() {
    let office = Office::open().await;
    let mut acting = JoinSet::new();
    for n in 0..ACTORS {
        let mut actor = Actor::new(office.clone(), n).await;
        acting.spawn(async move {
            for _ in 0..STEPS {
                actor.step().await;
                actor.look_at_doors().await;
            }
            actor
        });
    }
    let (mut dice, mut actors, mut kills) = (Dice::of_run(), Vec::new(), 0);
    while !acting.is_empty() {
        let pause = Duration::from_millis((BETWEEN_KILLS / 4 + dice.roll(BETWEEN_KILLS)) as u64);
        match tokio::time::timeout(pause, acting.join_next()).await {
            Ok(actor) => actors.extend(actor.map(Result::unwrap)),
            Err(_) => {
                office.restart("KILL").await;
                kills += 1;
            }
        }
    }
    assert!(kills > 5, "{kills} kills");

    office.stop("TERM").await;
    a_day_passes(&office.data());
    office.start().await;
    let database = Connection::open(office.data().join("tidings.db")).unwrap();
    let is_settled =
        "select (select count(*) from uploads) + (select count(*) from files where deleted_at is not null or message_n is null)";
    until("the jobs are done", async || {
        let left: i64 = database.query_row(is_settled, (), |row| row.get(0)).unwrap();
        (left == 0 && on_disk(&office.data()).len() == named(&office.data()).len()).then_some(())
    })
    .await;
    let mut expected = BTreeMap::new();
    for actor in &mut actors {
        actor.forget_untaken();
        actor.look_at_all_doors().await;
        expected.extend(actor.in_messages().into_iter().map(|kept| (kept.id, kept.content)));
    }
    assert!(!expected.is_empty());
    assert!(on_disk(&office.data()) == expected, "each file of a message is there, whole, and nothing else");
    assert!(named(&office.data()).into_iter().eq(expected.keys().cloned()));

    let backups: Vec<_> = actors.into_iter().flat_map(|actor| actor.backups).collect();
    assert!(!backups.is_empty());
    for (n, (archive, files)) in backups.into_iter().enumerate() {
        let restored = office.folder.path().join(format!("restored{n}"));
        printed(&restore(&archive, &restored, &[]));
        let bytes = on_disk(&restored);
        assert!(
            named(&restored).iter().eq(bytes.keys()),
            "each row of {} has its bytes, and the other way round",
            archive.display()
        );
        for Kept { id, content, .. } in files {
            assert!(bytes.get(&id) == Some(&content), "{id} of {}", archive.display());
        }
        fs::remove_dir_all(restored).unwrap();
    }
}

/// Everything that waits for a day to pass has waited for it.
fn a_day_passes(data: &Path) {
    let database = Connection::open(data.join("tidings.db")).unwrap();
    database.execute_batch("update files set created_at = 1 where message_n is null; update uploads set expires_at = 1").unwrap();
    for (path, _) in all_below(&data.join("files")) {
        File::options().write(true).open(path).unwrap().set_modified(UNIX_EPOCH).unwrap();
    }
}

/// The files that the database names, in the order of their identifiers.
fn named(data: &Path) -> Vec<String> {
    let database = Connection::open(data.join("tidings.db")).unwrap();
    let mut select = database.prepare("select id from files where deleted_at is null order by id").unwrap();
    let ids = select.query_map((), |row| row.get::<_, Vec<u8>>(0)).unwrap();
    ids.map(|id| uuid::Uuid::from_slice(&id.unwrap()).unwrap().to_string()).collect()
}

/// All bytes that lie in the folder of the files, by the name of each.
fn on_disk(data: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = all_below(&data.join("files")).into_iter();
    files.map(|(path, name)| (name, fs::read(path).unwrap_or_default())).collect()
}

fn all_below(folder: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap());
    let below = |entry: fs::DirEntry| match entry.path() {
        path if path.is_dir() => all_below(&path),
        path => vec![(path, entry.file_name().into_string().unwrap())],
    };
    entries.flat_map(below).collect()
}
