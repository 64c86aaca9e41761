//! The wrapper of all of `/api/v1`: alternative paths in front, and the envelope of failures behind.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use poem::{
    Endpoint, IntoResponse, Request, Response,
    error::MethodNotAllowedError,
    http::{HeaderValue, Method, header},
};
use poem_openapi::{OperationId, error::ParsePathError};

use super::{
    body::Bound,
    failure::{self, misfit},
};
use crate::{api::document::Methods, error::Error};

/// Alternative path prefixes that clients use, and the prefixes that they stand for.
const ALIASES: [(&str, &str); 2] = [("/centrifugo/", "/realtime/"), ("/auth/magick-link", "/auth/magic-link")];

/// Wraps all of `/api/v1`: aliases in front, the envelope behind.
pub struct Enveloped<E> {
    inner: E,
    methods: fn() -> &'static Methods,
}

impl<E> Enveloped<E> {
    /// Wraps `inner`, whose paths have these `methods`.
    pub fn new(inner: E, methods: fn() -> &'static Methods) -> Self {
        Enveloped { inner, methods }
    }

    /// The template that routes the path, and its methods.
    fn route(&self, path: &str) -> Option<(&'static String, &'static Vec<String>)> {
        let fits = |template: &str| {
            template.split('/').count() == path.split('/').count()
                && template.split('/').zip(path.split('/')).all(|(template, part)| template.starts_with('{') || template == part)
        };
        // As in routing, a literal segment comes before a parameter, and the first segment that differs decides.
        let parameters = |template: &str| -> Vec<bool> { template.split('/').map(|part| part.starts_with('{')).collect() };
        (self.methods)().iter().filter(|(template, _)| fits(template)).min_by_key(|(template, _)| parameters(template))
    }

    fn allow(&self, path: &str) -> String {
        self.route(path).map(|(_, methods)| methods.join(", ")).unwrap_or_default()
    }

    /// The name in the document of a parameter of the path. The framework numbers them: `param0`.
    fn parameter(&self, path: &str, numbered: &str) -> Option<&str> {
        let (template, _) = self.route(path)?;
        let number = numbered.strip_prefix("param")?.parse().ok()?;
        let name = template.split('/').filter(|part| part.starts_with('{')).nth(number)?;
        Some(name.trim_matches(['{', '}']))
    }
}

impl<E: Endpoint> Endpoint for Enveloped<E> {
    type Output = Response;

    async fn call(&self, mut req: Request) -> poem::Result<Response> {
        rewrite(&mut req);
        req.set_data(Bound::default());
        let uri = req.uri().clone();
        let path = uri.path();
        // The router would answer HEAD with GET. A HEAD request to a feed must not post, as it may only check that the
        // address exists.
        let answered = if req.method() == Method::HEAD && path.starts_with("/webhooks/feed/") {
            Ok(Err(MethodNotAllowedError.into()))
        } else {
            AssertUnwindSafe(self.inner.call(req)).catch_unwind().await
        };
        let failed = match answered {
            Ok(Ok(response)) => return Ok(response.into_response()),
            Ok(Err(err)) => err,
            Err(_) => Error::internal("the handler panicked").into(),
        };
        let operation = failed.data::<OperationId>().copied();
        let failed = match failed.downcast_ref() {
            Some(ParsePathError { name, reason }) => {
                Error::BadRequest(misfit(self.parameter(path, name).unwrap_or(name), reason)).into()
            }
            None => failed,
        };
        let method_is_wrong = failed.is::<MethodNotAllowedError>();
        let mut response = failure::answer(failed, path);
        if let Some(operation) = operation {
            response.set_data(operation);
        }
        if method_is_wrong && let Ok(allow) = HeaderValue::from_str(&self.allow(path)) {
            response.headers_mut().insert(header::ALLOW, allow);
        }
        Ok(response)
    }
}

/// Another name of a query parameter, at paths with this end: the specification has it in one place only.
const PARAMETER_ALIAS: (&str, &str, &str) = ("/user-exist", "user_id=", "userId=");

/// Removes a trailing slash, and replaces aliases by the prefixes and the parameter that they stand for.
fn rewrite(req: &mut Request) {
    let path = req.uri().path();
    let (end, alias, real) = PARAMETER_ALIAS;
    if !path.ends_with('/') && !path.ends_with(end) && !ALIASES.iter().any(|(alias, _)| path.starts_with(alias)) {
        return; // almost all requests
    }
    let mut wanted = if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path.to_owned() };
    for (alias, real) in ALIASES {
        if let Some(rest) = wanted.strip_prefix(alias) {
            wanted = format!("{real}{rest}");
        }
    }
    let mut query = req.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let is_aliased = wanted.ends_with(end) && query.contains(alias);
    if is_aliased {
        query = query.replace(alias, real);
    }
    if (wanted != path || is_aliased)
        && let Ok(uri) = format!("{wanted}{query}").parse()
    {
        *req.uri_mut() = uri;
    }
}
