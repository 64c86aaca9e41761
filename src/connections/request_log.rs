//! Watches requests: gives each an identifier, measures it, and logs it.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

use poem::http::{HeaderMap, HeaderName, HeaderValue, Method, response::Parts};
use uuid::Uuid;

use crate::{api, metrics::Requests};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// The longest identifier that is taken from a proxy. Those of usual proxies have up to 36 characters.
const LONGEST: usize = 128;

pub struct RequestLog {
    requests: Requests,
    /// The first identifier, made at random. Those after it are counted up: random numbers cost each request a system call.
    first: Uuid,
    made: AtomicU64,
}

/// A request that is not answered yet.
pub struct RequestInProgress<'a> {
    log: &'a RequestLog,
    began: Instant,
    method: Method,
    id: HeaderValue,
}

impl RequestLog {
    pub fn new(requests: Requests) -> RequestLog {
        RequestLog { requests, first: Uuid::now_v7(), made: AtomicU64::new(0) }
    }

    /// Begins with a request whose head has arrived. Its identifier is taken from a trusted proxy, or made.
    pub fn track_request(&self, method: &Method, headers: &HeaderMap, is_from_proxy: bool) -> RequestInProgress<'_> {
        let given = headers.get(REQUEST_ID).filter(|id| is_from_proxy && is_sound(id.as_bytes()));
        let id = given.cloned().unwrap_or_else(|| self.make());
        RequestInProgress { log: self, began: Instant::now(), method: method.clone(), id }
    }

    fn make(&self) -> HeaderValue {
        let id = Uuid::from_u128(self.first.as_u128().wrapping_add(self.made.fetch_add(1, Relaxed).into()));
        HeaderValue::from_str(id.hyphenated().encode_lower(&mut Uuid::encode_buffer())).expect("it is ASCII")
    }
}

impl RequestInProgress<'_> {
    /// Ends with the head of the answer, which gets the identifier. The time that the client takes to read the body doesn't
    /// count.
    pub fn end_request(self, answer: &mut Parts) {
        let (took, status) = (self.began.elapsed(), answer.status.as_u16());
        let operation = api::operation_name(&answer.extensions);
        self.log.requests.took(operation.unwrap_or("other"), status, took);
        let request = self.id.to_str().unwrap_or_default();
        if let Some(api::InternalDetail(why)) = answer.extensions.remove() {
            tracing::error!(request, err = why, "request failed");
        }
        // The template of the path, because the path itself may contain the secret address of a feed.
        let (method, path) = (self.method, operation.unwrap_or_else(|| api::route_template(&answer.extensions)));
        tracing::debug!(%method, path, status, ms = took.as_micros() as f64 / 1000.0, request, "request");
        answer.headers.insert(REQUEST_ID, self.id);
    }
}

/// Whether an identifier has characters that are safe in headers, logs and shells only.
fn is_sound(id: &[u8]) -> bool {
    let is_sound = |c: &u8| c.is_ascii_alphanumeric() || b"-_.:/+=".contains(c);
    (1..=LONGEST).contains(&id.len()) && id.iter().all(is_sound)
}
