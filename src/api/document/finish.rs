//! Adds to the generated document what the framework can't express: examples, the statuses that each operation really
//! answers, the headers of failures, which operations are open, and what the tokens of programs need.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json, value::RawValue};

use super::examples::Recorded;
use crate::{
    api::http::{
        auth::{ACCESS_TOKEN_INVALID, BEARER_REQUIRED, FOR_SOME_CHANNELS},
        body,
        failure::{self, Reason, TOO_MANY_CONNECTIONS, body_has_status_code, lists_errors},
    },
    domain::scopes::Scope,
    error::{Code, Error},
};

/// The extension with the scope that opens an operation to the token of a program.
const TOKEN_SCOPE: &str = "x-token-scope";
/// The header of the place in the event log.
const POSITION: &str = "Tidings-Position";

#[derive(Deserialize, Serialize)]
struct Document {
    openapi: String,
    info: Box<RawValue>,
    servers: Box<RawValue>,
    tags: Vec<Value>,
    paths: IndexMap<String, IndexMap<String, Map<String, Value>>>,
    components: Components,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Components {
    #[serde(default)]
    headers: BTreeMap<String, Value>,
    #[serde(default)]
    responses: BTreeMap<String, Value>,
    schemas: IndexMap<String, IndexMap<String, Box<RawValue>>>,
    security_schemes: Box<RawValue>,
}

/// Finishes the generated document with the recorded examples. Operations, tags and fields keep the order in which the code has them.
pub fn finish(generated: &str, recorded: &BTreeMap<String, Recorded>) -> String {
    let mut document: Document = serde_json::from_str(generated).expect("the framework generates a document");
    let unrecorded = Recorded::default();
    let mut tags = Vec::new();
    for (path, methods) in &mut document.paths {
        for (method, fields) in methods {
            let name = format!("{} {path}", method.to_uppercase());
            tags.extend(fields.get("tags").and_then(Value::as_array).into_iter().flatten().cloned());
            let recorded = recorded.get(&name).unwrap_or(&unrecorded);
            Operation { path, is_get: method == "get", recorded, fields }.finish(&mut document.components.responses);
        }
    }
    document.components.headers.insert(POSITION.to_owned(), position());
    document.tags.sort_by_key(|tag| tags.iter().position(|used| *used == tag["name"]));
    let mut nullable = Vec::new();
    for (field, value) in document.components.schemas.values_mut().flatten() {
        if field == "properties" {
            let mut properties: IndexMap<String, Value> = serde_json::from_str(value.get()).expect("properties are an object");
            properties.values_mut().for_each(type_nullable);
            nullable.extend(properties.values_mut().filter_map(referred_nullable));
            *value = serde_json::value::to_raw_value(&properties).expect("it is JSON");
        }
    }
    for schema in nullable {
        let schema = document.components.schemas.get_mut(&schema).expect("a reference leads to a schema");
        schema.insert("nullable".to_owned(), serde_json::value::to_raw_value(&true).expect("it is JSON"));
    }
    serde_json::to_string_pretty(&document).expect("it is JSON")
}

/// Gives a schema that may be null a type, without which `nullable` says nothing (OpenAPI 3.0.3, section 4.7.24.1): that of an
/// object for a reference, and otherwise its first alternative becomes the one that may be null.
fn type_nullable(schema: &mut Value) {
    if schema["nullable"] != true || schema.get("type").is_some() {
        return;
    }
    let alternatives = ["oneOf", "anyOf"].into_iter().find(|word| schema.get(*word).is_some());
    let Some(alternatives) = alternatives else { return schema["type"] = json!("object") };
    schema[alternatives][0]["nullable"] = json!(true);
    schema.as_object_mut().expect("it has fields").remove("nullable");
}

/// The name of the schema that a field refers to, if the field may be null: a reference to a schema that may not be null allows no
/// null, whatever stands beside it, so the schema itself has to say it.
fn referred_nullable(schema: &mut Value) -> Option<String> {
    let parts = schema.get_mut("allOf")?.as_array_mut()?;
    parts.pop_if(|last| *last == json!({ "nullable": true }))?;
    Some(parts.first()?["$ref"].as_str()?.rsplit('/').next()?.to_owned())
}

/// The words of a failure, and what it tells programs.
struct Said {
    message: String,
    reason: Reason,
}

impl From<&Error> for Said {
    fn from(err: &Error) -> Self {
        Said { message: err.to_string(), reason: err.into() }
    }
}

impl From<Code> for Said {
    fn from(code: Code) -> Self {
        Said { message: code.meaning().0.to_owned(), reason: code.into() }
    }
}

struct Operation<'a> {
    path: &'a str,
    is_get: bool,
    recorded: &'a Recorded,
    fields: &'a mut Map<String, Value>,
}

impl Operation<'_> {
    fn finish(mut self, shared: &mut BTreeMap<String, Value>) {
        self.finish_security();
        for parameter in self.fields.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(value) = parameter["name"].as_str().and_then(|name| self.recorded.parameters.get(name)) {
                parameter["example"] = value.clone();
            }
        }
        if let (Some(body), Some(example)) = (self.fields.get_mut("requestBody"), &self.recorded.request) {
            show(body, |media| media["example"] = example.clone());
        }
        let Some(Value::Object(responses)) = self.fields.remove("responses") else { return };
        let responses = responses.into_iter().filter_map(|(status, response)| {
            let response = match status.starts_with('2') {
                true => self.success(&status, response),
                false => self.failure(&status, response, shared)?,
            };
            Some((status, response))
        });
        let responses = responses.collect();
        self.fields.insert("responses".into(), Value::Object(responses));
    }

    /// Makes extensions of what extractors say of the tokens of programs ([`FOR_SOME_CHANNELS`]). An operation without security
    /// schemes has an empty list of them, which says that it is open.
    fn finish_security(&mut self) {
        let mut schemes = self.fields.remove("security").unwrap_or_else(|| json!([]));
        schemes.as_array_mut().expect("it is a list").retain(|scheme| {
            let name = scheme.as_object().and_then(|scheme| scheme.keys().next()).expect("a scheme has a name");
            let (extension, value) = match name.as_str() {
                FOR_SOME_CHANNELS => (FOR_SOME_CHANNELS, json!(true)),
                name if Scope::named(name).is_some() => (TOKEN_SCOPE, json!(name)),
                _ => return true,
            };
            self.fields.insert(extension.to_owned(), value);
            false
        });
        self.fields.insert("security".to_owned(), schemes);
    }

    fn success(&self, status: &str, mut response: Value) -> Value {
        if let Some(example) = self.recorded.answers.get(status) {
            show(&mut response, |media| media["example"] = example.clone());
        }
        let link = response.get_mut("headers").and_then(|headers| headers.as_object_mut()?.remove("LINK"));
        let position = self.is_get.then(|| json!({ "$ref": format!("#/components/headers/{POSITION}") }));
        let headers = [("Link", link), (POSITION, position)].into_iter();
        let headers: Map<_, _> = headers.filter_map(|(name, header)| Some((name.to_owned(), header?))).collect();
        if !headers.is_empty() {
            response["headers"] = Value::Object(headers);
        }
        response
    }

    /// The documented failure of this status, if the operation answers it. One whose codes are the same for all operations
    /// is shared.
    fn failure(&self, status: &str, response: Value, shared: &mut BTreeMap<String, Value>) -> Option<Value> {
        let general = self.general(status);
        let mut words: Vec<Said> = general.iter().flat_map(|(_, refusals)| refusals.iter().map(Said::from)).collect();
        let recorded = self.recorded.refusals.get(status).into_iter().flatten().copied();
        let own: Vec<_> = recorded.filter(|code| words.iter().all(|said| said.reason.code != *code)).map(Said::from).collect();
        match general {
            Some((name, _)) if own.is_empty() => {
                let name = format!("{name}{}", self.variant());
                shared.entry(name.clone()).or_insert_with(|| self.with_words(status, response, &words));
                Some(json!({ "$ref": format!("#/components/responses/{name}") }))
            }
            _ => {
                words.extend(own);
                (!words.is_empty()).then(|| self.with_words(status, response, &words))
            }
        }
    }

    /// The failures that do not depend on what the operation does, and the name by which they are shared.
    fn general(&self, status: &str) -> Option<(&'static str, Vec<Error>)> {
        let has =
            |scheme: &str| self.fields["security"].as_array().is_some_and(|all| all.iter().any(|one| one.get(scheme).is_some()));
        let (name, refusals) = match status {
            "401" if has("Bearer") => (
                "Unauthorized",
                vec![
                    Error::Unauthorized(Code::TokenMissing, BEARER_REQUIRED),
                    Error::Unauthorized(Code::TokenInvalid, ACCESS_TOKEN_INVALID),
                ],
            ),
            "409" if self.looks_at_sessions() => ("OtherUser", vec![Error::OtherUser]),
            "413" if self.fields.contains_key("requestBody") => match self.fields["security"].as_array() {
                Some(schemes) if schemes.is_empty() => ("TooLargeWithoutSession", vec![Error::TooLarge(body::WITHOUT_SESSION)]),
                _ => ("TooLarge", vec![Error::TooLarge(body::WITH_SESSION)]),
            },
            "429" => ("TooManyRequests", vec![Error::TooMany(1)]),
            "500" => ("InternalError", vec![Error::internal("of any kind")]),
            "503" => ("Unavailable", vec![Error::Unavailable(Code::Overloaded, TOO_MANY_CONNECTIONS)]),
            _ => return None,
        };
        Some((name, refusals))
    }

    /// Whether a session is needed, or looked at if there is one, and so refused if its token is invalid.
    fn looks_at_sessions(&self) -> bool {
        let is_needed = self.fields["security"].as_array().is_some_and(|schemes| !schemes.is_empty());
        is_needed || self.recorded.refusals.get("401").is_some_and(|codes| codes.contains(&Code::TokenInvalid))
    }

    /// Which of the forms of failures this operation's have, as the end of a name.
    fn variant(&self) -> &'static str {
        match self.path {
            path if lists_errors(path) => "InList",
            path if !body_has_status_code(path) => "WithoutCode",
            _ => "",
        }
    }

    fn with_words(&self, status: &str, mut response: Value, words: &[Said]) -> Value {
        let code = status.parse().expect("a status is a number");
        let example = |Said { message, reason }: &Said| {
            (
                reason.code.name().to_owned(),
                json!({ "summary": message, "value": failure::example(code, message, reason, self.path) }),
            )
        };
        let examples: Map<_, _> = words.iter().map(example).collect();
        show(&mut response, |media| media["examples"] = Value::Object(examples.clone()));
        if let Some((name, description, example)) = header(status) {
            let schema = if example.is_string() { "string" } else { "integer" };
            let header = json!({ "description": description, "schema": { "type": schema }, "example": example });
            response["headers"] = json!({ name: header });
        }
        response
    }
}

/// The header of the place in the event log, which every answer to GET has.
fn position() -> Value {
    json!({
        "description": "The place in the event log of the state that the answer shows, as `<epoch>:<offset>`. A subscription to any \
                        channel of `/connection/websocket` that recovers from this epoch and offset misses no later change.",
        "required": true,
        "schema": { "type": "string", "pattern": "^[0-9a-f]{16}:[0-9]+$" },
        "example": "5f1d1c0e7a3b9c42:1815",
    })
}

/// The header that each failure of a status has.
fn header(status: &str) -> Option<(&'static str, &'static str, Value)> {
    match status {
        "401" => Some(("WWW-Authenticate", "The scheme of the token that is wanted (RFC 9110).", json!("Bearer"))),
        "429" | "503" => Some(("Retry-After", "The seconds after which to try again.", json!(1))),
        "500" => Some(("X-Request-Id", "Names the request in the server's log.", json!("01a2e6d1-0000-7000-8000-000000000001"))),
        _ => None,
    }
}

/// Changes each media type of a body.
fn show(body: &mut Value, change: impl Fn(&mut Value)) {
    let types = body.get_mut("content").and_then(Value::as_object_mut).into_iter().flatten();
    types.for_each(|(_, media)| change(media));
}
