//! The child that looks at pictures: whatever it is given, it ends, and it ends with the server.

use std::{
    cell::Cell,
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

/// Sends a signal to a process, if there is one.
fn signal(name: &str, process: u32) -> bool {
    let sent = Command::new("kill").args([&format!("-{name}"), &process.to_string()]).stderr(Stdio::null()).status();
    sent.unwrap().success()
}

/// The letter of a process's state; none if it has ended.
fn state(process: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next().filter(|state| *state != 'Z')
}

/// If a child has given up its rights, before which it does not yet end with its parent.
fn is_bound(child: u32) -> bool {
    let limits = fs::read_to_string(format!("/proc/{child}/limits")).unwrap_or_default();
    limits.lines().any(|line| line.starts_with("Max processes") && line.split_whitespace().nth(2) == Some("0"))
}

/// Stops the next child of the server that is met at work.
async fn stop_child(server: &Server) -> u32 {
    loop {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let Some(child) = children(server).into_iter().find(|child| is_bound(*child)) else { continue };
        if signal("STOP", child)
            && until("a state", async || Some(state(child)).filter(|state| *state != Some('R'))).await == Some('T')
        {
            return child;
        }
    }
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
    // Beside busy programs a child may come and go before it is seen: then there is another.
    let stopped = Cell::new(None::<Instant>);
    let upload = async || loop {
        _ = server.upload_bytes(&token, "large.png", &large).await.unwrap();
        if let Some(stopped) = stopped.get() {
            break stopped.elapsed();
        }
    };
    let stop = async {
        stop_child(&server).await;
        stopped.set(Some(Instant::now()));
    };
    let (waited, ()) = tokio::join!(upload(), stop);
    assert!((19..25).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(children(&server), Vec::<u32>::new());

    stopped.take();
    let child = tokio::select! { child = stop_child(&server) => child, waited = upload() => panic!("{waited:?}") };
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    until("its end", async || state(child).is_none().then_some(())).await;
}
