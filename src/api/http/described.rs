//! Types of the domain as parts of answers: serde writes them as they are, and the framework describes them by the schema of
//! what serde writes.

use poem_openapi::registry::{MetaSchema, MetaSchemaRef};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// The schemas of a type and of those that it contains, by name.
pub fn schemas_of<T: JsonSchema>() -> Map<String, Value> {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.subschema_for::<T>();
    generator.take_definitions(true)
}

/// Translates a JSON schema into the framework's form.
pub fn to_framework_schema(schema: &'static Value) -> MetaSchemaRef {
    let text = |rule: &str| schema[rule].as_str();
    let more = MetaSchema { description: text("description"), ..MetaSchema::ANY };
    if let Some(reference) = text("$ref") {
        return MetaSchemaRef::Reference(reference.rsplit('/').next().unwrap_or_default().into()).merge(more);
    }
    // Of an optional type, the other alternative is null.
    if let Some(one) = schema["anyOf"].get(0) {
        return to_framework_schema(one).merge(MetaSchema { nullable: true, ..MetaSchema::ANY }).merge(more);
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    MetaSchemaRef::Inline(Box::new(MetaSchema {
        ty: text("type").unwrap_or_default(),
        format: text("format"),
        enum_items: schema["enum"].as_array().cloned().unwrap_or_default(),
        items: schema.get("items").map(|items| Box::new(to_framework_schema(items))),
        properties: properties.map(|(name, property)| (name.as_str(), to_framework_schema(property))).collect(),
        required: schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
        ..more
    }))
}

/// Describes types of the domain by [`schemas_of`] in a static `$schemas_of`.
macro_rules! by_schema {
    ($schemas:ident: $($type:ty),+) => {$(
        impl poem_openapi::types::Type for $type {
            const IS_REQUIRED: bool = true;
            type RawValueType = Self;
            type RawElementValueType = Self;

            fn name() -> std::borrow::Cow<'static, str> {
                <$type as schemars::JsonSchema>::schema_name()
            }
            fn schema_ref() -> poem_openapi::registry::MetaSchemaRef {
                poem_openapi::registry::MetaSchemaRef::Reference(Self::name().into_owned())
            }
            fn register(registry: &mut poem_openapi::registry::Registry) {
                for (name, schema) in &*$schemas {
                    registry.create_schema::<serde_json::Value, _>(name.clone(), |_| {
                        let title = Some(name.clone());
                        poem_openapi::registry::MetaSchema { title, ..$crate::api::http::described::to_framework_schema(schema).unwrap_inline().clone() }
                    });
                }
            }
            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }
            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(std::iter::once(self))
            }
        }

        impl poem_openapi::types::ToJSON for $type {
            fn to_json(&self) -> Option<serde_json::Value> {
                serde_json::to_value(self).ok()
            }
        }

        /// Derives of response objects require this, as they share one with request objects.
        impl poem_openapi::types::ParseFromJSON for $type {
            fn parse_from_json(_: Option<serde_json::Value>) -> poem_openapi::types::ParseResult<Self> {
                Err(poem_openapi::types::ParseError::custom("stands in answers alone"))
            }
        }
    )+};
}
pub(crate) use by_schema;
