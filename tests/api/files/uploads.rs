//! Uploads in a form.

use serde_json::json;
use tidings::error::Code;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use super::{PNG, on_disk};
use crate::harness::{Client, Reply, Server, form, text};

#[tokio::test]
async fn an_upload_is_what_its_content_says_and_lies_on_the_disk_by_its_id() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let sent: &[(&str, &[u8])] =
        &[("../photo.txt", PNG), ("notes.md", b"# Notes"), ("page.png", b"<html><script>alert(1)</script>")];
    let kept = ada.upload(sent).await.data(200, "Files uploaded successfully");
    let shown = |n: usize| {
        let file = &kept[n];
        [
            &file["file_name"],
            &file["file_type"],
            &file["mime_type"],
            &file["category"],
            &file["size"],
            &file["width"],
            &file["height"],
        ]
        .map(|value| value.clone())
    };
    assert_eq!(
        shown(0),
        [json!("photo.txt"), json!("txt"), json!("image/png"), json!("image"), json!(PNG.len()), json!(1), json!(2)]
    );
    assert_eq!(
        shown(1),
        [json!("notes.md"), json!("md"), json!("text/plain"), json!("document"), json!(7), json!(null), json!(null)]
    );
    assert_eq!(shown(2)[2..4], [json!("text/html"), json!("file")]);
    let id = text(&kept[0]["id"]);
    assert_eq!(kept[0]["file_link"], format!("{}/api/v1/files/{id}/photo.txt", server.origin));
    assert_eq!([&kept[0]["organisation_id"], &kept[0]["user_id"]], [&json!(organisation), &json!(ada.user_id)]);
    assert!(kept[0]["message_id"].is_null() && kept[0]["channel_id"].is_null());
    let place = server.folder().join("files").join(&organisation).join(&id[34..]).join(&id);
    assert_eq!(std::fs::read(place).unwrap(), PNG);
    let (kept, arriving) = on_disk(&server);
    assert_eq!((kept.len(), arriving.len()), (3, 0));
}

#[tokio::test]
async fn all_files_of_a_form_are_kept_or_none() {
    let server = Server::with(|settings| settings.files.each = 1000).await;
    let (ada, ..) = server.ada_and_grace().await;
    let (fits, longer) = (vec![b'x'; 1000], vec![b'x'; 1001]);
    ada.upload(&[("fits", &fits)]).await.expect(200);
    let refused = ada.upload(&[("fits", &fits), ("longer", &longer)]).await.refused(413, Code::BodyTooLarge);
    assert_eq!(refused["limit"], 1000);
    let small: Vec<(&str, &[u8])> = vec![("small", b"x"); 11];
    ada.upload(&small[..10]).await.expect(200);
    ada.upload(&small).await.refused(400, Code::TooManyItems);
    ada.upload(&[]).await.refused(400, Code::Required);
    let (kept, arriving) = on_disk(&server);
    assert_eq!((kept.len(), arriving.len()), (11, 0));
}

#[tokio::test]
async fn a_form_that_is_none_or_is_broken_off_is_refused_and_leaves_nothing() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    ada.call_text("POST", "/files/upload-files", "{}").await.refused(400, Code::InvalidValue);
    let send = async |body: &'static str| {
        let request = ada.request("POST", "/api/v1/files/upload-files").header("content-type", "multipart/form-data; boundary=b");
        Reply::of(request.body(body), "POST", "").await
    };
    send("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\"\r\n\r\nhalf")
        .await
        .refused(400, Code::BodyIncomplete);
    send("--b\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\nx\r\n--b--\r\n").await.refused(400, Code::InvalidValue);
    assert_eq!(on_disk(&server), Default::default());
}

/// The reader of forms looks through all that it holds whenever more comes.
#[tokio::test]
async fn a_form_has_little_besides_its_files() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let send = async |before: &str, part: &str| {
        let request = ada.request("POST", "/api/v1/files/upload-files").header("content-type", "multipart/form-data; boundary=b");
        let head = format!("{before}--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"a\"\r\nX: {part}\r\n\r\n");
        Reply::of(request.body(format!("{head}{}\r\n--b--\r\n", "x".repeat(1_000_000))), "POST", "").await
    };
    let (small, large) = (vec![b'x'; 3000], vec![b'x'; 90_000]);
    let mixed: Vec<(&str, &[u8])> = (0..10).map(|n| if n % 3 == 2 { ("large", &*large) } else { ("small", &*small) }).collect();
    ada.upload(&mixed).await.expect(200);
    let (short, long) = ("x".repeat(16_000), "x".repeat(70_000));
    send("", &short).await.expect(200);
    for (before, part) in [("", &*long), (&*long, "")] {
        let refused = send(before, part).await.refused(400, Code::InvalidValue);
        assert_eq!(refused["message"], "a form has at most 16384 bytes besides its files");
    }
    assert_eq!(on_disk(&server).1.len(), 0);
}

/// 140 of them would be more than the 8 MiB that are buffered for an address, if each counted before its turn.
#[tokio::test]
async fn uploads_that_wait_keep_nobody_at_their_address_out() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let (ada, grace, _) = server.ada_and_grace().await;
    let (address, token) = (ada.origin.strip_prefix("http://").unwrap(), ada.token.as_ref().unwrap());
    let mut waiting = Vec::new();
    for _ in 0..140 {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST /api/v1/files/upload-files HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n--b\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    for _ in 0..3 {
        grace.get("/profile").await.expect(200);
    }
    drop(waiting);
}

#[tokio::test]
async fn names_are_text_without_paths_and_tricks() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let long = "x".repeat(5000);
    for (sent, kept) in [
        ("a/../../b.txt", "b.txt"),
        ("..", "file"),
        ("gpj.\u{202e}exe", "gpj.exe"),
        ("%2e%2e%2fetc", "%2e%2e%2fetc"),
        ("Übersicht für Grace (1).pdf", "Übersicht für Grace (1).pdf"),
        (&long, &long[..255]),
    ] {
        let file = ada.upload(&[(sent, b"x")]).await.expect(200)["data"][0].take();
        assert_eq!(file["file_name"], kept, "{sent:?}");
        let link = text(&file["file_link"]);
        let opened = ada.http.get(link).bearer_auth(ada.token.as_ref().unwrap()).send().await.unwrap();
        assert_eq!(opened.status(), 200, "{sent:?}");
    }
}

#[tokio::test]
async fn files_of_an_organisation_have_a_bound_together_and_removed_ones_make_room() {
    let server = Server::with(|settings| settings.files.per_organisation = 1500).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let thousand = vec![b'x'; 1000];
    let id = ada.upload_one("first", &thousand).await;
    let refused = grace.upload(&[("second", &thousand)]).await.refused(422, Code::FilesFull);
    assert_eq!(refused["limit"], 1500);
    grace.upload(&[("fits", &thousand[..500])]).await.expect(200);
    grace.upload(&[("one byte more", b"x")]).await.refused(422, Code::FilesFull);
    ada.delete(&format!("/files/file/{id}")).await.expect(200);
    grace.upload(&[("second", &thousand)]).await.expect(200);
    // Another organisation has its own.
    let other = ada.organisation("Loom Works").await;
    let request = ada.request("POST", &format!("/api/v1/files/upload-files?organisation_id={other}"));
    Reply::of(form(request, &[("third", &thousand)]), "POST", "").await.expect(200);
    let totals = server.number(&format!(
        "select bytes from file_totals where hex(organisation_id) = upper('{}')",
        organisation.replace('-', "")
    ));
    assert_eq!(totals, 1500);
}

#[tokio::test]
async fn a_person_uploads_so_many_bytes_in_a_day() {
    let server = Server::with(|settings| {
        settings.rate_limit = tidings::config::Switch::On;
        settings.files.per_user_day = 1_000_000;
    })
    .await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (most, more) = (vec![b'x'; 999_000], vec![b'x'; 2_000]);
    ada.upload(&[("most", &most)]).await.expect(200);
    let refused = ada.upload(&[("more", &more)]).await;
    assert!(refused.headers.contains_key("retry-after"));
    refused.refused(429, Code::BytesUsedUp);
    let bot: Client = ada.bot(&organisation, "member").await;
    bot.upload(&[("more", &more)]).await.refused(429, Code::BytesUsedUp);
    grace.upload(&[("more", &more)]).await.expect(200);
    assert_eq!(on_disk(&server).1.len(), 0);
}

#[tokio::test]
async fn uploads_end_before_the_disk_is_full_and_talk_goes_on() {
    let server = Server::with(|settings| settings.files.left_free = 1 << 60).await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let refused = ada.upload(&[("notes.txt", b"x")]).await.refused(507, Code::FilesDiskFull);
    assert_eq!(refused["message"], "The server's disk has no more room for files");
    let general = ada.general(&organisation).await;
    ada.say(&general, "Words take no room").await;
}

/// The answer comes before the body has: a client that is still sending must not lose it.
#[tokio::test]
async fn whoever_is_refused_before_the_end_of_an_upload_is_told_why() {
    let server = Server::with(|settings| settings.files.each = 100_000).await;
    let (ada, ..) = server.ada_and_grace().await;
    let long = vec![b'x'; 3_000_000];
    for _ in 0..5 {
        ada.with_token("wrong").upload(&[("long", &long)]).await.refused(401, Code::TokenInvalid);
        ada.upload(&[("long", &long)]).await.refused(413, Code::BodyTooLarge);
    }
    assert_eq!(on_disk(&server), Default::default());
}
