//! The names of roles in requests.

use std::borrow::Cow;

use poem_openapi::{
    registry::{MetaSchema, MetaSchemaRef},
    types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type},
};
use serde_json::Value;

use super::text;
use crate::domain::{organisations::roles::Named, text::Ruled};

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
        let integer =
            MetaSchema { minimum: Some(1.0), maximum: Some(i32::MAX.into()), ..MetaSchema::new_with_format("integer", "int32") };
        let one_of = [text::schema(&Named::RULE), integer].map(|schema| MetaSchemaRef::Inline(Box::new(schema))).into();
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
