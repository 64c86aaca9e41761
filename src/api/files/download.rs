//! The bytes of a file: all of them or a range (RFC 9110, section 14), with what keeps browsers from running them.

use std::ops::Range;

use http_body_util::BodyExt;
use poem::{
    Body, IntoResponse, Request, Response,
    http::{HeaderValue, StatusCode, header},
    web::{
        Data,
        headers::{ETag, HeaderMapExt, IfRange},
    },
};
use poem_openapi::{
    ApiResponse, OpenApi,
    param::{Path, Query},
    registry::{MetaMediaType, MetaResponse, MetaResponses, MetaSchema, Registry},
};

use super::{
    copies::{self, Size},
    headers::{UNSHOWN, describe, is_known, tag, value},
};
use crate::{
    api::{
        http::{file_reader::FileReader, framework_traits::inline_schema, visitor},
        tags::Tag,
    },
    domain::files,
    error::Result,
    files::Transferred,
    id::FileId,
    pictures::CopySize,
    state::App,
};

/// A file of another type, in the document. Generators of clients take what it lists first.
const ANY: &str = "*/*";
pub struct Api;

#[OpenApi]
impl Api {
    /// Open a file
    ///
    /// Answers the bytes of a file, or a range of them. For members of the channel whose message shows it, and until there is one for
    /// who uploaded it; 404 for everybody else. Who may read it is looked at each time. The cookie of a browser's session counts
    /// unless the browser says that another site asks, so that pages show files by their addresses.
    ///
    /// Browsers show pictures (PNG, JPEG, GIF, WebP), plain text and PDF; all else they save. Nothing in a file can run there.
    #[oai(path = "/files/:file_id/:file_name", method = "get", operation_id = "downloadFile", tag = "Tag::Files")]
    async fn download(
        &self,
        caller: FileReader,
        app: Data<&App>,
        file_id: Path<FileId>,
        /// The name under which the file is saved. Any name opens it.
        file_name: Path<String>,
        /// A token of `POST /files/{file_id}/link`, instead of a bearer token or a cookie.
        link: Query<Option<String>>,
        /// A smaller copy of a picture instead of all of it: `small` has at most 360 pixels a side, `large` 1,200. JPEG, or PNG where
        /// something shines through. 404 for a file that has no `thumbnail_link`.
        size: Query<Option<Size>>,
        req: &Request,
    ) -> Result<Download> {
        _ = file_name; // browsers read it in the address
        _ = link; // the caller was found by it
        let (FileReader { caller, by_link }, id) = (caller, *file_id);
        let file = app.db.read(|conn| files::readable(conn, caller, id))?;
        if let Some(copy) = size.map(CopySize::from) {
            let picture = file.media.picture.ok_or(files::UNKNOWN)?;
            if copy.exists_for(&picture, file.media.size as u64) {
                return copies::answer(req, &app, (caller, by_link), &file, copy).await.map(Download);
            }
        }
        let tag = tag(&file, "");
        let mut response = match part(req, &tag, file.media.size as u64) {
            Part::Unchanged => StatusCode::NOT_MODIFIED.into_response(),
            Part::Outside => {
                let range = format!("bytes */{}", file.media.size);
                StatusCode::RANGE_NOT_SATISFIABLE.with_header(header::CONTENT_RANGE, range).into_response()
            }
            Part::Bytes(range, status) => {
                let transfer = app.limits.transfer(caller.share(), visitor::address(req)).await?;
                let body = app.files.read(file.organisation, id, range.clone(), transfer).await?;
                let response = Response::builder().status(status).header(header::CONTENT_LENGTH, range.end - range.start);
                let mut response = response.body(Body::from(body.boxed()));
                if status == StatusCode::PARTIAL_CONTENT {
                    let range = format!("bytes {}-{}/{}", range.start, range.end - 1, file.media.size);
                    response.headers_mut().insert(header::CONTENT_RANGE, value(&range)?);
                }
                response.extensions_mut().insert(Transferred);
                response
            }
        };
        describe(&mut response, &file, (&file.media.mime_type, "private, no-cache"), by_link)?;
        response.headers_mut().typed_insert(tag);
        response.headers_mut().insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        Ok(Download(response))
    }
}

/// What of a file is asked for.
enum Part {
    /// Nothing: the client has it.
    Unchanged,
    /// What it has not.
    Outside,
    Bytes(Range<u64>, StatusCode),
}

/// The part that a request asks for. All of the file for several ranges, and for one of a file that has another content.
fn part(req: &Request, tag: &ETag, size: u64) -> Part {
    let headers = req.headers();
    if is_known(req, tag) {
        return Part::Unchanged;
    }
    let is_of_this = headers.typed_get::<IfRange>().is_none_or(|known| !known.is_modified(Some(tag), None));
    let whole = Part::Bytes(0..size, StatusCode::OK);
    let asked = headers.get(header::RANGE).filter(|_| is_of_this).and_then(|range| range.to_str().ok());
    match asked.and_then(Asked::parse) {
        None => whole,
        Some(asked) => asked.of(size).map_or(Part::Outside, |range| Part::Bytes(range, StatusCode::PARTIAL_CONTENT)),
    }
}

/// One range of bytes (RFC 9110, section 14.1.2). The library's type drops what it can't read together with what there is not.
enum Asked {
    /// From a byte to another, which is among them, or to the end.
    From(u64, Option<u64>),
    /// So many bytes at the end.
    Last(u64),
}

impl Asked {
    /// None for several ranges, for other units and for what is no range: they count as not asked for.
    fn parse(text: &str) -> Option<Asked> {
        let (from, to) = text.strip_prefix("bytes=")?.split_once('-')?;
        let number = |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|digit| digit.is_ascii_digit()));
        let to = if to.is_empty() { None } else { Some(number(to)?) };
        match (from, to) {
            ("", last) => last.map(Asked::Last),
            (from, to) => {
                let from = number(from)?;
                to.is_none_or(|to| from <= to).then_some(Asked::From(from, to))
            }
        }
    }

    /// The bytes of a file of this length; none if it has none of them.
    fn of(&self, size: u64) -> Option<Range<u64>> {
        let range = match *self {
            Asked::From(from, to) => from..to.map_or(size, |to| to.saturating_add(1).min(size)),
            Asked::Last(bytes) => size.saturating_sub(bytes)..size,
        };
        (!range.is_empty()).then_some(range)
    }
}

/// The answer with a file, or without its bytes.
struct Download(Response);

impl IntoResponse for Download {
    fn into_response(self) -> Response {
        self.0
    }
}

impl ApiResponse for Download {
    fn meta() -> MetaResponses {
        let bytes = || {
            let schema = inline_schema(MetaSchema { format: Some("binary"), ..MetaSchema::new("string") });
            let of_type = |content_type| MetaMediaType { content_type, schema: schema.clone() };
            vec![of_type(UNSHOWN), of_type(ANY)]
        };
        let one = |status, description, content| MetaResponse {
            description,
            status: Some(status),
            status_range: None,
            content,
            headers: Vec::new(),
        };
        MetaResponses {
            responses: vec![
                one(200, "The file.", bytes()),
                one(206, "The range of the file that the header `Range` asks for.", bytes()),
                one(304, "The file is the one with the `ETag` in the header `If-None-Match`.", Vec::new()),
                one(416, "The file has no such range; `Content-Range` tells its length.", Vec::new()),
            ],
        }
    }
    fn register(_: &mut Registry) {}
}
