//! Files that are made to cost their reader much: memory, time, or its life.

use std::{fs, io::Write, time::Duration};

use flate2::{Compression, write::ZlibEncoder};
use image::{DynamicImage, ImageFormat, codecs::gif::GifEncoder};
use reqwest::Method;
use serde_json::json;
use tokio::time::timeout;

use crate::harness::Server;

/// What the server may take more than before, in KiB.
const MOST: u64 = 20_000;
/// How long any file keeps its sender waiting, at most: a child lives for no more than 20 seconds.
const LONGEST: Duration = Duration::from_secs(21);

#[tokio::test]
async fn no_picture_takes_the_servers_memory_or_outlives_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (token, _) = server.poster().await;
    server.upload(&token, "plan.txt", "The plan").await;
    let before = peak(&server);
    for (name, content) in bombs() {
        let kept = timeout(LONGEST, server.upload_bytes(&token, name, &content)).await;
        let kept = kept.unwrap_or_else(|_| panic!("{name} takes too long")).unwrap();
        assert!(kept["size"].as_u64().unwrap() <= content.len() as u64, "{name}: {kept}");
        assert_eq!(kept["thumbnail_link"].is_null(), !name.starts_with("shown"), "{name}: {kept}");
        let more = peak(&server).saturating_sub(before); // the kernel counts roughly
        assert!(more < MOST, "{name}: {more} KiB more");
        assert_eq!(children(&server), Vec::<u32>::new(), "{name}");
    }
    assert_eq!(server.call(Method::GET, "/profile", &token, json!({})).await.unwrap().0, 200);
}

/// The most memory that the server has had, in KiB.
fn peak(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The processes that a server has started and that have not ended.
pub fn children(server: &Server) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{}/task", server.process.id())).unwrap().flatten();
    let of_task = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
    tasks.map(of_task).collect::<String>().split_whitespace().map(|id| id.parse().unwrap()).collect()
}

fn bombs() -> Vec<(&'static str, Vec<u8>)> {
    let zeros = deflated(100_000_000);
    let dimensions = |width: u32, height: u32, depth, color| {
        [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, color, 0, 0, 0]].concat()
    };
    let profile = [b"bomb\0\0", &zeros[..]].concat();
    vec![
        ("notes.png", png(&[(b"IHDR", &dimensions(1, 2, 8, 2)), (b"prIv", &[0; 30_000_000]), (b"IEND", b"")])),
        ("wide.png", png(&[(b"IHDR", &dimensions(60_000, 60_000, 8, 6)), (b"IDAT", &zeros), (b"IEND", b"")])),
        ("deep.png", png(&[(b"IHDR", &dimensions(7000, 7000, 16, 6)), (b"IDAT", &zeros), (b"IEND", b"")])),
        (
            "shown, a profile.png",
            png(&[(b"IHDR", &dimensions(1, 2, 8, 2)), (b"iCCP", &profile), (b"IDAT", &zeros), (b"IEND", b"")]),
        ),
        ("liar.jpg", lying_jpeg()),
        ("liar.webp", lying_webp()),
        ("shown, a film.gif", film(100_000)),
    ]
}

fn deflated(bytes: usize) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&vec![0; bytes]).unwrap();
    encoder.finish().unwrap()
}

fn png(chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in chunks {
        let named = [&kind[..], data].concat();
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(&named);
        png.extend(crc32fast::hash(&named).to_be_bytes());
    }
    png
}

fn encoded(format: ImageFormat) -> Vec<u8> {
    let mut file = std::io::Cursor::new(Vec::new());
    DynamicImage::new_rgb8(16, 16).write_to(&mut file, format).unwrap();
    file.into_inner()
}

/// It says that it has 65,535 pixels a side, and has sixteen.
fn lying_jpeg() -> Vec<u8> {
    let mut file = encoded(ImageFormat::Jpeg);
    let frame = file.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
    file[frame + 5..frame + 9].fill(0xff);
    file
}

/// The same, with 16,384.
fn lying_webp() -> Vec<u8> {
    let mut file = encoded(ImageFormat::WebP);
    file[21..24].fill(0xff);
    file
}

fn film(frames: usize) -> Vec<u8> {
    let mut file = Vec::new();
    {
        let mut encoder = GifEncoder::new_with_speed(&mut file, 30);
        for _ in 0..2 {
            encoder.encode_frame(image::Frame::new(image::RgbaImage::new(1, 1))).unwrap();
        }
    }
    // The second frame again and again, before the end.
    let frame = {
        let starts: Vec<_> = file.windows(2).enumerate().filter(|(_, pair)| pair == b"!\xf9").map(|(at, _)| at).collect();
        file[starts[1]..file.len() - 1].to_vec()
    };
    file.pop();
    file.extend(frame.repeat(frames - 2));
    file.push(b';');
    file
}
