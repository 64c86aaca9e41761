//! The server's side: starts the child, takes what it says, and ends it in time.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{LazyLock, OnceLock},
    thread::available_parallelism,
    time::Duration,
};

use tokio::{
    io::AsyncReadExt,
    process::{ChildStdout, Command},
    sync::Semaphore,
    time::timeout,
};

use super::{
    child::COMMAND,
    picture::{Look, Picture, PictureLine, Purpose},
};

/// How long a child may take. Its processor time ends long before.
const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes that a child may say: its two copies have a fraction of them.
const MOST: u64 = 16 << 20;
/// Bytes of memory below which one child runs at a time.
const LITTLE_MEMORY: u64 = 2 << 30;

/// The program of this process, whatever became of its file. Tests run in another one.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// As many children at once as there are cores.
static TURNS: LazyLock<Semaphore> = LazyLock::new(|| {
    let has_much = memory().is_none_or(|bytes| bytes >= LITTLE_MEMORY);
    Semaphore::new(if has_much { available_parallelism().map_or(1, usize::from) } else { 1 })
});

fn memory() -> Option<u64> {
    let system = rustix::system::sysinfo();
    Some(system.totalram as u64 * u64::from(system.mem_unit))
}

/// Has the children run by the program at a path. For tests, whose own has no such command.
pub fn run_by(program: &Path) {
    _ = PROGRAM.set(program.to_owned());
}

/// Looks at the picture in a file, which is open for reading at its beginning, once it is its turn. Whatever goes wrong, the picture
/// is a file like others.
pub async fn look(file: File, purpose: Purpose) -> Look {
    let Ok(_turn) = TURNS.acquire().await else { return Look::default() };
    match said(file, purpose).await {
        Ok(said) => read(&said),
        Err(err) => {
            tracing::warn!(%err, "a picture could not be looked at: it has no preview, and keeps what it tells of its maker");
            Look::default()
        }
    }
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
        let whole = timeout(PATIENCE, take(output, &mut said)).await;
        if !matches!(whole, Ok(Ok(()))) || said.len() as u64 == MOST {
            child.start_kill()?;
        }
    }
    let status = child.wait().await?;
    if !status.success() {
        tracing::info!(%status, "a picture can't be shown");
    }
    Ok(said)
}

async fn take(output: ChildStdout, said: &mut Vec<u8>) -> io::Result<()> {
    output.take(MOST).read_to_end(said).await.map(drop)
}

/// What was said, as far as it is whole.
fn read(said: &[u8]) -> Look {
    let Some((kept, rest)) = line(said) else { return Look::default() };
    Look { kept: serde_json::from_slice(kept).unwrap_or_default(), picture: picture(rest) }
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
    use crate::pictures::picture::Piece;

    #[test]
    fn what_a_child_said_before_it_was_ended_counts() {
        let kept = br#"[{"Kept":{"start":0,"end":20}},{"New":[1,2]}]"#;
        let found = br##"{"appearance":{"width":3,"height":2,"color":"#0a0b0c"},"lengths":[1,2]}"##;
        let all = [&kept[..], b"\n", found, b"\nabb"].concat();
        let look = read(&all);
        assert_eq!(look.kept, Some(vec![Piece::Kept(0..20), Piece::New(vec![1, 2])]));
        assert_eq!(look.picture.unwrap().copies, [b"a".to_vec(), b"bb".to_vec()]);
        for length in kept.len() + 1..all.len() {
            let look = read(&all[..length]);
            assert!(look.kept.is_some() && look.picture.is_none(), "{length}");
        }
        for length in 0..=kept.len() {
            assert!(read(&all[..length]).kept.is_none());
        }
    }
}
