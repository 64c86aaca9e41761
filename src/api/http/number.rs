//! Integers in queries, with their bounds.

use std::borrow::Cow;

use poem_openapi::{
    registry::{MetaSchema, MetaSchemaRef},
    types::{ParseError, ParseFromParameter, ParseResult, Type},
};

/// An integer of a query from `MIN` to `MAX`, as its schema says. 400 for any other.
#[derive(Clone, Copy, Debug)]
pub struct Number<const MIN: u32, const MAX: u32 = { u32::MAX }>(pub u32);

impl<const MIN: u32, const MAX: u32> Type for Number<MIN, MAX> {
    const IS_REQUIRED: bool = true;
    type RawValueType = u32;
    type RawElementValueType = u32;

    fn name() -> Cow<'static, str> {
        "integer".into()
    }
    fn schema_ref() -> MetaSchemaRef {
        let format = if MAX > i32::MAX as u32 { "int64" } else { "int32" };
        let (minimum, maximum) = (Some(MIN.into()), Some(MAX.into()));
        MetaSchemaRef::Inline(Box::new(MetaSchema { minimum, maximum, ..MetaSchema::new_with_format("integer", format) }))
    }
    fn as_raw_value(&self) -> Option<&u32> {
        Some(&self.0)
    }
    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a u32> + 'a> {
        Box::new(std::iter::once(&self.0))
    }
}

impl<const MIN: u32, const MAX: u32> ParseFromParameter for Number<MIN, MAX> {
    fn parse_from_parameter(text: &str) -> ParseResult<Self> {
        let number = text.parse().ok().filter(|number| (MIN..=MAX).contains(number));
        number.map(Number).ok_or_else(|| ParseError::custom(format!("must be an integer from {MIN} to {MAX}, not {text:?}")))
    }
}
