//! Request bodies: reads them up to a limit, checks types strictly, and refuses them with the documented errors.

mod bounded_text;
pub mod json;
mod role;

use std::{
    ops::Deref,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use bytes::Bytes;
use poem::{Request, RequestBody};
use poem_openapi::{
    ApiExtractor, ApiExtractorType, ExtractParamOptions,
    payload::{Json, Payload},
    registry::{MetaMediaType, MetaRequest, MetaSchema, MetaSchemaRef, Registry},
    types::{ParseFromJSON, Type},
};
use serde_json::{Map, Value};

pub use self::{
    bounded_text::{List, Text, into_string, into_strings},
    json::parse,
    role::RoleName,
};
use crate::{
    db,
    domain::{
        access::Caller,
        accounts::sessions::{self, SESSION_ENDED},
    },
    error::{Code, Error, Refusal},
    id::UserId,
    net::bounded_request_body,
    state::App,
};

/// Bytes of a body of a sender without a session.
pub const WITHOUT_SESSION: usize = 16 << 10;
/// Bytes of a body of a sender with a session.
pub const WITH_SESSION: usize = 1 << 20;
/// Bytes of a body sent to the feed of a webhook that exists.
pub const FEED: usize = 256 << 10;
/// Bytes of a body of the contact form, which holds more text than other operations without a session.
pub const CONTACT: usize = 64 << 10;

/// How many bytes a request's body may have, whether its sender has a session, and who answers for it. The limit starts small, and
/// each proof that the sender may send more raises it before the body is read. So an operation that sets no limit has the small one.
#[derive(Clone)]
pub struct Bound(Arc<Sender>);

struct Sender {
    bytes: AtomicUsize,
    caller: OnceLock<Caller>,
    person: OnceLock<UserId>,
}

impl Default for Bound {
    fn default() -> Self {
        Bound(Arc::new(Sender { bytes: WITHOUT_SESSION.into(), caller: OnceLock::new(), person: OnceLock::new() }))
    }
}

impl Bound {
    pub fn raise(req: &Request, bytes: usize) {
        if let Some(Bound(sender)) = req.data() {
            sender.bytes.fetch_max(bytes, Relaxed);
        }
    }

    /// Notes that the request has the caller's live session, and the person who answers for what it writes.
    pub fn note_live_session(req: &Request, caller: Caller) {
        if let Some(Bound(sender)) = req.data() {
            sender.caller.get_or_init(|| caller);
        }
        if caller.person != caller.user {
            let Caller { session, person, .. } = caller;
            db::recheck_in_writes(db::Recheck { check: sessions::require_answered_by, session, person });
        }
        Bound::note_person(req, caller.person);
        Bound::raise(req, WITH_SESSION);
    }

    /// Notes the person who answers for what the request writes, unless its session has told.
    pub fn note_person(req: &Request, person: UserId) {
        if let Some(Bound(sender)) = req.data() {
            db::note_person(*sender.person.get_or_init(|| person));
        }
    }

    /// Counts bytes that came with the request for the person who answers for it, if there is one. 429 past their quota.
    pub fn charge(req: &Request, bytes: usize) -> Result<(), Error> {
        let person = req.data().and_then(|Bound(sender)| sender.person.get());
        person.zip(req.data::<App>()).map_or(Ok(()), |(person, app)| app.quotas.charge_person(*person, bytes))
    }

    /// Whether the request has a live session.
    pub fn has_session(req: &Request) -> bool {
        req.data().is_some_and(|Bound(sender)| sender.caller.get().is_some())
    }

    /// Checks that the session which has admitted the request is still what it was: its sender may have kept the body back until
    /// rights had ended. 401 if not.
    pub fn require_same_session(req: &Request) -> Result<(), Error> {
        let caller = req.data().and_then(|Bound(sender)| sender.caller.get());
        match caller.zip(req.data::<App>()) {
            Some((caller, app)) if app.find_caller(caller.session)? != Some(*caller) => Err(SESSION_ENDED),
            _ => Ok(()),
        }
    }

    fn of(req: &Request) -> usize {
        req.data().map_or(WITHOUT_SESSION, |Bound(sender)| sender.bytes.load(Relaxed))
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
        let MetaSchemaRef::Reference(name) = T::schema_ref() else { return };
        let Some(schema) = registry.schemas.get_mut(&name) else { return };
        let optional = schema.properties.iter_mut().filter(|(field, _)| !schema.required.contains(field));
        optional.for_each(|(_, property)| allow_null(property));
    }

    fn request_meta() -> Option<MetaRequest> {
        let content = vec![MetaMediaType { content_type: Json::<T>::CONTENT_TYPE, schema: T::schema_ref() }];
        let mut registry = Registry::new();
        T::register(&mut registry);
        let required =
            resolved(&T::schema_ref(), &registry).is_none_or(|schema| !schema.required.is_empty() || !schema.any_of.is_empty());
        Some(MetaRequest { description: None, content, required })
    }

    async fn from_request(req: &'a Request, body: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        let bytes = read_json_bytes(req, body.take()?, LEAST).await?;
        let text: &[u8] = if bytes.is_empty() { b"{}" } else { &bytes };
        Ok(Body(parse_json_fields(parse(text)?, text)?, bytes.len()))
    }
}

/// Reads a body within the limit of its request, or within `least` bytes if that is more, and counts its bytes: nearly all that is
/// written comes in a body. 413 past the limit, 429 past the quota of bytes, 401 if the session has ended meanwhile.
pub async fn read(req: &Request, body: poem::Body, least: usize) -> Result<Bytes, Error> {
    let bytes = bounded_request_body::read(body, Bound::of(req).max(least)).await?;
    Bound::require_same_session(req)?;
    Bound::charge(req, bytes.len())?;
    Ok(bytes)
}

/// Works like [`read`]. 400 if the body is not declared to be JSON.
pub async fn read_json_bytes(req: &Request, body: poem::Body, least: usize) -> Result<Bytes, Error> {
    let bytes = read(req, body, least).await?;
    if bytes.is_empty() || req.content_type().is_some_and(Json::<Value>::check_content_type) {
        Ok(bytes)
    } else {
        Err(Error::BadRequest(Code::NotJson.says("The request body must be JSON, with the content type application/json")))
    }
}

/// Reads the fields of a body that was parsed from this text.
pub fn parse_json_fields<T: ParseFromJSON>(body: Value, text: &[u8]) -> Result<T, Faulty> {
    T::parse_from_json(Some(body)).map_err(|err| {
        // The first attempt consumed the tree. Only failures parse it a second time.
        let fault = parse(text).ok().and_then(|body| fault::<T>(&body));
        Faulty(fault.unwrap_or_else(|| plain(err.message())))
    })
}

/// Lets a schema say that null counts as an absent field.
fn allow_null(schema: &mut MetaSchemaRef) {
    if let MetaSchemaRef::Inline(schema) = schema {
        schema.nullable = true;
        if !schema.enum_items.is_empty() && !schema.enum_items.contains(&Value::Null) {
            schema.enum_items.push(Value::Null);
        }
    }
}

/// The error for JSON of the wrong shape: 400, but 422 at log-in, as the specification lists it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Faulty(pub Refusal);

impl From<Faulty> for poem::Error {
    fn from(faulty: Faulty) -> Self {
        poem::Error::new(faulty, poem::http::StatusCode::BAD_REQUEST)
    }
}

/// Describes the first fault of a body by the name of its field; poem-openapi names its own types instead.
fn fault<T: Type>(body: &Value) -> Option<Refusal> {
    let mut registry = Registry::new();
    T::register(&mut registry);
    if !body.is_object() {
        return Some(Code::InvalidValue.says("The request body must be a JSON object"));
    }
    misfit(body, &T::schema_ref(), &registry, "")
}

/// A schema without its name.
fn resolved<'a>(schema: &'a MetaSchemaRef, registry: &'a Registry) -> Option<&'a MetaSchema> {
    match schema {
        // A name with a description.
        MetaSchemaRef::Inline(schema) if !schema.all_of.is_empty() => resolved(&schema.all_of[0], registry),
        MetaSchemaRef::Inline(schema) => Some(schema),
        MetaSchemaRef::Reference(name) => registry.schemas.get(name),
    }
}

/// The error in the value of a field, if it doesn't fit the schema.
fn misfit(value: &Value, schema: &MetaSchemaRef, registry: &Registry, field: &str) -> Option<Refusal> {
    let schema = resolved(schema, registry)?;
    let (fits, kind) = match (schema.ty, schema.format) {
        ("string", Some("uuid")) => (value.as_str().is_some_and(|text| text.parse::<uuid::Uuid>().is_ok()), "a UUID"),
        ("string", _) => (value.is_string(), "a string"),
        ("boolean", _) => (value.is_boolean(), "a boolean"),
        ("integer", _) => match (value.as_i64(), schema.minimum.zip(schema.maximum)) {
            (Some(number), Some((min, max))) if !(min..=max).contains(&(number as f64)) => {
                let says = format!("{field} must be an integer from {min} to {max}, not {number}");
                return Some(Code::InvalidValue.says(says).at(field));
            }
            (number, _) => (number.is_some(), "an integer"),
        },
        ("array", _) => match value.as_array() {
            None => (false, "an array"),
            Some(items) => {
                let schema = schema.items.as_deref()?;
                let fault = items.iter().find_map(|item| misfit(item, schema, registry, &format!("{field}: each")));
                return fault.map(|fault| fault.at(field));
            }
        },
        _ if !schema.one_of.is_empty() => {
            let fits = |schema| misfit(value, schema, registry, field).is_none();
            (schema.one_of.iter().any(fits), "an integer or a string")
        }
        ("object", _) => match value.as_object() {
            None => (false, "an object"),
            Some(fields) => return faulty_field(fields, schema, registry, field),
        },
        _ => (true, ""),
    };
    (!fits).then(|| Code::InvalidValue.says(format!("{field} must be {kind}")).at(field))
}

/// The error in the first faulty field of an object.
fn faulty_field(fields: &Map<String, Value>, schema: &MetaSchema, registry: &Registry, object: &str) -> Option<Refusal> {
    let given = |field: &str| fields.get(field).filter(|value| !value.is_null());
    let is_missing = |field: &&&str| given(field).is_none();
    let name = |field: &str| if object.is_empty() { field.to_owned() } else { format!("{object}.{field}") };
    // Of the forms that the object may have, the one that is meant.
    let forms = schema.any_of.iter().filter_map(|form| resolved(form, registry));
    let schema = forms.min_by_key(|form| form.required.iter().filter(is_missing).count()).unwrap_or(schema);
    if let Some(missing) = schema.required.iter().find(is_missing) {
        let known: Vec<_> = schema.properties.iter().map(|(known, _)| *known).collect();
        let has_others = fields.keys().any(|field| !known.contains(&field.as_str()));
        // Whoever sends other fields, or none of several, may not know which there are.
        let helps = has_others || (fields.is_empty() && known.len() > 1);
        let fields = if helps { format!("; the fields are {}", known.join(", ")) } else { String::new() };
        return Some(Code::Required.says(format!("{} is required{fields}", name(missing))).at(&name(missing)));
    }
    schema.properties.iter().find_map(|(field, schema)| misfit(given(field)?, schema, registry, &name(field)))
}

/// Rewords the framework's message for all other faults.
fn plain(message: &str) -> Refusal {
    let says = message.replace("Expected input type ", "expected ").replace("occurred while parsing", "in");
    Code::InvalidValue.says(format!("The request body is faulty: {says}"))
}

#[cfg(test)]
mod tests {
    use poem_openapi::{ApiExtractor, registry::Registry};
    use serde_json::json;

    use super::{Body, Text, fault};
    use crate::{domain::text::Email, id::UserId};

    #[derive(poem_openapi::Object)]
    struct Example {
        name: Text<Email>,
        users: Option<Vec<UserId>>,
        is_private: Option<bool>,
        /// An object with a name of its own.
        inside: Option<Inside>,
    }

    #[derive(poem_openapi::Object)]
    struct Inside {
        count: i64,
    }

    #[test]
    fn null_is_allowed_in_optional_fields_only() {
        let mut registry = Registry::new();
        Body::<Example>::register(&mut registry);
        let nullable =
            registry.schemas["Example"].properties.iter().map(|(field, schema)| (*field, schema.unwrap_inline().nullable));
        assert_eq!(nullable.collect::<Vec<_>>(), [("name", false), ("users", true), ("is_private", true), ("inside", true)]);
    }

    #[test]
    fn a_faulty_body_is_refused_with_the_name_of_the_field() {
        let said = |body| fault::<Example>(&body).map(|fault| fault.says).unwrap_or_default();
        assert_eq!(said(json!([])), "The request body must be a JSON object");
        assert_eq!(said(json!({})), "name is required; the fields are name, users, is_private, inside");
        assert_eq!(said(json!({ "name": null })), "name is required");
        assert_eq!(said(json!({ "text": "" })), "name is required; the fields are name, users, is_private, inside");
        assert_eq!(said(json!({ "name": 5 })), "name must be a string");
        assert_eq!(said(json!({ "name": "", "is_private": "yes" })), "is_private must be a boolean");
        assert_eq!(said(json!({ "name": "", "users": "x" })), "users must be an array");
        assert_eq!(said(json!({ "name": "", "users": ["x"] })), "users: each must be a UUID");
        assert_eq!(said(json!({ "name": "", "users": null })), "");
        assert_eq!(said(json!({ "name": "", "inside": [] })), "inside must be an object");
        assert_eq!(said(json!({ "name": "", "inside": {} })), "inside.count is required");
        assert_eq!(said(json!({ "name": "", "inside": { "count": "1" } })), "inside.count must be an integer");
    }
}
