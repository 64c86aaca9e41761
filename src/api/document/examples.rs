//! The examples of the document: requests and answers that a run of the tests recorded, in `recorded.txt`. There they follow what
//! the document says of their operation, which the tests compare and the server does not read.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Value};

use crate::error::Code;

/// The recorded examples of an operation.
#[derive(Default)]
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

/// Reads the examples in a recording, by operation, as in `GET /channels/{channel_id}`. Lines below that of an operation are
/// indented; an example may go on in lines that are indented further.
pub fn read(mut text: &str) -> BTreeMap<String, Recorded> {
    let mut all: BTreeMap<String, Recorded> = BTreeMap::new();
    let mut operation = "";
    while let Some((line, following)) = text.split_once('\n') {
        if !line.starts_with(' ') {
            operation = line.split_once(": ").map_or(line, |(name, _)| name);
        } else if let Some(codes) = text.strip_prefix("  refusal codes: ") {
            all.entry(operation.to_owned()).or_default().refusals = first(codes);
        } else if let Some((name, example)) = text.strip_prefix("  example ").and_then(|rest| rest.split_once(": ")) {
            let recorded = all.entry(operation.to_owned()).or_default();
            match name {
                "parameters" => recorded.parameters = first(example),
                "request" => recorded.request = Some(first(example)),
                status => _ = recorded.answers.insert(status.to_owned(), first(example)),
            }
        }
        text = following;
    }
    all
}

/// The JSON with which a text begins.
fn first<T: DeserializeOwned>(text: &str) -> T {
    T::deserialize(&mut Deserializer::from_str(text)).expect("the tests recorded it")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn examples_are_read_from_between_the_lines_of_the_document() {
        let lines = [
            r#"GET /a/{id}: {"summary":"Read"}"#,
            r#"  id: {"in":"path"}"#,
            r#"  200: {"description":"Success."}"#,
            "  failures: 404",
            r#"  example parameters: {"id":5}"#,
            "  example 200: {",
            r#"    "list": ["#,
            "      1,",
            "      2",
            "    ]",
            "  }",
            r#"  refusal codes: {"404":["channel_not_found"]}"#,
            "POST /b: {}",
            "  example request: {}",
            "  example 204: null",
            "Schema: {}",
            "  id: {}\n",
        ];
        let all = read(&lines.join("\n"));
        assert_eq!(all.keys().collect::<Vec<_>>(), ["GET /a/{id}", "POST /b"]);
        let (one, other) = (&all["GET /a/{id}"], &all["POST /b"]);
        assert_eq!((&one.parameters["id"], &one.request), (&json!(5), &None));
        assert_eq!(one.answers, BTreeMap::from([("200".to_owned(), json!({ "list": [1, 2] }))]));
        assert_eq!(one.refusals, BTreeMap::from([("404".to_owned(), vec![Code::ChannelNotFound])]));
        assert_eq!((&other.request, &other.answers["204"]), (&Some(json!({})), &Value::Null));
    }
}
