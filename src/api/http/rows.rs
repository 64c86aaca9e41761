//! The rows of a list in an answer, as text.

use std::{borrow::Cow, marker::PhantomData};

use poem_openapi::{
    registry::{MetaSchemaRef, Registry},
    types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type},
};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{
    json::{Answer, write},
    secret_text,
};

/// The rows of an answer as text: each is written once, when the answer takes it. Described as a list of `T`.
pub struct Rows<T> {
    /// A list in JSON.
    text: Vec<u8>,
    /// Where each row begins in the text.
    starts: Vec<usize>,
    /// Whether a row holds a secret, or did before it was removed.
    is_secret: bool,
    of: PhantomData<fn() -> T>,
}

impl<T> Clone for Rows<T> {
    fn clone(&self) -> Rows<T> {
        Rows { text: self.text.clone(), starts: self.starts.clone(), is_secret: self.is_secret, of: PhantomData }
    }
}

impl<T> Default for Rows<T> {
    fn default() -> Rows<T> {
        Rows { text: b"[]".into(), starts: Vec::new(), is_secret: false, of: PhantomData }
    }
}

impl<T: Answer> Rows<T> {
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Writes a row behind the others. Returns its length in bytes with that of a comma.
    pub fn push(&mut self, row: &T) -> usize {
        let is_secret = self.append(|text| write(text, row));
        self.is_secret |= is_secret;
        let text = self.row(self.len() - 1);
        debug_assert_eq!(serde_json::from_slice(text).ok(), row.to_json(), "serde and the document name the same fields");
        text.len() + 1
    }

    /// Removes the last row.
    pub fn pop(&mut self) {
        if let Some(start) = self.starts.pop() {
            self.text.truncate(if self.starts.is_empty() { start } else { start - 1 });
            self.text.push(b']');
        }
    }

    /// Copies rows behind the others.
    pub fn extend(&mut self, others: &Rows<T>) {
        for number in 0..others.len() {
            self.append(|text| text.extend_from_slice(others.row(number)));
        }
        self.is_secret |= others.is_secret;
    }

    /// The last row first.
    pub fn reversed(&self) -> Rows<T> {
        let mut reversed = Rows { is_secret: self.is_secret, ..Rows::default() };
        reversed.text.reserve(self.text.len());
        for number in (0..self.len()).rev() {
            reversed.append(|text| text.extend_from_slice(self.row(number)));
        }
        reversed
    }

    /// The text of a row. A comma or the bracket stands behind it.
    fn row(&self, number: usize) -> &[u8] {
        let end = self.starts.get(number + 1).unwrap_or(&self.text.len()) - 1;
        &self.text[self.starts[number]..end]
    }

    fn append<W>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> W) -> W {
        self.text.pop();
        if !self.starts.is_empty() {
            self.text.push(b',');
        }
        self.starts.push(self.text.len());
        let written = write(&mut self.text);
        self.text.push(b']');
        written
    }
}

impl<T> Serialize for Rows<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_secret {
            secret_text::note();
        }
        serializer.serialize_bytes(&self.text)
    }
}

impl<T: Answer> Type for Rows<T> {
    const IS_REQUIRED: bool = true;
    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        Vec::<T>::name()
    }
    fn schema_ref() -> MetaSchemaRef {
        Vec::<T>::schema_ref()
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }
    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

impl<T: Answer> ToJSON for Rows<T> {
    fn to_json(&self) -> Option<Value> {
        serde_json::from_slice(&self.text).ok()
    }
}

/// Derives of response objects require this, as they share one with request objects.
impl<T: Answer> ParseFromJSON for Rows<T> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        let parsed = Vec::<T>::parse_from_json(value).map_err(ParseError::propagate)?;
        let mut rows = Rows::default();
        parsed.iter().for_each(|row| _ = rows.push(row));
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_once_and_stand_in_the_text_as_they_are() {
        #[derive(Serialize)]
        struct Answer {
            rows: Rows<String>,
        }
        let text = |rows: Rows<String>| {
            let mut text = Vec::new();
            write(&mut text, &Answer { rows });
            String::from_utf8(text).unwrap()
        };
        let rows = |texts: &[&str]| {
            let mut rows = Rows::default();
            texts.iter().for_each(|text| assert_eq!(rows.push(&(*text).to_owned()), text.len() + 3));
            rows
        };
        assert_eq!(text(Rows::default()), r#"{"rows":[]}"#);
        assert_eq!(text(rows(&["a", "bc"])), r#"{"rows":["a","bc"]}"#);
        assert_eq!(text(rows(&["a", "bc", "d"]).reversed()), r#"{"rows":["d","bc","a"]}"#);
        let mut popped = rows(&["a", "bc"]);
        popped.pop();
        popped.extend(&rows(&["d", "e"]));
        assert_eq!((popped.len(), popped.to_json()), (3, Some(serde_json::json!(["a", "d", "e"]))));
        (0..4).for_each(|_| popped.pop());
        assert_eq!(text(popped), r#"{"rows":[]}"#);
    }
}
