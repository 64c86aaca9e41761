//! The large world: a channel of a million messages, beside channels of a thousand and of 30,000.

use rusqlite::Connection;

use super::world::{World, channels as add_channels, fill};

const CHANNELS: usize = 200;
const MIDDLE: usize = 30_000;

/// The large world, with channels of several sizes.
pub struct Large {
    pub world: World,
    /// With a thousand messages.
    pub small: String,
    /// With 30,000.
    pub middle: String,
    /// With threads of five replies.
    pub talks: String,
}

impl Large {
    pub fn new(world: World, messages: usize) -> Large {
        let [small, talks, middle] = world.sql(|database| {
            let ids = add_channels(database, &world, CHANNELS);
            fill(database, &ids[0], 1000, 0);
            fill(database, &ids[1], CHANNELS, 5);
            fill(database, &ids[2], MIDDLE.min(messages), 0);
            fill(database, &world.channel, messages, 0);
            planned(database);
            [&ids[0], &ids[1], &ids[2]].map(|id| hyphenated(id))
        });
        Large { world, small, middle, talks }
    }
}

/// As after the server's own housekeeping.
fn planned(database: &Connection) {
    database.execute_batch("pragma optimize").unwrap();
}

fn hyphenated(id: &str) -> String {
    [&id[..8], &id[8..12], &id[12..16], &id[16..20], &id[20..]].join("-")
}
