//! One timer per connection: its pings, and with them all that ends by the clock.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    codes::{Disconnect, Unsubscribe},
    connection::Connection,
};
use crate::{domain::accounts::sessions, state::App};

pub struct Heartbeat {
    every: Duration,
    pub next: Instant,
    awaits_pong: bool,
}

impl Heartbeat {
    /// The first ping comes within the second half of the interval, so that a thousand clients that came at once are
    /// not pinged at once.
    pub fn new(connection: &Connection, every: Duration) -> Heartbeat {
        let jitter = every / 512 * u32::from(connection.client.as_bytes()[0]);
        Heartbeat { every, next: Instant::now() + every / 2 + jitter, awaits_pong: false }
    }

    /// What ends now; otherwise a ping is to be sent. It must be answered within a third of the interval.
    pub fn beat(&mut self, app: &App, connection: &Connection) -> Result<(), Disconnect> {
        check(app, connection)?;
        if self.awaits_pong {
            return Err(Disconnect::NO_PONG);
        }
        self.awaits_pong = true;
        self.next = Instant::now() + self.every * 8 / 25;
        Ok(())
    }

    /// False for an answer to no ping.
    pub fn pong(&mut self) -> bool {
        let awaited = std::mem::take(&mut self.awaits_pong);
        if awaited {
            self.next = Instant::now() + self.every;
        }
        awaited
    }
}

/// Sessions and tokens that reach their end set nothing off: it is noticed here. A token may be one interval late.
fn check(app: &App, connection: &Connection) -> Result<(), Disconnect> {
    if app.db.read(|conn| sessions::find(conn, connection.session, conn.now())).is_ok_and(|session| session.is_none()) {
        return Err(Disconnect::FORCED);
    }
    let late = (app.clock.now() - app.ping_every).unix_seconds();
    if connection.expires_at() < late {
        return Err(Disconnect::EXPIRED);
    }
    for (channel, is_server_side) in connection.expired(late) {
        if is_server_side {
            return Err(Disconnect::SUBSCRIPTION_EXPIRED);
        }
        app.hub.revoke(connection, &channel, Unsubscribe::EXPIRED);
    }
    Ok(())
}
