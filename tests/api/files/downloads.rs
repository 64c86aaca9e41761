//! The bytes of a file: ranges, conditions, and what keeps a browser from running them.

use reqwest::Response;

use super::PNG;
use crate::harness::Server;

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn a_file_comes_whole_or_in_one_range() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let content: Vec<u8> = (0..200_000_u32).flat_map(|n| n.to_le_bytes()).collect();
    let id = ada.upload_one("numbers.bin", &content).await;
    let whole = ada.open(&id, &[]).await;
    assert_eq!(
        (whole.status().as_u16(), header(&whole, "content-length"), header(&whole, "accept-ranges")),
        (200, "800000", "bytes")
    );
    let tag = header(&whole, "etag").to_owned();
    assert_eq!(whole.bytes().await.unwrap(), content);
    for (range, from, to) in [
        ("bytes=0-0", 0, 1),
        ("bytes=100-199", 100, 200),
        ("bytes=799999-", 799_999, 800_000),
        ("bytes=-5", 799_995, 800_000),
        ("bytes=700000-900000", 700_000, 800_000),
        ("bytes=0-799999", 0, 800_000),
    ] {
        let part = ada.open(&id, &[("range", range)]).await;
        assert_eq!(
            (part.status().as_u16(), header(&part, "content-range")),
            (206, &*format!("bytes {from}-{}/800000", to - 1)),
            "{range}"
        );
        assert_eq!(part.bytes().await.unwrap(), content[from..to], "{range}");
    }
    for outside in ["bytes=800000-", "bytes=900000-900001"] {
        let part = ada.open(&id, &[("range", outside)]).await;
        assert_eq!((part.status().as_u16(), header(&part, "content-range")), (416, "bytes */800000"), "{outside}");
    }
    for ignored in ["bytes=0-1,5-6", "lines=0-1", "bytes=x"] {
        assert_eq!(ada.open(&id, &[("range", ignored)]).await.status(), 200, "{ignored}");
    }
    let head = ada.request("HEAD", &format!("/api/v1/files/{id}/name")).send().await.unwrap();
    assert_eq!((head.status().as_u16(), header(&head, "content-length")), (200, "800000"));
    // Of what the client has.
    let known = ada.open(&id, &[("if-none-match", &tag)]).await;
    assert_eq!((known.status().as_u16(), header(&known, "etag")), (304, &*tag));
    assert_eq!(ada.open(&id, &[("if-none-match", "\"another\"")]).await.status(), 200);
    for (condition, status) in [(&*tag, 206), ("\"another\"", 200)] {
        assert_eq!(ada.open(&id, &[("range", "bytes=0-9"), ("if-range", condition)]).await.status(), status, "{condition}");
    }
}

#[tokio::test]
async fn an_empty_file_is_whole() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let id = ada.upload_one("empty.txt", b"").await;
    let whole = ada.open(&id, &[]).await;
    assert_eq!((whole.status().as_u16(), header(&whole, "content-length")), (200, "0"));
    assert_eq!(ada.open(&id, &[("range", "bytes=0-")]).await.status(), 416);
}

#[tokio::test]
async fn nothing_runs_wherever_a_file_is_opened() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    for (name, content, shown_as, disposition) in [
        ("photo.png", PNG, "image/png", "inline"),
        ("code.js", b"alert(1)", "text/plain; charset=utf-8", "inline"),
        ("plan.pdf", b"%PDF-1.7\n", "application/pdf", "inline"),
        ("page.html", b"<!DOCTYPE html><script>alert(1)</script>", "application/octet-stream", "attachment"),
        ("drawing.svg", b"<?xml version=\"1.0\"?><svg onload=\"alert(1)\"/>", "application/octet-stream", "attachment"),
        ("photo.png.html", b"<html>", "application/octet-stream", "attachment"),
        ("song.mp3", b"ID3\x03\0\0\0\0\0\0", "audio/mpeg", "attachment"),
        ("nothing", b"\0\x01\x02", "application/octet-stream", "attachment"),
    ] as [(&str, &[u8], &str, &str); 8]
    {
        let id = ada.upload_one(name, content).await;
        let opened = ada.open(&id, &[]).await;
        assert_eq!(header(&opened, "content-type"), shown_as, "{name}");
        assert!(header(&opened, "content-disposition").starts_with(&format!("{disposition}; filename=\"{name}\"")), "{name}");
        let kept: Vec<_> = ["content-security-policy", "x-content-type-options", "cross-origin-resource-policy", "cache-control"]
            .into_iter()
            .map(|name| header(&opened, name).to_owned())
            .collect();
        assert_eq!(
            kept,
            [
                "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
                "nosniff",
                "same-origin",
                "private, no-cache"
            ]
        );
    }
    let id = ada.upload_one("Zoë 100%.txt", b"x").await;
    let named = ada.open(&id, &[]).await;
    let expected = "inline; filename=\"Zo_ 100_.txt\"; filename*=UTF-8''Zo%C3%AB%20100%25%2Etxt";
    assert_eq!(header(&named, "content-disposition"), expected);
}
