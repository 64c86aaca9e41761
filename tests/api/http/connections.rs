//! Connections: how many, for how long, and what goes over them to everybody alike.

use std::{io::Read, time::Duration};

use serde_json::json;
use tidings::error::Code;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{Instant, timeout},
};

use crate::{harness::Server, shapes::assert_failure};

pub async fn dial(server: &Server) -> TcpStream {
    TcpStream::connect(server.origin.trim_start_matches("http://")).await.unwrap()
}

/// Everything that the server says until it hangs up.
pub async fn to_the_end(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    let end = timeout(Duration::from_secs(60), stream.read_to_end(&mut said)).await.expect("the server hangs up");
    _ = end; // a reset is an end, too
    String::from_utf8_lossy(&said).into_owned()
}

/// What the server answers, on a connection that stays open.
pub async fn asks_health(stream: &mut TcpStream) -> String {
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut said = vec![0; 1024];
    let read = stream.read(&mut said).await.unwrap_or_default();
    String::from_utf8_lossy(&said[..read]).into_owned()
}

/// Ten seconds of real time each, so all of them run at once.
#[tokio::test]
async fn a_connection_without_a_whole_head_is_closed_after_ten_seconds() {
    let server = Server::start().await;
    tokio::join!(
        nothing_and_half_a_head_close_the_connection(&server),
        half_a_head_right_after_an_answer_closes_the_connection(&server),
        a_late_first_byte_does_not_extend_the_deadline_of_the_head(&server),
    );
}

async fn nothing_and_half_a_head_close_the_connection(server: &Server) {
    let begun = Instant::now();
    let hung_up = async |says: &[u8]| {
        let mut stream = dial(server).await;
        stream.write_all(says).await.unwrap();
        assert_eq!(to_the_end(&mut stream).await, "");
        let after = begun.elapsed();
        assert!(after >= Duration::from_millis(9_900) && after < Duration::from_secs(20), "{after:?}");
    };
    tokio::join!(hung_up(b""), hung_up(b"GET /health HTTP/1.1\r\nhost: x\r\n"));
}

async fn half_a_head_right_after_an_answer_closes_the_connection(server: &Server) {
    let (mut stream, begun) = (dial(server).await, Instant::now());
    assert!(asks_health(&mut stream).await.starts_with("HTTP/1.1 200"));
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n").await.unwrap();
    assert_eq!(to_the_end(&mut stream).await, "");
    let after = begun.elapsed();
    assert!(after >= Duration::from_millis(9_900) && after < Duration::from_secs(20), "{after:?}");
}

async fn a_late_first_byte_does_not_extend_the_deadline_of_the_head(server: &Server) {
    let (mut stream, begun) = (dial(server).await, Instant::now());
    assert!(timeout(Duration::from_secs(8), stream.read(&mut [0])).await.is_err(), "nothing is said before");
    stream.write_all(b"G").await.unwrap();
    assert_eq!(to_the_end(&mut stream).await, "");
    let after = begun.elapsed();
    assert!(after >= Duration::from_millis(9_900) && after < Duration::from_secs(15), "{after:?}");
}

#[tokio::test]
async fn a_request_without_exactly_one_valid_host_is_400_in_the_envelope() {
    let server = Server::start().await;
    for (line, hosts, status) in [
        ("GET /health HTTP/1.1", "", 400),
        ("GET /health HTTP/1.0", "", 200),
        ("GET /health HTTP/1.1", "host: x\r\n", 200),
        ("GET /health HTTP/1.1", "host: x:80\r\n", 200),
        ("GET /health HTTP/1.1", "host: x\r\nHost: x\r\n", 400),
        ("GET /health HTTP/1.0", "host: x\r\nHost: y\r\n", 400),
        ("GET /api/v1/blogs HTTP/1.1", "host: x y\r\n", 400),
        ("GET /api/v1/blogs HTTP/1.1", "host:\r\n", 400),
        ("GET /api/v1/blogs HTTP/1.1", "host: a@x\r\n", 400),
    ] {
        let mut stream = dial(&server).await;
        stream.write_all(format!("{line}\r\n{hosts}connection: close\r\n\r\n").as_bytes()).await.unwrap();
        let said = to_the_end(&mut stream).await;
        assert!(said.contains(&format!(" {status} ")), "{line} {hosts}: {said}");
        if status == 400 {
            let body = serde_json::from_str(said.split_once("\r\n\r\n").unwrap().1).unwrap();
            assert_failure(line, 400, &body);
            assert_eq!(body["code"], Code::BadRequest.name(), "{said}");
            assert!(body["message"].as_str().unwrap().starts_with("The header Host "), "{said}");
        }
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_400_in_the_envelope() {
    let server = Server::start().await;
    let mut stream = dial(&server).await;
    let head =
        "POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(format!("{head}1\r\n{{\r\nno length\r\n").as_bytes()).await.unwrap();
    let said = to_the_end(&mut stream).await;
    let body: serde_json::Value = serde_json::from_str(said.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_failure(head, 400, &body);
    assert_eq!(body["code"], Code::BodyIncomplete.name(), "{said}");
}

#[tokio::test]
async fn plain_http_tells_no_browser_to_keep_to_https() {
    let server = Server::start().await;
    let reply = server.anonymous().request("GET", "/health").send().await.unwrap();
    assert!(!reply.headers().contains_key("strict-transport-security"));
}

#[tokio::test]
async fn http_2_is_not_spoken_in_clear_text() {
    let server = Server::start().await;
    let mut stream = dial(&server).await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let said = to_the_end(&mut stream).await;
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 4"), "{said:?}");
}

#[tokio::test]
async fn a_head_is_read_up_to_16_kib() {
    let server = Server::start().await;
    for (length, statuses) in [(15_000, &["HTTP/1.1 200"][..]), (17_000, &["HTTP/1.1 431", ""])] {
        let mut stream = dial(&server).await;
        let head = format!("GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-long: {}\r\n\r\n", "x".repeat(length));
        _ = stream.write_all(head.as_bytes()).await;
        let said = to_the_end(&mut stream).await;
        assert!(statuses.iter().any(|status| said.starts_with(status)), "{length}: {said}");
    }
}

#[tokio::test]
async fn the_docs_and_the_document_are_sent_once_and_compressed_on_demand() {
    let server = Server::start().await;
    let anybody = server.anonymous();
    for path in ["/docs", "/api/v1/openapi.json", "/api/v1/asyncapi.json"] {
        let plain = anybody.request("GET", path).send().await.unwrap();
        assert_eq!(plain.status(), 200);
        let headers = plain.headers().clone();
        assert_eq!(headers["cache-control"], "no-cache");
        assert_eq!(headers["vary"], "accept-encoding");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert!(!headers.contains_key("content-encoding"));
        let plain = plain.text().await.unwrap();

        let gzip = anybody.request("GET", path).header("accept-encoding", "br, gzip").send().await.unwrap();
        assert_eq!(gzip.headers()["content-encoding"], "gzip");
        let (tag, gzip) = (gzip.headers()["etag"].clone(), gzip.bytes().await.unwrap());
        assert_eq!(tag, headers["etag"]);
        assert!(gzip.len() < plain.len() / 2, "{} of {}", gzip.len(), plain.len());
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(&gzip[..]).read_to_string(&mut unpacked).unwrap();
        assert!(unpacked == plain, "{path} is another text when it is compressed");

        for (known, status) in [(tag.to_str().unwrap(), 304), ("\"other\", W/\"another\"", 200)] {
            let again = anybody.request("GET", path).header("if-none-match", known).send().await.unwrap();
            assert_eq!(again.status(), status);
            assert_eq!(again.headers()["etag"], tag);
            assert_eq!(again.bytes().await.unwrap().is_empty(), status == 304);
        }
    }
}

#[tokio::test]
async fn browsers_get_an_icon_and_keep_it_for_a_day() {
    let server = Server::start().await;
    let anybody = server.anonymous();
    for (path, kind, begins) in
        [("/favicon.ico", "image/x-icon", &b"\0\0\x01\0"[..]), ("/favicon.svg", "image/svg+xml", &b"<svg "[..])]
    {
        let icon = anybody.request("GET", path).send().await.unwrap();
        assert_eq!(icon.status(), 200, "{path}");
        assert_eq!([&icon.headers()["content-type"], &icon.headers()["cache-control"]], [kind, "max-age=86400"]);
        let icon = icon.bytes().await.unwrap();
        assert!(icon.starts_with(begins) && icon.len() < 4096, "{path}: {} bytes", icon.len());
        for page in ["/docs", "/docs/guide"] {
            let page = anybody.request("GET", page).send().await.unwrap();
            let policy = page.headers()["content-security-policy"].to_str().unwrap();
            assert!(policy.contains("img-src 'self'"), "its policy lets the page have the icon: {policy}");
        }
    }
    let page = anybody.request("GET", "/").send().await.unwrap();
    assert_eq!(page.headers()["cache-control"], "no-cache");
    assert!(page.headers()["content-security-policy"].to_str().unwrap().contains("img-src 'self'"));
}

#[tokio::test]
async fn no_page_may_frame_the_docs_or_add_scripts_to_them() {
    let server = Server::start().await;
    let docs = server.anonymous().request("GET", "/docs").send().await.unwrap();
    let policy = docs.headers()["content-security-policy"].to_str().unwrap().to_owned();
    assert_eq!(docs.headers()["cross-origin-opener-policy"], "same-origin");
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("connect-src 'self'"), "{policy}");
    assert!(!policy.contains("script-src 'unsafe-inline'") && !policy.contains("unsafe-eval"), "{policy}");
}

#[tokio::test]
async fn answers_of_the_api_forbid_caching_and_content_sniffing() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let cases = [
        ("GET", "/api/v1/users/me".to_owned(), 200),
        ("DELETE", format!("/api/v1/organisations/{organisation}"), 204),
        ("GET", "/api/v1/blogs".to_owned(), 200),
        ("GET", "/api/v1/nowhere".to_owned(), 404),
        ("PATCH", "/api/v1/auth/login".to_owned(), 405),
        ("POST", "/api/v1/auth/login".to_owned(), 422),
    ];
    for (method, path, status) in cases {
        let reply = ada.request(method, &path).json(&json!({})).send().await.unwrap();
        assert_eq!(reply.status(), status, "{method} {path}");
        assert_eq!(reply.headers()["cache-control"], "no-store", "{method} {path}");
        assert_eq!(reply.headers()["x-content-type-options"], "nosniff", "{method} {path}");
    }
}

/// Closed at once, the connection would be reset by what the client still sends, and the answer lost that it has not read yet.
#[tokio::test]
async fn an_answer_before_the_end_of_a_body_reaches_a_client_that_is_still_sending() {
    let server = Server::start().await;
    let mut client = dial(&server).await;
    let head = "POST /api/v1/organisations HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\n\
        content-type: application/json\r\ncontent-length: 1000000\r\n\r\n";
    client.write_all(head.as_bytes()).await.unwrap();
    client.peek(&mut [0]).await.unwrap(); // it has answered
    for _ in 0..200 {
        client.write_all(&[b' '; 1000]).await.expect("it is read on");
        tokio::task::yield_now().await;
    }
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.expect("the answer is not lost");
    assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains("token_invalid"), "{answer}");
}
