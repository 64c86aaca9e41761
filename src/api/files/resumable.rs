//! Uploads in pieces that go on after a cut: tus 1.0 (<https://tus.io/protocols/resumable-upload>) with creation, termination and
//! expiration. No operations of the OpenAPI document: they are a protocol of their own, whose answers are headers.

use std::sync::{Arc, LazyLock};

use base64::{Engine, prelude::BASE64_STANDARD};
use poem::{
    Body, Endpoint, EndpointExt, IntoResponse, Request, Response, Route, RouteMethod, handler,
    http::{HeaderValue, Method, StatusCode, header},
    web::{Data, Path, Query},
};
use serde::Deserialize;

use super::receiving::{begin_transfer, new_file, receive, require_disk};
use crate::{
    api::{
        document::Methods,
        http::{api_wrapper::Enveloped, auth::require_caller, body::Bound, failure, visitor},
    },
    db::{self, Tx},
    domain::{
        access::Caller,
        files::{
            self,
            resumable::{self, Found, Upload},
            uploading,
        },
        scopes::{Need, Scope},
    },
    error::{Code, Error, Result},
    files::{Incoming, Turn},
    id::{FileId, OrganisationId},
    state::App,
};

pub const PATH: &str = "/api/v1/files/uploads";
const VERSION: &str = "1.0.0";
const RESUMABLE: &str = "tus-resumable";
const OFFSET: &str = "upload-offset";
const LENGTH: &str = "upload-length";
const METADATA: &str = "upload-metadata";
const EXPIRES: &str = "upload-expires";
const PIECE: &str = "application/offset+octet-stream";

/// The routes below [`PATH`].
pub fn routes() -> impl Endpoint<Output = Response> {
    let uploads = Route::new()
        .at("/", RouteMethod::new().options(describe).post(begin))
        .at("/:id", RouteMethod::new().head(tell).patch(append).delete(cancel));
    Enveloped::new(uploads, methods).around(protocol)
}

fn methods() -> &'static Methods {
    static METHODS: LazyLock<Methods> = LazyLock::new(|| {
        let listed = |methods: &[&str]| methods.iter().map(|method| (*method).to_owned()).collect();
        [("/".to_owned(), listed(&["OPTIONS", "POST"])), ("/{id}".to_owned(), listed(&["HEAD", "PATCH", "DELETE"]))].into()
    });
    &METHODS
}

/// Holds requests to the version of the protocol, and takes the method of those that can send POST alone.
async fn protocol<E: Endpoint>(next: Arc<E>, mut req: Request) -> poem::Result<Response> {
    let meant = req.header("x-http-method-override").and_then(|method| method.parse().ok());
    if let Some(method) = meant.filter(|_| *req.method() == Method::POST) {
        req.set_method(method);
    }
    let is_spoken = *req.method() == Method::OPTIONS || req.header(RESUMABLE) == Some(VERSION);
    let mut response = if is_spoken {
        next.get_response(req).await
    } else {
        failure::answer(Error::TusVersion.into(), req.uri().path()).with_header("tus-version", VERSION).into_response()
    };
    response.headers_mut().insert(RESUMABLE, HeaderValue::from_static(VERSION));
    Ok(response)
}

/// What of the protocol there is, and how long a file may be.
#[handler]
fn describe(app: Data<&App>) -> Response {
    StatusCode::NO_CONTENT
        .with_header("tus-version", VERSION)
        .with_header("tus-extension", "creation,expiration,termination")
        .with_header("tus-max-size", app.site.files.each)
        .into_response()
}

#[derive(Deserialize)]
struct Where {
    /// The organisation whose files the upload is to be among; by default the one that the caller works in, and of a bot its own.
    organisation_id: Option<OrganisationId>,
}

/// Begins an upload. Its address has its identifier, which will be that of the file. The whole length counts towards what its
/// sender may upload in a day.
#[handler]
async fn begin(req: &Request, app: Data<&App>, to: poem::Result<Query<Where>>) -> Result<Response> {
    let caller = uploader(req).await?;
    let Query(to) =
        to.map_err(|_| Error::BadRequest(Code::InvalidValue.says("organisation_id must be a UUID").at("organisation_id")))?;
    let (length, name) = (number(req, LENGTH)?, file_name(req)?);
    if length > app.site.files.each {
        return Err(Error::TooLarge(app.site.files.each as usize));
    }
    let named = to.organisation_id;
    app.db.read(|conn| uploading::require_uploader(conn, caller, named, length))?;
    require_disk(&app, length)?;
    app.quotas.charge_upload(caller.person, length as usize)?;
    let create = move |tx: &mut Tx| resumable::create(tx, caller, named, &name, length);
    let upload = app.write_throttled(caller.share(), 0, create).await?;
    let response = StatusCode::CREATED.with_header(header::LOCATION, format!("{PATH}/{}", upload.id)).into_response();
    let response = response.with_header(EXPIRES, expiry(&upload)).into_response();
    if upload.length == 0 {
        let turn = app.files.turn(upload.id).await;
        let incoming = Incoming::resume(&app.files, upload.organisation, upload.id, turn.clone()).await?;
        finish((req, &app, caller), upload, incoming, turn).await?;
    }
    Ok(response)
}

/// Tells how much has arrived. An upload of which all has, and which could not be made a file then, is made one now.
#[handler]
async fn tell(req: &Request, app: Data<&App>, id: Path<FileId>) -> Result<Response> {
    let caller = uploader(req).await?;
    let (found, turn) = take_turn(&app, caller, *id).await?;
    let (offset, length, name, expires) = match found {
        Found::Arriving(upload) => {
            let incoming = Incoming::resume(&app.files, upload.organisation, upload.id, turn.clone()).await?;
            let offset = incoming.size();
            let told = (offset, upload.length, upload.name.clone(), Some(expiry(&upload)));
            if offset == upload.length {
                finish((req, &app, caller), upload, incoming, turn).await?;
            }
            told
        }
        Found::Whole(file) => (file.sent_size as u64, file.sent_size as u64, file.media.name, None),
    };
    let mut response = StatusCode::OK
        .with_header(OFFSET, offset)
        .with_header(LENGTH, length)
        .with_header(METADATA, format!("filename {}", BASE64_STANDARD.encode(name)))
        .into_response();
    if let Some(expires) = expires.and_then(|expires| expires.parse().ok()) {
        response.headers_mut().insert(EXPIRES, expires);
    }
    Ok(response)
}

/// Takes the next piece. What of it arrived before a cut is kept. With the last one the upload becomes a file.
#[handler]
async fn append(req: &Request, app: Data<&App>, id: Path<FileId>, body: Body) -> Result<Response> {
    let caller = uploader(req).await?;
    let offset = number(req, OFFSET)?;
    if req.content_type() != Some(PIECE) {
        return Err(Error::BadRequest(Code::InvalidValue.says(format!("the content type must be {PIECE}")).at("Content-Type")));
    }
    let (found, turn) = take_turn(&app, caller, *id).await?;
    let upload = match found {
        Found::Arriving(upload) => upload,
        Found::Whole(file) => {
            require_offset(offset, file.sent_size as u64)?;
            return Ok(StatusCode::NO_CONTENT.with_header(OFFSET, offset).into_response());
        }
    };
    let mut incoming = Incoming::resume(&app.files, upload.organisation, upload.id, turn.clone()).await?;
    require_offset(offset, incoming.size())?;
    let declared = req.header(header::CONTENT_LENGTH).and_then(|length| length.parse().ok()).unwrap_or(0);
    if offset.saturating_add(declared) > upload.length {
        return Err(Error::TooLarge(upload.length as usize));
    }
    let arrived = tokio::select! {
        biased;
        () = turn.end() => Err(Error::UploadConflict("A newer request goes on with this upload".into())),
        arrived = take_piece((req, &app, caller), &upload, &mut incoming, body) => arrived,
    };
    let synced = incoming.sync().await;
    arrived?;
    synced?;
    Bound::require_same_session(req)?;
    let response = StatusCode::NO_CONTENT.with_header(OFFSET, incoming.size()).into_response();
    let response = response.with_header(EXPIRES, expiry(&upload)).into_response();
    if incoming.size() == upload.length {
        finish((req, &app, caller), upload, incoming, turn).await?;
    }
    Ok(response)
}

async fn take_piece(
    (req, app, caller): (&Request, &App, Caller),
    upload: &Upload,
    incoming: &mut Incoming,
    body: Body,
) -> Result<()> {
    require_right(app, caller, upload)?;
    let _transfer = begin_transfer(req, app, caller).await?;
    receive(body.into_async_read(), app, incoming, upload.length, |_| Ok(())).await
}

/// Ends an upload that is not wanted any more.
#[handler]
async fn cancel(req: &Request, app: Data<&App>, id: Path<FileId>) -> Result<Response> {
    let caller = uploader(req).await?;
    let (found, _turn) = take_turn(&app, caller, *id).await?;
    let Found::Arriving(upload) = found else { return Err(files::UNKNOWN) };
    app.db.write(move |tx| resumable::forget(tx, caller, upload.id)).await?;
    app.files.forget_pieces(upload.id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Makes an upload of which all has arrived the file that it is, in a task of its own: the turn must not end before others see the
/// file, whether the client waits or not.
async fn finish((req, app, caller): (&Request, &App, Caller), upload: Upload, incoming: Incoming, turn: Turn) -> Result<()> {
    require_right(app, caller, &upload)?; // before all of it is read again
    let (app, transfer) = (app.clone(), app.limits.transfer(caller.share(), visitor::address(req)).await?);
    let finish = async move {
        let (organisation, size) = (upload.organisation, incoming.size());
        let stored = incoming.end(organisation, app.site.files.keeps_details()).await?;
        let new = new_file(upload.id, upload.name, size, &stored);
        let keep = move |tx: &mut Tx| {
            resumable::finish(tx, caller, organisation, new)?;
            stored.keep();
            Ok(())
        };
        app.db.write(keep).await?;
        // Of a picture that was put together again.
        let store = app.files.clone();
        tokio::task::spawn_blocking(move || store.remove_pieces(upload.id))
            .await
            .map_err(Error::internal)?
            .map_err(Error::internal)?;
        drop((turn, transfer));
        Ok(())
    };
    tokio::spawn(db::for_request(finish)).await.map_err(Error::internal)?
}

/// Whether the caller may still upload. The room was promised when the upload began.
fn require_right(app: &App, caller: Caller, upload: &Upload) -> Result<()> {
    app.db.read(|conn| uploading::require_uploader(conn, caller, Some(upload.organisation), 0)).map(drop)
}

async fn uploader(req: &Request) -> Result<Caller> {
    require_caller(req, Need::Scope { scope: Scope::Post, is_for_one_channel: true }).await
}

/// The upload, and the right to go on with it. Whoever did is ended first, and may have made it a file meanwhile.
async fn take_turn(app: &App, caller: Caller, id: FileId) -> Result<(Found, Turn)> {
    let find = || app.db.read(|conn| resumable::find(conn, caller, id, app.clock.now()));
    find()?;
    let turn = app.files.turn(id).await;
    Ok((find()?, turn))
}

fn require_offset(named: u64, actual: u64) -> Result<()> {
    let says = || format!("This upload has {actual} bytes, not {named}");
    if named == actual { Ok(()) } else { Err(Error::UploadConflict(says())) }
}

fn number(req: &Request, name: &str) -> Result<u64> {
    let digits = req.header(name).filter(|value| value.bytes().all(|digit| digit.is_ascii_digit()));
    let value = digits.and_then(|digits| digits.parse().ok()).filter(|value| *value <= i64::MAX as u64);
    value.ok_or_else(|| {
        Error::BadRequest(Code::InvalidValue.says(format!("the header {name} must be a number of bytes")).at(name))
    })
}

/// The name among pairs of keys and values in Base64, as in `filename cGxhbi5wZGY=,filetype aW1hZ2UvcG5n`; empty without one.
fn file_name(req: &Request) -> Result<String> {
    let pairs = req.header(METADATA).unwrap_or_default().split(',').map(str::trim);
    let name = pairs.filter_map(|pair| pair.split_once(' ')).find(|(key, _)| matches!(*key, "filename" | "name"));
    let Some((_, value)) = name else { return Ok(String::new()) };
    let name = BASE64_STANDARD.decode(value.trim()).ok().and_then(|name| String::from_utf8(name).ok());
    name.ok_or_else(|| Error::BadRequest(Code::InvalidValue.says("the name of a file must be UTF-8 in Base64").at(METADATA)))
}

/// When the upload ends by itself (RFC 9110, section 5.6.7).
fn expiry(upload: &Upload) -> String {
    upload.expires_at.strftime("%a, %d %b %Y %H:%M:%S GMT")
}
