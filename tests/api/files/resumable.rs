//! Uploads in pieces (tus 1.0).

use std::{fs, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use http_body_util::StreamBody;
use hyper::body::Frame;
use reqwest::{Response, header::HeaderMap};
use serde_json::json;
use tidings::error::Code;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::{PNG, on_disk};
use crate::harness::{Client, Reply, Server, unknown_id};

const UPLOADS: &str = "/api/v1/files/uploads";

impl Client {
    /// A request of the protocol; `path` comes after that of all uploads.
    fn tus(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> reqwest::RequestBuilder {
        let request = self.request(method, &format!("{UPLOADS}{path}")).header("tus-resumable", "1.0.0");
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
    }

    async fn try_begin(&self, name: &str, length: usize) -> Reply {
        let metadata = format!("filetype dGV4dA==,filename {}", BASE64_STANDARD.encode(name));
        let request = self.tus("POST", "", &[("upload-length", &length.to_string()), ("upload-metadata", &metadata)]);
        Reply::of(request, "begin an upload", "").await
    }

    /// Begins an upload; gives its identifier.
    pub async fn begin(&self, name: &str, length: usize) -> String {
        let begun = self.try_begin(name, length).await;
        assert_eq!(begun.status, 201, "{:#}", begun.body);
        begun.headers["location"].to_str().unwrap().strip_prefix(&format!("{UPLOADS}/")).unwrap().to_owned()
    }

    fn piece(&self, id: &str, offset: usize, bytes: &[u8]) -> reqwest::RequestBuilder {
        let headers = [("upload-offset", &*offset.to_string()), ("content-type", "application/offset+octet-stream")];
        self.tus("PATCH", &format!("/{id}"), &headers).body(bytes.to_vec())
    }

    pub async fn append(&self, id: &str, offset: usize, bytes: &[u8]) -> Reply {
        Reply::of(self.piece(id, offset, bytes), "a piece", "").await
    }

    /// How much has arrived.
    pub async fn offset(&self, id: &str) -> usize {
        let told = self.tell(id).await;
        assert_eq!(told.status(), 200);
        number(told.headers(), "upload-offset")
    }

    pub async fn tell(&self, id: &str) -> Response {
        self.tus("HEAD", &format!("/{id}"), &[]).send().await.unwrap()
    }

    async fn cancel(&self, id: &str) -> Reply {
        Reply::of(self.tus("DELETE", &format!("/{id}"), &[]), "cancel", "").await
    }
}

pub fn number(headers: &HeaderMap, name: &str) -> usize {
    headers[name].to_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_file_comes_in_pieces_over_a_restart() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let id = ada.begin("Übersicht.png", PNG.len()).await;
    assert_eq!(ada.offset(&id).await, 0);
    let first = ada.append(&id, 0, &PNG[..10]).await;
    assert_eq!((first.status, number(&first.headers, "upload-offset")), (204, 10));
    assert!(first.headers["upload-expires"].to_str().unwrap().ends_with(" GMT"));
    assert_eq!(ada.open(&id, &[]).await.status(), 404, "it is no file yet");
    let server = server.restart().await;
    let [ada, grace] = [ada.at(&server.origin), grace.at(&server.origin)];
    let told = ada.tell(&id).await;
    assert_eq!([number(told.headers(), "upload-offset"), number(told.headers(), "upload-length")], [10, PNG.len()]);
    assert_eq!(told.headers()["upload-metadata"], format!("filename {}", BASE64_STANDARD.encode("Übersicht.png")));
    assert_eq!([&told.headers()["cache-control"], &told.headers()["tus-resumable"]], ["no-store", "1.0.0"]);
    ada.append(&id, 10, &PNG[10..]).await.expect(204);
    assert_eq!(ada.offset(&id).await, PNG.len(), "whoever lost the last answer learns that all has arrived");
    ada.append(&id, PNG.len(), b"").await.expect(204);
    ada.append(&id, 0, PNG).await.refused(409, Code::UploadConflict);
    ada.cancel(&id).await.refused(404, Code::FileNotFound);
    assert_eq!(ada.open(&id, &[]).await.bytes().await.unwrap(), PNG);
    let general = ada.general(&organisation).await;
    let body = json!({ "content": "", "files": [id] });
    let message = ada.post(&format!("/channels/{general}/messages"), body).await.expect(201)["data"].take();
    let media = &message["media"][0];
    assert_eq!(
        [&media["file_name"], &media["mime_type"], &media["width"], &media["height"]],
        [&json!("Übersicht.png"), &json!("image/png"), &json!(1), &json!(2)]
    );
    assert_eq!(
        grace.open(&id, &[]).await.headers()["etag"],
        ada.open(&ada.upload_one("same", PNG).await, &[]).await.headers()["etag"]
    );
    let (kept, arriving) = on_disk(&server);
    assert_eq!((kept.len(), arriving.len(), server.count("uploads")), (2, 0, 0));
}

#[tokio::test]
async fn an_empty_file_is_whole_at_once() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let id = ada.begin("empty.txt", 0).await;
    assert_eq!(ada.open(&id, &[]).await.bytes().await.unwrap().len(), 0);
    assert_eq!(ada.offset(&id).await, 0);
}

#[tokio::test]
async fn a_server_says_what_it_speaks_and_refuses_other_versions() {
    let server = Server::with(|settings| settings.files.each = 1000).await;
    let (ada, ..) = server.ada_and_grace().await;
    let told = server.anonymous().request("OPTIONS", UPLOADS).send().await.unwrap();
    assert_eq!(told.status(), 204);
    for (name, value) in [
        ("tus-resumable", "1.0.0"),
        ("tus-version", "1.0.0"),
        ("tus-extension", "creation,expiration,termination"),
        ("tus-max-size", "1000"),
    ] {
        assert_eq!(told.headers()[name], value);
    }
    for version in ["0.2.2", "1.0.1", ""] {
        let request = ada.request("POST", UPLOADS).header("upload-length", "5").header("tus-resumable", version);
        let refused = Reply::of(request, version, "").await;
        assert_eq!([&refused.headers["tus-version"], &refused.headers["tus-resumable"]], ["1.0.0"; 2]);
        refused.refused(412, Code::TusVersion);
    }
    Reply::of(ada.request("POST", UPLOADS).header("upload-length", "5"), "without", "").await.refused(412, Code::TusVersion);
    let other = Reply::of(ada.tus("PUT", "", &[]), "PUT", "").await;
    assert_eq!(other.headers["allow"], "OPTIONS, POST");
    other.refused(405, Code::MethodNotAllowed);
    assert_eq!(server.count("uploads"), 0);
}

#[tokio::test]
async fn lengths_and_names_are_checked_before_the_first_byte() {
    let server = Server::with(|settings| {
        settings.files.each = 1000;
        settings.files.per_organisation = 1500;
    })
    .await;
    let (ada, ..) = server.ada_and_grace().await;
    let first = ada.begin("fits", 1000).await;
    let refused = ada.try_begin("longer", 1001).await.refused(413, Code::BodyTooLarge);
    assert_eq!(refused["limit"], 1000);
    for length in ["", "-1", "five", "1e3", "18446744073709551616", "9223372036854775808"] {
        Reply::of(ada.tus("POST", "", &[("upload-length", length)]), length, "").await.refused(400, Code::InvalidValue);
    }
    Reply::of(ada.tus("POST", "", &[("upload-defer-length", "1")]), "later", "").await.refused(400, Code::InvalidValue);
    for metadata in ["filename %", "filename /w==", "filename a b"] {
        let headers = [("upload-length", "5"), ("upload-metadata", metadata)];
        Reply::of(ada.tus("POST", "", &headers), metadata, "").await.refused(400, Code::InvalidValue);
    }
    Reply::of(ada.tus("POST", "?organisation_id=none", &[("upload-length", "5")]), "", "").await.refused(400, Code::InvalidValue);
    // What was promised to one that has not come counts.
    ada.upload(&[("others", &[b'x'; 501])]).await.refused(422, Code::FilesFull);
    ada.upload_one("others", &[b'x'; 400]).await;
    ada.try_begin("full", 101).await.refused(422, Code::FilesFull);
    let last = ada.begin("fits", 100).await;
    ada.append(&last, 0, &[b'x'; 100]).await.expect(204);
    ada.cancel(&first).await.expect(204);
    for (name, kept) in [("../../plan\u{202e}.txt", "plan.txt"), ("", "file")] {
        let told = ada.tell(&ada.begin(name, 5).await).await;
        assert_eq!(told.headers()["upload-metadata"], format!("filename {}", BASE64_STANDARD.encode(kept)));
    }
}

#[tokio::test]
async fn pieces_follow_each_other_and_are_no_more_than_was_said() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let id = ada.begin("notes.txt", 10).await;
    ada.append(&id, 0, b"01234").await.expect(204);
    for offset in [0, 4, 6, 10] {
        let refused = ada.append(&id, offset, b"x").await.refused(409, Code::UploadConflict);
        assert_eq!(refused["message"], format!("This upload has 5 bytes, not {offset}"));
    }
    ada.append(&id, 5, b"567890").await.refused(413, Code::BodyTooLarge);
    let plain = ada.tus("PATCH", &format!("/{id}"), &[("upload-offset", "5"), ("content-type", "text/plain")]).body("5");
    Reply::of(plain, "another type", "").await.refused(400, Code::InvalidValue);
    let nowhere = ada.tus("PATCH", &format!("/{id}"), &[("content-type", "application/offset+octet-stream")]).body("5");
    Reply::of(nowhere, "no offset", "").await.refused(400, Code::InvalidValue);
    // Without a length, what is too much shows only as it comes.
    let frames = ["56", "7890123"].map(|part| Ok::<_, std::io::Error>(Frame::data(Bytes::from(part))));
    let stream = StreamBody::new(futures_util::stream::iter(frames));
    let streamed = ada.piece(&id, 5, b"").body(reqwest::Body::wrap(stream));
    Reply::of(streamed, "a stream", "").await.refused(413, Code::BodyTooLarge);
    let offset = ada.offset(&id).await;
    assert!((5..=10).contains(&offset), "{offset}");
    let by_post = ada.piece(&id, offset, &b"0123456789"[offset..]).build().unwrap();
    let url = format!("{UPLOADS}/{id}");
    let request = by_post.headers().iter().fold(ada.request("POST", &url), |request, (name, value)| request.header(name, value));
    let request = request.header("x-http-method-override", "PATCH").body(b"0123456789"[offset..].to_vec());
    Reply::of(request, "POST for PATCH", "").await.expect(204);
    assert_eq!(ada.open(&id, &[]).await.bytes().await.unwrap(), &b"0123456789"[..]);
}

/// The connection of a client that has lost its network stands until somebody ends it.
#[tokio::test]
async fn a_newer_request_ends_the_one_before_and_goes_on_from_there() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    for asks in ["HEAD", "PATCH", "DELETE"] {
        let id = ada.begin("long", LONG.len()).await;
        let stalled = stall(&server, &ada, &id).await;
        let went_on = async {
            match asks {
                "HEAD" => assert!((BUFFER..=SENT).contains(&ada.offset(&id).await)),
                "PATCH" => drop(ada.append(&id, SENT, &LONG[SENT..]).await),
                _ => drop(ada.cancel(&id).await.expect(204)),
            }
        };
        tokio::time::timeout(Duration::from_secs(10), went_on).await.unwrap_or_else(|_| panic!("{asks} waited"));
        if asks != "DELETE" {
            let offset = ada.offset(&id).await;
            ada.append(&id, offset, &LONG[offset..]).await.expect(204);
            assert!(ada.open(&id, &[]).await.bytes().await.unwrap() == LONG, "{asks}");
        } else {
            assert_eq!(ada.open(&id, &[]).await.status(), 404);
        }
        drop(stalled);
    }
    assert_eq!((on_disk(&server).1.len(), server.count("uploads")), (0, 0));
}

#[tokio::test]
async fn what_arrived_before_a_cut_is_kept() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let id = ada.begin("long", LONG.len()).await;
    drop(stall(&server, &ada, &id).await);
    let offset = ada.offset(&id).await;
    assert!((BUFFER..=SENT).contains(&offset), "{offset}");
    ada.append(&id, offset, &LONG[offset..]).await.expect(204);
    assert!(ada.open(&id, &[]).await.bytes().await.unwrap() == LONG);
}

const LONG: &[u8] = &[b'x'; SENT + 1000];
/// Bytes of the piece that come, of which the server writes so many at once.
const SENT: usize = BUFFER + 100;
const BUFFER: usize = 64 << 10;

/// Sends a part of a piece that is all of [`LONG`], and waits until the server has written of it.
async fn stall(server: &Server, client: &Client, id: &str) -> TcpStream {
    let address = client.origin.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "PATCH {UPLOADS}/{id} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n\
         Content-Type: application/offset+octet-stream\r\nContent-Length: {}\r\n\r\n",
        client.token.as_ref().unwrap(),
        LONG.len()
    );
    stream.write_all(&[head.as_bytes(), &LONG[..SENT]].concat()).await.unwrap();
    let path = server.folder().join("files/incoming").join(id);
    eventually(|| path.metadata().is_ok_and(|file| file.len() == BUFFER as u64)).await;
    stream
}

async fn eventually(mut is_so: impl FnMut() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(5));
    let looks = async {
        while !is_so() {
            look.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), looks).await.expect("it comes to be so");
}

#[tokio::test]
async fn two_requests_at_once_never_mix_their_bytes() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let bytes: Vec<u8> = (0..400_000_u32).flat_map(u32::to_le_bytes).collect();
    let id = ada.begin("numbers", bytes.len()).await;
    while ada.offset(&id).await < bytes.len() {
        let from = ada.offset(&id).await;
        let to = (from + 300_000).min(bytes.len());
        let pieces = [(); 3].map(|()| ada.append(&id, from, &bytes[from..to]));
        for piece in futures_util::future::join_all(pieces).await {
            assert!(matches!(piece.status, 204 | 409), "{:#}", piece.body);
        }
    }
    let kept = ada.open(&id, &[]).await.bytes().await.unwrap();
    let differs = kept.iter().zip(&bytes).position(|(kept, sent)| kept != sent);
    assert_eq!((kept.len(), differs), (bytes.len(), None));
}

/// A kill between the last byte and the row: it lies whole among those that arrive, or in its place already.
#[tokio::test]
async fn an_upload_that_is_whole_and_no_file_becomes_one_when_somebody_asks() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    for is_in_place in [false, true] {
        let id = ada.begin("notes.txt", 5).await;
        let files = server.folder().join("files");
        let folder = if is_in_place { files.join(&organisation).join(&id[34..]) } else { files.join("incoming") };
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(&id), b"notes").unwrap();
        assert_eq!(ada.offset(&id).await, 5);
        assert_eq!(ada.open(&id, &[]).await.bytes().await.unwrap(), &b"notes"[..]);
        assert_eq!(on_disk(&server).1.len(), 0);
    }
}

#[tokio::test]
async fn an_upload_is_nobody_elses_and_ends_with_the_membership() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "gwen", "guest").await;
    let id = grace.begin("notes.txt", 10).await;
    grace.append(&id, 0, b"01234").await.expect(204);
    let statuses = async |client: &Client, id: &str| {
        let piece = client.append(id, 5, b"5").await;
        [client.tell(id).await.status().as_u16(), piece.status, client.cancel(id).await.status]
    };
    // A cookie counts with the proof that a page of the server asks, and none of it for another person.
    let cookie = server.anonymous().with("cookie", &server.log_in_by_cookie("grace").await.kept_cookies());
    for (client, status) in [
        (&ada, 404),
        (&server.anonymous(), 401),
        (&cookie, 401),
        (&server.user("eve").await, 404),
        (&ada.bot(&organisation, "admin").await, 404),
    ] {
        assert_eq!(statuses(client, &id).await, [status; 3]);
    }
    assert_eq!(statuses(&grace, &unknown_id()).await, [404; 3]);
    guest.try_begin("notes.txt", 5).await.refused(403, Code::PermissionDenied);
    server.anonymous().try_begin("notes.txt", 5).await.refused(401, Code::TokenMissing);
    let program = async |scopes: &[&str]| grace.program(json!({ "name": "program", "scopes": scopes })).await;
    let (reads, posts) = (program(&["read"]).await, program(&["post"]).await);
    assert_eq!(statuses(&reads, &id).await, [403; 3]);
    posts.append(&id, 5, b"56").await.expect(204);
    let channel = ada.private_channel(&organisation, "plans", &[&grace]).await;
    let whole = grace.begin("notes.txt", 5).await;
    grace.append(&whole, 0, b"01234").await.expect(204);
    grace.post(&format!("/channels/{channel}/messages"), json!({ "content": "", "files": [whole] })).await.expect(201);
    assert_eq!(grace.tell(&whole).await.status(), 200);
    ada.delete(&format!("/channels/{channel}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(grace.tell(&whole).await.status(), 404, "she does not read its message any more");
    let member = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&member, json!({ "status": "deactivated" })).await.expect(200);
    assert_eq!(statuses(&grace, &id).await, [404; 3]);
    ada.put(&member, json!({ "status": "active" })).await.expect(200);
    assert_eq!(grace.tell(&id).await.status(), 200);
    ada.delete(&member).await.expect(200);
    assert_eq!(statuses(&grace, &id).await, [404; 3]);
}

/// No page elsewhere can send HEAD with a cookie, and no link does.
#[tokio::test]
async fn a_page_that_asks_for_the_end_of_an_upload_makes_it_a_file() {
    let server = Server::start().await;
    let page = server.browser("ada").await;
    page.organisation("Engines").await;
    let id = page.begin("notes.txt", 5).await;
    fs::write(server.folder().join("files/incoming").join(&id), b"notes").unwrap();
    assert_eq!(page.offset(&id).await, 5);
    assert_eq!(page.open(&id, &[]).await.bytes().await.unwrap(), &b"notes"[..]);
}

#[tokio::test]
async fn a_person_has_a_hundred_uploads_at_once_and_each_goes_on_for_a_day() {
    let server = Server::start().await;
    let (ada, grace, _) = server.ada_and_grace().await;
    let first = ada.begin("notes.txt", 5).await;
    for _ in 1..100 {
        ada.begin("notes.txt", 5).await;
    }
    assert_eq!(ada.try_begin("notes.txt", 5).await.refused(422, Code::OwnLimitReached)["limit"], 100);
    grace.begin("notes.txt", 5).await;
    ada.cancel(&first).await.expect(204);
    let last = ada.begin("notes.txt", 5).await;
    server.sql("update uploads set expires_at = 1");
    assert_eq!(ada.tell(&last).await.status(), 404);
    ada.append(&last, 0, b"notes").await.refused(404, Code::FileNotFound);
    let arrived = server.folder().join("files/incoming").join(&last);
    fs::write(&arrived, b"note").unwrap();
    let server = server.restart().await;
    eventually(|| server.count("uploads") == 0).await;
    assert!(!arrived.exists());
}

#[tokio::test]
async fn the_whole_length_counts_towards_the_day() {
    let server = Server::with(|settings| {
        settings.rate_limit = tidings::config::Switch::On;
        settings.files.per_user_day = 1_000_000;
    })
    .await;
    let (ada, ..) = server.ada_and_grace().await;
    ada.begin("most", 999_000).await;
    ada.try_begin("more", 2_000).await.refused(429, Code::BytesUsedUp);
}

#[tokio::test]
async fn pages_of_allowed_origins_may_speak_the_protocol() {
    let server = Server::with(|settings| settings.allowed_origin = vec!["https://app.example".into()]).await;
    let (ada, ..) = server.ada_and_grace().await;
    let ada = ada.with("origin", "https://app.example");
    let begun = ada.try_begin("notes.txt", 5).await;
    let listed = |name: &str| begun.headers[name].to_str().unwrap().split(", ").map(str::to_owned).collect::<Vec<_>>();
    let (sent, read) = (listed("access-control-allow-headers"), listed("access-control-expose-headers"));
    for name in ["tus-resumable", "upload-length", "upload-metadata", "upload-offset", "content-type", "authorization"] {
        assert!(sent.iter().any(|listed| listed == name), "{name}");
    }
    for name in ["location", "tus-resumable", "upload-offset", "upload-length", "upload-expires"] {
        assert!(read.iter().any(|listed| listed == name), "{name}");
    }
}
