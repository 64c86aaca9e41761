//! Commands that read: `presence`, `presence_stats`, `history`, `channels`, `info`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::{Answer, result, stream};
use crate::push::{
    context::Push,
    embedded::{
        connecting::VERSION,
        protocol::{
            replies::{PresenceResult, PresenceStatsResult},
            requests::{ChannelRequest, HistoryRequest},
        },
        subscribing,
    },
};

pub fn presence(push: &Push, ChannelRequest { channel }: &ChannelRequest) -> Answer {
    stream(push, channel)?;
    result(&PresenceResult { presence: push.hub.presence(channel) })
}

pub fn presence_stats(push: &Push, ChannelRequest { channel }: &ChannelRequest) -> Answer {
    stream(push, channel)?;
    let (clients, users) = push.hub.presence_stats(channel);
    result(&PresenceStatsResult { num_clients: clients as u32, num_users: users as u32 })
}

pub fn history(push: &Push, request: &HistoryRequest) -> Answer {
    let stream = stream(push, &request.channel)?;
    result(&push.db.read(|conn| subscribing::history_unchecked(conn, stream, request))??)
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Channels {
    /// A pattern of names, in which `*` matches any characters; empty for all channels.
    pattern: String,
}

/// The channels that have subscribers now.
pub fn channels(push: &Push, Channels { pattern }: &Channels) -> Answer {
    let heard = push.hub.channels().into_iter().filter(|(name, _)| pattern.is_empty() || fits(pattern, name));
    let heard: BTreeMap<String, Value> = heard.map(|(name, clients)| (name, json!({ "num_clients": clients }))).collect();
    result(&json!({ "channels": heard }))
}

pub fn info(push: &Push) -> Answer {
    let (channels, connections) = (push.hub.channels(), push.hub.all_connections());
    let node = json!({
        "uid": push.server_api.node, "name": "tidings", "version": VERSION, "num_clients": connections.len(),
        "num_users": push.hub.user_count(), "num_channels": channels.len(),
        "num_subs": channels.iter().map(|(_, clients)| clients).sum::<usize>(),
        "uptime": push.server_api.started.elapsed().as_secs(),
    });
    result(&json!({ "nodes": [node] }))
}

fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    // The first match of each part is the best one: it leaves the longest rest for the parts after it.
    for part in middle.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn a_star_matches_any_characters() {
        for pattern in ["abc/def", "*", "**", "abc/*", "*/def", "a*f", "a*c*d*f", "*bc/d*", "abc/def*"] {
            assert!(fits(pattern, "abc/def"), "{pattern}");
        }
        for pattern in ["abc", "abc/", "*/de", "b*", "a*x*f", "abc/def*f", "?bc/def"] {
            assert!(!fits(pattern, "abc/def"), "{pattern}");
        }
        assert!(!fits("ab*ba", "aba"));
    }
}
