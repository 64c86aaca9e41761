//! The examples of the document: requests and answers that a run of the tests recorded.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::error::Code;

/// The recorded examples of an operation.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Recorded {
    /// Parameters of the path and the query, by name.
    pub parameters: BTreeMap<String, Value>,
    /// The body of the request.
    pub request: Option<Value>,
    /// The body of a success, by status; null for none.
    pub answers: BTreeMap<String, Value>,
    /// The codes of refusals by status.
    pub refusals: BTreeMap<String, Vec<Code>>,
}

/// The examples by operation, as in `GET /channels/{channel_id}`.
pub fn recorded() -> BTreeMap<String, Recorded> {
    serde_json::from_str(include_str!("examples.json")).expect("the tests recorded it")
}
