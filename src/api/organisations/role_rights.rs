//! The rights that roles are made of, by name and by key.

use std::{borrow::Cow, collections::BTreeMap};

use poem_openapi::{
    Object, OpenApi,
    registry::{MetaSchema, MetaSchemaRef, Registry},
    types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    api::{
        http::{
            auth::{Bearer, IN_CHANNEL, READ},
            envelope::{Success, ok},
        },
        tags::Tag,
    },
    domain::rights::{Right, Rights},
    error::Result,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// List the rights
    ///
    /// Lists the rights that roles are made of. They are the same in all organisations.
    #[oai(path = "/permissions", method = "get", operation_id = "listPermissions", tag = "Tag::Roles")]
    async fn list(&self, _caller: Bearer<READ, IN_CHANNEL>) -> Result<Success<Vec<Permission>>> {
        Ok(ok("Permissions retrieved successfully", Right::ALL.iter().map(Permission::from).collect()))
    }
}

/// A right.
#[derive(Object, Serialize)]
struct Permission {
    /// The right in the `permissions` of a role.
    key: String,
    /// Further keys of the right, by which other programs know it. Requests take them as well, and roles show them.
    other_keys: Vec<String>,
    /// The right in the `permission_list` of a role.
    right: String,
    /// A title for people to read.
    name: String,
    category: String,
    description: String,
}

impl From<&Right> for Permission {
    fn from(right: &Right) -> Self {
        Permission {
            key: right.key.into(),
            other_keys: right.other_keys.iter().map(|key| (*key).to_owned()).collect(),
            right: right.name.into(),
            name: right.title.into(),
            category: right.category.into(),
            description: right.description.into(),
        }
    }
}

/// The rights of a role.
#[derive(Object, Serialize)]
pub struct Permissions {
    /// Each right by its key, and whether the role holds it.
    permission_list: PermissionKeys,
}

impl From<Rights> for Permissions {
    fn from(rights: Rights) -> Self {
        Permissions { permission_list: PermissionKeys(rights.by_every_key()) }
    }
}

/// The schema of an object with a boolean for each name of a right.
fn object<N: IntoIterator<Item = &'static str>>(named: impl Fn(&'static Right) -> N) -> MetaSchema {
    let booleans = |right: &'static Right| {
        let described = MetaSchema { description: Some(right.description), ..MetaSchema::ANY };
        named(right).into_iter().map(move |name| (name, bool::schema_ref().merge(described.clone())))
    };
    MetaSchema { properties: Right::ALL.iter().flat_map(booleans).collect(), ..MetaSchema::new("object") }
}

/// The schema of a list in an answer: all rights by all of their keys.
fn all_keys() -> MetaSchema {
    MetaSchema { required: Right::ALL.iter().flat_map(Right::key_and_aliases).collect(), ..object(Right::key_and_aliases) }
}

/// The schema of a list in a request: some rights, all by name or all by key.
fn names_or_keys() -> MetaSchema {
    let [by_name, by_key] = [object(|right| [right.name]), object(Right::key_and_aliases)];
    MetaSchema {
        description: Some(
            "By name, the list has changes: omitted rights stay as they are. By key, it is the whole list: omitted rights are off.",
        ),
        properties: by_name.properties.into_iter().chain(by_key.properties).collect(),
        ..MetaSchema::new("object")
    }
}

/// Makes a map of booleans appear with a schema of its own.
macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident: $schema:ident),+) => {$(
        $(#[$doc])*
        #[derive(Serialize)]
        pub(super) struct $name(pub BTreeMap<String, bool>);

        impl Type for $name {
            const IS_REQUIRED: bool = true;
            type RawValueType = Self;
            type RawElementValueType = Self;

            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
            fn schema_ref() -> MetaSchemaRef {
                MetaSchemaRef::Reference(Self::name().into())
            }
            fn register(registry: &mut Registry) {
                registry.create_schema::<Self, _>(Self::name().into(), |_| $schema());
            }
            fn as_raw_value(&self) -> Option<&Self> {
                Some(self)
            }
            fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
                Box::new(std::iter::once(self))
            }
        }

        impl ParseFromJSON for $name {
            fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
                BTreeMap::parse_from_json(value).map($name).map_err(ParseError::propagate)
            }
        }

        impl ToJSON for $name {
            fn to_json(&self) -> Option<Value> {
                self.0.to_json()
            }
        }
    )+};
}

lists!(
    /// Each right by its key, and whether a role holds it.
    PermissionKeys: all_keys,
    /// Rights by name or by key, as a request lists them.
    PermissionList: names_or_keys
);
