//! JSON answers, written from their fields straight into the text.

use std::{io, marker::PhantomData, sync::Arc};

use poem::{IntoResponse, Response, http::header};
use poem_openapi::{
    ApiResponse,
    payload::Payload,
    registry::{MetaMediaType, MetaResponse, MetaResponses, MetaSchemaRef, Registry},
    types::{ParseFromJSON, ToJSON, Type},
};
use serde::Serialize;
use serde_json::ser::Formatter;

use super::secret_text;
use crate::net::encodings::{Effort, Encodings};

/// A type that an answer may contain. The framework describes it; serde writes it, because the framework would build a tree of
/// values first. In development builds both are compared.
pub trait Answer: Type + ParseFromJSON + ToJSON + Serialize {}

impl<T: Type + ParseFromJSON + ToJSON + Serialize> Answer for T {}

/// Writes the JSON of an answer, or of a part of one. Returns whether it holds a [`Secret`](super::secret_text::Secret).
pub fn write(writer: impl io::Write, answer: &impl Serialize) -> bool {
    let mut serializer = serde_json::Serializer::with_formatter(writer, WithRows);
    secret_text::is_written_by(|| {
        answer.serialize(&mut serializer).expect("all keys of answers are texts, and no writer fails");
    })
}

/// Compact JSON, in which the text of [`Rows`](super::rows::Rows) stands as it is: they serialize as bytes, and nothing else
/// does.
struct WithRows;

impl Formatter for WithRows {
    fn write_byte_array<W: io::Write + ?Sized>(&mut self, writer: &mut W, text: &[u8]) -> io::Result<()> {
        writer.write_all(text)
    }
}

/// The body of an answer.
pub struct Json<T>(pub T);

impl<T: Answer> Payload for Json<T> {
    const CONTENT_TYPE: &'static str = "application/json; charset=utf-8";

    fn schema_ref() -> MetaSchemaRef {
        T::schema_ref()
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
}

impl<T: Answer> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        Written::new(&self.0).into_response()
    }
}

/// An answer that is text already: that of a [`Json`]. [`compression`](super::compression) finds it among the answer's extensions.
pub struct Written<T> {
    pub text: Arc<Encodings>,
    of: PhantomData<fn() -> T>,
}

impl<T: Answer> Written<T> {
    pub fn new(answer: &T) -> Written<T> {
        let mut text = Vec::with_capacity(128);
        let is_secret = write(&mut text, answer);
        debug_assert_eq!(serde_json::from_slice(&text).ok(), answer.to_json(), "serde and the document name the same fields");
        text.shrink_to_fit(); // what comes after rows doubles the capacity
        Written::from_text(Encodings::new(text, if is_secret { Effort::None } else { Effort::Least }))
    }

    /// The text of an earlier answer.
    pub fn from_text(text: Arc<Encodings>) -> Written<T> {
        Written { text, of: PhantomData }
    }
}

impl<T: Answer> Payload for Written<T> {
    const CONTENT_TYPE: &'static str = Json::<T>::CONTENT_TYPE;

    fn schema_ref() -> MetaSchemaRef {
        T::schema_ref()
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
}

impl<T: Answer> IntoResponse for Written<T> {
    fn into_response(self) -> Response {
        let plain = self.text.plain.clone();
        Response::builder().header(header::CONTENT_TYPE, Self::CONTENT_TYPE).extension(self.text).body(plain)
    }
}

/// As the answer of an operation: 200.
impl<T: Answer> ApiResponse for Json<T> {
    fn meta() -> MetaResponses {
        let content = vec![MetaMediaType { content_type: Self::CONTENT_TYPE, schema: T::schema_ref() }];
        let ok = MetaResponse { description: "", status: Some(200), status_range: None, content, headers: Vec::new() };
        MetaResponses { responses: vec![ok] }
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
}
