//! The smaller copies of pictures.

use http_body_util::BodyExt;
use poem::{
    Body, IntoResponse, Request, Response,
    http::{StatusCode, header},
    web::headers::HeaderMapExt,
};
use poem_openapi::Enum;

use super::headers::{describe, is_known, tag};
use crate::{
    api::http::visitor,
    domain::{access::Caller, files::File},
    error::Result,
    files::Transferred,
    pictures::CopySize,
    state::App,
};

/// Browsers ask again after an hour whether they still may have it.
const KEPT: &str = "private, max-age=3600";

/// Which copy of a picture is asked for.
#[derive(Clone, Copy, Enum)]
#[oai(rename_all = "lowercase")]
pub enum Size {
    Small,
    Large,
}

impl From<Size> for CopySize {
    fn from(size: Size) -> CopySize {
        match size {
            Size::Small => CopySize::Small,
            Size::Large => CopySize::Large,
        }
    }
}

/// Answers a copy of a picture that has one.
pub async fn answer(
    req: &Request,
    app: &App,
    (caller, by_link): (Caller, bool),
    file: &File,
    copy: CopySize,
) -> Result<Response> {
    let (picture, tag) = ((file.organisation, file.media.id), tag(file, copy.name()));
    let (mut response, mime_type) = if is_known(req, &tag) {
        (StatusCode::NOT_MODIFIED.into_response(), file.media.mime_type.as_str())
    } else {
        app.files.make_copy(picture, copy).await?; // before it keeps others from theirs
        let transfer = app.limits.transfer(caller.share(), visitor::address(req)).await?;
        let body = app.files.read_copy(picture, copy, transfer).await?;
        let mime_type = body.mime_type().await?;
        let mut response = Response::builder().header(header::CONTENT_LENGTH, body.length()).body(Body::from(body.boxed()));
        response.extensions_mut().insert(Transferred);
        (response, mime_type)
    };
    describe(&mut response, file, (mime_type, KEPT), by_link)?;
    response.headers_mut().typed_insert(tag);
    Ok(response)
}
