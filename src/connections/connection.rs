//! One connection, from its first byte to its end or its upgrade.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::{BodyExt, combinators::BoxBody};
use hyper::{
    body::{Body, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use poem::{
    Endpoint,
    endpoint::BoxEndpoint,
    http::{Request, Response, StatusCode, uri::Scheme},
    web::{LocalAddr, RemoteAddr},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
    time::{Instant, timeout},
};

use super::{
    clock::{Clock, DEADLINES, Deadlines, Timed},
    places::{Buffered, Place},
};
use crate::{api, error::Error, web::Shared};

/// Bytes of a request's head. The longest is a listener's, whose address holds a token for each of its channels; who needs
/// more than some 40 of them sends them in a WebSocket's first message.
const HEAD_BYTES: usize = 16 << 10;
/// Bytes of a body that is not counted while it arrives or waits to be read.
const SMALL: u64 = 64 << 10;
/// Headers without which a body has few bytes.
const CREDENTIALS: [&str; 3] = ["authorization", "x-notification-token", "x-api-key"];
/// Bytes that a body of unknown length is counted for, as large as bodies may be.
const UNKNOWN: u64 = 1 << 20;

/// What answers requests.
pub type Door = Arc<BoxEndpoint<'static, poem::Response>>;

pub struct Connection {
    pub peer: SocketAddr,
    pub place: Place,
    pub door: Door,
    /// Whether it has one answer and no more.
    pub is_reserve: bool,
    pub stopping: watch::Receiver<bool>,
}

impl Connection {
    pub async fn serve(self, stream: TcpStream) {
        let accepted = Instant::now();
        // A connection gets buffers only once it has sent a byte.
        let spoke = timeout(DEADLINES.head, stream.peek(&mut [0])).await;
        if matches!(spoke, Ok(Ok(1..))) {
            Box::pin(self.run(stream, accepted, DEADLINES)).await;
        }
    }

    async fn run(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, accepted: Instant, deadlines: Deadlines) {
        let Connection { peer, place, door, is_reserve, mut stopping } = self;
        let (clock, place) = (Clock::new(accepted, deadlines), Arc::new(place));
        let service = service_fn(|req| answer(req, peer, &door, &place, &clock));
        let stream = Timed { stream, clock: clock.clone(), held: place.clone() };
        let connection = http1::Builder::new()
            .max_buf_size(HEAD_BYTES)
            .keep_alive(!is_reserve)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        let mut overdue = pin!(clock.overdue());
        tokio::select! {
            biased;
            _ = &mut connection => return,
            () = &mut overdue => return,
            _ = stopping.wait_for(|stopping| *stopping) => {}
        }
        connection.as_mut().graceful_shutdown(); // what is asked already is answered
        tokio::select! {
            biased;
            _ = connection => {}
            () = overdue => {}
        }
    }
}

async fn answer(
    req: Request<Incoming>,
    peer: SocketAddr,
    door: &Door,
    place: &Place,
    clock: &Arc<Clock>,
) -> Result<Response<Answer>, Infallible> {
    clock.requested();
    let client = place.client(peer.ip(), req.headers());
    let response = if client.is_behind() && req.uri().path() != "/health" {
        api::refuse(req.uri().path(), Error::Unavailable("Too many long requests and answers are under way"))
    } else {
        // Bodies are short where nobody shows who they are, and not read where that is refused.
        let has_credentials = CREDENTIALS.iter().any(|name| req.headers().contains_key(*name));
        let size = req.body().size_hint().exact().unwrap_or(UNKNOWN).min(UNKNOWN);
        let _arriving = (has_credentials && size > SMALL).then(|| client.buffer(size as usize));
        let req = poem::Request::from((req, LocalAddr::default(), RemoteAddr(peer.into()), Scheme::HTTP));
        door.get_response(req).await
    };
    let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let is_shared = response.extensions().get::<Shared>().is_some();
    let (parts, body) = Response::<BoxBody<_, _>>::from(response).into_parts();
    let body = match body.size_hint().exact() {
        Some(size) if size > SMALL && !is_shared => {
            let counted = Arc::new(client.buffer(size as usize));
            body.map_frame(move |frame| frame.map_data(|data| Bytes::from_owner(Held { data, _counted: counted.clone() })))
                .boxed()
        }
        _ => body,
    };
    // After an upgrade the connection's own task has ended.
    let clock = (!is_upgrade).then(|| clock.clone());
    Ok(Response::from_parts(parts, Answer { body, clock }))
}

/// Bytes that are counted until they have left.
struct Held {
    data: Bytes,
    _counted: Arc<Buffered>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

/// A body that tells the clock when it has been handed over.
struct Answer {
    body: BoxBody<Bytes, std::io::Error>,
    clock: Option<Arc<Clock>>,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(clock) = &self.clock {
            clock.answered();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use poem::{EndpointExt, Route, endpoint::make, get, post};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::{super::places::Places, *};

    const LONG: Duration = Duration::from_secs(3600);
    const SHORT: Duration = Duration::from_millis(150);
    const ENDLESS: Deadlines = Deadlines { head: LONG, idle: LONG, write: LONG };
    const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";

    /// A client of a server that answers `/` with "done", `/slow` after a while, `/take` after the body, and `/long` with
    /// 100,000 bytes; and the server's places.
    fn client(deadlines: Deadlines) -> (DuplexStream, Arc<Places>) {
        let slow = make(|_| async {
            tokio::time::sleep(SHORT * 3).await;
            "done"
        });
        let routes = Route::new()
            .at("/", get(make(|_| async { "done" })))
            .at("/slow", get(slow))
            .at("/long", get(make(|_| async { "x".repeat(100_000) })))
            .at("/take", post(make(|req| async move { req.into_body().into_bytes().await.map(|_| "done") })));
        let places = Places::new(1000, &[]);
        let peer: SocketAddr = "192.0.2.1:1".parse().unwrap();
        let super::super::places::Admission::Place(place) = places.admit(peer.ip()) else { panic!("there is a place") };
        let (running, stopping) = watch::channel(false);
        let door = Arc::new(routes.map_to_response().boxed());
        let (here, there) = duplex(1024);
        tokio::spawn(async move {
            let _running = running;
            Connection { peer, place, door, is_reserve: false, stopping }.run(there, Instant::now(), deadlines).await;
        });
        (here, places)
    }

    async fn answer_of(stream: &mut DuplexStream) {
        let mut answer = Vec::new();
        while !answer.ends_with(b"done") {
            assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "{}", String::from_utf8_lossy(&answer));
        }
    }

    /// Waits until the server hangs up, which takes `SHORT` at the least.
    async fn hung_up(mut stream: DuplexStream, since: Instant) {
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
    async fn a_head_that_comes_byte_by_byte_ends_the_connection() {
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
        let (mut stream, places) = client(Deadlines { idle: SHORT, ..ENDLESS });
        for _ in 0..3 {
            stream.write_all(GET).await.unwrap();
            answer_of(&mut stream).await;
        }
        hung_up(stream, Instant::now()).await;
        assert_eq!(places.open(), 0);
    }

    #[tokio::test]
    async fn a_request_may_take_its_time() {
        let (mut stream, _) = client(Deadlines { head: SHORT, idle: SHORT, write: SHORT });
        stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        answer_of(&mut stream).await;
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_is_counted_and_ends_the_connection() {
        let (mut stream, places) = client(Deadlines { write: SHORT, ..ENDLESS });
        let since = Instant::now();
        stream.write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        while places.buffered() == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(places.buffered(), 100_000);
        while places.open() > 0 {
            tokio::time::sleep(SHORT / 10).await;
        }
        assert!(since.elapsed() >= SHORT, "{:?}", since.elapsed());
        assert_eq!(places.buffered(), 0);
    }

    #[tokio::test]
    async fn a_long_body_is_counted_while_it_arrives() {
        let (mut stream, places) = client(ENDLESS);
        for (head, counted) in [("content-length: 100000", 100_000), ("transfer-encoding: chunked", 1 << 20)] {
            stream
                .write_all(format!("POST /take HTTP/1.1\r\nhost: x\r\nauthorization: x\r\n{head}\r\n\r\n").as_bytes())
                .await
                .unwrap();
            while places.buffered() == 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(places.buffered(), counted);
            let body = if counted == 100_000 { "x".repeat(counted) } else { "1\r\nx\r\n0\r\n\r\n".into() };
            stream.write_all(body.as_bytes()).await.unwrap();
            answer_of(&mut stream).await;
            assert_eq!(places.buffered(), 0);
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_read_slowly_arrives() {
        let (mut stream, _) = client(Deadlines { head: LONG, idle: SHORT, write: SHORT });
        stream.write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let (since, mut taken, mut piece) = (Instant::now(), 0, [0; 1024]);
        while taken < 100_000 {
            taken += stream.read(&mut piece).await.unwrap();
            tokio::time::sleep(SHORT / 30).await;
        }
        assert!(since.elapsed() > SHORT * 2, "it was read too fast to prove anything: {:?}", since.elapsed());
    }
}
