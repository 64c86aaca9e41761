//! The AsyncAPI document: what the server pushes, and what its webhooks deliver. Its messages come from the enumerations of
//! events and deliveries, its schemas from the types that are serialised, its examples from a recorded run of the tests
//! (`examples.json`), and the rest from `frame.json`.

use std::sync::LazyLock;

use poem::{Request, Response};
use schemars::{Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

use crate::{
    domain::{event_schemas, webhooks::delivery::kind::DeliveryKind},
    event::{Kind, Recovery},
    web::Asset,
};

/// Handles `GET /api/v1/asyncapi.json`.
pub fn show(req: Request) -> Response {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new("application/json; charset=utf-8", document(), Vec::new()));
    ASSET.answer(&req)
}

/// Generates the AsyncAPI document, as JSON.
pub fn document() -> String {
    let parsed = |text| serde_json::from_str::<Value>(text).expect("tests read the embedded files");
    let (mut document, recorded) = (parsed(include_str!("frame.json")), parsed(include_str!("examples.json")));
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    // Schemas of AsyncAPI 3 are those of JSON Schema's draft 7.
    let settings = SchemaSettings::draft07().with(|settings| settings.definitions_path = "/components/schemas".into());
    let mut schemas = settings.for_serialize().into_generator();
    for kind in Kind::ALL {
        let Some(schema) = event_schemas::schema(kind, &mut schemas) else { continue };
        let key = key(kind);
        let recorded = &recorded["events"][key];
        for channel in recorded["channels"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            document["channels"][channel]["messages"][key] = reference("messages", key);
        }
        document["components"]["messages"][key] = json!({
            "name": key,
            "title": title(kind),
            "summary": kind.summary(),
            "description": recovery(kind),
            "payload": payload(schema, key, "Event", &mut schemas),
            "examples": [{ "name": "recorded", "payload": recorded["payload"] }],
            "tags": [{ "name": "push" }],
        });
    }
    for kind in DeliveryKind::ALL {
        let (key, schema) = (kind.name(), event_schemas::delivery_schema(kind, &mut schemas));
        let recorded = &recorded["deliveries"][key];
        document["channels"]["webhook"]["messages"][key] = reference("messages", key);
        document["components"]["messages"][key] = json!({
            "name": key,
            "title": key,
            "summary": kind.summary(),
            "payload": payload(schema, key, "Delivery", &mut schemas),
            "examples": [{ "name": "recorded", "headers": recorded["headers"], "payload": recorded["payload"] }],
            "traits": [reference("messageTraits", "delivery")],
        });
    }
    document["components"]["schemas"] = Value::Object(schemas.take_definitions(true));
    format!("{document:#}")
}

/// The name of a kind's message.
fn key(kind: Kind) -> &'static str {
    if kind == Kind::Message { "message" } else { kind.name() }
}

fn title(kind: Kind) -> &'static str {
    match kind {
        Kind::Message => "The message object",
        Kind::Published => "Publications of other programs",
        _ => kind.name(),
    }
}

/// How a client that was away learns of these events.
fn recovery(kind: Kind) -> &'static str {
    match kind.recovery_method(false) {
        _ if kind == Kind::Unread => "Recovery sends the latest counts of each channel.",
        _ if kind == Kind::ThreadUnread => "Recovery sends the latest state of each thread.",
        Some(Recovery::UnreadState) => {
            "Recovery sends each event. The unread counts that it changes are published on `<org_id>/<user_id>`."
        }
        Some(Recovery::ChannelState) => {
            "Recovery sends each event on `<channel_id>`, and a channel's latest change on `<org_id>/<user_id>`."
        }
        Some(Recovery::Each | Recovery::ThreadState) | None => "Recovery sends each event.",
    }
}

/// The payload of a message: a reference to its schema, which becomes a component unless it is one already.
fn payload(schema: Schema, key: &str, suffix: &str, schemas: &mut SchemaGenerator) -> Value {
    if schema.get("$ref").is_some() {
        return schema.to_value();
    }
    let words = key.trim_end_matches("_event").split(['_', '.']);
    let name: String = words.map(|word| word[..1].to_uppercase() + &word[1..]).collect::<String>() + suffix;
    let other = schemas.definitions_mut().insert(name.clone(), schema.to_value());
    assert!(other.is_none(), "two schemas have the name {name}");
    reference("schemas", &name)
}

fn reference(group: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{group}/{name}") })
}
