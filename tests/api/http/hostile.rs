//! Hostile requests: valid ones of HTTP/1.1, changed at random as bytes. None is a fault, none hangs, and the server goes on.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use super::connections::{asks_health, dial};
use crate::harness::{PASSWORD, Server};

/// Some ten seconds of them. `TIDINGS_REQUESTS_SEED` repeats a run, or makes another.
const REQUESTS: u64 = 4000;
const AT_ONCE: usize = 48;
/// A server that waits for more gets the end of the client's bytes after this long.
const MORE_WITHIN: Duration = Duration::from_millis(250);
/// By then the server must have ended the connection. Its longest deadline is 30 seconds.
const ENDS_WITHIN: Duration = Duration::from_secs(25);

/// What is put into requests: bytes that parsers treat in ways of their own.
const PIECES: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\0",
    b" ",
    b"\t",
    b":",
    b"%00",
    b"%ff%fe",
    b"%2e%2e%2f",
    b"../",
    b"//",
    b"?",
    b"#",
    b"\xff\xfe",
    b"\xc0\xaf",
    b"\xe2\x80\xae",
    b"'",
    b"\"",
    b"{",
    b"[[[[[[[[",
    b"-1",
    b"99999999999999999999",
    b"0x10",
    b"host: y\r\n",
    b"content-length: 5\r\n",
    b"content-length: 0\r\n",
    b"content-length: 18446744073709551616\r\n",
    b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: gzip, chunked\r\n",
    b"expect: 100-continue\r\n",
    b"connection: upgrade\r\nupgrade: h2c\r\n",
    b"connection: keep-alive, upgrade\r\nupgrade: websocket\r\n",
    b"sec-websocket-key: x\r\n",
    b"sec-websocket-version: 13\r\n",
    b"accept-encoding: gzip;q=nan\r\n",
    b"if-none-match: \"\r\n",
    b"origin: null\r\n",
    b"x-forwarded-for: ::::,\r\n",
    b"x-http-method-override: DELETE\r\n",
    b" folded\r\n",
    b"range: bytes=0-\r\n",
    b"authorization: Bearer \r\n",
    b"authorization: \xff\r\n",
    b"cookie: =;;=\r\n",
    b"HTTP/1.0",
    b"HTTP/1.1",
    b"HTTP/2.0",
    b"HTTP/9.9",
    b"CONNECT ",
    b"OPTIONS * ",
    b"HEAD ",
    b"TRACE ",
    b"http://x/",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"5;x=\"\r\n",
];

/// Random choices, the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }

    /// Changes a request in one place.
    fn mutate(&mut self, request: &mut Vec<u8>) {
        let at = self.below(request.len() + 1);
        let piece = PIECES[self.below(PIECES.len())];
        let end = (at + self.below(20)).min(request.len());
        match self.below(9) {
            0 => drop(request.splice(at..at, piece.iter().copied())),
            1 => drop(request.splice(at..end, piece.iter().copied())),
            2 => drop(request.drain(at..end)),
            3 => request.truncate(at),
            4 => {
                let byte = self.below(256) as u8;
                request.iter_mut().skip(at).take(1).for_each(|found| *found = byte);
            }
            5 => {
                let again = request[at..end].to_vec();
                drop(request.splice(at..at, again));
            }
            6 => {
                let long = vec![b"aA0/&=, "[self.below(8)]; self.below(20_000)];
                drop(request.splice(at..at, long));
            }
            7 => {
                // Between two lines of the head, where headers belong.
                let lines: Vec<_> =
                    request.windows(2).enumerate().filter(|(_, end)| *end == b"\r\n").map(|(at, _)| at + 2).collect();
                let at = lines.get(self.below(lines.len())).copied().unwrap_or_default();
                drop(request.splice(at..at, piece.iter().copied()));
            }
            _ => request.rotate_left(at),
        }
    }
}

fn request(line: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = if body.is_empty() {
        String::new()
    } else {
        format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
    };
    format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}{length}\r\n{body}").into_bytes()
}

/// Requests that are answered with 2xx or 400 as they are.
async fn corpus(server: &Server) -> Vec<Vec<u8>> {
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.general(&organisation).await;
    let thread = ada.say(&channel, "hello").await;
    let hook = ada.post(&format!("/webhooks/{channel}"), json!({ "webhook_name": "ci" })).await.expect(201);
    let slug = hook["data"]["webhook_slug"].as_str().unwrap().to_owned();
    let bearer = format!("authorization: Bearer {}\r\n", ada.token.as_ref().unwrap());
    let notified = format!("x-notification-token: {}\r\n", ada.notification_token);
    let log_in = json!({ "email": ada.email, "password": PASSWORD }).to_string();
    let feed = json!({ "event_name": "build", "message": "done", "status": "success", "username": "ci" }).to_string();
    let socket = "upgrade: websocket\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-version: 13\r\n";
    vec![
        request("GET /health", "", ""),
        request("GET /docs", "accept-encoding: gzip\r\n", ""),
        request("GET /api/v1/openapi.json", "if-none-match: \"x\"\r\n", ""),
        request("GET /api/v1/blogs?page=1&limit=5&search=tea", "", ""),
        request(
            "OPTIONS /api/v1/organisations",
            &format!("origin: {}\r\naccess-control-request-method: POST\r\n", server.origin),
            "",
        ),
        request("POST /api/v1/auth/login", "", &log_in),
        request("POST /api/v1/auth/register", "", r#"{"email":"new@example.org","password":"short"}"#),
        request("GET /api/v1/users/organisations", &bearer, ""),
        request(&format!("GET /api/v1/organisations/{organisation}/search?q=hello&limit=5"), &bearer, ""),
        request(&format!("GET /api/v1/channels/{channel}/messages?limit=5&before={thread}"), &bearer, ""),
        request(&format!("POST /api/v1/channels/{channel}/messages"), &bearer, r#"{"content":"hello @ada, caf\u00e9"}"#),
        request(&format!("PUT /api/v1/threads/{thread}/channels/{channel}"), &bearer, r#"{"status":"completed"}"#),
        request(&format!("PUT /api/v1/channels/{channel}/messages/{thread}/reactions/%F0%9F%8E%89"), &bearer, ""),
        request(&format!("POST /api/v1/webhooks/feed/{slug}"), "", &feed),
        request(&format!("GET /api/v1/webhooks/feed/{slug}?event_name=build&message=done&status=success&username=ci"), "", ""),
        request("POST /api/v1/realtime/subscription", &notified, &format!(r#"{{"channel":"{channel}"}}"#)),
        request("GET /connection/websocket", &socket.replace("upgrade: w", "connection: upgrade\r\nupgrade: w"), ""),
        request("GET /connection/uni_sse?cf_connect=%7B%22token%22%3A%22x%22%7D", "", ""),
        b"POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n".to_vec(),
    ]
}

/// Sends bytes, and reads until the server ends the connection. After `more_within`, the client ends its half.
async fn answers(server: &Server, bytes: &[u8], more_within: Duration) -> Result<Vec<u8>, &'static str> {
    let (mut theirs, mut ours): (_, _) = dial(server).await.into_split();
    let mut said = Vec::new();
    let write = async {
        _ = ours.write_all(bytes).await; // the server may have hung up
    };
    let read = async {
        _ = theirs.read_to_end(&mut said).await; // a reset is an end, too
    };
    let both = timeout(more_within, async { tokio::join!(write, read) }).await;
    if both.is_err() {
        _ = ours.shutdown().await;
        let rest = async { while theirs.read_buf(&mut said).await.is_ok_and(|read| read > 0) {} };
        timeout(ENDS_WITHIN, rest).await.map_err(|_| "the connection does not end")?;
    }
    Ok(said)
}

/// The statuses of all answers in what a server said.
fn statuses(said: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(said);
    let lines = text.split("HTTP/1.").skip(1).filter_map(|rest| rest.get(2..5));
    lines.filter_map(|status| status.parse().ok()).collect()
}

#[expect(clippy::disallowed_methods, reason = "the seed of a run that is to be repeated")]
fn seed() -> u64 {
    std::env::var("TIDINGS_REQUESTS_SEED").map_or(24, |seed| seed.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_are_no_faults_and_none_hangs() {
    let server = Server::with(|settings| settings.connections_per_address = 1000).await;
    let corpus = corpus(&server).await;
    for good in &corpus[..corpus.len() - 3] {
        let said = answers(&server, good, ENDS_WITHIN).await.unwrap();
        assert!(matches!(statuses(&said)[..], [200 | 201 | 204 | 400]), "{}", String::from_utf8_lossy(&said));
    }
    let seed = seed();
    let (server, corpus) = (&server, &corpus);
    let send = |n: u64| async move {
        let mut chance = Chance(seed + (n << 32));
        let mut bytes = corpus[chance.below(corpus.len())].clone();
        (0..=chance.below(3)).for_each(|_| chance.mutate(&mut bytes));
        let said = answers(server, &bytes, MORE_WITHIN).await;
        (n, bytes, said)
    };
    let mut all = stream::iter(0..REQUESTS).map(send).buffer_unordered(AT_ONCE);
    let mut answered = [0; 6];
    while let Some((n, bytes, said)) = all.next().await {
        let told = || format!("seed {seed}, request {n}: {}", bytes.escape_ascii());
        let said = said.unwrap_or_else(|why| panic!("{why}: {}", told()));
        let statuses = statuses(&said);
        assert!(!statuses.contains(&500), "{}: {}", told(), String::from_utf8_lossy(&said));
        statuses.iter().for_each(|status| answered[(*status as usize / 100).min(5)] += 1);
        if n % 200 == 0 {
            assert!(asks_health(&mut dial(server).await).await.starts_with("HTTP/1.1 200"), "after {}", told());
        }
    }
    assert!(answered[2] > 100 && answered[4] > 1000, "the requests reach the handlers and the parsers: {answered:?}");
    assert!(asks_health(&mut dial(server).await).await.starts_with("HTTP/1.1 200"));
    println!("answers by kind of status: {answered:?}");
}
