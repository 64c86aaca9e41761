//! The kinds of what webhooks deliver.

/// The kind of a delivery. New ones come last: a webhook stores those that it has chosen by their place here.
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
    /// A member has joined the channel.
    MemberJoined,
    /// A member has left the channel.
    MemberLeft,
    /// The channel has another name, description, topic or owner, or is private now, or public.
    ChannelUpdated,
    /// The channel was archived.
    ChannelArchived,
    /// The channel was taken out of the archive.
    ChannelUnarchived,
    /// A member has clicked on an action of what was fed to the webhook. Sent at once, and its answer counts.
    ActionClicked,
}

impl DeliveryKind {
    pub const ALL: [DeliveryKind; 12] = [
        DeliveryKind::MessageCreated,
        DeliveryKind::MessageUpdated,
        DeliveryKind::MessageDeleted,
        DeliveryKind::ReactionAdded,
        DeliveryKind::ReactionRemoved,
        DeliveryKind::MemberJoined,
        DeliveryKind::MemberLeft,
        DeliveryKind::ChannelUpdated,
        DeliveryKind::ChannelArchived,
        DeliveryKind::ChannelUnarchived,
        DeliveryKind::ActionClicked,
        DeliveryKind::Test,
    ];
    /// Those that a webhook chooses from.
    pub const CHOSEN: [DeliveryKind; 11] = [
        DeliveryKind::MessageCreated,
        DeliveryKind::MessageUpdated,
        DeliveryKind::MessageDeleted,
        DeliveryKind::ReactionAdded,
        DeliveryKind::ReactionRemoved,
        DeliveryKind::MemberJoined,
        DeliveryKind::MemberLeft,
        DeliveryKind::ChannelUpdated,
        DeliveryKind::ChannelArchived,
        DeliveryKind::ChannelUnarchived,
        DeliveryKind::ActionClicked,
    ];

    /// The kind of an event [`Kind::Channel`](crate::event::Kind::Channel), by its action; none for an action that no webhook chooses.
    pub fn of_channel(action: &str) -> Option<DeliveryKind> {
        match action {
            "joined" => Some(DeliveryKind::MemberJoined),
            "left" => Some(DeliveryKind::MemberLeft),
            "updated" => Some(DeliveryKind::ChannelUpdated),
            "archived" => Some(DeliveryKind::ChannelArchived),
            "unarchived" => Some(DeliveryKind::ChannelUnarchived),
            _ => None,
        }
    }

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
            DeliveryKind::MemberJoined => "member.joined",
            DeliveryKind::MemberLeft => "member.left",
            DeliveryKind::ChannelUpdated => "channel.updated",
            DeliveryKind::ChannelArchived => "channel.archived",
            DeliveryKind::ChannelUnarchived => "channel.unarchived",
            DeliveryKind::ActionClicked => "action.clicked",
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
            DeliveryKind::MemberJoined => "A member has joined the channel.",
            DeliveryKind::MemberLeft => "A member has left the channel.",
            DeliveryKind::ChannelUpdated => {
                "The channel has another name, description, topic or owner, or is private now, or public. Also told when several members joined or left at once."
            }
            DeliveryKind::ChannelArchived => "The channel was archived.",
            DeliveryKind::ChannelUnarchived => "The channel was taken out of the archive.",
            DeliveryKind::ActionClicked => {
                "A member has clicked on an action of what was fed to the webhook. Sent once, at once, and answered as by a bot."
            }
        }
    }
}
