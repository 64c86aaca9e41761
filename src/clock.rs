//! The time as this server tells it: the system's, or ahead of it where a test has advanced the clock.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use crate::time::Time;

/// Cheap to clone; all clones tell the same time.
#[derive(Clone, Default)]
pub struct Clock {
    /// How far the clock is ahead of the system's.
    ahead: Arc<watch::Sender<Duration>>,
}

impl Clock {
    pub fn now(&self) -> Time {
        Time::now() + *self.ahead.borrow()
    }

    /// Lets time pass at once, for tests; what waits for it is told ([`Clock::advances`]).
    pub fn advance(&self, span: Duration) {
        self.ahead.send_modify(|ahead| *ahead += span);
    }

    /// Changes each time that the clock is advanced. A job that sleeps until something is due listens to this, too.
    pub fn advances(&self) -> watch::Receiver<Duration> {
        self.ahead.subscribe()
    }
}
