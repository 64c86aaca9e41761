//! The channels of an export, as records of channels and of their members.

use std::collections::{BTreeSet, HashMap};

use super::{
    format::{self, cut_to_one_line, time_from_seconds},
    ids,
    people::People,
};
use crate::{
    domain::{
        channels::{Description, Topic, direct_messages::OTHERS_MAX, record::Name},
        text::Ruled,
        transfer::records::{Channel, ChannelMember},
    },
    error::Result,
    id::{ChannelId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// Bytes that a channel takes besides its names, members and pins; and those of a pin.
const ROOM: usize = 400;
const PIN: usize = 100;
/// People whose names a direct message has: Slack has at most nine in one.
const NAMED: usize = 50;

/// The kind of a list's channels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ChannelKind {
    Public,
    Private,
    /// Between two or several people.
    Direct,
}

/// The lists of an export.
pub const LISTS: [(&str, ChannelKind); 4] = [
    ("channels.json", ChannelKind::Public),
    ("groups.json", ChannelKind::Private),
    ("dms.json", ChannelKind::Direct),
    ("mpims.json", ChannelKind::Direct),
];

/// A channel that is imported.
pub struct ImportedChannel {
    pub id: ChannelId,
    pub name: String,
    pub kind: ChannelKind,
    /// When messages were pinned, by their `ts`.
    pub pins: HashMap<String, Time>,
    /// The members, as positions in [`People`].
    members: Vec<u32>,
    created_at: Time,
    /// The newest message, which its members have read: what was said in Slack is not news.
    pub last: Option<MessageId>,
}

impl ImportedChannel {
    pub fn new(
        from: &format::SlackChannel,
        kind: ChannelKind,
        organisation: OrganisationId,
        people: &mut People,
    ) -> Result<ImportedChannel> {
        let created_at = time_from_seconds(from.created);
        let members: Vec<u32> = people.members_among(&from.members).collect::<BTreeSet<_>>().into_iter().collect();
        let name = cut_to_one_line(&from.name, Name::RULE.max);
        let name = match kind {
            ChannelKind::Direct => {
                let names: BTreeSet<_> =
                    members.iter().map(|member| people.by_index(*member).name.as_str()).take(NAMED).collect();
                cut_to_one_line(&names.into_iter().collect::<Vec<_>>().join(", "), Description::RULE.max)
            }
            _ if name.is_empty() => cut_to_one_line(&from.id, Name::RULE.max),
            _ => name,
        };
        // The name and the identifier are the names of folders, too.
        let names = 2 * (from.name.len() + from.id.len()) + name.len();
        let pins = from.pins.iter().map(|pin| PIN + pin.id.len()).sum::<usize>();
        people.held.reserve(ROOM + names + pins + members.len() * size_of::<u32>())?;
        let pins = from.pins.iter().map(|pin| (pin.id.clone(), time_from_seconds(pin.created))).collect();
        let id = ChannelId(ids::of(organisation, "channel", &from.id, created_at));
        Ok(ImportedChannel { id, name, kind, pins, members, created_at, last: None })
    }

    /// The record. A channel belongs to who made it, or to the organisation's owner.
    pub fn to_record(&self, from: &format::SlackChannel, people: &People, owner: UserId) -> Channel {
        let creator = from.creator.as_deref().and_then(|user| people.get(user));
        let participants = match self.kind {
            // Everybody of a direct message that can be opened again.
            ChannelKind::Direct
                if (2..=OTHERS_MAX + 1).contains(&self.members.len())
                    && self.members.len() == from.members.iter().collect::<BTreeSet<_>>().len() =>
            {
                self.members.iter().map(|member| people.by_index(*member).id).collect()
            }
            _ => Vec::new(),
        };
        Channel {
            id: self.id,
            name: self.name.clone(),
            description: from.purpose.value.chars().take(Description::RULE.max).collect(),
            topic: from.topic.value.chars().take(Topic::RULE.max).collect(),
            is_private: self.kind != ChannelKind::Public,
            is_default: from.is_general && self.kind == ChannelKind::Public && !from.is_archived,
            is_dm: self.kind == ChannelKind::Direct,
            owner: creator.filter(|creator| creator.is_member).map_or(owner, |creator| creator.id),
            created_by: creator.map_or(owner, |creator| creator.id),
            created_at: self.created_at,
            updated_at: self.created_at,
            archived_at: from.is_archived.then_some(self.created_at),
            participants,
        }
    }

    pub fn has_members(&self) -> bool {
        !self.members.is_empty()
    }

    /// The records of the members.
    pub fn members<'a>(&'a self, people: &'a People) -> impl Iterator<Item = ChannelMember> + 'a {
        self.members.iter().map(|member| people.by_index(*member)).map(|member| ChannelMember {
            read: self.last,
            ..ChannelMember::new(self.id, member.id, member.name.clone(), self.created_at)
        })
    }

    /// The identifier of the message with this `ts`.
    pub fn message_id(&self, organisation: OrganisationId, ts: &str, at: Time) -> MessageId {
        MessageId(ids::of(organisation, "message", &format!("{} {ts}", self.id), at))
    }
}
