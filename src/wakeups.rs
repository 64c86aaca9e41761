//! What wakes the background jobs: a signal for each queue, given by the commits that may have filled it.

use tokio::sync::Notify;

use crate::event::{Effect, Queue};

#[derive(Default)]
pub struct Wakeups([Notify; Queue::ALL.len()]);

impl Wakeups {
    /// Wakes the jobs for which the effects of a commit left something to do.
    pub fn after(&self, effects: &[Effect]) {
        for queue in Queue::ALL {
            if effects.iter().any(|effect| queue.is_fed_by(effect)) {
                self.wake(queue);
            }
        }
    }

    pub fn wake(&self, queue: Queue) {
        self.0[queue as usize].notify_one();
    }

    /// Until the queue may have something new; at once if it was woken since the last time.
    pub async fn wait(&self, queue: Queue) {
        self.0[queue as usize].notified().await;
    }
}
