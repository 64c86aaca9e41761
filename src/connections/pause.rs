//! The pause between an answer and the next request, during which a connection keeps its buffers.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep},
};

use crate::limits::admission::Slot;

/// The pause of a connection that may not keep its buffers: long enough for hyper to be polled once more.
const SHORTEST: Duration = Duration::from_millis(1);

pub struct Pause<'a> {
    pub began: Instant,
    most: Duration,
    slot: &'a Slot,
    permit: Option<OwnedSemaphorePermit>,
    /// One timer for all pauses of a connection. If it fires before the latest pause is over, it is set again: setting a
    /// timer for each request would cost more.
    sleep: Pin<Box<Sleep>>,
}

impl Pause<'_> {
    pub fn new(most: Duration, slot: &Slot) -> Pause<'_> {
        Pause { began: Instant::now(), most, slot, permit: None, sleep: Box::pin(sleep(SHORTEST)) }
    }

    /// Returns the permit to keep buffers, so that another connection may have it: a request may take long, and a stream of
    /// events does.
    pub fn end(&mut self) {
        self.permit = None;
    }

    /// Ready when the pause has reached its maximum; `is_new` begins another pause.
    pub fn poll(&mut self, cx: &mut Context<'_>, is_new: bool) -> Poll<()> {
        if is_new {
            self.began = Instant::now();
            self.permit = self.permit.take().or_else(|| self.slot.keep_buffers());
        }
        let until = self.began + if self.permit.is_some() { self.most } else { SHORTEST };
        while self.sleep.deadline() < until {
            ready!(self.sleep.as_mut().poll(cx));
            self.sleep.as_mut().reset(until);
        }
        self.sleep.as_mut().poll(cx)
    }
}
