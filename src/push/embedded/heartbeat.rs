//! One timer per connection, for its pings and for the expiry of its session and tokens.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    codes::{Disconnect, Unsubscribe},
    connection::Connection,
};
use crate::{domain::accounts::sessions, push::context::Push};

pub struct Heartbeat {
    every: Duration,
    pub next: Instant,
    awaits_pong: bool,
}

impl Heartbeat {
    /// Schedules the first ping at a random time in the second half of the interval, so that clients that connected together
    /// are not pinged together.
    pub fn new(connection: &Connection, every: Duration) -> Heartbeat {
        let jitter = every / 512 * u32::from(connection.client.as_bytes()[0]);
        Heartbeat { every, next: Instant::now() + every / 2 + jitter, awaits_pong: false }
    }

    /// Fails if the connection has to end now. Otherwise the caller sends a ping, which the client must answer within a third
    /// of the interval.
    pub fn beat(&mut self, push: &Push, connection: &Connection) -> Result<(), Disconnect> {
        check(push, connection)?;
        if self.awaits_pong {
            return Err(Disconnect::NO_PONG);
        }
        self.awaits_pong = true;
        self.next = Instant::now() + self.every * 8 / 25;
        Ok(())
    }

    /// Notes a pong; false if no ping is unanswered.
    pub fn pong(&mut self) -> bool {
        let awaited = std::mem::take(&mut self.awaits_pong);
        if awaited {
            self.next = Instant::now() + self.every;
        }
        awaited
    }
}

/// Ends what has expired. The expiry of a session or token causes no event, so each beat checks for it; a token may work for
/// one interval longer.
fn check(push: &Push, connection: &Connection) -> Result<(), Disconnect> {
    if push.db.read(|conn| sessions::find(conn, connection.session, conn.now())).is_ok_and(|session| session.is_none()) {
        return Err(Disconnect::FORCED);
    }
    let late = (push.clock.now() - push.ping_every).unix_seconds();
    if connection.expires_at() < late {
        return Err(Disconnect::EXPIRED);
    }
    for (channel_objects, is_server_side) in connection.expired_subscriptions(late) {
        if is_server_side {
            return Err(Disconnect::SUBSCRIPTION_EXPIRED);
        }
        push.hub.end_subscription(connection, &channel_objects, Unsubscribe::EXPIRED);
    }
    Ok(())
}
