//! The time as this server tells it: the system's, or ahead of it where a test has advanced the clock.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::watch;

use crate::time::Time;

/// Cheap to clone; all clones tell the same time.
#[derive(Clone)]
pub struct Clock {
    began: Instant,
    /// How far the clock is ahead of the system's.
    ahead: Arc<watch::Sender<Duration>>,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { began: Instant::now(), ahead: Arc::default() }
    }
}

impl Clock {
    pub fn now(&self) -> Time {
        Time::now() + *self.ahead.borrow()
    }

    /// The time since the server started, which no change of the system's clock moves.
    pub fn since_start(&self) -> Duration {
        self.began.elapsed() + *self.ahead.borrow()
    }

    /// Lets time pass at once, for tests; what waits for it is told ([`Clock::watch_advances`]).
    pub fn advance(&self, span: Duration) {
        self.ahead.send_modify(|ahead| *ahead += span);
    }

    /// Changes each time that the clock is advanced. A job that sleeps until something is due listens to this, too.
    pub fn watch_advances(&self) -> watch::Receiver<Duration> {
        self.ahead.subscribe()
    }
}
