//! Requests to addresses that users gave: what they reach, and what the ends they reach can do to the server.

mod timeouts;

use std::{
    net::IpAddr,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use crate::{
    certificate::Certificate,
    target::{Untouched, answering, gigabyte, listen, request},
    webhooks::outgoing_addresses::{SPELLINGS, edges, networks, url},
};
use bytes::Bytes;
use tidings::{
    net::trusted_authorities::Authorities,
    outgoing::{Answer, Failure, Lookup, Outgoing},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
};
use url::Url;

const PATIENT: Duration = Duration::from_secs(15);
/// Enough for what answers at once, on a machine that does much else.
const HASTY: Duration = Duration::from_secs(2);

/// A client that finds these addresses, a list for each time it looks a name up; and how often it did.
fn finding(opened: &[&str], turns: Vec<Vec<IpAddr>>, within: Duration) -> (Outgoing, Arc<AtomicUsize>) {
    let looked_up = Arc::new(AtomicUsize::new(0));
    let count = looked_up.clone();
    let lookup: Lookup = Arc::new(move |_| {
        let found = turns[count.fetch_add(1, Relaxed) % turns.len()].clone();
        Box::pin(async move { Ok(found) })
    });
    (Outgoing::with(&networks(opened), &Authorities::read(None).unwrap(), lookup, within).unwrap(), looked_up)
}

/// A client that may connect to loopback.
fn open(within: Duration) -> Outgoing {
    finding(&["127.0.0.0/8"], vec![vec![ip("127.0.0.1")]], within).0
}

fn loopback() -> Lookup {
    Arc::new(|_| Box::pin(async { Ok(vec![ip("127.0.0.1")]) }))
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

async fn post(client: &Outgoing, url: &Url) -> Result<Answer, Failure> {
    client.post(url, &[("content-type", "application/json".into())], Bytes::from_static(b"{}")).await
}

#[track_caller]
fn assert_refused(answer: Result<Answer, Failure>, what: impl std::fmt::Debug) {
    assert!(matches!(answer, Err(Failure::Refused(_))), "{what:?}: {answer:?}");
}

#[tokio::test]
async fn a_request_carries_the_given_headers_and_only_necessary_others() {
    let (heard, mut requests) = mpsc::unbounded_channel();
    let treat = move |mut stream: TcpStream| {
        let heard = heard.clone();
        async move {
            heard.send(request(&mut stream).await).unwrap();
            stream.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 6\r\n\r\nthanks").await.unwrap();
        }
    };
    let port = listen("127.0.0.1:0", treat).await;
    let hook = Url::parse(&format!("http://hook.example:{port}/in?key=1#part")).unwrap();
    let headers = [("webhook-id", "msg_1".to_owned()), ("content-type", "application/json".to_owned())];
    let answer = open(PATIENT).post(&hook, &headers, Bytes::from_static(b"{\"a\":1}")).await.unwrap();
    assert_eq!((answer.status, answer.excerpt.as_str(), answer.retry_after), (202, "thanks", None));

    let heard = requests.recv().await.unwrap();
    let (head, body) = heard.split_once("\r\n\r\n").unwrap();
    assert_eq!(body, "{\"a\":1}");
    let mut lines: Vec<_> = head.lines().map(str::to_lowercase).collect();
    lines.sort();
    let agent = concat!("user-agent: tidings/", env!("CARGO_PKG_VERSION"));
    let host = format!("host: hook.example:{port}");
    let expected = [
        "accept: */*",
        "content-length: 7",
        "content-type: application/json",
        &host,
        "post /in?key=1 http/1.1",
        agent,
        "webhook-id: msg_1",
    ];
    assert_eq!(lines, expected);
}

/// The environment is the whole process's: the test above once more, in another one.
#[test]
fn a_proxy_of_the_environment_is_ignored() {
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "webhooks::outgoing::a_request_carries_the_given_headers_and_only_necessary_others"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        again.env(name, "http://127.0.0.1:9");
    }
    let output = again.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::test]
async fn nothing_connects_to_loopback_however_it_is_spelled() {
    let (ipv4, ipv6) = (Untouched::at("0.0.0.0:0").await, Untouched::at("[::1]:0").await);
    let client = Outgoing::new(&[], &Authorities::read(None).unwrap()).unwrap();
    for port in [ipv4.address().port(), ipv6.address().port()] {
        for host in SPELLINGS {
            assert_refused(post(&client, &url(host, port)).await, host);
        }
        // A name, as the system resolves it.
        let answer = post(&client, &url("localhost", port)).await;
        assert_refused(answer, "localhost");
    }
    ipv4.assert().await;
    ipv6.assert().await;
}

#[tokio::test]
async fn a_name_leads_to_no_forbidden_address() {
    let forbidden: Vec<IpAddr> = edges().into_iter().filter(|(_, reachable)| !reachable).map(|(address, _)| address).collect();
    let each = forbidden.iter().map(|address| vec![*address]).collect();
    let (client, looked_up) = finding(&[], each, PATIENT);
    for address in &forbidden {
        let failure = post(&client, &url("hook.example", 80)).await.unwrap_err();
        // The address is not told: that would map the network inside.
        let words = "refused: hook.example has no address on the public internet";
        assert_eq!(failure.to_string(), words, "{address}");
    }
    assert_eq!(looked_up.load(Relaxed), forbidden.len());
    let (client, _) = finding(&[], vec![forbidden, vec![]], PATIENT);
    assert_refused(post(&client, &url("hook.example", 80)).await, "all at once");
    assert_refused(post(&client, &url("hook.example", 80)).await, "none");
}

#[tokio::test]
async fn a_name_that_resolves_differently_is_judged_by_the_connected_address() {
    let (reached, mut connections) = mpsc::unbounded_channel();
    let treat = move |mut stream: TcpStream| {
        reached.send(stream.local_addr().unwrap().ip()).unwrap();
        async move {
            request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
    };
    // One listener has the port at all addresses: a port that is free at one of them may be taken at another.
    let port = listen("0.0.0.0:0", treat).await;
    // 127.0.0.1 stands for the public internet, 127.0.0.2 for the network inside.
    let (good, bad) = (ip("127.0.0.1"), ip("127.0.0.2"));
    let turns = vec![vec![good], vec![bad], vec![good, bad], vec![bad, good], vec![ip("::ffff:127.0.0.2")], vec![good]];
    let (client, looked_up) = finding(&["127.0.0.1/32"], turns, PATIENT);
    let hook = url("rebinding.example", port);
    for (turn, reached) in [true, false, true, true, false, true].into_iter().enumerate() {
        let answer = post(&client, &hook).await;
        match reached {
            true => assert_eq!(answer.unwrap().status, 200, "turn {turn}"),
            false => assert_refused(answer, turn),
        }
        assert_eq!(looked_up.load(Relaxed), turn + 1, "one look-up for each attempt, kept for none");
    }
    let _inside = TcpStream::connect((bad, port)).await.unwrap();
    let mut heard = Vec::new();
    connections.recv_many(&mut heard, 100).await;
    while heard.last() != Some(&bad) {
        connections.recv_many(&mut heard, 100).await;
    }
    assert_eq!(heard, [good, good, good, good, bad], "the last one is this test's own");
}

/// A target that answers any number of requests on a connection, and tells of each connection that was closed.
async fn keeping() -> (u16, mpsc::UnboundedReceiver<()>) {
    let (closed, connections) = mpsc::unbounded_channel();
    let treat = move |mut stream: TcpStream| {
        let closed = closed.clone();
        async move {
            while stream.peek(&mut [0]).await.is_ok_and(|read| read > 0) {
                request(&mut stream).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            }
            closed.send(()).unwrap();
        }
    };
    (listen("127.0.0.1:0", treat).await, connections)
}

#[tokio::test]
async fn requests_in_a_row_share_a_connection_to_the_address_that_was_checked() {
    let (port, mut connections) = keeping().await;
    let (client, looked_up) = finding(&["127.0.0.1/32"], vec![vec![ip("127.0.0.1")], vec![ip("10.0.0.1")]], PATIENT);
    let hook = url("hook.example", port);
    for _ in 0..5 {
        assert_eq!(post(&client, &hook).await.unwrap().excerpt, "ok");
    }
    assert_eq!(looked_up.load(Relaxed), 1);
    // It is closed when it has waited for a second, and then the name is looked up anew.
    connections.recv().await.unwrap();
    assert_refused(post(&client, &hook).await, "after a pause");
    assert!(connections.is_empty(), "there was no other");
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let inside = Untouched::at("127.0.0.2:0").await;
    for status in [301, 302, 303, 307, 308] {
        let answer =
            format!("HTTP/1.1 {status} Gone There\r\nlocation: http://{}/\r\ncontent-length: 0\r\n\r\n", inside.address());
        let port = answering(answer).await;
        assert_eq!(post(&open(PATIENT), &url("127.0.0.1", port)).await.unwrap().status, status);
    }
    inside.assert().await;
}

#[tokio::test]
async fn a_response_of_a_gigabyte_is_cut_off() {
    let (port, mut taken) = gigabyte().await;
    let answer = post(&open(PATIENT), &url("127.0.0.1", port)).await.unwrap();
    assert_eq!((answer.status, answer.excerpt), (200, "x".repeat(1024)));
    let taken = taken.recv().await.unwrap();
    assert!(taken < 32 << 20, "{taken} bytes, more than sockets hold");
}

/// A client that has read enough does not wait for more.
#[tokio::test]
async fn at_most_twenty_thousand_bytes_of_a_response_are_read() {
    for (bytes, waits) in [(19_999, true), (20_000, false)] {
        let treat = move |mut stream: TcpStream| async move {
            request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n").await.unwrap();
            stream.write_all(&vec![b'x'; bytes]).await.unwrap();
            _ = stream.read(&mut [0]).await; // the rest never comes
        };
        let port = listen("127.0.0.1:0", treat).await;
        let began = Instant::now();
        assert_eq!(post(&open(HASTY), &url("127.0.0.1", port)).await.unwrap().excerpt, "x".repeat(1024));
        assert_eq!(began.elapsed() >= HASTY, waits, "{bytes}: {:?}", began.elapsed());
    }
}

#[tokio::test]
async fn endless_headers_are_cut_off() {
    let treat = |mut stream: TcpStream| async move {
        request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n").await.unwrap();
        let line = format!("x: {}\r\n", "y".repeat(1000));
        while stream.write_all(line.as_bytes()).await.is_ok() {}
    };
    let port = listen("127.0.0.1:0", treat).await;
    let failure = post(&open(PATIENT), &url("127.0.0.1", port)).await.unwrap_err();
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");
}

#[tokio::test]
async fn a_target_that_closes_or_is_absent_gave_no_answer() {
    let port = listen("127.0.0.1:0", |stream| async move { drop(stream) }).await;
    let failure = post(&open(PATIENT), &url("127.0.0.1", port)).await.unwrap_err();
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");

    let port = answering("SSH-2.0-OpenSSH_9.9\r\n").await;
    let failure = post(&open(PATIENT), &url("127.0.0.1", port)).await.unwrap_err();
    assert!(matches!(failure, Failure::Broken(_)), "{failure:?}");

    // Nobody listens on the discard port.
    let failure = post(&open(PATIENT), &url("127.0.0.1", 9)).await.unwrap_err();
    assert!(matches!(&failure, Failure::Unreachable(words) if words.contains("refused")), "{failure:?}");

    let missing: Lookup = Arc::new(|_| Box::pin(async { Err(std::io::Error::other("no such name")) }));
    let client = Outgoing::with(&[], &Authorities::read(None).unwrap(), missing, PATIENT).unwrap();
    let failure = post(&client, &url("hook.example", port)).await.unwrap_err();
    assert_eq!(failure.to_string(), "refused: hook.example has no address on the public internet");
}

#[tokio::test]
async fn a_body_that_breaks_off_leaves_the_status() {
    let port = answering("HTTP/1.1 500 Oh\r\ncontent-length: 100\r\n\r\nhalf").await;
    let answer = post(&open(PATIENT), &url("127.0.0.1", port)).await.unwrap();
    assert_eq!((answer.status, answer.excerpt.as_str()), (500, "half"));
}

#[tokio::test]
async fn a_hanging_name_lookup_times_out() {
    let lookup: Lookup = Arc::new(|_| Box::pin(std::future::pending()));
    let client = Outgoing::with(&[], &Authorities::read(None).unwrap(), lookup, HASTY).unwrap();
    assert_eq!(post(&client, &url("hook.example", 80)).await, Err(Failure::TimedOut(HASTY)));
}

#[tokio::test]
async fn an_excerpt_has_the_whole_characters_of_the_first_kibibyte() {
    for (body, excerpt) in [
        (b"".to_vec(), String::new()),
        (b"x".repeat(1024), "x".repeat(1024)),
        (b"x".repeat(1025), "x".repeat(1024)),
        ("é".repeat(600).into_bytes(), "é".repeat(512)),
        (format!("x{}", "é".repeat(600)).into_bytes(), format!("x{}", "é".repeat(511))),
        (b"a\xffb".to_vec(), "a\u{fffd}b".into()),
        (vec![0xff; 1000], "\u{fffd}".repeat(341)),
        // Compressed is what it is: a small bomb stays small.
        (b"\x1f\x8b\x08".to_vec(), "\u{1f}\u{fffd}\u{8}".into()),
    ] {
        let mut answer =
            format!("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes();
        answer.extend_from_slice(&body);
        let port = answering(answer).await;
        assert_eq!(post(&open(PATIENT), &url("127.0.0.1", port)).await.unwrap().excerpt, excerpt);
    }
}

#[tokio::test]
async fn a_target_may_ask_for_a_pause() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for (header, pause) in [
        ("120", seconds(120)),
        (" 0 ", seconds(0)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", seconds(0)),
        ("18446744073709551615", seconds(u32::MAX.into())),
        ("99999999999999999999999", None),
        ("-5", None),
        ("soon", None),
        ("", None),
    ] {
        assert_eq!(pause_of(header).await, pause, "{header:?}");
    }
    let later = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(3600);
    let pause = pause_of(&later.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()).await.unwrap();
    assert!((3500..=3600).contains(&pause.as_secs()), "{pause:?}");
}

async fn pause_of(header: &str) -> Option<Duration> {
    let port = answering(format!("HTTP/1.1 503 Busy\r\nretry-after: {header}\r\ncontent-length: 0\r\n\r\n")).await;
    post(&open(PATIENT), &url("127.0.0.1", port)).await.unwrap().retry_after
}

#[tokio::test]
async fn https_is_spoken_only_with_hosts_that_the_certificate_names() {
    let certificate = Certificate::of("hook.example");
    let port = certificate.serve("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authorities.pem");
    std::fs::write(&file, certificate.pem()).unwrap();
    let client = |trusted: Option<&Path>| {
        Outgoing::with(&networks(&["127.0.0.0/8"]), &Authorities::read(trusted).unwrap(), loopback(), PATIENT).unwrap()
    };
    let https = |host: &str| Url::parse(&format!("https://{host}:{port}/")).unwrap();

    let answer = post(&client(Some(&file)), &https("hook.example")).await.unwrap();
    assert_eq!((answer.status, answer.excerpt.as_str()), (200, "ok"));
    for (trusted, host, why) in [
        (None, "hook.example", "UnknownIssuer"),
        (Some(file.as_path()), "other.example", "not valid for name"),
        (Some(&file), "127.0.0.1", "not valid for name"),
    ] {
        let failure = post(&client(trusted), &https(host)).await.unwrap_err();
        assert!(matches!(&failure, Failure::Unreachable(words) if words.contains(why)), "{host}: {failure:?}");
    }
    // And who speaks no TLS at all.
    let port = answering("HTTP/1.1 200 OK\r\n\r\n").await;
    let plain = Url::parse(&format!("https://127.0.0.1:{port}/")).unwrap();
    assert!(matches!(post(&client(None), &plain).await, Err(Failure::Unreachable(_))));
}

/// The text of a failure is stored for each attempt, and mailed, so the target must not choose its length.
#[tokio::test]
async fn a_certificate_of_many_names_is_not_told_in_full() {
    let names: Vec<_> = (0..100).map(|n| format!("{n}.hook.example\r\nclick here: http://{}", "x".repeat(100))).collect();
    let certificate = Certificate::naming(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let port = certificate.serve("");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authorities.pem");
    std::fs::write(&file, certificate.pem()).unwrap();
    let client =
        Outgoing::with(&networks(&["127.0.0.0/8"]), &Authorities::read(Some(&file)).unwrap(), loopback(), PATIENT).unwrap();
    let hook = Url::parse(&format!("https://other.example:{port}/")).unwrap();
    let words = post(&client, &hook).await.unwrap_err().to_string();
    assert!(words.contains("not valid for name \"other.example\""), "{words}");
    assert!(words.len() < 300 && !words.contains(char::is_control), "{} bytes: {words:?}", words.len());
}
