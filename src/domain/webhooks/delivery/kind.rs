//! The kinds of what webhooks deliver.

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal),+ $(,)?) => {
        /// The kind of a delivery. New ones come last: a webhook stores those that it has chosen by their place here.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum DeliveryKind {
            $($(#[doc = $doc])+ $kind),+
        }

        impl DeliveryKind {
            pub const ALL: [DeliveryKind; [$(DeliveryKind::$kind),+].len()] = [$(DeliveryKind::$kind),+];

            /// The `type` of the delivered body.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DeliveryKind::$kind => $name),+
                }
            }

            /// What has happened, in words for users of the API: the kind's own documentation.
            pub const fn summary(self) -> &'static str {
                match self {
                    $(DeliveryKind::$kind => concat!($($doc),+).trim_ascii()),+
                }
            }
        }
    };
}

kinds!(
    /// A member has posted or replied.
    MessageCreated = "message.created",
    /// The text of a post or a reply was edited.
    MessageUpdated = "message.updated",
    /// A post or a reply was deleted.
    MessageDeleted = "message.deleted",
    /// A member has added a reaction to a message.
    ReactionAdded = "reaction.added",
    /// A member has removed a reaction from a message.
    ReactionRemoved = "reaction.removed",
    /// A manager tests the webhook.
    Test = "webhook.test",
    /// A member has joined the channel.
    MemberJoined = "member.joined",
    /// A member has left the channel.
    MemberLeft = "member.left",
    /// The channel has another name, description, topic or owner, or is private now, or public. Also told when several members joined or
    /// left at once.
    ChannelUpdated = "channel.updated",
    /// The channel was archived.
    ChannelArchived = "channel.archived",
    /// The channel was taken out of the archive.
    ChannelUnarchived = "channel.unarchived",
    /// A member has clicked on an action of what was fed to the webhook. Sent once, at once, and answered as by a bot.
    ActionClicked = "action.clicked",
    /// A public channel was made. For webhooks that deliver from all public channels.
    ChannelCreated = "channel.created",
);

impl DeliveryKind {
    /// Those that a webhook chooses from: all but the test.
    pub const CHOSEN: [DeliveryKind; DeliveryKind::ALL.len() - 1] = {
        let mut chosen = [DeliveryKind::Test; DeliveryKind::ALL.len() - 1];
        let (mut from, mut to) = (0, 0);
        while from < DeliveryKind::ALL.len() {
            if !matches!(DeliveryKind::ALL[from], DeliveryKind::Test) {
                chosen[to] = DeliveryKind::ALL[from];
                to += 1;
            }
            from += 1;
        }
        chosen
    };

    /// The kinds of an event [`Kind::Channel`](crate::event::Kind::Channel), by its action. No webhook chooses its other actions.
    pub const OF_CHANNEL: [(&str, DeliveryKind); 6] = [
        ("created", DeliveryKind::ChannelCreated),
        ("joined", DeliveryKind::MemberJoined),
        ("left", DeliveryKind::MemberLeft),
        ("updated", DeliveryKind::ChannelUpdated),
        ("archived", DeliveryKind::ChannelArchived),
        ("unarchived", DeliveryKind::ChannelUnarchived),
    ];

    /// The kind's bit in `webhooks.events`; those of the kinds that a webhook chooses are stored.
    pub const fn bit(self) -> i64 {
        1 << self as i64
    }
}
