//! What the caller is notified of, in organisations and channels.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use super::{
    http::{
        auth::Bearer,
        body::{Body, Text, into_string},
        envelope::{Success, ok},
    },
    tags::Tag,
};
use crate::{
    domain::notifications::preferences::{
        self, AS_IN_ORGANISATION, Change, ChannelPreference, Device, DeviceType, InChannel, InOrganisation, NotifyAbout,
    },
    error::{Error, Refusal, Result},
    id::{ChannelId, OrganisationId},
    state::App,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Read what the caller is notified of in an organisation
    #[oai(
        path = "/organisations/:org_id/notification-preference",
        method = "get",
        operation_id = "getOrganisationNotificationPreference",
        tag = "Tag::Notifications"
    )]
    async fn in_organisation(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        /// Where the caller is notified: `web` is browsers, and the default.
        device_type: Query<Option<Text<DeviceType>>>,
    ) -> Result<Success<OrganisationNotifications>> {
        let device = device(device_type.0).map_err(Error::BadRequest)?;
        let notify_about = app.db.read(|conn| preferences::in_organisation(conn, caller.0, *org_id, device))?;
        Ok(ok("Notification preference retrieved successfully", OrganisationNotifications::new(device, notify_about)))
    }

    /// Choose what the caller is notified of in an organisation
    ///
    /// For all of its channels where the caller has chosen nothing else. Direct messages notify in any case, unless they are muted;
    /// so do replies in threads that the caller follows, except with `nothing`.
    #[oai(
        path = "/organisations/:org_id/notification-preference",
        method = "post",
        operation_id = "setOrganisationNotificationPreference",
        tag = "Tag::Notifications"
    )]
    async fn choose_in_organisation(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<OrganisationNotificationChange>,
    ) -> Result<Success<OrganisationNotifications>> {
        let device = device(body.0.device_type).map_err(Error::Invalid)?;
        let chosen = InOrganisation::check(&body.0.notify_about, "notify_about").map_err(Error::Invalid)?;
        let notify_about = NotifyAbout::named(chosen).unwrap_or(NotifyAbout::DEFAULT);
        app.db.write(move |tx| preferences::choose_in_organisation(tx, caller.0, *org_id, device, notify_about)).await?;
        Ok(ok("Notification preference changed successfully", OrganisationNotifications::new(device, notify_about)))
    }

    /// Read what the caller is notified of in a channel
    ///
    /// For members of the channel.
    #[oai(
        path = "/channels/:channel_id/notification-preference",
        method = "get",
        operation_id = "getChannelNotificationPreference",
        tag = "Tag::Notifications"
    )]
    async fn in_channel(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        /// Where the caller is notified: `web` is browsers, and the default.
        device_type: Query<Option<Text<DeviceType>>>,
    ) -> Result<Success<ChannelNotifications>> {
        let device = device(device_type.0).map_err(Error::BadRequest)?;
        let found = app.db.read(|conn| preferences::in_channel(conn, caller.0, *channel_id, device))?;
        Ok(ok("Notification preference retrieved successfully", ChannelNotifications::new(device, found)))
    }

    /// Choose what the caller is notified of in a channel
    ///
    /// For members of the channel, also a direct message. Omitted fields stay as they are. The choice ends with the membership.
    #[oai(
        path = "/channels/:channel_id/notification-preference",
        method = "post",
        operation_id = "setChannelNotificationPreference",
        tag = "Tag::Notifications"
    )]
    async fn choose_in_channel(
        &self,
        caller: Bearer,
        app: Data<&App>,
        channel_id: Path<ChannelId>,
        body: Body<ChannelNotificationChange>,
    ) -> Result<Success<ChannelNotifications>> {
        let ChannelNotificationChange { device_type, notify_about, at_channel, at_mentions, muted } = body.0;
        let device = device(device_type).map_err(Error::Invalid)?;
        let notify_about = into_string(notify_about);
        if let Some(chosen) = &notify_about {
            InChannel::check(chosen, "notify_about").map_err(Error::Invalid)?;
        }
        let notify_about = notify_about.map(|chosen| NotifyAbout::named(&chosen));
        let change = Change { notify_about, at_mentions, at_channel, is_muted: muted };
        let channel = *channel_id;
        let chosen = app.db.write(move |tx| preferences::choose_in_channel(tx, caller.0, channel, device, change)).await?;
        Ok(ok("Notification preference changed successfully", ChannelNotifications::new(device, chosen)))
    }
}

fn device(chosen: Option<Text<DeviceType>>) -> std::result::Result<Device, Refusal> {
    let Some(chosen) = into_string(chosen) else { return Ok(Device::Web) };
    let name = DeviceType::check(&chosen, "device_type")?;
    Ok(Device::named(name).unwrap_or(Device::Web))
}

#[derive(Object)]
struct OrganisationNotificationChange {
    /// Where the caller is notified; `web` if omitted.
    device_type: Option<Text<DeviceType>>,
    /// With `mentions`, posts without a mention notify nobody; with `nothing`, nor do mentions.
    notify_about: Text<InOrganisation>,
}

#[derive(Object)]
struct ChannelNotificationChange {
    /// Where the caller is notified; `web` if omitted.
    device_type: Option<Text<DeviceType>>,
    /// As in the organisation, or `default`: what is chosen there counts here.
    notify_about: Option<Text<InChannel>>,
    /// Whether mentions of the whole channel notify.
    at_channel: Option<bool>,
    /// Whether mentions notify: `false` is the same as `nothing` in `notify_about`, and `true` ends that.
    at_mentions: Option<bool>,
    /// Whether the channel is muted, on all devices. As `POST /channels/{channel_id}/mute`.
    muted: Option<bool>,
}

#[derive(Object, Serialize)]
struct OrganisationNotifications {
    device_type: String,
    /// `all_new_messages`, `mentions` or `nothing`.
    notify_about: String,
}

impl OrganisationNotifications {
    fn new(device: Device, notify_about: NotifyAbout) -> OrganisationNotifications {
        OrganisationNotifications { device_type: device.as_str().into(), notify_about: notify_about.as_str().into() }
    }
}

#[derive(Object, Serialize)]
struct ChannelNotifications {
    device_type: String,
    /// `all_new_messages`, `mentions` or `nothing`; `default` where `in_organisation` counts.
    notify_about: String,
    /// What counts with `default`: what the caller has chosen in the organisation, and in a direct message `all_new_messages`.
    in_organisation: String,
    /// Whether mentions of the whole channel notify.
    at_channel: bool,
    /// Whether mentions notify.
    at_mentions: bool,
    /// Whether the channel is muted.
    muted: bool,
}

impl ChannelNotifications {
    fn new(device: Device, of: ChannelPreference) -> ChannelNotifications {
        ChannelNotifications {
            device_type: device.as_str().into(),
            notify_about: of.notify_about.map_or(AS_IN_ORGANISATION, NotifyAbout::as_str).into(),
            in_organisation: of.in_organisation.as_str().into(),
            at_channel: of.at_channel,
            at_mentions: of.at_mentions(),
            muted: of.is_muted,
        }
    }
}
