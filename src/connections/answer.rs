//! Answers requests, and counts the bytes of long answers until they are sent.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::{BodyExt, combinators::BoxBody};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use poem::{
    Endpoint,
    endpoint::BoxEndpoint,
    http::{Method, Request, Response, uri::Scheme},
    web::{LocalAddr, RemoteAddr},
};

use super::watch::Watch;
use crate::{
    api,
    error::Error,
    limits::{admission::Slot, buffering::Buffered},
    upgrade::Upgrade,
    web::Shared,
};

/// Up to this many bytes, a body isn't counted while it arrives or waits to be read.
const SMALL: u64 = 64 << 10;
/// Headers with credentials. Without one of them, a body is bounded to a few kilobytes.
const CREDENTIALS: [&str; 3] = ["authorization", "x-notification-token", "x-api-key"];
/// Bytes that are counted for a body of unknown length: as many as the largest body has.
const UNKNOWN: u64 = 1 << 20;

/// Answers requests: the whole API, or what a connection of the reserve may ask for.
pub type Handler = Arc<BoxEndpoint<'static, poem::Response>>;

/// The state of the requests in flight on a connection, which its service and its stream report.
#[derive(Default)]
pub struct Exchange {
    is_answered: AtomicBool,
    has_new_answer: AtomicBool,
    pub is_stalled: Arc<AtomicBool>,
    pub upgrade: Mutex<Option<Upgrade>>,
}

impl Exchange {
    /// Notes that a request has begun.
    pub fn begin(&self) {
        self.is_answered.store(false, Ordering::Relaxed);
    }

    fn end(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
        self.has_new_answer.store(true, Ordering::Relaxed);
    }

    /// Whether an answer has ended since the last call. A request may begin and end between two calls of
    /// [`Exchange::is_over`].
    pub fn has_new_answer(&self) -> bool {
        self.has_new_answer.swap(false, Ordering::Relaxed)
    }

    /// Whether all requests are answered and no bytes of the answers wait for the peer.
    pub fn is_over(&self) -> bool {
        self.is_answered.load(Ordering::Relaxed) && !self.is_stalled()
    }

    pub fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::Relaxed)
    }
}

/// Answers one request. 503 while the client's other long requests and answers are past the bound.
pub async fn answer(
    req: Request<Incoming>,
    peer: SocketAddr,
    (handler, watch): (&Handler, &Watch),
    slot: &Slot,
    exchange: &Arc<Exchange>,
) -> Result<Response<Answer>, Infallible> {
    let watched = watch.begin(req.method(), req.headers(), slot.is_of_proxy());
    let client = slot.client(peer.ip(), req.headers());
    let (path, may_refuse) = (req.uri().path().to_owned(), req.method() == Method::GET);
    let refuse =
        || api::refuse(&path, Error::Unavailable("Too many long requests and answers are in progress, try again in a moment"));
    let mut response = if client.is_behind() && path != "/health" {
        refuse()
    } else {
        // A request without credentials has a short body, and one with wrong credentials is refused before its body is read.
        let has_credentials = CREDENTIALS.iter().any(|name| req.headers().contains_key(*name));
        let size = req.body().size_hint().exact().unwrap_or(UNKNOWN).min(UNKNOWN);
        let _arriving = (has_credentials && size > SMALL).then(|| client.buffer(size as usize));
        let req = poem::Request::from((req, LocalAddr::default(), RemoteAddr(peer.into()), Scheme::HTTP));
        handler.get_response(req).await
    };
    *exchange.upgrade.lock().expect("nothing panics while it holds this") = response.extensions_mut().remove::<Upgrade>();
    let is_shared = response.extensions().get::<Shared>().is_some();
    let size = |body: &BoxBody<_, _>| body.size_hint().exact().filter(|size| *size > SMALL && !is_shared);
    let (mut parts, mut body) = Response::<BoxBody<_, _>>::from(response).into_parts();
    // Many concurrent requests may together exceed the bound: the answers that are ready last are refused. Only GET is, as
    // another method may have changed something and must report it.
    if may_refuse && size(&body).is_some() && client.is_behind() {
        (parts, body) = Response::from(refuse()).into_parts();
    }
    watched.end(&mut parts);
    if let Some(size) = size(&body) {
        let counted = Arc::new(client.buffer(size as usize));
        body = body
            .map_frame(move |frame| frame.map_data(|data| Bytes::from_owner(Held { data, _counted: counted.clone() })))
            .boxed();
    }
    Ok(Response::from_parts(parts, Answer { body, exchange: exchange.clone() }))
}

/// Bytes of an answer that are counted until they are sent.
struct Held {
    data: Bytes,
    _counted: Arc<Buffered>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.data
    }
}

/// The body of an answer. Dropping it marks its request as answered.
pub struct Answer {
    body: BoxBody<Bytes, io::Error>,
    exchange: Arc<Exchange>,
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
        self.exchange.end();
    }
}
