//! The message object in answers, which is that of events and deliveries.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::{
    api::http::described::{self, by_schema},
    domain::messages::record::{Message, Participant, Reaction},
};

static SCHEMAS: LazyLock<Map<String, Value>> = LazyLock::new(described::schemas_of::<Message>);

by_schema!(SCHEMAS: Message, Participant, Reaction);
