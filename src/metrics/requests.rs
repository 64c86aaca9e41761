//! Requests by operation and kind of status: how many there were, and how long they took.

use std::time::Duration;

use prometheus_client::{
    metrics::{family::Family, histogram::Histogram},
    registry::Registry,
};

/// Upper bounds of the buckets, in seconds: from a read by key to the deadline of a slow one.
const SECONDS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.0, 10.0];

/// The operation's name and the status without its last two digits, as in `2xx`. Both have few values, so clients can't make
/// the page grow.
type Labels = [(&'static str, &'static str); 2];

#[derive(Clone)]
pub struct Requests(Family<Labels, Histogram, fn() -> Histogram>);

impl Default for Requests {
    fn default() -> Requests {
        Requests(Family::new_with_constructor(|| Histogram::new(SECONDS)))
    }
}

impl Requests {
    /// A request was answered.
    pub fn took(&self, operation: &'static str, status: u16, time: Duration) {
        let labels = [("operation", operation), ("status", class(status))];
        self.0.get_or_create(&labels).observe(time.as_secs_f64());
    }

    pub fn register(&self, registry: &mut Registry) {
        registry.register(
            "request_seconds",
            "Requests by operation and status, until the answer's head was ready",
            self.0.clone(),
        );
    }
}

fn class(status: u16) -> &'static str {
    match status {
        ..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        500.. => "5xx",
    }
}
