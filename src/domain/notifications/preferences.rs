//! What a member is notified of, in an organisation and, nearer, in a channel. The nearer choice counts. Only that member sees it,
//! and it ends with the membership.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::{Tx, text_enum},
    domain::{
        access::{self, Caller},
        channels::preferences::set_mute,
        text::{self, Rule},
    },
    error::{Code, Error, Result},
    id::{ChannelId, OrganisationId},
};

text_enum! {
    /// Where a member is notified.
    pub enum Device {
        /// In browsers.
        Web = "web",
    }
}

text_enum! {
    pub enum NotifyAbout {
        AllNewMessages = "all_new_messages",
        Mentions = "mentions",
        Nothing = "nothing",
    }
}

impl NotifyAbout {
    /// For whom has chosen nothing.
    pub const DEFAULT: NotifyAbout = NotifyAbout::Mentions;
}

/// The name of the choice to have none: what the organisation has counts in the channel.
pub const AS_IN_ORGANISATION: &str = "default";

text::rules! {
    pub DeviceType: Rule::one_of(Device::NAMES);
    pub InOrganisation: Rule::one_of(NotifyAbout::NAMES);
    pub InChannel: Rule::one_of(&["all_new_messages", "mentions", "nothing", AS_IN_ORGANISATION]);
}

/// What a member has chosen in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelPreference {
    /// None where the organisation's choice counts.
    pub notify_about: Option<NotifyAbout>,
    /// What counts then. Direct messages notify, whatever the organisation's choice is.
    pub in_organisation: NotifyAbout,
    /// Whether mentions of everybody notify.
    pub at_channel: bool,
    pub is_muted: bool,
}

impl ChannelPreference {
    /// The choice that counts in the channel.
    pub fn effective(self) -> NotifyAbout {
        self.notify_about.unwrap_or(self.in_organisation)
    }

    /// Whether mentions notify.
    pub fn at_mentions(self) -> bool {
        self.effective() != NotifyAbout::Nothing
    }
}

/// A change of [`ChannelPreference`]; what is none stays as it is.
#[derive(Clone, Copy, Default)]
pub struct Change {
    /// With none inside, the organisation's choice counts.
    pub notify_about: Option<Option<NotifyAbout>>,
    /// Without [`Change::notify_about`]: `false` is [`NotifyAbout::Nothing`], and `true` ends that.
    pub at_mentions: Option<bool>,
    pub at_channel: Option<bool>,
    pub is_muted: Option<bool>,
}

/// What the caller is notified of in an organisation. 404 if they are no member of it.
pub fn in_organisation(conn: &Connection, caller: Caller, id: OrganisationId, device: Device) -> Result<NotifyAbout> {
    access::require_member(conn, caller, id, access::UNKNOWN_ORGANISATION)?;
    let chosen = conn
        .prepare_cached(
            "select notify_about from organisation_notifications where organisation_id = ?1 and user_id = ?2 and device = ?3",
        )?
        .query_row((id, caller.user, device), |row| row.get(0))
        .optional()?;
    Ok(chosen.unwrap_or(NotifyAbout::DEFAULT))
}

/// Chooses what the caller is notified of in an organisation. 404 if they are no member of it.
pub fn choose_in_organisation(
    tx: &Tx,
    caller: Caller,
    id: OrganisationId,
    device: Device,
    notify_about: NotifyAbout,
) -> Result<()> {
    access::require_member(tx, caller, id, access::UNKNOWN_ORGANISATION)?;
    tx.prepare_cached(
        "insert into organisation_notifications (organisation_id, user_id, device, notify_about) values (?1, ?2, ?3, ?4)
         on conflict do update set notify_about = ?4",
    )?
    .execute((id, caller.user, device, notify_about))?;
    Ok(())
}

/// What the caller is notified of in a channel. 404 for a channel that the caller can't see; 403 if they are not in it.
pub fn in_channel(conn: &Connection, caller: Caller, id: ChannelId, device: Device) -> Result<ChannelPreference> {
    access::require_channel_member(conn, caller, id, access::UNKNOWN_CHANNEL)?;
    let from_row = |row: &Row| {
        Ok(ChannelPreference {
            notify_about: row.get(0)?,
            in_organisation: row.get::<_, Option<NotifyAbout>>(1)?.unwrap_or(NotifyAbout::DEFAULT),
            at_channel: row.get(2)?,
            is_muted: row.get(3)?,
        })
    };
    let sql = "select n.notify_about, iif(c.is_dm, 'all_new_messages', o.notify_about), coalesce(n.at_channel, 1), cm.is_muted
         from channel_members cm cross join channels c on c.id = cm.channel_id
           left join channel_notifications n on n.channel_id = cm.channel_id and n.user_id = cm.user_id and n.device = ?3
           left join organisation_notifications o
             on o.organisation_id = c.organisation_id and o.user_id = cm.user_id and o.device = ?3
         where cm.channel_id = ?1 and cm.user_id = ?2";
    Ok(conn.prepare_cached(sql)?.query_row((id, caller.user, device), from_row)?)
}

/// Changes what the caller is notified of in a channel, and returns what that is now. A mute is for all devices, and these are told.
/// Errors as [`in_channel`]; 422 for a change that contradicts itself.
pub fn choose_in_channel(
    tx: &mut Tx,
    caller: Caller,
    id: ChannelId,
    device: Device,
    change: Change,
) -> Result<ChannelPreference> {
    let before = in_channel(tx, caller, id, device)?;
    let mut after = before;
    after.at_channel = change.at_channel.unwrap_or(before.at_channel);
    match (change.notify_about, change.at_mentions) {
        (Some(chosen), _) => after.notify_about = chosen,
        (None, Some(false)) if before.at_mentions() => after.notify_about = Some(NotifyAbout::Nothing),
        (None, Some(true)) if !before.at_mentions() => after.notify_about = Some(NotifyAbout::Mentions),
        (None, _) => {}
    }
    if change.at_mentions.is_some_and(|wanted| wanted != after.at_mentions()) {
        let says = "at_mentions contradicts notify_about";
        return Err(Error::Invalid(Code::InvalidValue.says(says).at("at_mentions")));
    }
    if after != before {
        put(tx, caller, id, device, after)?;
    }
    if let Some(is_muted) = change.is_muted {
        set_mute(tx, caller, id, is_muted)?;
        after.is_muted = is_muted;
    }
    Ok(after)
}

fn put(tx: &Tx, caller: Caller, id: ChannelId, device: Device, to: ChannelPreference) -> Result<()> {
    tx.prepare_cached(
        "insert into channel_notifications (channel_id, user_id, device, notify_about, at_channel) values (?1, ?2, ?3, ?4, ?5)
         on conflict do update set notify_about = ?4, at_channel = ?5",
    )?
    .execute((id, caller.user, device, to.notify_about, to.at_channel))?;
    Ok(())
}
