//! Wakes the background jobs: a signal for each queue, sent after the commits that may have added to it.

use tokio::sync::Notify;

use crate::event::{Effect, Queue};

#[derive(Default)]
pub struct Wakeups([Notify; Queue::ALL.len()]);

impl Wakeups {
    /// Wakes the jobs whose queues a commit with these effects may have added to.
    pub fn wake_after_commit(&self, effects: &[Effect]) {
        for queue in Queue::ALL {
            if effects.iter().any(|effect| queue.is_fed_by(effect)) {
                self.wake(queue);
            }
        }
    }

    pub fn wake(&self, queue: Queue) {
        self.0[queue as usize].notify_one();
    }

    /// Waits until the queue is woken. Returns at once if it was woken since the last wait.
    pub async fn wait(&self, queue: Queue) {
        self.0[queue as usize].notified().await;
    }
}
