//! What members have chosen to be notified of moves with their memberships.

use serde::{Deserialize, Serialize};

use crate::{
    db::{Columns, Tx},
    domain::notifications::preferences::{DeviceType, InOrganisation},
    error::{Error, Result},
    id::{ChannelId, OrganisationId, UserId},
};

/// A member's choice on a kind of device, in the organisation or in a channel.
#[derive(Debug, Serialize, Deserialize)]
pub struct Notifications {
    pub device: String,
    /// None in a channel where the organisation's choice counts.
    pub notify_about: Option<String>,
    /// Whether mentions of everybody notify: of channels alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_channel: Option<bool>,
}

/// The SQL column of the [`Notifications`] of `organisation_members m`.
pub(super) const IN_ORGANISATION: &str =
    "(select json_group_array(json_object('device', n.device, 'notify_about', n.notify_about))
    from organisation_notifications n where n.organisation_id = m.organisation_id and n.user_id = m.user_id)";

/// The SQL column of the [`Notifications`] of `channel_members cm`.
pub(super) const IN_CHANNEL: &str = "(select json_group_array(json_object('device', n.device, 'notify_about', n.notify_about,
      'at_channel', json(iif(n.at_channel, 'true', 'false'))))
    from channel_notifications n where n.channel_id = cm.channel_id and n.user_id = cm.user_id)";

/// Takes [`IN_ORGANISATION`] or [`IN_CHANNEL`].
pub(super) fn take(columns: &mut Columns) -> rusqlite::Result<Vec<Notifications>> {
    let text: String = columns.take()?;
    serde_json::from_str(&text).map_err(|err| rusqlite::Error::ToSqlConversionFailure(err.into()))
}

pub(super) fn keep_in_organisation(tx: &Tx, id: OrganisationId, user: UserId, all: &[Notifications]) -> Result<()> {
    for Notifications { device, notify_about, .. } in all {
        check(device, Some(notify_about.as_deref().unwrap_or_default()))?;
        tx.prepare_cached(
            "insert into organisation_notifications (organisation_id, user_id, device, notify_about) values (?1, ?2, ?3, ?4)
             on conflict do nothing",
        )?
        .execute((id, user, device, notify_about))?;
    }
    Ok(())
}

pub(super) fn keep_in_channel(tx: &Tx, id: ChannelId, user: UserId, all: &[Notifications]) -> Result<()> {
    for Notifications { device, notify_about, at_channel } in all {
        check(device, notify_about.as_deref())?;
        tx.prepare_cached(
            "insert into channel_notifications (channel_id, user_id, device, notify_about, at_channel) values (?1, ?2, ?3, ?4, ?5)
             on conflict do nothing",
        )?
        .execute((id, user, device, notify_about, at_channel.unwrap_or(true)))?;
    }
    Ok(())
}

fn check(device: &str, notify_about: Option<&str>) -> Result<()> {
    DeviceType::check(device, "device").map_err(Error::BadRequest)?;
    if let Some(chosen) = notify_about {
        InOrganisation::check(chosen, "notify_about").map_err(Error::BadRequest)?;
    }
    Ok(())
}
