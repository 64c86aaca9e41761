//! The child that looks at pictures: whatever it is given, it ends, and it ends with the server.

use std::{
    fs,
    io::{Cursor, Seek, Write},
    os::unix::process::ExitStatusExt,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};

use crate::{
    file_bombs::children,
    harness::{Dice, Server, until},
};

/// Mutants of a picture of each format. `TIDINGS_MUTANTS` tries more of them.
const MUTANTS: usize = 300;

fn picture(format: ImageFormat) -> Vec<u8> {
    let image = RgbaImage::from_fn(97, 61, |x, y| Rgba([x as u8 * 2, y as u8 * 4, (x * y) as u8, 255]));
    let image = DynamicImage::from(image);
    let image = if format == ImageFormat::Jpeg { image.into_rgb8().into() } else { image };
    let mut file = Cursor::new(Vec::new());
    image.write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// What the child says of a picture.
fn look(content: &[u8]) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file.rewind().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tidings"));
    child.args(["look-at-picture", "preview"]).env_clear().env("MIMALLOC_ARENA_RESERVE", "0");
    child.stdin(file).stdout(Stdio::piped()).stderr(Stdio::null()).output().unwrap()
}

/// Changes up to eight places, or cuts the end off.
fn mutate(content: &mut Vec<u8>, dice: &mut Dice) {
    if dice.roll(10) == 0 {
        content.truncate(dice.roll(content.len()));
        return;
    }
    for _ in 0..=dice.roll(7) {
        let at = dice.roll(content.len());
        content[at] = [0, 0xff, 0x7f, 0x80, dice.roll(256) as u8][dice.roll(5)];
    }
}

/// Makes the sums of a PNG's chunks right, so that decoders look further.
fn mend_sums(content: &mut [u8]) {
    let mut at = 8;
    while let Some(length) = content.get(at..at + 4).map(|bytes| u32::from_be_bytes(bytes.try_into().unwrap()) as usize) {
        let Some(named) = content.get(at + 4..at + 8 + length) else { return };
        let sum = crc32fast::hash(named).to_be_bytes();
        let Some(place) = content.get_mut(at + 8 + length..at + 12 + length) else { return };
        place.copy_from_slice(&sum);
        at += 12 + length;
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the number is no setting")]
fn whatever_a_picture_has_become_the_child_ends_by_itself() {
    let count = std::env::var("TIDINGS_MUTANTS").map_or(MUTANTS, |count| count.parse().unwrap());
    let mut dice = Dice::of_run();
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
        let whole = picture(format);
        let shown = look(&whole);
        assert!(shown.status.success() && shown.stdout.len() > 300, "{format:?}: {shown:?}");
        let (mut refused, mut ended, mut longest) = (0, 0, Duration::ZERO);
        for _ in 0..count {
            let mut content = whole.clone();
            mutate(&mut content, &mut dice);
            if format == ImageFormat::Png {
                mend_sums(&mut content);
            }
            let began = Instant::now();
            let said = look(&content);
            longest = longest.max(began.elapsed());
            refused += usize::from(!said.status.success());
            // By an allocation that it may not have, at worst.
            ended += usize::from(said.status.signal().is_some_and(|signal| signal == 6));
            assert!(
                matches!(said.status.signal(), None | Some(6)),
                "{format:?}: {} of {:?}",
                said.status,
                content.escape_ascii().to_string()
            );
        }
        println!("{format:?}: {refused} of {count} refused, {ended} ended, the longest {} ms", longest.as_millis());
        assert!(refused > 0 && refused < count);
    }
}

/// Sends a signal to a process.
fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([&format!("-{name}"), &process.to_string()]).status().unwrap().success());
}

/// Stops the next child of the server before it has decoded its picture.
async fn stop_child(server: &Server) -> u32 {
    let child = until("a child", async || children(server).first().copied()).await;
    signal("STOP", child);
    child
}

#[tokio::test]
async fn a_child_that_hangs_is_ended_after_twenty_seconds_and_one_of_a_killed_server_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), &[]);
    let (token, _) = server.poster().await;
    // Large enough that it takes the child a while.
    let mut large = Cursor::new(Vec::new());
    DynamicImage::new_rgb8(7000, 7000).write_to(&mut large, ImageFormat::Png).unwrap();
    let large = large.into_inner();
    let began = Instant::now();
    let (kept, _) = tokio::join!(server.upload_bytes(&token, "large.png", &large), stop_child(&server));
    assert!(kept.unwrap()["width"].is_null());
    assert!((20..25).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!(children(&server), Vec::<u32>::new());

    let upload = server.upload_bytes(&token, "large.png", &large);
    let child = tokio::select! { child = stop_child(&server) => child, kept = upload => panic!("{kept:?}") };
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    let status = format!("/proc/{child}/stat");
    let is_gone = || fs::read_to_string(&status).map_or(true, |stat| stat.contains(") Z "));
    until("its end", async || is_gone().then_some(())).await;
}
