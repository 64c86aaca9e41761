//! Integers in requests, with their bounds.

use std::borrow::Cow;

use poem_openapi::{
    registry::MetaSchema,
    types::{ParseError, ParseFromJSON, ParseFromParameter, ParseResult, ToJSON},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use super::framework_traits::{described, inline_schema};

/// An integer of a query or a body from `MIN` to `MAX`, as its schema says. 400 for any other.
#[derive(Clone, Copy, Debug)]
pub struct Number<const MIN: u32, const MAX: u32 = { u32::MAX }>(pub u32);

described!(Number<MIN, MAX>, "integer", {
    let format = if MAX > i32::MAX as u32 { "int64" } else { "int32" };
    let (minimum, maximum) = (Some(MIN.into()), Some(MAX.into()));
    inline_schema(MetaSchema { minimum, maximum, ..MetaSchema::new_with_format("integer", format) })
}; const MIN: u32, const MAX: u32);

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Number<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| (MIN..=MAX).contains(number));
        number.map(Number).ok_or_else(|| D::Error::custom(format!("must be an integer from {MIN} to {MAX}")))
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Number<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

impl<const MIN: u32, const MAX: u32> ParseFromJSON for Number<MIN, MAX> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        serde_json::from_value(value.unwrap_or_default()).map_err(ParseError::custom)
    }
}

impl<const MIN: u32, const MAX: u32> ToJSON for Number<MIN, MAX> {
    fn to_json(&self) -> Option<Value> {
        Some(self.0.into())
    }
}

impl<const MIN: u32, const MAX: u32> ParseFromParameter for Number<MIN, MAX> {
    fn parse_from_parameter(text: &str) -> ParseResult<Self> {
        let number = text.parse().ok().filter(|number| (MIN..=MAX).contains(number));
        number.map(Number).ok_or_else(|| ParseError::custom(format!("must be an integer from {MIN} to {MAX}, not {text:?}")))
    }
}
