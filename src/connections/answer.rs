//! Answers to requests: what is long is counted until it has left.

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

use crate::{
    api,
    error::Error,
    limits::admission::{Buffered, Place},
    upgrade::Upgrade,
    web::Shared,
};

/// Bytes of a body that is not counted while it arrives or waits to be read.
const SMALL: u64 = 64 << 10;
/// Headers without which a body has few bytes.
const CREDENTIALS: [&str; 3] = ["authorization", "x-notification-token", "x-api-key"];
/// Bytes that a body of unknown length is counted for, as large as bodies may be.
const UNKNOWN: u64 = 1 << 20;

/// What answers requests.
pub type Door = Arc<BoxEndpoint<'static, poem::Response>>;

/// What the service and the stream tell of the requests under way.
#[derive(Default)]
pub struct Exchange {
    is_answered: AtomicBool,
    has_new_answer: AtomicBool,
    pub is_stalled: Arc<AtomicBool>,
    pub upgrade: Mutex<Option<Upgrade>>,
}

impl Exchange {
    /// Notes that a request is under way.
    pub fn begin(&self) {
        self.is_answered.store(false, Ordering::Relaxed);
    }

    fn end(&self) {
        self.is_answered.store(true, Ordering::Relaxed);
        self.has_new_answer.store(true, Ordering::Relaxed);
    }

    /// Whether an answer ended since the last call. A request may begin and end between two calls of [`Exchange::is_over`].
    pub fn has_new_answer(&self) -> bool {
        self.has_new_answer.swap(false, Ordering::Relaxed)
    }

    /// Whether all requests are answered and nothing of the answers waits for the peer.
    pub fn is_over(&self) -> bool {
        self.is_answered.load(Ordering::Relaxed) && !self.is_stalled()
    }

    pub fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::Relaxed)
    }
}

pub async fn answer(
    req: Request<Incoming>,
    peer: SocketAddr,
    door: &Door,
    place: &Place,
    exchange: &Arc<Exchange>,
) -> Result<Response<Answer>, Infallible> {
    let client = place.client(peer.ip(), req.headers());
    let (path, may_refuse) = (req.uri().path().to_owned(), req.method() == Method::GET);
    let refuse = || api::refuse(&path, Error::Unavailable("Too many long requests and answers are under way"));
    let mut response = if client.is_behind() && path != "/health" {
        refuse()
    } else {
        // Bodies are short where nobody shows who they are, and not read where that is refused.
        let has_credentials = CREDENTIALS.iter().any(|name| req.headers().contains_key(*name));
        let size = req.body().size_hint().exact().unwrap_or(UNKNOWN).min(UNKNOWN);
        let _arriving = (has_credentials && size > SMALL).then(|| client.buffer(size as usize));
        let req = poem::Request::from((req, LocalAddr::default(), RemoteAddr(peer.into()), Scheme::HTTP));
        door.get_response(req).await
    };
    *exchange.upgrade.lock().expect("nothing panics while it holds this") = response.extensions_mut().remove::<Upgrade>();
    let is_shared = response.extensions().get::<Shared>().is_some();
    let size = |body: &BoxBody<_, _>| body.size_hint().exact().filter(|size| *size > SMALL && !is_shared);
    let (mut parts, mut body) = Response::<BoxBody<_, _>>::from(response).into_parts();
    // Of many that were asked for at once, those that are made last may be too many. What was changed is answered.
    if may_refuse && size(&body).is_some() && client.is_behind() {
        (parts, body) = Response::from(refuse()).into_parts();
    }
    if let Some(size) = size(&body) {
        let counted = Arc::new(client.buffer(size as usize));
        body = body
            .map_frame(move |frame| frame.map_data(|data| Bytes::from_owner(Held { data, _counted: counted.clone() })))
            .boxed();
    }
    Ok(Response::from_parts(parts, Answer { body, exchange: exchange.clone() }))
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

/// A body that tells when it has been handed over.
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
