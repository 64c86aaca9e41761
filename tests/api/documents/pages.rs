//! The guide as it is served: every document is a page, every link leads somewhere, and nothing is loaded from elsewhere.

use std::{collections::BTreeSet, fs, path::Path};

use super::{documents, root};
use crate::harness::{Client, Server};

async fn page(guest: &Client, address: &str) -> String {
    let reply = guest.request("GET", address).send().await.unwrap();
    assert_eq!(reply.status(), 200, "{address}");
    assert_eq!(reply.headers()["content-type"], "text/html; charset=utf-8", "{address}");
    reply.text().await.unwrap()
}

/// The values of an attribute in a page.
fn attributes<'a>(page: &'a str, name: &str) -> BTreeSet<&'a str> {
    page.split(&format!(" {name}=\"")).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// The page of a document.
fn address(document: &Path) -> String {
    let name = document.file_stem().unwrap().to_str().unwrap().to_lowercase();
    if name == "readme" { "/docs/guide".into() } else { format!("/docs/guide/{name}") }
}

#[tokio::test]
async fn every_document_is_a_page_of_the_guide() {
    let server = Server::start().await;
    let guest = server.anonymous();
    for document in documents() {
        let text = fs::read_to_string(root().join(&document)).unwrap();
        let title = text.lines().find_map(|line| line.strip_prefix("# ")).expect("a document begins with a heading");
        assert!(title.chars().all(|c| c.is_alphanumeric() || c == ' '), "{title:?} would need escaping");
        let page = page(&guest, &address(&document)).await;
        assert!(page.contains(&format!("<title>{title} · Tidings</title>")), "{}", document.display());
        assert!(page.contains(&format!("aria-current=\"page\">{title}</a>")), "{}", document.display());
    }
    page(&guest, "/docs/guide/").await;
    for path in ["/docs/guide/none", "/docs/guide/push.md", "/docs/guide/push/more"] {
        assert_eq!(guest.request("GET", path).send().await.unwrap().status(), 404, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn every_link_in_the_guide_leads_to_a_page_and_to_a_heading_of_it() {
    let server = Server::start().await;
    let guest = server.anonymous();
    for document in documents() {
        let here = address(&document);
        let source = page(&guest, &here).await;
        for link in attributes(&source, "href").into_iter().filter(|link| !link.contains("://")) {
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            assert!(path.is_empty() || path.starts_with('/'), "{here} links to the file {link}, which is no page");
            if path.starts_with("/docs/guide") || path.is_empty() {
                let target = if path.is_empty() { source.clone() } else { page(&guest, path).await };
                let found = anchor.is_empty() || attributes(&target, "id").contains(anchor);
                assert!(found, "{here} links to {link}, and no heading has that anchor");
            } else {
                assert_eq!(guest.request("GET", path).send().await.unwrap().status(), 200, "{here} links to {link}");
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn headings_with_the_same_anchor_do_not_share_a_page() {
    let server = Server::start().await;
    for document in documents().iter().filter(|document| !document.ends_with("CHANGELOG.md")) {
        let page = page(&server.anonymous(), &address(document)).await;
        let anchors: Vec<_> = page.split(" id=\"").skip(1).collect();
        assert_eq!(anchors.len(), attributes(&page, "id").len(), "{}", document.display());
    }
    server.stop().await;
}

#[tokio::test]
async fn pages_of_the_guide_are_shared_compressed_and_closed_to_scripts_and_frames() {
    let server = Server::start().await;
    let guest = server.anonymous();
    let plain = guest.request("GET", "/docs/guide/push").send().await.unwrap();
    let headers = plain.headers().clone();
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert!(!policy.contains("script-src") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
    assert_eq!(headers["cache-control"], "no-cache");

    let again = guest.request("GET", "/docs/guide/push").header("if-none-match", &headers["etag"]);
    assert_eq!(again.send().await.unwrap().status(), 304);
    let other = guest.request("GET", "/docs/guide/limits").header("if-none-match", &headers["etag"]);
    assert_eq!(other.send().await.unwrap().status(), 200, "each page has a tag of its own");
    let packed = guest.request("GET", "/docs/guide/push").header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert!(packed.bytes().await.unwrap().starts_with(&[0x1f, 0x8b]));

    let page = plain.text().await.unwrap();
    assert!(
        !page.contains("<script") && !page.contains("<img") && !page.contains("style=\"") && attributes(&page, "src").is_empty()
    );
    let style = guest.request("GET", "/guide.css").send().await.unwrap();
    assert_eq!((style.status().as_u16(), style.headers()["content-type"].to_str().unwrap()), (200, "text/css; charset=utf-8"));
    server.stop().await;
}
