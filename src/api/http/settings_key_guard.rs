//! Endpoints for programs, each guarded by a key from the settings. Without the key they reveal nothing: neither their
//! content nor whether a body was readable.

use poem::{Endpoint, EndpointExt, Request, Response, http::header};

use super::visitor;
use crate::{
    error::{Code, Error},
    secret::AccessKey,
};

/// Guards an endpoint with a key in the headers that a Centrifugo takes: `X-API-Key: KEY`, or `Authorization: apikey
/// KEY`.
pub fn by_api_key(endpoint: impl Endpoint + 'static, key: AccessKey) -> impl Endpoint<Output = Response> {
    guarded(endpoint, key, |req| req.header("x-api-key").or_else(|| credentials(req, "apikey")))
}

/// Guards an endpoint with `Authorization: Bearer KEY`, as Prometheus sends it.
pub fn require_bearer_key(endpoint: impl Endpoint + 'static, key: AccessKey) -> impl Endpoint<Output = Response> {
    guarded(endpoint, key, |req| credentials(req, "bearer"))
}

fn guarded(
    endpoint: impl Endpoint + 'static,
    key: AccessKey,
    shown: impl Fn(&Request) -> Option<&str> + Clone + Send + Sync + 'static,
) -> impl Endpoint<Output = Response> {
    endpoint.around(move |next, req| {
        let is_known = shown(&req).is_some_and(|shown| key.is(shown));
        async move {
            if is_known {
                return Ok(next.get_response(req).await);
            }
            let app = super::app(&req);
            app.limits.anonymous_request(visitor::address(&req))?;
            Err::<Response, poem::Error>(Error::Unauthorized(Code::TokenInvalid, "The key is missing or unknown").into())
        }
    })
}

/// The credentials after the scheme in `Authorization`.
fn credentials<'a>(req: &'a Request, scheme: &str) -> Option<&'a str> {
    let (given, credentials) = req.header(header::AUTHORIZATION)?.split_once(' ')?;
    given.eq_ignore_ascii_case(scheme).then(|| credentials.trim_start())
}
