//! The time between an answer and the next request, while a connection keeps its buffers.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, Sleep, sleep},
};

use crate::limits::admission::Place;

/// The pause of a connection that may not keep its buffers: long enough for hyper to be polled once more.
const SHORTEST: Duration = Duration::from_millis(1);

pub struct Pause<'a> {
    pub began: Instant,
    most: Duration,
    place: &'a Place,
    permit: Option<OwnedSemaphorePermit>,
    /// One for all pauses of a connection. If it ends too early for the latest, it is set again: to set a timer for each
    /// request would cost more.
    sleep: Pin<Box<Sleep>>,
}

impl Pause<'_> {
    pub fn new(most: Duration, place: &Place) -> Pause<'_> {
        Pause { began: Instant::now(), most, place, permit: None, sleep: Box::pin(sleep(SHORTEST)) }
    }

    /// Lets another connection keep its buffers: a request may take long, and a stream of events does.
    pub fn end(&mut self) {
        self.permit = None;
    }

    /// Is ready when the pause has lasted as long as it may; `is_new` begins another one.
    pub fn poll(&mut self, cx: &mut Context<'_>, is_new: bool) -> Poll<()> {
        if is_new {
            self.began = Instant::now();
            self.permit = self.permit.take().or_else(|| self.place.keep_buffers());
        }
        let until = self.began + if self.permit.is_some() { self.most } else { SHORTEST };
        while self.sleep.deadline() < until {
            ready!(self.sleep.as_mut().poll(cx));
            self.sleep.as_mut().reset(until);
        }
        self.sleep.as_mut().poll(cx)
    }
}
