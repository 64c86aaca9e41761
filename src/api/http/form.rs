//! Bodies that existing clients send as the form of a page instead of JSON.

use poem::{FromRequest, Request, RequestBody, web::Multipart};
use poem_openapi::{
    ApiExtractor, ApiExtractorType, ExtractParamOptions,
    registry::{MetaMediaType, MetaRequest, Registry},
    types::ParseFromJSON,
};
use serde_json::{Map, Value};

use super::body::{Body, WITHOUT_SESSION, parse_json_fields, read};
use crate::error::{Code, Error};

const MULTIPART: &str = "multipart/form-data";
/// The texts that stand in a form for no value: some clients write their language's own words.
const NO_VALUE: [&str; 2] = ["undefined", "null"];

/// A body in JSON, or a form (`multipart/form-data`) whose texts are the fields; the length of either in bytes; and the names of
/// the form's files, which are not taken, and of its texts.
pub struct JsonOrForm<T> {
    pub body: T,
    pub bytes: usize,
    pub form_fields: Vec<String>,
}

impl<'a, T: ParseFromJSON> ApiExtractor<'a> for JsonOrForm<T> {
    const TYPES: &'static [ApiExtractorType] = Body::<T>::TYPES;
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        Body::<T>::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        Body::<T>::request_meta().map(|mut meta| {
            meta.content.push(MetaMediaType { content_type: MULTIPART, schema: T::schema_ref() });
            meta
        })
    }

    async fn from_request(req: &'a Request, body: &mut RequestBody, options: ExtractParamOptions<()>) -> poem::Result<Self> {
        if !req.content_type().is_some_and(|kind| kind.starts_with(MULTIPART)) {
            let Body(body, bytes) = Body::<T>::from_request(req, body, options).await?;
            return Ok(JsonOrForm { body, bytes, form_fields: Vec::new() });
        }
        let bytes = read(req, body.take()?, WITHOUT_SESSION).await?;
        let length = bytes.len();
        let (fields, form_fields) = fields(req, bytes.into()).await?;
        let body = Value::Object(fields);
        let text = body.to_string();
        Ok(JsonOrForm { body: parse_json_fields(body, text.as_bytes())?, bytes: length, form_fields })
    }
}

/// The texts of a form that have a value, and the names of all its parts that do.
async fn fields(req: &Request, body: poem::Body) -> Result<(Map<String, Value>, Vec<String>), Error> {
    let faulty = |err: &dyn std::fmt::Display| Error::BadRequest(Code::BadRequest.says(format!("The form can't be read: {err}")));
    let mut form =
        <Multipart as FromRequest>::from_request(req, &mut RequestBody::new(body)).await.map_err(|err| faulty(&err))?;
    let (mut texts, mut names) = (Map::new(), Vec::new());
    while let Some(part) = form.next_field().await.map_err(|err| faulty(&err))? {
        let Some(name) = part.name().map(str::to_owned) else { continue };
        if part.file_name().is_some() {
            names.push(name);
            continue;
        }
        let text = part.text().await.map_err(|err| faulty(&err))?;
        if !NO_VALUE.contains(&&*text) {
            names.push(name.clone());
            texts.insert(name, Value::String(text));
        }
    }
    Ok((texts, names))
}
