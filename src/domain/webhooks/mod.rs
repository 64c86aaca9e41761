//! Webhooks of channels: created, changed and deleted here. In, programs post through a secret address ([`incoming_posts`]);
//! out, messages are delivered to other servers ([`delivery`]); [`history`] records both. Only a channel's owner and holders of
//! `manage:webhooks` manage and see its webhooks. A webhook works while its owner has access to the channel, and delivers while
//! the member who answers for its address has access, too ([`owners`]).

pub mod by_operator;
pub mod channel_purging;
pub mod delivery;
mod departures;
pub mod history;
pub mod incoming_posts;
pub mod owners;
pub mod received;
pub mod record;
pub mod subscription;
pub mod suspension;
mod translated_feeds;
pub mod trigger_words;

use std::time::Duration;

use rusqlite::named_params;

use crate::{
    db::{Tx, log_reader},
    domain::{
        access::{self, Caller, HIDDEN_CHANNEL},
        messages::action_buttons::{self, Program},
        program_urls,
        rights::Rights,
        scopes::Scope,
        text::{self, Rule},
        webhooks::{
            record::{Status, Webhook},
            subscription::Subscription,
            trigger_words::TriggerWords,
        },
    },
    error::{Code, Error, Result},
    id::{ChannelId, OrganisationId, WebhookId},
    secret,
    site::Site,
    time::Time,
};

text::rules! {
    pub Name: Rule::name(80);
    pub EventName: Rule::line(255);
    /// What a program that feeds signs with.
    pub SenderSecret: Rule::shared_secret(255);
    pub NewStatus: Rule::one_of(Status::NAMES);
}
/// Webhooks per channel, at most.
const MOST: i64 = 50;
/// Webhooks of an organisation that deliver from all its public channels, at most: each post queues a delivery for each.
const MOST_OF_ALL_CHANNELS: i64 = 10;
/// How long a replaced secret still signs.
const OLD_SECRET: Duration = Duration::from_secs(24 * 3600);

pub struct New {
    pub name: String,
    pub event_name: String,
    /// The address to deliver to; empty for a webhook that only takes feeds.
    pub url: String,
    /// The secret that feeds must prove to know; empty for none.
    pub sender_secret: String,
    /// The names of the kinds to deliver; none for new messages alone.
    pub events: Option<Vec<String>>,
    /// The words with which delivered messages begin; none for all messages.
    pub trigger_words: Vec<String>,
    /// Whether it delivers from all public channels of the organisation.
    pub is_of_all_channels: bool,
    pub is_ordered: bool,
}

/// Makes a webhook, and returns it with the secret that signs its deliveries, which is never returned again. For managers,
/// in a channel that is not archived; the caller becomes the owner. 403 for a hidden or archived channel, 422 for an invalid
/// field and when the channel has 50 webhooks. Of all channels as [`check_all_channels`] says.
pub fn create(tx: &mut Tx, caller: Caller, channel: ChannelId, new: &New) -> Result<(Webhook, String)> {
    access::require_webhook_manager(tx, caller, channel, HIDDEN_CHANNEL)?.require_live()?;
    let (name, event_name) = (check_name(&new.name)?, check_event_name(&new.event_name)?);
    let (url, target) = check_url(tx.site(), &new.url)?;
    let sender_secret = sealed_sender_secret(tx.site(), &new.sender_secret)?;
    let events = new.events.as_deref().map_or(Ok(Subscription::DEFAULT), Subscription::from_names)?;
    let trigger_words = TriggerWords::of(&new.trigger_words)?;
    let live: i64 = tx
        .prepare_cached("select count(*) from webhooks where channel_id = ?1 and deleted_at is null")?
        .query_row([channel], |row| row.get(0))?;
    if live >= MOST {
        return Err(Error::Invalid(Code::LimitReached.says(format!("a channel has at most {MOST} webhooks")).with_limit(MOST)));
    }
    let organisation = new.is_of_all_channels.then(|| check_all_channels(tx, caller, channel)).transpose()?;
    let (id, secret) = (WebhookId::new(), secret::signing_secret());
    tx.prepare_cached(
        "insert into webhooks (id, channel_id, owner_id, name, event_name, url, url_by, target, slug_hash, secret,
           sender_secret, events, trigger_words, organisation_id, is_ordered, from_seq, created_at, updated_at)
         values (:id, :channel, :owner, :name, :event_name, :url, :url_by, :target, :slug_hash, :secret,
           :sender_secret, :events, :trigger_words, :organisation, :is_ordered, :last_seq, :now, :now)",
    )?
    .execute(named_params! {
        ":id": id,
        ":channel": channel,
        ":owner": caller.user,
        ":name": name,
        ":event_name": event_name,
        ":url": url,
        ":url_by": owners::answers_for(url, caller),
        ":target": target,
        ":slug_hash": secret::sha256(tx.site().keys().webhook_slug(id, 1, None)),
        ":secret": tx.site().keys().seal(&secret),
        ":sender_secret": sender_secret,
        ":events": events,
        ":trigger_words": trigger_words,
        ":organisation": organisation,
        ":is_ordered": new.is_ordered,
        ":last_seq": log_reader::last_seq(tx)?,
        ":now": tx.now(),
    })?;
    let made = record::find(tx, channel, id)?.ok_or_else(|| Error::internal("the webhook was just written"))?;
    Ok((made, secret))
}

/// Reads a webhook that the caller is about to change, like [`record::get`]. A token for some channels changes no webhook of all
/// channels (403): with another address it would read the others.
fn get_to_change(tx: &Tx, caller: Caller, channel: ChannelId, id: WebhookId) -> Result<Webhook> {
    let webhook = record::get(tx, caller, channel, id)?;
    if webhook.organisation.is_some() {
        caller.grant.require_scope(Scope::Webhooks, false)?;
    }
    Ok(webhook)
}

/// Returns the organisation from whose public channels a webhook of the channel is to deliver. The caller must hold
/// `manage:webhooks`. 403 without that right, so for a mere owner of the channel, and for a token for some channels; 422 when the
/// organisation has [`MOST_OF_ALL_CHANNELS`].
fn check_all_channels(tx: &Tx, caller: Caller, channel: ChannelId) -> Result<OrganisationId> {
    let organisation = access::require_webhook_manager(tx, caller, channel, HIDDEN_CHANNEL)?.organisation;
    access::require_right(tx, caller, Rights::MANAGE_WEBHOOKS, organisation, access::OUTSIDER)?;
    caller.grant.require_scope(Scope::Webhooks, false)?;
    let held: i64 = tx
        .prepare_cached("select count(*) from webhooks where organisation_id = ?1 and deleted_at is null")?
        .query_row([organisation], |row| row.get(0))?;
    if held >= MOST_OF_ALL_CHANNELS {
        let says = format!("an organisation has at most {MOST_OF_ALL_CHANNELS} webhooks of all channels");
        return Err(Error::Invalid(Code::LimitReached.says(says).with_limit(MOST_OF_ALL_CHANNELS)));
    }
    Ok(organisation)
}

fn check_name(name: &str) -> Result<&str> {
    Name::check(name, "webhook_name").map_err(Error::Invalid)
}

fn check_event_name(name: &str) -> Result<&str> {
    EventName::check(name, "event_name").map_err(Error::Invalid)
}

/// The secret as it is stored; none for an empty one, which is no secret.
fn sealed_sender_secret(site: &Site, secret: &str) -> Result<Option<Vec<u8>>> {
    let secret = SenderSecret::check(secret, "sender_secret").map_err(Error::Invalid)?;
    Ok(Some(secret).filter(|secret| !secret.is_empty()).map(|secret| site.keys().seal(secret)))
}

/// Checks a webhook's address: empty, or one that [`program_urls::check`] takes.
pub(in crate::domain) fn check_url<'a>(site: &Site, text: &'a str) -> Result<(&'a str, String)> {
    if text.is_empty() { Ok(Default::default()) } else { program_urls::check(site, text, "webhook_url") }
}

/// Changes to a webhook. An absent field stays as it is; an empty text clears its field, except the name.
pub struct Edit {
    pub name: Option<String>,
    pub event_name: Option<String>,
    pub url: Option<String>,
    pub sender_secret: Option<String>,
    pub events: Option<Vec<String>>,
    pub trigger_words: Option<Vec<String>>,
    pub is_of_all_channels: Option<bool>,
    pub is_ordered: Option<bool>,
}

/// Changes a webhook. For managers, in archived channels, too. A caller who gives it another address becomes the owner. 403
/// for hidden channels, 404 for an unknown webhook, 422 for an invalid field.
pub fn update(tx: &mut Tx, caller: Caller, channel: ChannelId, id: WebhookId, edit: &Edit) -> Result<Webhook> {
    get_to_change(tx, caller, channel, id)?; // an outsider causes no work
    delivery::following::catch_up(tx, id)?;
    let webhook = record::get(tx, caller, channel, id)?;
    let name = edit.name.as_deref().map(check_name).transpose()?;
    let event_name = edit.event_name.as_deref().map(check_event_name).transpose()?;
    // Where there is no address, answers show the feed's: whoever sends it back means none.
    let feed_url = tx.site().webhook_feed_url(id, webhook.generation, &webhook.slug_hash);
    let given = edit.url.as_deref().map(|url| if url == feed_url { "" } else { url });
    let address = given.map(|url| check_url(tx.site(), url)).transpose()?;
    let sender_secret = edit.sender_secret.as_deref().map(|secret| sealed_sender_secret(tx.site(), secret)).transpose()?;
    let events = edit.events.as_deref().map(Subscription::from_names).transpose()?;
    let trigger_words = edit.trigger_words.as_deref().map(TriggerWords::of).transpose()?;
    let organisation = match edit.is_of_all_channels {
        Some(true) if webhook.organisation.is_none() => Some(Some(check_all_channels(tx, caller, channel)?)),
        Some(false) => Some(None),
        _ => None,
    };
    let (url, target) = address.filter(|(url, _)| *url != webhook.url).unzip();
    let texts = [name.is_some(), event_name.is_some(), url.is_some(), sender_secret.is_some()];
    let is_ordered = edit.is_ordered.filter(|is_ordered| *is_ordered != webhook.is_ordered);
    if !texts.contains(&true) && events.is_none() && trigger_words.is_none() && organisation.is_none() && is_ordered.is_none() {
        return Ok(webhook);
    }
    tx.prepare_cached(
        "update webhooks set name = coalesce(:name, name), event_name = coalesce(:event_name, event_name),
           url = coalesce(:url, url), target = coalesce(:target, target),
           url_by = case when :url is null then url_by else :url_by end,
           from_seq = case when url = '' and :url <> '' then :last_seq else from_seq end,
           is_proven = case when :url is null then is_proven else 0 end,
           sender_secret = case when :has_sender_secret then :sender_secret else sender_secret end,
           events = coalesce(:events, events), trigger_words = coalesce(:trigger_words, trigger_words),
           organisation_id = case when :has_organisation then :organisation else organisation_id end,
           is_ordered = coalesce(:is_ordered, is_ordered),
           waits_until = case when :is_ordered is null and :url is null then waits_until end, updated_at = :now
         where id = :id",
    )?
    .execute(named_params! {
        ":id": id,
        ":name": name,
        ":event_name": event_name,
        ":url": url,
        ":target": target,
        ":url_by": url.and_then(|url| owners::answers_for(url, caller)),
        ":last_seq": log_reader::last_seq(tx)?,
        ":has_sender_secret": sender_secret.is_some(),
        ":sender_secret": sender_secret.flatten(),
        ":events": events,
        ":trigger_words": trigger_words,
        ":has_organisation": organisation.is_some(),
        ":organisation": organisation.flatten(),
        ":is_ordered": is_ordered,
        ":now": tx.now(),
    })?;
    if url.is_some() {
        leave_former_address(tx, id)?;
    }
    if url.is_some_and(|url| !url.is_empty()) {
        owners::take_over(tx, caller, &webhook, "given it another address")?;
    }
    delivery::schedule::changed(tx, id);
    record::get(tx, caller, channel, id)
}

/// Has deliveries under way to the former address sent again to the new one, whatever the former answers, and ends calls of it.
fn leave_former_address(tx: &mut Tx, id: WebhookId) -> Result<()> {
    let sql = "update deliveries set due_at = created_at, attempts = 0, first_at = null, is_leased = 0
         where webhook_id = ?1 and is_leased = 1";
    tx.prepare_cached(sql)?.execute([id])?;
    action_buttons::end_calls(tx, Program::Webhook(id))
}

/// Changes a webhook's status. For managers, in archived channels, too. A caller who makes it active becomes the owner, and
/// answers for its address if the member who did has lost access. Queued deliveries wait until it is active. 403 for hidden
/// channels, 404 for an unknown webhook, 422 for an unknown status.
pub fn change_status(tx: &mut Tx, caller: Caller, channel: ChannelId, id: WebhookId, status: &str) -> Result<Webhook> {
    get_to_change(tx, caller, channel, id)?; // an outsider causes no work
    delivery::following::catch_up(tx, id)?;
    let webhook = record::get(tx, caller, channel, id)?;
    let status = NewStatus::check(status, "webhook_status").map_err(Error::Invalid)?;
    let status = Status::named(status).ok_or_else(|| Error::internal("each status has its name"))?;
    if status == Status::Active && webhook.status != Status::Active {
        owners::take_over(tx, caller, &webhook, "made it active")?;
        owners::take_over_address(tx, caller, &webhook)?;
    }
    // Messages posted while the webhook was inactive are not delivered.
    tx.prepare_cached(
        "update webhooks set status = ?2, updated_at = ?3, from_seq = case when status = 'inactive' then ?4 else from_seq end
         where id = ?1 and status <> ?2",
    )?
    .execute((id, status.as_str(), tx.now(), log_reader::last_seq(tx)?))?;
    delivery::schedule::changed(tx, id);
    record::get(tx, caller, channel, id)
}

/// Deletes a webhook. For managers, in archived channels, too. Its feed address stops working at once, and its history is
/// not shown any more.
pub fn delete(tx: &mut Tx, caller: Caller, channel: ChannelId, id: WebhookId) -> Result<()> {
    get_to_change(tx, caller, channel, id)?;
    tx.prepare_cached("update webhooks set deleted_at = ?2 where id = ?1")?.execute((id, tx.now()))?;
    delivery::schedule::changed(tx, id);
    Ok(())
}

/// Replaces a webhook's signing secret. For managers, in archived channels, too; the caller becomes the owner. Returns the
/// new secret, which is never returned again, and until when the previous one still signs: for a day, or no longer if it
/// can't be read. A still older one ends now.
pub fn rotate_secret(tx: &mut Tx, caller: Caller, channel: ChannelId, id: WebhookId) -> Result<(String, Time)> {
    let webhook = get_to_change(tx, caller, channel, id)?;
    let (secret, now) = (secret::signing_secret(), tx.now());
    // A previous secret that can't be read would keep the new one from signing.
    let until = record::secrets(tx, id).map_or(now, |_| now + OLD_SECRET);
    tx.prepare_cached(
        "update webhooks set old_secret = secret, old_secret_until = ?3, secret = ?2, updated_at = ?4 where id = ?1",
    )?
    .execute((id, tx.site().keys().seal(&secret), until, now))?;
    owners::take_over(tx, caller, &webhook, "given it a new secret")?;
    Ok((secret, until))
}

/// Replaces a webhook's feed address. For managers, in archived channels, too; the caller becomes the owner. The previous
/// address stops working at once.
pub fn rotate_slug(tx: &mut Tx, caller: Caller, channel: ChannelId, id: WebhookId) -> Result<Webhook> {
    let webhook = get_to_change(tx, caller, channel, id)?;
    let generation = webhook.generation + 1;
    let slug = tx.site().keys().webhook_slug(id, generation, None);
    tx.prepare_cached("update webhooks set generation = ?2, slug_hash = ?3, updated_at = ?4 where id = ?1")?.execute((
        id,
        generation,
        secret::sha256(&slug),
        tx.now(),
    ))?;
    owners::take_over(tx, caller, &webhook, "given it another feed address")?;
    record::get(tx, caller, channel, id)
}

/// Deletes for good up to `limit` webhooks that were deleted before the given time and have no history or deliveries left.
pub fn purge_deleted(tx: &mut Tx, before: Time, limit: u32) -> Result<usize> {
    Ok(tx
        .prepare_cached(
            "delete from webhooks where id in (select id from webhooks w where deleted_at < ?1
               and not exists (select 1 from webhook_history h where h.webhook_id = w.id)
               and not exists (select 1 from deliveries d where d.webhook_id = w.id) limit ?2)",
        )?
        .execute((before, limit))?)
}
