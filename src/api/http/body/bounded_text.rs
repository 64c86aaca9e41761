//! Texts and lists in requests, with the bounds that the domain keeps.

use std::{borrow::Cow, marker::PhantomData, ops::Deref};

use poem_openapi::{
    registry::{MetaSchema, MetaSchemaRef, Registry},
    types::{ParseError, ParseFromJSON, ParseFromParameter, ParseResult, ToJSON, Type},
};
use serde_json::Value;

use crate::{
    api::http::framework_traits::{described, inline_schema},
    domain::text::{Rule, Ruled},
};

/// A string in a request, with the bounds of `R` in its schema. The domain checks them, after the caller's rights. Other
/// types are refused and not converted, so that a number is a type error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<R>(pub String, PhantomData<R>);

/// Converts a field to the string that the domain takes.
pub fn into_string<R>(field: Option<Text<R>>) -> Option<String> {
    field.map(|text| text.0)
}

/// Converts a list to the strings that the domain takes.
pub fn into_strings<R, const MIN: usize, const MAX: usize>(list: List<Text<R>, MIN, MAX>) -> Vec<String> {
    list.0.into_iter().map(|text| text.0).collect()
}

impl<R> Deref for Text<R> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

/// The schema of a text: what the rule refuses, and no more.
pub fn schema(rule: &Rule) -> MetaSchema {
    let mut schema = MetaSchema::new("string");
    if !rule.one_of.is_empty() {
        schema.enum_items = rule.one_of.iter().map(|text| Value::from(*text)).collect();
        return schema;
    }
    schema.min_length = Some(rule.min).filter(|min| *min > 0);
    schema.max_length = Some(rule.max).filter(|max| *max < usize::MAX);
    schema.pattern = rule.pattern.map(|pattern| pattern.source.to_owned());
    if rule.is_email && rule.min > 0 {
        schema.format = Some("email");
    } else if rule.is_email {
        let none = MetaSchema { max_length: Some(0), ..MetaSchema::ANY };
        let email = MetaSchema { format: Some("email"), ..MetaSchema::ANY };
        schema.any_of = [none, email].map(inline_schema).into();
    }
    schema
}

described!(Text<R>, "string", inline_schema(schema(&R::RULE)); R: Ruled);

impl<R: Ruled> ParseFromJSON for Text<R> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        match value {
            Some(Value::String(text)) => Ok(Text(text, PhantomData)),
            other => Err(ParseError::expected_type(other.unwrap_or_default())),
        }
    }
}

impl<R: Ruled> ParseFromParameter for Text<R> {
    fn parse_from_parameter(value: &str) -> ParseResult<Self> {
        Ok(Text(value.to_owned(), PhantomData))
    }
}

impl<R: Ruled> ToJSON for Text<R> {
    fn to_json(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

/// A list in a request of `MIN` to `MAX` items, as its schema says. The domain checks their number, after the caller's
/// rights.
#[derive(Clone, Debug)]
pub struct List<T, const MIN: usize, const MAX: usize>(pub Vec<T>);

impl<T: Type, const MIN: usize, const MAX: usize> Type for List<T, MIN, MAX> {
    const IS_REQUIRED: bool = true;
    type RawValueType = Vec<T>;
    type RawElementValueType = T::RawValueType;

    fn name() -> Cow<'static, str> {
        Vec::<T>::name()
    }
    fn schema_ref() -> MetaSchemaRef {
        let min_items = Some(MIN).filter(|min| *min > 0);
        Vec::<T>::schema_ref().merge(MetaSchema { min_items, max_items: Some(MAX), ..MetaSchema::ANY })
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
    fn as_raw_value(&self) -> Option<&Vec<T>> {
        Some(&self.0)
    }
    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a T::RawValueType> + 'a> {
        Box::new(self.0.iter().filter_map(Type::as_raw_value))
    }
}

impl<T: ParseFromJSON, const MIN: usize, const MAX: usize> ParseFromJSON for List<T, MIN, MAX> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        Vec::parse_from_json(value).map(List).map_err(ParseError::propagate)
    }
}

impl<T: ToJSON, const MIN: usize, const MAX: usize> ToJSON for List<T, MIN, MAX> {
    fn to_json(&self) -> Option<Value> {
        self.0.to_json()
    }
}
