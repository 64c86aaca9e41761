//! Overviews of channels for lists: a channel with its newest post and its oldest webhook.

use std::collections::HashMap;

use rusqlite::Connection;
use serde_json::json;

use crate::{
    domain::{
        channels::{
            lists::{self, Described, Users},
            members::{self, Member},
            record::Visible,
            unread_counts::Counts,
        },
        messages::{self, record::Message, threads::NEWEST},
    },
    error::{Error, Result},
    id::{ChannelId, WebhookId},
    secret::Hash,
};

/// A channel with its newest post and its oldest webhook, as lists show it.
pub struct ChannelSummary {
    pub channel: Described,
    /// The newest top-level post, if the caller is in the channel.
    pub newest: Option<Message>,
    /// The oldest webhook, if the caller may manage the channel's webhooks.
    pub webhook: Option<OldestWebhook>,
}

/// A webhook, its generation, and the hash of its slug.
pub type OldestWebhook = (WebhookId, i64, Hash);

/// Reads the overview of each channel, in the order of `found`.
pub fn read(conn: &Connection, found: Vec<Visible>, users: Users) -> Result<Vec<ChannelSummary>> {
    of_all(conn, lists::describe_all(conn, found, users)?)
}

/// The overview of each channel, in the order of `found`. Two statements read the posts and webhooks of all.
fn of_all(conn: &Connection, found: Vec<Described>) -> Result<Vec<ChannelSummary>> {
    let inside = found.iter().filter(|described| described.is_in);
    let newest: Vec<i64> = inside.map(|described| described.channel.last_thread).collect();
    let mut newest: HashMap<ChannelId, Message> =
        messages::lists::find_by_numbers(conn, &newest)?.into_iter().map(|message| (message.channel, message)).collect();
    let mut webhooks = first_webhooks(conn, &found)?;
    let overview = |channel: Described| {
        let id = channel.channel.id;
        ChannelSummary { newest: newest.remove(&id), webhook: webhooks.remove(&id), channel }
    };
    Ok(found.into_iter().map(overview).collect())
}

fn first_webhooks(conn: &Connection, found: &[Described]) -> Result<HashMap<ChannelId, OldestWebhook>> {
    let managed = found.iter().filter(|described| described.manages_webhooks);
    let ids: Vec<String> = managed.map(|described| described.channel.id.0.simple().to_string()).collect();
    // The oldest webhook comes last and replaces the others in the map.
    let mut select = conn.prepare_cached(
        "select w.channel_id, w.id, w.generation, w.slug_hash from json_each(?1) listed cross join webhooks w on w.channel_id = unhex(listed.value)
         where w.deleted_at is null order by w.created_at desc, w.id desc",
    )?;
    let oldest = select.query_map([json!(ids).to_string()], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?))))?;
    Ok(oldest.collect::<rusqlite::Result<_>>()?)
}

/// The overview of one channel.
pub fn read_one(conn: &Connection, found: Described) -> Result<ChannelSummary> {
    of_all(conn, vec![found])?.pop().ok_or_else(|| Error::internal("one channel gives one description"))
}

/// A channel that the caller is in.
pub struct Own {
    pub unread: Counts,
    pub channel: Visible,
    /// The latest top-level posts, newest first.
    pub latest: Vec<Message>,
}

/// Adds to channels up to `posts` of the latest posts of each.
pub fn with_latest(conn: &Connection, found: Vec<(Counts, Visible)>, posts: u32) -> Result<Vec<Own>> {
    let mut latest = latest(conn, &found, posts)?;
    let own = |(unread, channel): (Counts, Visible)| {
        let latest = latest.remove(&channel.channel.id).unwrap_or_default();
        Own { unread, channel, latest }
    };
    Ok(found.into_iter().map(own).collect())
}

/// The latest posts of each channel, newest first. One statement reads the posts of all.
fn latest(conn: &Connection, found: &[(Counts, Visible)], posts: u32) -> Result<HashMap<ChannelId, Vec<Message>>> {
    let (mut ns, mut latest) = (Vec::new(), HashMap::new());
    if posts == 0 {
        return Ok(latest);
    }
    let mut newest = conn.prepare_cached(NEWEST)?;
    for (_, Visible { channel, .. }) in found {
        for n in newest.query_map((channel.id, posts, 0), |row| row.get(0))? {
            ns.push(n?);
        }
    }
    for message in messages::lists::find_by_numbers(conn, &ns)?.into_iter().rev() {
        latest.entry(message.channel).or_insert_with(Vec::new).push(message);
    }
    Ok(latest)
}

/// A direct message of the caller's.
pub struct DirectMessage {
    pub unread: Counts,
    pub channel: ChannelSummary,
    pub participants: Vec<Member>,
}

/// [`read`] for direct messages with their unread counts.
pub fn direct_messages(conn: &Connection, found: Vec<(Counts, Visible)>) -> Result<Vec<DirectMessage>> {
    let (unread, found) = found.into_iter().unzip::<_, _, Vec<_>, Vec<Visible>>();
    let ids: Vec<_> = found.iter().map(|found| found.channel.id).collect();
    let mut people = members::of_direct_messages(conn, &ids)?;
    let all = unread.into_iter().zip(read(conn, found, Users::First)?);
    let one = |(unread, channel): (Counts, ChannelSummary)| {
        let participants = people.remove(&channel.channel.channel.id).unwrap_or_default();
        DirectMessage { unread, channel, participants }
    };
    Ok(all.map(one).collect())
}
