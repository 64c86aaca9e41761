use std::{
    net::{IpAddr, SocketAddr},
    sync::Weak,
    time::Duration,
};

use poem::{
    EndpointExt, Route,
    endpoint::make,
    get,
    http::{HeaderMap, StatusCode},
    post,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::timeout,
};

use super::*;
use crate::{
    connections::request_log::RequestLog,
    id::{Share, UserId},
    limits::admission::{self, Admission, ConnectionSlots},
    net::client_socket,
    push::embedded::upgrade::Upgrade,
};

mod later;
mod places;

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(150);
const AT_ONCE: Duration = Duration::from_millis(1);
const ENDLESS: Deadlines = Deadlines { head: LONG, idle: LONG, crowded: LONG, held: LONG, write: LONG };
const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

/// The server's side of a connection, as the tests see it.
struct Served {
    slots: Arc<ConnectionSlots>,
    slot: Weak<Slot>,
    stop: watch::Sender<bool>,
}

/// A client of a server, and the server's slots.
fn client(deadlines: Deadlines) -> (DuplexStream, Arc<ConnectionSlots>) {
    let (stream, served) = serve(deadlines, false);
    let slots = served.slots.clone();
    tokio::spawn(async move {
        served.stop.closed().await; // it runs until its connection has ended
    });
    (stream, slots)
}

/// A client of a server as of [`serve_on`].
fn serve(deadlines: Deadlines, is_reserve: bool) -> (DuplexStream, Served) {
    let (here, there) = duplex(1024);
    (here, serve_on(there, deadlines, is_reserve))
}

fn admit(slots: &Arc<ConnectionSlots>, from: IpAddr) -> Arc<Slot> {
    let Admission::Slot(slot) = slots.admit(from) else { panic!("there is a slot") };
    Arc::new(slot)
}

/// Serves a client as of [`serve_in`], with as many slots as there may be.
fn serve_on(stream: impl Io + 'static, deadlines: Deadlines, is_reserve: bool) -> Served {
    serve_in(ConnectionSlots::new(1000, &[]), stream, deadlines, is_reserve)
}

/// Serves a client: answers `/` with "done", `/user` with "done" to a user, `/slow` after a while, `/take` after the body,
/// `/long` with 100,000 bytes, and `/late` with as many after a while; and that echoes bytes once `/up` was answered.
fn serve_in(slots: Arc<ConnectionSlots>, stream: impl Io + 'static, deadlines: Deadlines, is_reserve: bool) -> Served {
    let user = Share::Person(UserId::new());
    let of_user = make(move |req| async move {
        admission::assign_to_user(&req, user);
        "done"
    });
    let slow = make(|req| async move {
        tokio::time::sleep(SHORT * 3).await;
        drop(req);
        "done"
    });
    let late = make(|_| async {
        tokio::time::sleep(SHORT * 3).await;
        "x".repeat(100_000)
    });
    let up = make(|_| async {
        let (upgrade, upgraded) = Upgrade::new();
        tokio::spawn(async move {
            let upgraded = upgraded.await.unwrap();
            let (mut theirs, mut ours) = tokio::io::split(upgraded.stream);
            ours.write_all(&upgraded.before).await?;
            tokio::io::copy(&mut theirs, &mut ours).await
        });
        let answer = poem::Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
        answer.header("connection", "upgrade").header("upgrade", "echo").extension(upgrade).finish()
    });
    let routes = Route::new()
        .at("/", get(make(|_| async { "done" })))
        .at("/user", of_user)
        .at("/slow", slow)
        .at("/long", get(make(|_| async { "x".repeat(100_000) })))
        .at("/late", late)
        .at("/up", up)
        .at("/take", post(make(|req| async move { req.into_body().into_bytes().await.map(|_| "done") })));
    let peer: SocketAddr = "192.0.2.1:1".parse().unwrap();
    let slot = admit(&slots, peer.ip());
    assert!(slot.begin());
    let (stop, stopping) = watch::channel(false);
    let served = Served { slots, slot: Arc::downgrade(&slot), stop };
    let handler = Arc::new(routes.map_to_response().boxed());
    let log = Arc::new(RequestLog::new(Default::default()));
    let service = Service { peer, handler, log, is_secure: false };
    let connection = Connection { service, slot, is_reserve, stopping, turns: Arc::default() };
    tokio::spawn(connection.run(stream, Instant::now(), deadlines));
    served
}

async fn answer_of(stream: &mut DuplexStream) {
    let mut answer = Vec::new();
    while !answer.ends_with(b"done") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "{}", String::from_utf8_lossy(&answer));
    }
}

/// Waits until the server closes the connection, which takes at least `SHORT`.
async fn hung_up(mut stream: impl AsyncRead + Unpin, since: Instant) {
    let mut rest = Vec::new();
    _ = timeout(LONG, stream.read_to_end(&mut rest)).await.unwrap();
    assert!(since.elapsed() >= SHORT, "{:?}", since.elapsed());
}

#[tokio::test]
async fn a_head_that_does_not_end_ends_the_connection() {
    let since = Instant::now();
    let (mut stream, _) = client(Deadlines { head: SHORT, ..ENDLESS });
    stream.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    hung_up(stream, since).await;
}

#[tokio::test]
async fn a_handshake_that_does_not_end_ends_the_connection() {
    let since = Instant::now();
    let (socket, mut stream, _) = client_socket::tests::secured();
    let _served = serve_on(socket, Deadlines { head: SHORT, ..ENDLESS }, false);
    stream.write_all(&[22, 3, 1, 2]).await.unwrap(); // the beginning of a ClientHello
    hung_up(stream, since).await;
}

#[tokio::test]
async fn a_head_that_arrives_byte_by_byte_ends_the_connection() {
    let since = Instant::now();
    let (mut stream, _) = client(Deadlines { head: SHORT, ..ENDLESS });
    while stream.write_all(b"x").await.is_ok() {
        tokio::time::sleep(SHORT / 20).await;
    }
    hung_up(stream, since).await;
}

#[tokio::test]
async fn the_second_head_has_its_own_deadline() {
    let (mut stream, _) = client(Deadlines { head: SHORT, ..ENDLESS });
    stream.write_all(GET).await.unwrap();
    answer_of(&mut stream).await;
    tokio::time::sleep(SHORT * 2).await;
    let since = Instant::now();
    stream.write_all(&GET[..5]).await.unwrap();
    hung_up(stream, since).await;
}

#[tokio::test]
async fn an_idle_connection_ends() {
    let (mut stream, slots) = client(Deadlines { idle: SHORT, ..ENDLESS });
    for _ in 0..3 {
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
    }
    hung_up(stream, Instant::now()).await;
    assert_eq!(slots.total_open(), 0);
}

#[tokio::test]
async fn a_request_may_take_its_time() {
    let (mut stream, _) = client(Deadlines { head: SHORT, idle: SHORT, write: SHORT, ..ENDLESS });
    stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    answer_of(&mut stream).await;
}

#[tokio::test]
async fn an_answer_that_nobody_reads_is_counted_and_ends_the_connection() {
    let (mut stream, slots) = client(Deadlines { write: SHORT, ..ENDLESS });
    let since = Instant::now();
    stream.write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while slots.buffered_bytes() == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(slots.buffered_bytes(), 100_000);
    while slots.total_open() > 0 {
        tokio::time::sleep(SHORT / 10).await;
    }
    assert!(since.elapsed() >= SHORT, "{:?}", since.elapsed());
    assert_eq!(slots.buffered_bytes(), 0);
}

#[tokio::test]
async fn a_long_body_is_counted_while_it_arrives() {
    let (mut stream, slots) = client(ENDLESS);
    for (head, counted) in [("content-length: 100000", 100_000), ("transfer-encoding: chunked", 1 << 20)] {
        stream
            .write_all(format!("POST /take HTTP/1.1\r\nhost: x\r\nauthorization: x\r\n{head}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        while slots.buffered_bytes() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(slots.buffered_bytes(), counted);
        let body = if counted == 100_000 { "x".repeat(counted) } else { "1\r\nx\r\n0\r\n\r\n".into() };
        stream.write_all(body.as_bytes()).await.unwrap();
        answer_of(&mut stream).await;
        assert_eq!(slots.buffered_bytes(), 0);
    }
}

#[tokio::test]
async fn requests_may_arrive_together_and_in_pieces() {
    let post = b"POST /take HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\n\r\nabc";
    let all = [GET, post, b"\r\n", GET].concat().repeat(20);
    // One by one; then so that each piece ends within a request.
    let lengths = [1, GET.len() + 5, all.len()];
    for length in lengths {
        let (mut stream, _) = client(ENDLESS);
        let (mut theirs, mut ours) = tokio::io::split(&mut stream);
        let write = async {
            for piece in all.chunks(length) {
                ours.write_all(piece).await.unwrap();
            }
        };
        let read = async {
            let mut answers = Vec::new();
            while answers.windows(4).filter(|end| end == b"done").count() < 60 {
                assert!(theirs.read_buf(&mut answers).await.unwrap() > 0, "{}", String::from_utf8_lossy(&answers));
            }
        };
        tokio::join!(write, read);
    }
}

#[tokio::test]
async fn bytes_that_are_not_http_are_refused_at_once() {
    let (mut stream, _) = client(ENDLESS);
    stream.write_all(b"\x16\x03\x01\x02\x00").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test]
async fn an_unread_body_is_not_parsed_as_a_request() {
    let heads = [
        "POST / HTTP/1.1\r\ncontent-length: 1000",
        "POST / HTTP/1.1\r\ntransfer-encoding: chunked",
        "POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1000",
        "POST /slow HTTP/1.1\r\ncontent-length: 1000",
        "GET / HTTP/1.1\r\nconnection: close",
        "GET / HTTP/1.0",
    ];
    for head in heads {
        let (mut stream, _) = client(Deadlines { head: SHORT, idle: SHORT, ..ENDLESS });
        stream.write_all(format!("{head}\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
        let mut answers = vec![0; 12];
        stream.read_exact(&mut answers).await.unwrap();
        _ = stream.write_all(GET).await; // it may be closed by now
        stream.read_to_end(&mut answers).await.unwrap();
        let answers = String::from_utf8(answers).unwrap();
        assert_eq!(answers.matches("HTTP/1.").count(), 1, "{head}: {answers}");
    }
}

#[tokio::test]
async fn an_unread_body_is_not_parsed_as_a_request_after_other_requests() {
    // Hyper pauses after every 16th request that comes together with others.
    for before in 0..36 {
        let (stream, _) = client(Deadlines { head: SHORT, idle: SHORT, ..ENDLESS });
        let (mut theirs, mut ours) = tokio::io::split(stream);
        let post = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
        let write = async {
            _ = ours.write_all(&[GET.repeat(before).as_slice(), post].concat()).await;
            tokio::time::sleep(AT_ONCE * 5).await;
            _ = ours.write_all(GET).await; // it may be closed by now
        };
        let read = async {
            let mut answers = Vec::new();
            theirs.read_to_end(&mut answers).await.unwrap();
            assert_eq!(answers.windows(7).filter(|start| start == b"HTTP/1.").count(), before + 1);
        };
        tokio::join!(write, read);
    }
}

#[tokio::test]
async fn an_answer_leaves_whole_though_the_requests_body_was_not_read() {
    let (mut stream, _) = client(ENDLESS);
    let head = "POST /late HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    tokio::time::sleep(SHORT * 4).await;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    assert!(answer.len() > 100_000, "{}", answer.len());
}

#[tokio::test]
async fn empty_lines_gain_no_time() {
    for head in ["\r\n\r\n", "\n\n\n", "\r\n\r\nGET / HTTP/1.1\r\n"] {
        let since = Instant::now();
        let (mut stream, _) = client(Deadlines { head: SHORT, ..ENDLESS });
        stream.write_all(head.as_bytes()).await.unwrap();
        hung_up(stream, since).await;
    }
}

#[tokio::test]
async fn concurrent_long_answers_past_the_bound_are_refused() {
    let (mut stream, slots) = client(ENDLESS);
    let beside = admit(&slots, "192.0.2.1".parse().unwrap());
    stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\nGET /late HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    answer_of(&mut stream).await;
    let buffered = beside.buffering_client("192.0.2.1:1".parse::<SocketAddr>().unwrap().ip(), &HeaderMap::new()).buffer(8 << 20);
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
    drop(buffered);
}

#[tokio::test]
async fn unread_answers_of_one_address_keep_no_other_from_its_pages() {
    let slots = ConnectionSlots::new(1000, &[]);
    let address: IpAddr = "198.51.100.1".parse().unwrap();
    let client = admit(&slots, address).buffering_client(address, &HeaderMap::new());
    let _unread: Vec<_> = (0..12).map(|_| client.buffer(1 << 20)).collect();
    let (mut page, there) = duplex(1024);
    let served = serve_in(slots.clone(), there, ENDLESS, false);
    page.write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while slots.buffered_bytes() < (12 << 20) + 100_000 {
        tokio::task::yield_now().await;
    }
    let (mut beside, there) = duplex(1024);
    let served_beside = serve_in(slots, there, ENDLESS, false);
    for long in [false, true] {
        let head = if long { "GET /long HTTP/1.1\r\nhost: x\r\n\r\n".as_bytes() } else { GET };
        beside.write_all(head).await.unwrap();
        let mut answer = [0; 12];
        beside.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200", "a page of the office, while another of its pages is under way");
        if !long {
            answer_of(&mut beside).await;
        }
    }
    drop((served, served_beside));
}

#[tokio::test]
async fn an_answer_that_is_read_slowly_arrives() {
    let (mut stream, _) = client(Deadlines { head: LONG, idle: SHORT, write: SHORT, ..ENDLESS });
    stream.write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let (since, mut taken, mut piece) = (Instant::now(), 0, [0; 1024]);
    while taken < 100_000 {
        taken += stream.read(&mut piece).await.unwrap();
        tokio::time::sleep(SHORT / 30).await;
    }
    assert!(since.elapsed() > SHORT * 2, "it was read too fast to prove anything: {:?}", since.elapsed());
}
