//! The kinds of what webhooks deliver.

/// The kind of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryKind {
    /// A member has posted or replied.
    MessageCreated,
    /// The text of a post or a reply was edited.
    MessageUpdated,
    /// A post or a reply was deleted.
    MessageDeleted,
    /// A member has added a reaction to a message.
    ReactionAdded,
    /// A member has removed a reaction from a message.
    ReactionRemoved,
    /// A manager tests the webhook.
    Test,
}

impl DeliveryKind {
    pub const ALL: [DeliveryKind; 6] = [
        DeliveryKind::MessageCreated,
        DeliveryKind::MessageUpdated,
        DeliveryKind::MessageDeleted,
        DeliveryKind::ReactionAdded,
        DeliveryKind::ReactionRemoved,
        DeliveryKind::Test,
    ];
    /// Those that a webhook chooses from.
    pub const CHOSEN: [DeliveryKind; 5] = [
        DeliveryKind::MessageCreated,
        DeliveryKind::MessageUpdated,
        DeliveryKind::MessageDeleted,
        DeliveryKind::ReactionAdded,
        DeliveryKind::ReactionRemoved,
    ];

    /// The kind's bit in `webhooks.events`; those of the kinds that a webhook chooses are stored.
    pub const fn bit(self) -> i64 {
        1 << self as i64
    }

    /// The `type` of the delivered body.
    pub const fn name(self) -> &'static str {
        match self {
            DeliveryKind::MessageCreated => "message.created",
            DeliveryKind::MessageUpdated => "message.updated",
            DeliveryKind::MessageDeleted => "message.deleted",
            DeliveryKind::ReactionAdded => "reaction.added",
            DeliveryKind::ReactionRemoved => "reaction.removed",
            DeliveryKind::Test => "webhook.test",
        }
    }

    /// What has happened, in words for users of the API.
    pub const fn summary(self) -> &'static str {
        match self {
            DeliveryKind::MessageCreated => "A member has posted or replied.",
            DeliveryKind::MessageUpdated => "The text of a post or a reply was edited.",
            DeliveryKind::MessageDeleted => "A post or a reply was deleted.",
            DeliveryKind::ReactionAdded => "A member has added a reaction to a message.",
            DeliveryKind::ReactionRemoved => "A member has removed a reaction from a message.",
            DeliveryKind::Test => "A manager tests the webhook.",
        }
    }
}
