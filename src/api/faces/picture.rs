//! A picture that is the body of a request.

use poem::{Body, Request, RequestBody};
use poem_openapi::{
    ApiExtractor, ApiExtractorType, ExtractParamOptions,
    registry::{MetaMediaType, MetaRequest, MetaSchema},
};

use crate::{
    api::{
        files::receiving::{begin_transfer, receive},
        http::{body::Bound, framework_traits::inline_schema},
    },
    domain::{access::Caller, faces::Face},
    error::{Code, Error, Result},
    files::Incoming,
    id::FileId,
    pictures::Purpose,
    state::App,
};

/// Bytes of a picture that becomes a face.
const MOST: u64 = 10_000_000;

/// A picture of which nothing was read.
pub struct Picture(Body);

impl<'a> ApiExtractor<'a> for Picture {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn request_meta() -> Option<MetaRequest> {
        let schema = inline_schema(MetaSchema { format: Some("binary"), ..MetaSchema::new("string") });
        let content = vec![MetaMediaType { content_type: "application/octet-stream", schema }];
        Some(MetaRequest { description: None, content, required: true })
    }

    async fn from_request(_: &'a Request, body: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        Ok(Picture(body.take()?))
    }
}

impl Picture {
    /// The picture as a face. What it is, its content says. 413 if it is too large, 422 if it can't be shown.
    pub async fn face(self, req: &Request, app: &App, caller: Caller) -> Result<Face> {
        let _transfer = begin_transfer(req, app, caller).await?;
        let mut incoming = Incoming::begin(&app.files, FileId::new()).await?;
        let counted = |bytes| app.quotas.charge_upload(caller.person, bytes);
        receive(self.0.into_async_read(), app, &mut incoming, MOST, counted).await?;
        let looked = incoming.look_and_forget(Purpose::Face).await?;
        Bound::require_same_session(req)?;
        let picture = looked.picture.ok_or_else(|| {
            let says = "The body must be a picture: JPEG, PNG, GIF or WebP, of up to 50 megapixels";
            Error::Invalid(Code::PictureUnusable.says(says).at("body"))
        })?;
        Ok(picture.copies)
    }
}
