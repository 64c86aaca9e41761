//! What the job that delivers for webhooks shares with the rest of the server.

use std::{
    collections::HashSet,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed},
    },
};

use crate::{domain::webhooks::delivery_slots::Slots, event::Effect, id::WebhookId};

#[derive(Default)]
pub struct Delivering {
    slots: Mutex<Slots>,
    changed: Mutex<Changed>,
    /// The last row of the log that webhooks have followed, and the last of which the database knows that.
    pub(crate) followed: AtomicI64,
    pub(crate) written: AtomicI64,
    pub(crate) due: AtomicUsize,
}

/// Webhooks to be read again.
#[derive(Default)]
pub(crate) struct Changed {
    pub webhooks: HashSet<WebhookId>,
    pub is_all: bool,
}

impl Delivering {
    /// Notes of which webhooks a commit has changed the queue or the state.
    pub fn after(&self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::DeliveriesChanged(webhook) => _ = self.changed().webhooks.insert(*webhook),
                Effect::Foreign => self.changed().is_all = true,
                _ => {}
            }
        }
    }

    /// The last row of the log that was followed.
    pub fn followed(&self) -> i64 {
        self.followed.load(Relaxed)
    }

    /// How many webhooks had something to deliver, and no free slot, when that was last looked at.
    pub fn due(&self) -> usize {
        self.due.load(Relaxed)
    }

    pub(crate) fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock().expect("nothing panics while it holds this")
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, Slots> {
        self.slots.lock().expect("nothing panics while it holds this")
    }
}
