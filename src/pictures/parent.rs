//! The server's side: starts the child, takes what it says, and ends it in time.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{LazyLock, OnceLock},
    thread::available_parallelism,
    time::Duration,
};

use tokio::{io::AsyncReadExt, process::Command, sync::Semaphore, time::timeout};

use super::{
    child::COMMAND,
    picture::{Look, Picture, PictureLine, Piece, Purpose},
};
use crate::error::{Code, Error, Result};

/// How long a child may take. Its processor time ends long before.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long its end is awaited once it is killed: what waits for a disk does not end before that answers.
const DYING: Duration = Duration::from_secs(1);
/// Bytes that a child may say: a copy that shines through has up to 6 MB, and the pieces of a file less than 1.
const MOST: u64 = 16 << 20;
/// Bytes of a file that stand for what was left out.
const MOST_OF_NEW: usize = 1000;
/// Bytes of memory that there must be for each child at work: twice what it may take.
const EACH: u64 = 1 << 30;

/// The program that tests run children with. A server runs its own, whatever became of its file.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// As many children at once as there are cores, and as fit into the memory.
static SLOTS: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, usize::from);
    Semaphore::new(cores.min((memory() / EACH) as usize).max(1))
});

/// Bytes of memory that this machine has, or that its container may take.
fn memory() -> u64 {
    let system = rustix::system::sysinfo();
    let bound = fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|bound| bound.trim().parse().ok());
    (system.totalram as u64 * u64::from(system.mem_unit)).min(bound.unwrap_or(u64::MAX))
}

/// Has the children run by the program at a path. For tests, whose own has no such command.
pub fn run_by(program: &Path) {
    _ = PROGRAM.set(program.to_owned());
}

/// Looks at the picture in a file, which is open for reading at its beginning, once a slot is free. What can't be decoded is a file like
/// others. 503 if no child could do its work: what a picture tells of its maker must not be kept by accident.
pub async fn look(file: File, purpose: Purpose) -> Result<Look> {
    let length = file.metadata().map_err(Error::internal)?.len();
    let _slot = SLOTS.acquire().await.map_err(Error::internal)?;
    let why = match said(file, purpose).await {
        Ok(said) => match read(&said, length) {
            Some(look) => return Ok(look),
            None => "it said nothing".into(),
        },
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            tracing::warn!("without /proc no picture has copies, and all keep what they tell of their makers");
            return Ok(Look::default());
        }
        Err(err) => err.to_string(),
    };
    tracing::error!(why, "the child that looks at a picture failed");
    Err(Error::Unavailable(Code::Overloaded, "Pictures can't be looked at now. Send it again later"))
}

/// What a child says, as far as it came.
async fn said(file: File, purpose: Purpose) -> io::Result<Vec<u8>> {
    let mut child = Command::new(PROGRAM.get().map_or(Path::new("/proc/self/exe"), PathBuf::as_path))
        .args([COMMAND, purpose.name()])
        .env_clear()
        .envs([("MIMALLOC_ARENA_RESERVE", "0")]) // else the allocator takes a gigabyte of addresses, which are bounded
        .stdin(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    let mut said = Vec::new();
    if let Some(output) = child.stdout.take() {
        let ended = timeout(PATIENCE, async {
            output.take(MOST).read_to_end(&mut said).await?;
            child.wait().await
        });
        match ended.await {
            Ok(Ok(status)) if status.success() => {}
            ended => {
                tracing::info!(?ended, "a picture can't be shown");
                _ = child.start_kill();
                _ = timeout(DYING, child.wait()).await;
            }
        }
    }
    Ok(said)
}

/// What was said of a file of this length, as far as it is whole; none without the first line.
fn read(said: &[u8], length: u64) -> Option<Look> {
    let (kept, rest) = line(said)?;
    let kept: Option<Vec<Piece>> = serde_json::from_slice(kept).ok()?;
    Some(Look { kept: kept.filter(|pieces| are_of(pieces, length)), picture: picture(rest) })
}

/// Whether pieces follow each other in a file of this length, with little between them. A decoder that somebody has taken over may say
/// anything.
fn are_of(pieces: &[Piece], length: u64) -> bool {
    let (mut at, mut new) = (0, 0);
    pieces.iter().all(|piece| match piece {
        Piece::Kept(range) => {
            let follows = at <= range.start && range.start <= range.end && range.end <= length;
            at = range.end;
            follows
        }
        Piece::New(bytes) => {
            new += bytes.len();
            new <= MOST_OF_NEW
        }
    })
}

fn picture(said: &[u8]) -> Option<Picture> {
    let (found, copies) = line(said)?;
    let PictureLine { appearance, lengths: [small, large] } = serde_json::from_slice(found).ok()?;
    let (small, rest) = copies.split_at_checked(small)?;
    let copies = [small.to_vec(), (rest.len() == large).then(|| rest.to_vec())?];
    Some(Picture { appearance, copies })
}

fn line(said: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = said.iter().position(|byte| *byte == b'\n')?;
    Some((&said[..end], &said[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn what_a_child_said_before_it_was_ended_counts() {
        let kept = br#"[{"Kept":{"start":0,"end":20}},{"New":[1,2]}]"#;
        let found = br##"{"appearance":{"width":3,"height":2,"color":"#0a0b0c"},"lengths":[1,2]}"##;
        let all = [&kept[..], b"\n", found, b"\nabb"].concat();
        let read = |said: &[u8]| read(said, 20);
        let look = read(&all).unwrap();
        assert_eq!(look.kept, Some(vec![Piece::Kept(0..20), Piece::New(vec![1, 2])]));
        assert_eq!(look.picture.unwrap().copies, [b"a".to_vec(), b"bb".to_vec()]);
        for length in kept.len() + 1..all.len() {
            let look = read(&all[..length]).unwrap();
            assert!(look.kept.is_some() && look.picture.is_none(), "{length}");
        }
        for length in 0..=kept.len() {
            assert!(read(&all[..length]).is_none());
        }
    }

    #[test]
    fn pieces_that_are_not_of_the_file_do_not_count() {
        let kept = |start, end| Piece::Kept(start..end);
        assert!(are_of(&[kept(0, 5), Piece::New(vec![1; MOST_OF_NEW]), kept(5, 5), kept(7, 20)], 20));
        for pieces in [
            vec![kept(0, 21)],
            vec![kept(5, 4)],
            vec![kept(0, 10), kept(9, 20)],
            vec![kept(0, 10), kept(0, 10)],
            vec![Piece::New(vec![1; MOST_OF_NEW]), Piece::New(vec![1])],
        ] {
            assert!(!are_of(&pieces, 20), "{pieces:?}");
        }
    }
}
