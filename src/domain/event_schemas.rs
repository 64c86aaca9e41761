//! The schemas of what is pushed and of what webhooks deliver, made from the types that are serialised.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    domain::{
        accounts::profiles::ProfileUpdate,
        channels::{
            preferences::{MuteChange, StarChange},
            sidebar_trigger::SidebarTrigger,
            unread_counts::UnreadChange,
            update_event::{ChannelIds, ChannelUpdate},
        },
        commands::{answers::CommandAnswer, clicking::ActionClick},
        log::{
            publication_envelope::{self, Ids, Nothing, OrganisationIds},
            revocations::SessionUpdate,
        },
        messages::{
            payloads::{Counted, MessageIds, PinIds, ReactionChange, ReactionIds, ThreadStatus},
            record::Message,
            thread_unreads::ThreadUnread,
        },
        notifications::following::Notification,
        organisations::payloads::{MemberUpdate, MembershipUpdate, OrganisationUpdate, RoleUpdate},
        reminders::ReminderUpdate,
        webhooks::{
            delivery::{kind::DeliveryKind, queue::Delivery, replay::Tested},
            owners::WebhookUpdate,
        },
    },
    event::Kind,
};

/// The schema of what subscribers receive of this kind; none if it is never pushed. Types that several schemas share become
/// definitions of the generator, which should describe what is serialised (`SchemaSettings::for_serialize`).
pub fn schema(kind: Kind, generator: &mut SchemaGenerator) -> Option<Schema> {
    Some(match kind {
        Kind::Message => generator.subschema_for::<Message>(),
        Kind::ReplyCount | Kind::Deleted => publication_envelope::schema::<Message, Counted>(kind, generator),
        Kind::Updated | Kind::MediaUpdated | Kind::Mention | Kind::Unpinned => about::<Message>(kind, generator),
        Kind::Pinned => publication_envelope::schema::<Message, PinIds>(kind, generator),
        Kind::Reaction => publication_envelope::schema::<ReactionChange, ReactionIds>(kind, generator),
        Kind::ThreadStatus => about::<ThreadStatus>(kind, generator),
        Kind::Channel => publication_envelope::schema::<ChannelUpdate, Ids<ChannelIds>>(kind, generator),
        Kind::Unread => publication_envelope::schema::<UnreadChange, Nothing>(kind, generator),
        Kind::ThreadUnread => publication_envelope::schema::<ThreadUnread, Nothing>(kind, generator),
        Kind::Mute => publication_envelope::schema::<MuteChange, Nothing>(kind, generator),
        Kind::SidebarTrigger => publication_envelope::schema::<SidebarTrigger, Nothing>(kind, generator),
        Kind::Star => publication_envelope::schema::<StarChange, Nothing>(kind, generator),
        Kind::Webhook => publication_envelope::schema::<WebhookUpdate, Nothing>(kind, generator),
        Kind::Member => of_organisation::<MemberUpdate>(kind, generator),
        Kind::Role => of_organisation::<RoleUpdate>(kind, generator),
        Kind::Organisation => of_organisation::<OrganisationUpdate>(kind, generator),
        Kind::Membership => publication_envelope::schema::<MembershipUpdate, Nothing>(kind, generator),
        Kind::Session => publication_envelope::schema::<SessionUpdate, Nothing>(kind, generator),
        Kind::Profile => publication_envelope::schema::<ProfileUpdate, Nothing>(kind, generator),
        Kind::Reminder => publication_envelope::schema::<ReminderUpdate, Nothing>(kind, generator),
        Kind::Notification => publication_envelope::schema::<Notification, Nothing>(kind, generator),
        Kind::CommandAnswer => publication_envelope::schema::<CommandAnswer, Nothing>(kind, generator),
        Kind::Published => json_schema!({ "description": "Any JSON." }),
        Kind::Revocation | Kind::Departed | Kind::Reclaimed => return None,
    })
}

/// The schema of an event about a message.
fn about<D: JsonSchema>(kind: Kind, generator: &mut SchemaGenerator) -> Schema {
    publication_envelope::schema::<D, Ids<MessageIds>>(kind, generator)
}

/// The schema of an event that all members of an organisation receive.
fn of_organisation<D: JsonSchema>(kind: Kind, generator: &mut SchemaGenerator) -> Schema {
    publication_envelope::schema::<D, Ids<OrganisationIds>>(kind, generator)
}

/// The schema of the body of a delivery, like [`schema`].
pub fn delivery_schema(kind: DeliveryKind, generator: &mut SchemaGenerator) -> Schema {
    let mut schema = match kind {
        DeliveryKind::MessageCreated | DeliveryKind::MessageUpdated | DeliveryKind::MessageDeleted => {
            Delivery::<Message>::json_schema(generator)
        }
        DeliveryKind::ReactionAdded | DeliveryKind::ReactionRemoved => Delivery::<ReactionChange>::json_schema(generator),
        DeliveryKind::MemberJoined
        | DeliveryKind::MemberLeft
        | DeliveryKind::ChannelCreated
        | DeliveryKind::ChannelUpdated
        | DeliveryKind::ChannelArchived
        | DeliveryKind::ChannelUnarchived => Delivery::<ChannelUpdate>::json_schema(generator),
        DeliveryKind::ActionClicked => Delivery::<ActionClick>::json_schema(generator),
        DeliveryKind::Test => Delivery::<Tested>::json_schema(generator),
    };
    schema.remove("description");
    if let Some(kind_schema) = schema.pointer_mut("/properties/type") {
        kind_schema["const"] = kind.name().into();
    }
    schema
}
