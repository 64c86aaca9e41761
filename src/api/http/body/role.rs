//! The names of roles in requests.

use poem_openapi::{
    registry::MetaSchema,
    types::{ParseError, ParseFromJSON, ParseResult, ToJSON},
};
use serde_json::Value;

use super::bounded_text;
use crate::{
    api::http::framework_traits::{described, inline_schema},
    domain::{organisations::roles::Named, text::Ruled},
};

/// A role in a request: its integer, its UUID, its key or its name.
#[derive(Clone, Debug)]
pub struct RoleName(pub String);

described!(RoleName, "role", {
    let integer =
        MetaSchema { minimum: Some(1.0), maximum: Some(i32::MAX.into()), ..MetaSchema::new_with_format("integer", "int32") };
    inline_schema(MetaSchema {
        one_of: [bounded_text::schema(&Named::RULE), integer].map(inline_schema).into(),
        ..MetaSchema::ANY
    })
});

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
