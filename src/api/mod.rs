//! The HTTP edge: routes, bodies, answers. One file for each table of the specification.

mod accounts;
pub mod asyncapi;
mod channels;
mod commands;
pub mod document;
mod emoji_names;
mod faces;
mod features;
mod files;
mod first_screen;
mod health;
pub mod http;
mod job_backlog;
mod mcp;
mod messages;
mod metrics;
mod notifications;
mod oidc_log_in;
mod organisations;
mod public;
mod push_tokens;
mod reminders;
mod routes;
mod setup;
mod tags;
mod webhooks;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use poem_openapi::OperationId;

use poem::{
    Endpoint, EndpointExt, IntoResponse, PathPattern, Request, Response, Route,
    endpoint::make_sync,
    get,
    http::{Extensions, HeaderMap, HeaderValue, Method, StatusCode, header},
    post,
};

pub use self::http::failure::InternalDetail;
use self::{
    http::{api_wrapper::Enveloped, compression, cookies, failure, settings_key_guard},
    webhooks::incoming::at_mattermosts_path,
};
use crate::{
    db::{self, log_reader},
    error::{Code, Error},
    push::{
        embedded::{event_stream, handshake},
        external::Centrifugo,
        server_api,
    },
    state::App,
    web,
};

/// Names the place in the event log of the state that an answer shows: its epoch, a colon and its offset.
const POSITION: &str = "tidings-position";

/// All routes of the server.
pub fn routes(app: App) -> impl Endpoint {
    let api = Route::new()
        .at("/openapi.json", get(make_sync(document::openapi)))
        .at("/asyncapi.json", get(make_sync(asyncapi::show)))
        .at("/emoji.json", get(make_sync(emoji_names::list_all)))
        .nest("/", routes::openapi_service());
    let mut routes = Route::new();
    if let Some(key) = &app.metrics.key {
        routes = routes.at("/metrics", settings_key_guard::require_bearer_key(get(metrics::show), key.clone()));
    }
    let routes = routes
        .nest(files::resumable::PATH, files::resumable::routes().around(cookies::layer).boxed().around(uncached))
        .nest(
            "/api/v1",
            Enveloped::new(api, document::methods)
                .around(compression::layer)
                .around(cookies::layer)
                .boxed() // what follows would copy the futures of all these layers
                .around(positioned)
                .around(uncached),
        )
        .at(mcp::PATH, Enveloped::new(post(mcp::answer), mcp::allowed_http_methods).around(uncached))
        .nest("/docs", docs())
        .at("/setup/administrator", post(setup::make))
        .at(oidc_log_in::START, get(oidc_log_in::start).around(cookies::layer))
        .at(oidc_log_in::CALLBACK, get(oidc_log_in::callback).around(cookies::layer))
        .at("/health", get(health::health))
        .at("/ready", get(health::ready));
    // An external server serves push instead.
    let routes = match app.centrifugo {
        Some(_) => routes,
        None => push(routes, &app),
    };
    let pages = web::pages(app.site.client, app.centrifugo.as_ref().map(Centrifugo::url));
    routes
        .nest("/", pages)
        .around(at_mattermosts_path)
        .around(readable)
        .around(cross_origin)
        .boxed()
        .around(held_to_floor)
        .data(app.push.clone())
        .data(app)
}

/// The API's page and the guide, under `/docs`.
fn docs() -> Route {
    let guide = || get(make_sync(web::guide::page));
    let pages = Route::new().at("/", guide()).at("/:name", guide());
    Route::new().at("/", get(make_sync(document::docs_page))).nest("/guide", pages)
}

/// The routes that are served while too many connections are open: health, and 503 for everything else.
pub fn overload_routes(app: App) -> impl Endpoint {
    let busy =
        make_sync(|req| refuse_unread(req.uri().path(), Error::Unavailable(Code::Overloaded, failure::TOO_MANY_CONNECTIONS)));
    Route::new().at("/health", get(health::health)).at("/*path", busy).data(app)
}

/// Whether the body of a request to this path goes to the disk as it arrives, so that a part of it is in memory.
pub fn is_upload(path: &str) -> bool {
    path.starts_with("/api/v1/files/upload") || path.ends_with("/avatar") || path.ends_with("/logo")
}

/// The name of the operation that an answer is from; `None` if it is no operation of the OpenAPI document.
pub fn operation_name(answer: &Extensions) -> Option<&'static str> {
    answer.get().map(|OperationId(name)| *name)
}

/// The template of the path that an answer is from; empty if it was refused before its route was found.
pub fn route_template(answer: &Extensions) -> &str {
    answer.get().map_or("", |PathPattern(template)| template)
}

/// The error answer to a request that is refused unread.
pub fn refuse_unread(path: &str, why: Error) -> Response {
    let mut response = failure::answer(why.into(), path.strip_prefix("/api/v1").unwrap_or(path));
    keep_private(&mut response);
    response
}

/// Adds to successful answers the place in the event log of the state that they show. One that reads nothing may show any state.
async fn positioned<E: Endpoint>(next: std::sync::Arc<E>, req: Request) -> poem::Result<Response> {
    if !matches!(*req.method(), Method::GET | Method::HEAD) {
        return next.call(req).await.map(IntoResponse::into_response);
    }
    let app: App = req.data().cloned().expect("the application is installed in routes()");
    let (mut response, shown) = db::with_position(next.get_response(req)).await;
    if response.status().is_success() {
        let seq = shown.map_or_else(|| app.db.read_without_position(|conn| Ok(log_reader::last_seq(conn)?)), Ok)?;
        let position = HeaderValue::from_str(&format!("{}:{seq}", app.db.epoch())).map_err(Error::internal)?;
        response.headers_mut().insert(POSITION, position);
    }
    Ok(response)
}

async fn uncached<E: Endpoint>(next: std::sync::Arc<E>, req: Request) -> poem::Result<Response> {
    let mut response = next.get_response(req).await;
    keep_private(&mut response);
    Ok(response)
}

/// Keeps caches from storing answers of the API, which are for their caller only, and browsers from guessing their
/// type.
fn keep_private(response: &mut Response) {
    let headers = response.headers_mut();
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Adds the embedded push endpoint.
fn push(mut routes: Route, app: &App) -> Route {
    if let Some(key) = &app.push.server_api.key {
        for path in ["/api", "/api/:method"] {
            routes = routes.at(path, settings_key_guard::by_api_key(post(server_api::call), key.clone()));
        }
    }
    routes
        .at("/connection/websocket", get(handshake::websocket))
        .at("/centrifugo/connection/websocket", get(handshake::websocket))
        .at("/connection/uni_websocket", get(handshake::uni_websocket))
        .at("/connection/uni_sse", get(event_stream::uni_sse))
}

/// Holds each request to the floor of free disk space, until its session and its operation lift it.
async fn held_to_floor<E: Endpoint>(next: std::sync::Arc<E>, req: Request) -> poem::Result<E::Output> {
    db::held_to_floor(next.call(req)).await
}

/// Replaces invalid UTF-8 in a path, which matches no record. Otherwise the router would refuse the path before the
/// bearer is checked; this way its route gives its failures in their usual order.
async fn readable<E: Endpoint>(next: std::sync::Arc<E>, mut req: Request) -> poem::Result<E::Output> {
    const SEGMENTS: AsciiSet = NON_ALPHANUMERIC.remove(b'/');
    let path = percent_decode_str(req.uri().path());
    if path.clone().decode_utf8().is_err() {
        let path = utf8_percent_encode(&path.decode_utf8_lossy(), &SEGMENTS).to_string();
        *req.uri_mut() = path.parse().map_err(Error::internal)?;
    }
    next.call(req).await
}

/// Lets pages of the allowed origins call the API (Fetch standard, CORS protocol).
async fn cross_origin<E: Endpoint>(next: std::sync::Arc<E>, req: Request) -> poem::Result<Response> {
    let app: &App = req.data().expect("the application is installed in routes()");
    let origin = req.header(header::ORIGIN).filter(|origin| app.origins.is_listed(origin)).map(str::to_owned);
    let is_preflight = req.method() == Method::OPTIONS && req.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let Some(origin) = origin else { return next.call(req).await.map(IntoResponse::into_response) };
    let mut response = if is_preflight { StatusCode::NO_CONTENT.into_response() } else { next.get_response(req).await };
    allow(response.headers_mut(), &origin);
    Ok(response)
}

fn allow(headers: &mut HeaderMap, origin: &str) {
    let Ok(origin) = HeaderValue::from_str(origin) else { return };
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let fixed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, PUT, PATCH, DELETE"),
        // Not `Tidings-Client`, by which the server knows its own pages, and no credentials: cookies are for those alone.
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "authorization, content-type, mcp-protocol-version, tidings-user, tus-resumable, upload-length, upload-metadata, \
             upload-offset, x-http-method-override, x-notification-token",
        ),
        (
            header::ACCESS_CONTROL_EXPOSE_HEADERS,
            "link, location, retry-after, tidings-position, tus-extension, tus-max-size, tus-resumable, tus-version, upload-expires, \
             upload-length, upload-metadata, upload-offset, x-request-id",
        ),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    fixed.into_iter().for_each(|(name, value)| _ = headers.insert(name, HeaderValue::from_static(value)));
}
