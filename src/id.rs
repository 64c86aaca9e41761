//! One type for each kind of identifier, so that a channel's cannot stand in for a user's.
//!
//! Version 7 UUIDs, stored as 16-byte blobs.

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        pub struct $name(pub uuid::Uuid);

        impl $name {
            /// A fresh identifier.
            #[expect(clippy::new_without_default, reason = "a default identifier would be a surprise")]
            pub fn new() -> Self {
                Self(uuid::Uuid::now_v7())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }

        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.0.as_bytes().as_slice().into())
            }
        }

        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                uuid::Uuid::from_slice(value.as_blob()?).map(Self).map_err(rusqlite::types::FromSqlError::other)
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "format": "uuid" })
            }
        }
    )+};
}

/// Whose use of the server is counted where a bound is by user: a person's own, or that of all their bots together. So an account with
/// a hundred bots has twice what one without has, and bots take nothing of what their owner works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Share {
    Person(UserId),
    BotsOf(UserId),
}

id!(
    UserId,
    SessionId,
    OrganisationId,
    InvitationId,
    JoinLinkId,
    ChannelId,
    /// A message; of a top-level post also the thread's identifier.
    MessageId,
    FaceId,
    FileId,
    MailId,
    RoleUuid,
    WebhookId,
    CommandId,
    ReminderId,
    /// What can be clicked in a message.
    ActionId,
    /// A record of a webhook's history.
    AttemptId,
    /// An event that a webhook takes in or gives out: `callback_id`.
    CallbackId,
    BlogId,
    FeedbackId,
    CategoryId,
    TestimonialId,
    ContactId,
);
