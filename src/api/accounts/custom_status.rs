//! The object of a custom status: what a user does now.

use poem_openapi::Object;
use serde::Serialize;

use crate::{api::http::framework_traits::Nullable, domain::accounts::custom_status, time::Time};

/// What a user does now. At least one of `emoji` and `text` is not empty.
#[derive(Object, Serialize)]
pub struct CustomStatus {
    /// An emoji, or its name; may be empty.
    emoji: String,
    /// A line; may be empty.
    text: String,
    /// When the server takes the status away; null for never.
    until: Nullable<Time>,
}

impl From<custom_status::CustomStatus> for CustomStatus {
    fn from(custom_status::CustomStatus { emoji, text, until }: custom_status::CustomStatus) -> Self {
        CustomStatus { emoji, text, until: Nullable(until) }
    }
}
