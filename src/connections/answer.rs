//! Answers requests, and counts the bytes of long answers until they are sent.

use std::{convert::Infallible, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, combinators::BoxBody};
use hyper::body::{Body, Incoming};
use poem::{
    Endpoint,
    endpoint::BoxEndpoint,
    http::{HeaderValue, Method, Request, Response, header, uri::Scheme},
    web::{LocalAddr, RemoteAddr},
};

use super::{
    host,
    request_log::RequestLog,
    wait_state::{Answer, Arriving, Exchange},
};
use crate::{
    api,
    error::{Code, Error},
    files::{self, Transferred},
    limits::buffering::Buffered,
    push::embedded::upgrade::Upgrade,
    web::Shared,
};

/// Up to this many bytes, a body isn't counted while it arrives or waits to be read.
const SMALL: u64 = 64 << 10;
/// Headers with credentials. Without one of them, a body is bounded to a few kilobytes.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "x-notification-token", "x-api-key"];
/// Bytes that are counted for a body of unknown length: as many as the largest body has.
const UNKNOWN: u64 = 1 << 20;

/// Tells browsers to speak only https to this host for a year (RFC 6797). Other hosts of the domain are none of this server's
/// business, and neither are lists that browsers ship.
const HTTPS_ONLY: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// Answers requests: the whole API, or what a connection of the reserve may ask for.
pub type Handler = Arc<BoxEndpoint<'static, poem::Response>>;

/// The handler of a connection's requests.
pub struct Service {
    pub peer: SocketAddr,
    pub handler: Handler,
    pub log: Arc<RequestLog>,
    /// Whether the connection is encrypted by this server.
    pub is_secure: bool,
}

impl Service {
    /// Answers one request. 400 for a bad `Host`; 503 while the client's other long requests and answers are past the bound.
    pub async fn answer(&self, req: Request<Incoming>, exchange: &Arc<Exchange>) -> Result<Response<Answer>, Infallible> {
        exchange.begin(req.body().is_end_stream());
        let slot = &exchange.slot;
        let logged = self.log.track_request(req.method(), req.headers(), slot.is_of_proxy());
        let client = slot.buffering_client(self.peer.ip(), req.headers());
        let (path, may_refuse) = (req.uri().path().to_owned(), req.method() == Method::GET);
        let refuse = || {
            api::refuse_unread(
                &path,
                Error::Unavailable(Code::Overloaded, "Too many long requests and answers are in progress, try again in a moment"),
            )
        };
        let mut response = if let Some(why) = host::fault(req.version(), req.headers()) {
            api::refuse_unread(&path, Error::BadRequest(Code::BadRequest.says(why)))
        } else if client.must_wait() && path != "/health" {
            refuse()
        } else {
            // A request without credentials has a short body, and one with wrong credentials is refused before its body is read.
            let has_credentials = CREDENTIALS.iter().any(|name| req.headers().contains_key(*name));
            let size = req.body().size_hint().exact().unwrap_or(UNKNOWN).min(UNKNOWN);
            // An upload counts what is in memory of it once it has its turn.
            let is_counted = has_credentials && size > SMALL && !api::is_upload(&path);
            let _arriving = is_counted.then(|| client.buffer(size as usize));
            let scheme = if self.is_secure { Scheme::HTTPS } else { Scheme::HTTP };
            self.handler.get_response(request(req, scheme, self.peer, exchange)).await
        };
        *exchange.upgrade.lock() = response.extensions_mut().remove::<Upgrade>();
        let is_shared = response.extensions().get::<Shared>().is_some();
        let is_transferred = response.extensions().get::<Transferred>().is_some();
        let size = |body: &BoxBody<_, _>| {
            let size = body.size_hint().exact().filter(|size| *size > SMALL && !is_shared);
            size.map(|size| if is_transferred { files::BUFFER as u64 } else { size })
        };
        let (mut parts, mut body) = Response::<BoxBody<_, _>>::from(response).into_parts();
        // Many concurrent requests may together exceed the bound: the answers that are ready last are refused. Only GET is, as
        // another method may have changed something and must report it.
        if may_refuse && size(&body).is_some() && client.must_wait() {
            (parts, body) = Response::from(refuse()).into_parts();
        }
        logged.end_request(&mut parts);
        if self.is_secure {
            parts.headers.insert(header::STRICT_TRANSPORT_SECURITY, HTTPS_ONLY);
        }
        if let Some(size) = size(&body) {
            let counted = Arc::new(client.buffer(size as usize));
            body = body
                .map_frame(move |frame| frame.map_data(|data| Bytes::from_owner(Held { data, _counted: counted.clone() })))
                .boxed();
        }
        Ok(Response::from_parts(parts, Answer { body, exchange: exchange.clone() }))
    }
}

/// The request as handlers get it, with the slot of its connection.
fn request(req: Request<Incoming>, scheme: Scheme, peer: SocketAddr, exchange: &Arc<Exchange>) -> poem::Request {
    let is_whole = req.body().is_end_stream();
    let mut req = poem::Request::from((req, LocalAddr::default(), RemoteAddr(peer.into()), scheme));
    if !is_whole {
        let arriving = Arriving { body: req.take_body().into(), exchange: exchange.clone() };
        req.set_body(BoxBody::new(arriving));
    }
    req.set_data(exchange.slot.clone());
    req
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
