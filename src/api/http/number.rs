//! Integers in requests, with their bounds.

use poem_openapi::{
    registry::MetaSchema,
    types::{ParseError, ParseFromJSON, ParseFromParameter, ParseResult, ToJSON},
};
use serde_json::Value;

use super::types::{described, inline};

/// An integer of a query or a body from `MIN` to `MAX`, as its schema says. 400 for any other.
#[derive(Clone, Copy, Debug)]
pub struct Number<const MIN: u32, const MAX: u32 = { u32::MAX }>(pub u32);

described!(Number<MIN, MAX>, "integer", {
    let format = if MAX > i32::MAX as u32 { "int64" } else { "int32" };
    let (minimum, maximum) = (Some(MIN.into()), Some(MAX.into()));
    inline(MetaSchema { minimum, maximum, ..MetaSchema::new_with_format("integer", format) })
}; const MIN: u32, const MAX: u32);

impl<const MIN: u32, const MAX: u32> ParseFromJSON for Number<MIN, MAX> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        let value = value.unwrap_or_default();
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| (MIN..=MAX).contains(number));
        number.map(Number).ok_or_else(|| ParseError::custom(format!("must be an integer from {MIN} to {MAX}")))
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
