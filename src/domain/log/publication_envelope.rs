//! The envelope of publications. It is a type, from which both the pushed JSON and its schema are made.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::json;

use crate::{
    event::Kind,
    id::{OrganisationId, UserId},
};

/// An event with its data. When it is published, [`super::events::body`] adds its `notification_id`. `M` has further fields
/// that events of the kind carry.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Envelope<D, M = Nothing> {
    /// The kind of the event.
    notification_type: &'static str,
    /// The part of a client's view that the event changes.
    section: &'static str,
    pub data: D,
    #[serde(flatten)]
    pub more: M,
}

/// No further fields.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Nothing {}

/// The identifiers of the records that an event is about.
#[derive(Clone, Serialize, JsonSchema)]
pub struct Ids<I> {
    pub modification_ids: I,
}

/// The identifiers of an event that all members of an organisation receive.
#[derive(Clone, Serialize, JsonSchema)]
pub struct OrganisationIds {
    /// The organisation.
    pub org_id: OrganisationId,
    /// The user who made the change, or whom it is about.
    pub user_id: UserId,
}

/// Puts data into the envelope of its kind. `is_reply` says whether the event is about a reply.
pub fn envelope<D>(kind: Kind, is_reply: bool, data: D) -> Envelope<D> {
    let section = kind.envelope_section(is_reply).unwrap_or_default();
    Envelope { notification_type: kind.name(), section, data, more: Nothing {} }
}

impl<D> Envelope<D> {
    /// Adds further fields.
    pub fn with<M>(self, more: M) -> Envelope<D, M> {
        Envelope { notification_type: self.notification_type, section: self.section, data: self.data, more }
    }
}

/// The schema of a published event whose data and further fields are these.
pub fn schema<D: JsonSchema, M: JsonSchema>(kind: Kind, generator: &mut SchemaGenerator) -> Schema {
    let mut schema = Envelope::<D, M>::json_schema(generator);
    schema.remove("description");
    let mut sections: Vec<_> = [false, true].into_iter().filter_map(|is_reply| kind.envelope_section(is_reply)).collect();
    sections.dedup();
    let properties = schema.ensure_object().entry("properties").or_insert_with(|| json!({}));
    properties["notification_type"]["const"] = json!(kind.name());
    properties["section"]["enum"] = json!(sections);
    properties["notification_id"] =
        json!({ "description": "The event's identifier, the same live and recovered.", "type": "string", "format": "uuid" });
    if let Some(required) = schema.get_mut("required").and_then(serde_json::Value::as_array_mut) {
        required.push(json!("notification_id"));
    }
    schema
}
