//! Implements the HTTP framework's traits for the server's own types, which know no HTTP themselves.

use std::borrow::Cow;

use poem::http::StatusCode;
use poem_openapi::{
    registry::{MetaSchema, MetaSchemaRef, Registry},
    types::{ParseError, ParseFromJSON, ParseFromParameter, ParseResult, ToJSON, Type},
};
use serde_json::Value;
use uuid::Uuid;

use crate::{
    error::{Code, Error},
    id,
    time::Time,
};

impl From<Error> for poem::Error {
    fn from(err: Error) -> Self {
        let status = StatusCode::from_u16(err.status()).expect("each is a status");
        poem::Error::new(err, status)
    }
}

/// A schema that stands where it is used, and has no name.
pub fn inline_schema(schema: MetaSchema) -> MetaSchemaRef {
    MetaSchemaRef::Inline(Box::new(schema))
}

/// Describes a type to the framework by a name and a schema.
macro_rules! described {
    ($type:ty, $name:expr, $schema:expr $(; $($generic:tt)+)?) => {
        impl $(<$($generic)+>)? poem_openapi::types::Type for $type {
            const IS_REQUIRED: bool = true;
            type RawValueType = Self;
            type RawElementValueType = Self;

            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn schema_ref() -> poem_openapi::registry::MetaSchemaRef {
                $schema
            }
            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }
            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(std::iter::once(self))
            }
        }
    };
}
pub(crate) use described;

/// Makes identifiers appear as UUIDs; some have a title in the document.
macro_rules! uuids {
    ($($name:ident $(= $title:literal)?),+ $(,)?) => {$(
        described!(id::$name, <Uuid as Type>::name(), {
            let titled = MetaSchema { $(title: Some($title.into()),)? ..MetaSchema::ANY };
            <Uuid as Type>::schema_ref().merge(titled)
        });

        impl ToJSON for id::$name {
            fn to_json(&self) -> Option<Value> {
                self.0.to_json()
            }
        }

        impl ParseFromJSON for id::$name {
            fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
                Uuid::parse_from_json(value).map(id::$name).map_err(ParseError::propagate)
            }
        }

        impl ParseFromParameter for id::$name {
            fn parse_from_parameter(value: &str) -> ParseResult<Self> {
                let uuid = value.parse().map(id::$name);
                uuid.map_err(|_| ParseError::custom(format!("must be a UUID, not {value:?}")))
            }
        }
    )+};
}

uuids!(
    UserId,
    SessionId,
    OrganisationId,
    InvitationId,
    JoinLinkId,
    ChannelId,
    MessageId = "A message; of a top-level post also the thread's identifier.",
    FaceId,
    FileId,
    RoleUuid,
    WebhookId,
    AttemptId = "A record of a webhook's history.",
    CallbackId = "An event that a webhook takes in or gives out: `callback_id`.",
    BlogId,
    CommandId,
    ReminderId,
    ActionId,
    FeedbackId,
    CategoryId,
    TestimonialId,
    ContactId,
);

impl Type for Code {
    const IS_REQUIRED: bool = true;
    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        "Code".into()
    }
    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Reference(<Self as Type>::name().into_owned())
    }
    fn register(registry: &mut Registry) {
        registry.create_schema::<Self, _>(<Self as Type>::name().into_owned(), |_| MetaSchema {
            description: Some(
                "Why a request is refused, for programs. A code keeps its name and its meaning; a release may add codes. The page [Errors](/docs/guide/errors) says what each means.",
            ),
            enum_items: Code::all().map(|code| code.name().into()).collect(),
            ..MetaSchema::new("string")
        });
    }
    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }
    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

impl ToJSON for Code {
    fn to_json(&self) -> Option<Value> {
        Some(self.name().into())
    }
}

/// Derives of response objects require this, as they share one with request objects.
impl ParseFromJSON for Code {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        serde_json::from_value(value.unwrap_or_default()).map_err(ParseError::custom)
    }
}

described!(Time, "string_date-time", inline_schema(MetaSchema::new_with_format("string", "date-time")));

impl ToJSON for Time {
    fn to_json(&self) -> Option<Value> {
        Some(Value::String(self.to_string()))
    }
}

impl ParseFromParameter for Time {
    fn parse_from_parameter(value: &str) -> ParseResult<Self> {
        value.parse().map_err(|_| ParseError::custom(format!("must be a time such as 2026-01-31T12:00:00Z, not {value:?}")))
    }
}

/// Derives of response objects require this, as they share one with request objects.
impl ParseFromJSON for Time {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        let text = match value {
            Some(Value::String(text)) => text,
            other => return Err(ParseError::expected_type(other.unwrap_or_default())),
        };
        text.parse().map_err(ParseError::custom)
    }
}

/// A field of answers that is always there and may be null. An `Option` would be documented as a field that may be absent,
/// which makes generated clients look for a third case.
#[derive(serde::Serialize)]
pub struct Nullable<T>(pub Option<T>);

impl<T: Type> Type for Nullable<T> {
    const IS_REQUIRED: bool = true;
    type RawValueType = T::RawValueType;
    type RawElementValueType = T::RawElementValueType;

    fn name() -> Cow<'static, str> {
        format!("nullable_{}", T::name()).into()
    }
    fn schema_ref() -> MetaSchemaRef {
        T::schema_ref().merge(MetaSchema { nullable: true, ..MetaSchema::ANY })
    }
    fn register(registry: &mut Registry) {
        T::register(registry);
    }
    fn as_raw_value(&self) -> Option<&Self::RawValueType> {
        self.0.as_raw_value()
    }
    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self::RawElementValueType> + 'a> {
        self.0.raw_element_iter()
    }
}

impl<T: ToJSON> ToJSON for Nullable<T> {
    fn to_json(&self) -> Option<Value> {
        self.0.to_json()
    }
}

impl<T: ParseFromJSON> ParseFromJSON for Nullable<T> {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        Option::parse_from_json(value).map(Nullable).map_err(ParseError::propagate)
    }
}

/// The `data` of an answer that has none: always null.
#[derive(serde::Serialize)]
pub struct Null;

described!(
    Null,
    "null",
    inline_schema(MetaSchema { nullable: true, enum_items: vec![Value::Null], ..MetaSchema::new("object") })
);

impl ToJSON for Null {
    fn to_json(&self) -> Option<Value> {
        Some(Value::Null)
    }
}

impl ParseFromJSON for Null {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        match value {
            None | Some(Value::Null) => Ok(Null),
            Some(other) => Err(ParseError::expected_type(other)),
        }
    }
}
