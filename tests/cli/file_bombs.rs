//! Files that are made to cost their reader much.

use std::fs;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::Server;

/// Bytes of the notes.
const NOTES: usize = 30_000_000;
/// What the server may take more than before, in KiB.
const MOST: u64 = 60_000;

/// A reader of such notes makes a list of texts, of 24 bytes for each byte, and an allocation that fails ends the process.
#[tokio::test]
async fn notes_of_a_picture_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let (token, _) = server.poster().await;
    server.upload(&token, "plan.txt", "The plan").await;
    let before = peak(&server);
    for (name, picture) in [("notes.png", png(&exif())), ("notes.webp", webp(&exif()))] {
        let mut body = b"--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"".to_vec();
        body.extend(name.as_bytes());
        body.extend(b"\"\r\n\r\n");
        body.extend(picture);
        body.extend(b"\r\n--b--\r\n");
        let request = server.http.post(format!("{}/api/v1/files/upload-files", server.url)).bearer_auth(&token);
        let reply = request.header("content-type", "multipart/form-data; boundary=b").body(body).send().await.unwrap();
        assert_eq!(reply.status(), 200, "{name}");
        let kept: Value = reply.json().await.unwrap();
        assert_eq!([&kept["data"][0]["width"], &kept["data"][0]["height"]], [1, 2], "{name}");
    }
    let more = peak(&server).saturating_sub(before); // the kernel counts roughly
    assert!(more < MOST, "{more} KiB more");
    assert_eq!(server.call(Method::GET, "/profile", &token, json!({})).await.unwrap().0, 200);
}

/// The most memory that the server has had, in KiB.
fn peak(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// A TIFF with one field, the orientation, which is a text of many empty lines.
fn exif() -> Vec<u8> {
    let mut tiff = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x02".to_vec();
    tiff.extend((NOTES as u32).to_be_bytes());
    tiff.extend(26_u32.to_be_bytes());
    tiff.extend([0; 4]);
    tiff.extend(vec![0; NOTES]);
    tiff
}

fn png(notes: &[u8]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"IHDR", &b"\0\0\0\x01\0\0\0\x02\x08\x02\0\0\0"[..]), (b"eXIf", notes), (b"IEND", b"")] {
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(kind);
        png.extend(data);
        png.extend([0; 4]);
    }
    png
}

fn webp(notes: &[u8]) -> Vec<u8> {
    let mut chunks = b"WEBPVP8X\x0a\0\0\0\x08\0\0\0\0\0\0\x01\0\0EXIF".to_vec();
    chunks.extend((notes.len() as u32).to_le_bytes());
    chunks.extend(notes);
    let mut webp = b"RIFF".to_vec();
    webp.extend((chunks.len() as u32).to_le_bytes());
    webp.extend(chunks);
    webp
}
