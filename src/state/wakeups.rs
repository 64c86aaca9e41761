//! Wakes the background jobs: a signal for each queue, sent after the commits that may have added to it.

use tokio::sync::Notify;

use crate::event::Queue;

#[derive(Default)]
pub struct Wakeups([Notify; Queue::ALL.len()]);

impl Wakeups {
    pub fn wake(&self, queue: Queue) {
        self.0[queue as usize].notify_one();
    }

    /// Waits until the queue is woken. Returns at once if it was woken since the last wait.
    pub async fn wait(&self, queue: Queue) {
        self.0[queue as usize].notified().await;
    }
}
