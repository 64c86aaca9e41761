//! Request bodies: reads them up to a limit, checks types strictly, and refuses them with the documented errors.

mod json;

use std::{
    borrow::Cow,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use poem::{Request, RequestBody};
use poem_openapi::{
    ApiExtractor, ApiExtractorType, ExtractParamOptions,
    payload::{Json, Payload},
    registry::{MetaMediaType, MetaRequest, MetaSchema, MetaSchemaRef, Registry},
    types::{ParseError, ParseFromJSON, ParseFromParameter, ParseResult, ToJSON, Type},
};
use serde_json::Value;

use crate::{error::Error, request_body};

/// Bytes of a body of a sender without a session.
pub const WITHOUT_SESSION: usize = 16 << 10;
/// Bytes of a body of a sender with a session.
pub const WITH_SESSION: usize = 1 << 20;
/// Bytes of a body sent to the feed of a webhook that exists.
pub const FEED: usize = 256 << 10;
/// Bytes of a body of the contact form, which holds more text than other operations without a session.
pub const CONTACT: usize = 64 << 10;

/// How many bytes a request's body may have. The limit starts small, and each proof that the sender may send more
/// raises it before the body is read. So an operation that sets no limit has the small one.
#[derive(Clone)]
pub struct Bound(Arc<AtomicUsize>);

impl Default for Bound {
    fn default() -> Self {
        Bound(Arc::new(WITHOUT_SESSION.into()))
    }
}

impl Bound {
    pub fn raise(req: &Request, bytes: usize) {
        if let Some(Bound(bound)) = req.data() {
            bound.fetch_max(bytes, Relaxed);
        }
    }

    fn of(req: &Request) -> usize {
        req.data().map_or(WITHOUT_SESSION, |Bound(bound)| bound.load(Relaxed))
    }
}

/// A JSON body, and its length in bytes. An absent body counts as `{}`, so that a body whose fields are all optional
/// may be omitted. `LEAST` is the limit in bytes if nothing raises it.
pub struct Body<T, const LEAST: usize = WITHOUT_SESSION>(pub T, pub usize);

impl<T, const LEAST: usize> Deref for Body<T, LEAST> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'a, T: ParseFromJSON, const LEAST: usize> ApiExtractor<'a> for Body<T, LEAST> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        T::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        let content = vec![MetaMediaType { content_type: Json::<T>::CONTENT_TYPE, schema: T::schema_ref() }];
        Some(MetaRequest { description: None, content, required: true })
    }

    async fn from_request(req: &'a Request, body: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        let bytes = request_body::read(body.take()?, Bound::of(req).max(LEAST)).await?;
        if !bytes.is_empty() && !req.content_type().is_some_and(Json::<T>::check_content_type) {
            return Err(Error::bad_request("The request body must be JSON, with the content type application/json").into());
        }
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        match T::parse_from_json(Some(json::parse(text)?)) {
            Ok(parsed) => Ok(Body(parsed, bytes.len())),
            // The first attempt consumed the tree. Only failures parse it a second time.
            Err(err) => Err(Faulty(fault::<T>(&json::parse(text)?).unwrap_or_else(|| plain(err.message()))).into()),
        }
    }
}

/// The error for JSON of the wrong shape: 400, but 422 at log-in, as the specification lists it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Faulty(pub String);

impl From<Faulty> for poem::Error {
    fn from(faulty: Faulty) -> Self {
        poem::Error::new(faulty, poem::http::StatusCode::BAD_REQUEST)
    }
}

/// Describes the first fault of a body by the name of its field; poem-openapi names its own types instead.
fn fault<T: Type>(body: &Value) -> Option<String> {
    let mut registry = Registry::new();
    T::register(&mut registry);
    let Some(fields) = body.as_object() else { return Some("The request body must be a JSON object".into()) };
    let MetaSchemaRef::Reference(name) = T::schema_ref() else { return None };
    let schema = registry.schemas.get(&name)?;
    let given = |field: &str| fields.get(field).filter(|value| !value.is_null());
    if let Some(missing) = schema.required.iter().find(|field| given(field).is_none()) {
        return Some(format!("{missing} is required"));
    }
    schema
        .properties
        .iter()
        .find_map(|(field, schema)| misfit(given(field)?, schema).map(|kind| format!("{field} must be {kind}")))
}

/// The expected type, if the value has another one than the schema.
fn misfit(value: &Value, schema: &MetaSchemaRef) -> Option<String> {
    let MetaSchemaRef::Inline(schema) = schema else { return None };
    let (fits, kind) = match (schema.ty, schema.format) {
        ("string", Some("uuid")) => (value.as_str().is_some_and(|text| text.parse::<uuid::Uuid>().is_ok()), "a UUID"),
        ("string", _) => (value.is_string(), "a string"),
        ("boolean", _) => (value.is_boolean(), "a boolean"),
        ("integer", _) => (value.is_i64(), "an integer"),
        ("array", _) => {
            let Some(items) = value.as_array() else { return Some("an array".into()) };
            let schema = schema.items.as_deref()?;
            return items.iter().find_map(|item| misfit(item, schema)).map(|kind| format!("an array, each of it {kind}"));
        }
        _ => (true, ""),
    };
    (!fits).then(|| kind.to_owned())
}

/// Rewords the framework's message for all other faults.
fn plain(message: &str) -> String {
    format!(
        "The request body is faulty: {}",
        message.replace("Expected input type ", "expected ").replace("occurred while parsing", "in")
    )
}

/// A JSON string. Other types are refused and not converted, so that a number is a type error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(pub String);

/// Converts a field to the string that the domain takes.
pub fn text(field: Option<Text>) -> Option<String> {
    field.map(|text| text.0)
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Type for Text {
    const IS_REQUIRED: bool = true;
    type RawValueType = String;
    type RawElementValueType = String;

    fn name() -> Cow<'static, str> {
        "string".into()
    }
    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(MetaSchema::new("string")))
    }
    fn as_raw_value(&self) -> Option<&String> {
        Some(&self.0)
    }
    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a String> + 'a> {
        Box::new(std::iter::once(&self.0))
    }
}

impl ParseFromJSON for Text {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        match value {
            Some(Value::String(text)) => Ok(Text(text)),
            other => Err(ParseError::expected_type(other.unwrap_or_default())),
        }
    }
}

impl ParseFromParameter for Text {
    fn parse_from_parameter(value: &str) -> ParseResult<Self> {
        Ok(Text(value.to_owned()))
    }
}

impl ToJSON for Text {
    fn to_json(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

/// A role in a request: its integer, its UUID or its name.
#[derive(Clone, Debug)]
pub struct RoleName(pub String);

impl Type for RoleName {
    const IS_REQUIRED: bool = true;
    type RawValueType = String;
    type RawElementValueType = String;

    fn name() -> Cow<'static, str> {
        "role".into()
    }
    fn schema_ref() -> MetaSchemaRef {
        let one_of = ["string", "integer"].map(|name| MetaSchemaRef::Inline(Box::new(MetaSchema::new(name)))).into();
        MetaSchemaRef::Inline(Box::new(MetaSchema { one_of, ..MetaSchema::ANY }))
    }
    fn as_raw_value(&self) -> Option<&String> {
        Some(&self.0)
    }
    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a String> + 'a> {
        Box::new(std::iter::once(&self.0))
    }
}

impl ParseFromJSON for RoleName {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        match value {
            Some(Value::String(text)) => Ok(RoleName(text)),
            Some(Value::Number(number)) if number.is_i64() => Ok(RoleName(number.to_string())),
            other => Err(ParseError::expected_type(other.unwrap_or_default())),
        }
    }
}

impl ToJSON for RoleName {
    fn to_json(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

/// Gives a body type its example. Making the OpenAPI document checks the example against the type.
macro_rules! example {
    ($body:ty, $($json:tt)+) => {
        impl poem_openapi::types::Example for $body {
            fn example() -> Self {
                let value = serde_json::json!($($json)+);
                poem_openapi::types::ParseFromJSON::parse_from_json(Some(value)).ok().expect("the example is of its type")
            }
        }
    };
}
pub(crate) use example;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Text, fault};
    use crate::id::UserId;

    #[derive(poem_openapi::Object)]
    struct Example {
        name: Text,
        users: Option<Vec<UserId>>,
        is_private: Option<bool>,
    }

    #[test]
    fn a_faulty_body_is_refused_with_the_name_of_the_field() {
        let said = |body| fault::<Example>(&body).unwrap_or_default();
        assert_eq!(said(json!([])), "The request body must be a JSON object");
        assert_eq!(said(json!({})), "name is required");
        assert_eq!(said(json!({ "name": null })), "name is required");
        assert_eq!(said(json!({ "name": 5 })), "name must be a string");
        assert_eq!(said(json!({ "name": "", "is_private": "yes" })), "is_private must be a boolean");
        assert_eq!(said(json!({ "name": "", "users": "x" })), "users must be an array");
        assert_eq!(said(json!({ "name": "", "users": ["x"] })), "users must be an array, each of it a UUID");
        assert_eq!(said(json!({ "name": "", "users": null })), "");
    }
}
