//! Which changes of a document break clients.

use serde_json::{Map, json};

use super::*;

/// What breaks when a field of a body, or of an answer, changes its schema.
fn said(sender: Sender, old: Value, new: Value) -> Vec<String> {
    let document = |schema: Value| {
        let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } });
        let operation = match sender {
            Sender::Client => json!({ "requestBody": { "content": content } }),
            Sender::Server => json!({ "responses": { "200": { "content": content } } }),
        };
        let thing =
            json!({ "type": "object", "properties": { "name": schema, "next": { "$ref": "#/components/schemas/Thing" } } });
        json!({ "paths": { "/things": { "post": operation } }, "components": { "schemas": { "Thing": thing } } })
    };
    breaks(&document(old), &document(new)).into_iter().map(|found| found.what).collect()
}

#[test]
fn less_to_send_breaks_clients_and_more_does_not() {
    let text = |more: Value| resolved(&Value::Null, &json!({ "allOf": [{ "type": "string" }, more] }));
    for (wide, narrow, what) in [
        (json!({}), json!({ "maxLength": 80 }), "has the maxLength 80 now"),
        (json!({ "maxLength": 81 }), json!({ "maxLength": 80 }), "has the maxLength 80 now"),
        (json!({ "minLength": 0 }), json!({ "minLength": 1 }), "has the minLength 1 now"),
        (json!({}), json!({ "pattern": "a" }), "has the pattern \"a\" now"),
        (json!({}), json!({ "enum": ["a"] }), "must be one of [\"a\"] now"),
        (json!({ "enum": ["a", "b"] }), json!({ "enum": ["a"] }), "must be one of [\"a\"] now"),
        (json!({ "nullable": true }), json!({}), "must not be null now"),
    ] {
        let (wide, narrow) = (text(wide), text(narrow));
        assert_eq!(said(Sender::Client, wide.clone(), narrow.clone()), [format!("the body/name {what}")]);
        assert!(said(Sender::Client, narrow, wide).is_empty());
    }
}

#[test]
fn answers_must_keep_their_fields_and_types() {
    let text = json!({ "type": "string" });
    let other = said(Sender::Server, text.clone(), json!({ "type": "integer" }));
    assert_eq!(other, ["the answer/name is \"integer\" now, and was \"string\""]);
    assert!(said(Sender::Server, json!({}), text.clone()).is_empty());
    assert!(said(Sender::Client, text.clone(), json!({})).is_empty());
    let words = |words: &[&str]| json!({ "type": "string", "enum": words });
    assert_eq!(said(Sender::Server, words(&["a"]), words(&["a", "b"])), ["the answer/name may be \"b\" now"]);
    assert_eq!(said(Sender::Server, words(&["a"]), text.clone()), ["the answer/name has no list of values now"]);
    assert!(said(Sender::Server, words(&["a", "b"]), words(&["a"])).is_empty());
    let null = json!({ "type": "string", "nullable": true });
    assert_eq!(said(Sender::Server, text.clone(), null.clone()), ["the answer/name may be null now"]);
    assert!(said(Sender::Server, null, text.clone()).is_empty());
    let inside = |fields: &[&str]| {
        let properties: Map<String, Value> = fields.iter().map(|name| ((*name).to_owned(), text.clone())).collect();
        json!({ "type": "object", "properties": properties, "required": fields })
    };
    assert_eq!(said(Sender::Server, inside(&["a", "b"]), inside(&["a"])), ["the answer/name/b is gone"]);
    assert!(said(Sender::Server, inside(&["a"]), inside(&["a", "b"])).is_empty());
    assert_eq!(said(Sender::Client, inside(&["a"]), inside(&["a", "b"])), ["the body/name/b is required now"]);
}

#[test]
fn clients_may_send_each_alternative_and_answers_have_no_new_one() {
    let (text, number) = (json!({ "type": "string" }), json!({ "type": "integer" }));
    let either = json!({ "oneOf": [text, number] });
    let refused = "the body/name no longer takes {\"type\":\"integer\"}";
    assert_eq!(said(Sender::Client, either.clone(), text.clone()), [refused]);
    assert!(said(Sender::Client, text.clone(), either.clone()).is_empty());
    let new = "the answer/name answers now also {\"type\":\"integer\"}";
    assert_eq!(said(Sender::Server, text.clone(), either.clone()), [new]);
    assert!(said(Sender::Server, either, text.clone()).is_empty());
    let bounded = |most: u32| json!({ "type": "string", "anyOf": [{ "maxLength": most }, { "format": "email" }] });
    let refused = "the body/name no longer takes {\"maxLength\":9,\"type\":\"string\"}";
    assert_eq!(said(Sender::Client, bounded(9), bounded(8)), [refused]);
    assert!(said(Sender::Client, bounded(9), bounded(9)).is_empty());
}

#[test]
fn operations_answers_and_parameters_must_stay() {
    let document = |operation: Value| json!({ "paths": { "/things/{id}": { "get": operation } } });
    let query = |required: bool| json!({ "in": "query", "name": "limit", "required": required, "schema": { "type": "integer" } });
    let said = |old: Value, new: Value| -> Vec<_> { breaks(&old, &new).into_iter().map(|found| found.what).collect() };
    let plain = || document(json!({ "responses": { "200": {} } }));
    assert_eq!(said(plain(), json!({})), ["is gone"]);
    assert_eq!(said(plain(), document(json!({ "responses": { "204": {} } }))), ["the answer 200 is gone"]);
    let optional = || document(json!({ "parameters": [query(false)] }));
    let required = || document(json!({ "parameters": [query(true)] }));
    assert_eq!(said(optional(), required()), ["the parameter limit is required now"]);
    assert_eq!(said(document(json!({})), required()), ["the parameter limit is required now"]);
    assert_eq!(said(optional(), document(json!({}))), ["the parameter limit is gone"]);
    assert!(said(required(), optional()).is_empty());
    let named = |id: &str| document(json!({ "operationId": id }));
    assert_eq!(said(named("getThing"), named("readThing")), ["operationId was \"getThing\""]);
    let renamed = json!({ "paths": { "/things/{thing_id}": { "get": { "responses": { "200": {} } } } } });
    assert!(said(plain(), renamed).is_empty());
}

#[test]
fn only_the_newest_section_says_what_has_changed() {
    let log = "# Changelog\n\n## 2.0.0\n\n### Added\n- `A`\n\n### Changed\n- `B`\n  and `C`\n\n## 1.0.0\n\n### Changed\n- `D`\n";
    let said = changed(log);
    assert_eq!(["A", "B", "C", "D"].map(|name| said.contains(name)), [false, true, true, false]);
}
