//! Bounds on what a client sends that no rate counts: control frames, and commands that are refused.

use super::{
    codes::{Disconnect, Failure},
    connection::SUBSCRIPTIONS,
};

/// Control frames before the connect is accepted. A client has no reason to send one; some libraries do so at once.
const BEFORE_CONNECT: u32 = 3;
/// Frames without a command between two pings of the server: a few a second at its interval of 25 s. Libraries send one
/// every 10 to 60 s.
pub const BETWEEN_PINGS: u32 = 100;
/// Commands in one frame. SDKs send a connect and all subscriptions together.
pub const IN_FRAME: usize = 200;
/// Commands that are answered before other tasks run. A long one counts as many.
pub const AT_ONCE: usize = 32;
/// Refused commands until the connection is closed.
pub const REFUSALS: u32 = 150;
/// Refused commands that one accepted command makes up for. When a user's clients all reconnect and the rate is used up, an
/// SDK repeats each subscription some six times before it is accepted.
const PER_ACCEPTED: u32 = 16;

const _: () = {
    assert!(IN_FRAME > SUBSCRIPTIONS, "a client subscribes to all of its channels at once");
    assert!(REFUSALS as usize > SUBSCRIPTIONS, "a client may have lost the right to all of its channels");
};

/// Counts of messages that a client has sent for nothing.
#[derive(Default)]
pub struct AbuseBounds {
    /// Frames without a command, since the server's last ping.
    idle: u32,
    /// Refused commands for which no accepted one has made up.
    refused: u32,
}

impl AbuseBounds {
    /// Counts a frame that asks for nothing: a ping, a pong, or a message that is ignored.
    pub fn count_idle_frame(&mut self, is_connected: bool) -> Result<(), Disconnect> {
        self.idle += 1;
        match is_connected {
            true if self.idle > BETWEEN_PINGS => Err(Disconnect::BAD_REQUEST),
            false if self.idle > BEFORE_CONNECT => Err(Disconnect::POLICY),
            _ => Ok(()),
        }
    }

    /// Begins another interval, with a ping of the server.
    pub fn begin_interval(&mut self) {
        self.idle = 0;
    }

    pub fn command_accepted(&mut self) {
        self.refused = self.refused.saturating_sub(PER_ACCEPTED);
    }

    /// Counts a refused command. The server's own failures don't count, or it would turn its clients away in its worst hour. A
    /// client past its rate may come back later; one whose commands make no sense may not.
    pub fn command_refused(&mut self, failure: Failure) -> Result<(), Disconnect> {
        self.refused += u32::from(failure != Failure::INTERNAL);
        match failure {
            _ if self.refused <= REFUSALS => Ok(()),
            Failure::TOO_MANY_REQUESTS => Err(Disconnect::TOO_MANY_REQUESTS),
            _ => Err(Disconnect::TOO_MANY_ERRORS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_commands_make_up_for_refused_ones() {
        let mut abuse_bounds = AbuseBounds::default();
        for _ in 0..REFUSALS {
            assert_eq!(abuse_bounds.command_refused(Failure::TOO_MANY_REQUESTS), Ok(()));
        }
        abuse_bounds.command_accepted();
        for _ in 0..PER_ACCEPTED {
            assert_eq!(abuse_bounds.command_refused(Failure::PERMISSION_DENIED), Ok(()));
        }
        assert_eq!(abuse_bounds.command_refused(Failure::PERMISSION_DENIED), Err(Disconnect::TOO_MANY_ERRORS));
        assert_eq!(abuse_bounds.command_refused(Failure::TOO_MANY_REQUESTS), Err(Disconnect::TOO_MANY_REQUESTS));
        abuse_bounds = AbuseBounds::default();
        abuse_bounds.command_accepted();
        for _ in 0..10_000 {
            assert_eq!(abuse_bounds.command_refused(Failure::INTERNAL), Ok(()), "the server's own failure");
        }
    }
}
