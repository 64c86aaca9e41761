//! Files in a form (RFC 7578), which go to the disk as they arrive.

use poem::{
    Body, FromRequest, Request, RequestBody,
    http::header,
    web::{Field, Multipart},
};
use poem_openapi::{
    ApiExtractor, ApiExtractorType, ExtractParamOptions,
    registry::{MetaMediaType, MetaRequest, MetaSchema, MetaSchemaRef},
};

use super::{
    receiving::{begin_transfer, in_time, new_file, receive, require_disk},
    sips::{AROUND, Allowance, Sips},
};
use crate::{
    api::http::{body::Bound, framework_traits::inline_schema},
    db,
    domain::{
        access::Caller,
        files::{File, taking, uploading},
    },
    error::{Code, Error, Result},
    files::{Incoming, Stored},
    id::{FileId, OrganisationId},
    state::App,
};

/// The name of the parts of the form that are files.
const FIELD: &str = "files";

/// A form with files, of which nothing was read.
pub struct Upload {
    form: Multipart,
    allowance: Allowance,
}

impl<'a> ApiExtractor<'a> for Upload {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn request_meta() -> Option<MetaRequest> {
        let file = MetaSchema { format: Some("binary"), ..MetaSchema::new("string") };
        let files = MetaSchema {
            items: Some(Box::new(inline_schema(file))),
            min_items: Some(1),
            max_items: Some(taking::MOST),
            ..MetaSchema::new("array")
        };
        let form: MetaSchemaRef = inline_schema(MetaSchema {
            required: vec![FIELD],
            properties: vec![(FIELD, inline_schema(files))],
            ..MetaSchema::new("object")
        });
        let content = vec![MetaMediaType { content_type: "multipart/form-data", schema: form }];
        Some(MetaRequest { description: None, content, required: true })
    }

    async fn from_request(req: &'a Request, body: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        let allowance = Allowance::new();
        let mut sips = RequestBody::new(Body::from_async_read(Sips::of(body.take()?, allowance.clone())));
        let form = <Multipart as FromRequest>::from_request(req, &mut sips).await;
        form.map(|form| Upload { form, allowance }).map_err(|_| {
            let says = "The request body must be a form of the content type multipart/form-data";
            Error::BadRequest(Code::InvalidValue.says(says).at(FIELD)).into()
        })
    }
}

impl Upload {
    /// Takes the files of the form. 413 for one that is too large, 429 past what its sender may upload in a day, 507 if the disk has
    /// no room; what came before is not kept then.
    pub async fn receive(self, req: &Request, app: &App, caller: Caller, named: Option<OrganisationId>) -> Result<Vec<File>> {
        let declared = req.header(header::CONTENT_LENGTH).and_then(|length| length.parse().ok()).unwrap_or(0);
        let organisation = begin(app, caller, named, declared)?;
        let _transfer = begin_transfer(req, app, caller).await?;
        let (stored, new) = receive_all(self, app, caller, organisation).await?;
        Bound::require_same_session(req)?;
        let keep = move |tx: &mut db::Tx| {
            let kept = uploading::create(tx, caller, organisation, new)?;
            stored.into_iter().for_each(Stored::keep);
            Ok(kept)
        };
        app.db.write(keep).await
    }
}

/// Checks what can be checked before the first byte. Returns the organisation that the files are for.
fn begin(app: &App, caller: Caller, named: Option<OrganisationId>, declared: u64) -> Result<OrganisationId> {
    let organisation =
        app.db.read(|conn| uploading::require_uploader(conn, caller, named, declared.saturating_sub(AROUND as u64)))?;
    let bounds = app.site.files;
    if declared > bounds.each.saturating_mul(taking::MOST as u64).saturating_add(AROUND as u64) {
        return Err(Error::TooLarge(bounds.each as usize));
    }
    require_disk(app, declared)?;
    Ok(organisation)
}

async fn receive_all(
    Upload { mut form, allowance }: Upload,
    app: &App,
    caller: Caller,
    organisation: OrganisationId,
) -> Result<(Vec<Stored>, Vec<uploading::New>)> {
    let (mut stored, mut new) = (Vec::new(), Vec::new());
    while let Some(field) = next_field(&mut form, &allowance).await? {
        if field.name() != Some(FIELD) {
            let says = format!("the parts of the form must have the name {FIELD}");
            return Err(Error::BadRequest(Code::InvalidValue.says(says).at(FIELD)));
        }
        if new.len() == taking::MOST {
            let says = format!("at most {} files are taken at once", taking::MOST);
            return Err(Error::BadRequest(Code::TooManyItems.says(says).at(FIELD).with_limit(taking::MOST)));
        }
        let (id, name) = (FileId::new(), field.file_name().unwrap_or_default().to_owned());
        let mut incoming = Incoming::begin(&app.files, id).await?;
        let counted = |bytes| app.quotas.charge_upload(caller.person, bytes);
        receive(field.into_async_read(), app, &mut incoming, app.site.files.each, counted).await?;
        let size = incoming.size();
        let kept = incoming.end(organisation, app.site.files.keeps_details()).await?;
        new.push(new_file(id, name, size, &kept));
        stored.push(kept);
    }
    if new.is_empty() {
        return Err(Error::BadRequest(Code::Required.says(format!("{FIELD} is required")).at(FIELD)));
    }
    Ok((stored, new))
}

/// The next part. 400 if much stands before it or in its headers.
async fn next_field(form: &mut Multipart, allowance: &Allowance) -> Result<Option<Field>> {
    allowance.limit();
    let field = in_time(form.next_field()).await.map_err(|err| {
        let says = format!("a form has at most {AROUND} bytes besides its files");
        if allowance.is_used_up() { Error::BadRequest(Code::InvalidValue.says(says).at(FIELD)) } else { err }
    })?;
    allowance.lift();
    Ok(field)
}
