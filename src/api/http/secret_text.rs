//! Secrets in answers. Their types mark them: in the document they have the format `password`, and an answer that holds one that
//! lasts is never compressed.

use std::cell::Cell;

use poem_openapi::{
    registry::MetaSchema,
    types::{ParseError, ParseFromJSON, ParseResult, ToJSON},
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::framework_traits::{described, inline_schema};

/// The format of secrets in the document.
const FORMAT: &str = "password";

/// A secret that may be the same in the next answer: a token, a password, a feed's address, or an address of somebody else's that
/// may hold a secret of theirs. An empty one is none.
pub struct Secret(pub String);

/// A token that ends within an hour or so, and that every second makes anew.
#[derive(Clone, Serialize)]
pub struct ShortLivedToken(pub String);

thread_local! {
    /// Whether a lasting secret was written since [`is_written_by`] began.
    static IS_WRITTEN: Cell<bool> = const { Cell::new(false) };
}

/// Whether `write` writes a lasting secret, by the serializer on this thread.
pub fn is_written_by(write: impl FnOnce()) -> bool {
    let before = IS_WRITTEN.replace(false);
    write();
    IS_WRITTEN.replace(before)
}

/// To be called where text with a lasting secret is written.
pub fn note() {
    IS_WRITTEN.set(true);
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !self.0.is_empty() {
            note();
        }
        serializer.serialize_str(&self.0)
    }
}

/// Describes a type around a text as a secret.
macro_rules! secret {
    ($type:ident, $name:literal) => {
        described!($type, $name, inline_schema(MetaSchema::new_with_format("string", FORMAT)));

        impl ToJSON for $type {
            fn to_json(&self) -> Option<Value> {
                Some(Value::String(self.0.clone()))
            }
        }

        /// Derives of response objects require this, as they share one with request objects.
        impl ParseFromJSON for $type {
            fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
                String::parse_from_json(value).map($type).map_err(ParseError::propagate)
            }
        }

        impl From<String> for $type {
            fn from(text: String) -> Self {
                $type(text)
            }
        }
    };
}

secret!(Secret, "string_secret");
secret!(ShortLivedToken, "string_short-lived-token");

#[cfg(test)]
mod tests;
