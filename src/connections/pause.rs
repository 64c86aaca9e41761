//! The time between an answer and the next request, while a connection keeps its buffers.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep};

pub struct Pause {
    pub began: Instant,
    most: Duration,
    /// One for all pauses of a connection. If it ends too early for the latest, it is set again: to set a timer for each
    /// request would cost more.
    sleep: Pin<Box<Sleep>>,
}

impl Pause {
    pub fn new(most: Duration) -> Pause {
        Pause { began: Instant::now(), most, sleep: Box::pin(sleep(most)) }
    }

    /// Is ready when the pause has lasted as long as it may; `is_new` begins another one.
    pub fn poll(&mut self, cx: &mut Context<'_>, is_new: bool) -> Poll<()> {
        if is_new {
            self.began = Instant::now();
        }
        while self.sleep.deadline() < self.began + self.most {
            ready!(self.sleep.as_mut().poll(cx));
            self.sleep.as_mut().reset(self.began + self.most);
        }
        self.sleep.as_mut().poll(cx)
    }
}
