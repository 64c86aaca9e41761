//! The state that the job of webhook deliveries shares with the rest of the server.

pub mod webhook_sender;

use std::{
    collections::HashSet,
    sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed},
};

use parking_lot::{Mutex, MutexGuard};

use crate::{domain::webhooks::delivery::slots::DeliverySlots, event::Effect, id::WebhookId};

#[derive(Default)]
pub struct DeliveryState {
    slots: Mutex<DeliverySlots>,
    changed: Mutex<Changed>,
    /// The cursor of webhooks: the last row of the log that they have followed, in memory and as stored in the database.
    pub(crate) followed: AtomicI64,
    pub(crate) written: AtomicI64,
    pub(crate) due: AtomicUsize,
}

/// The webhooks that the job reads again from the database.
#[derive(Default)]
pub(crate) struct Changed {
    pub webhooks: HashSet<WebhookId>,
    pub is_all: bool,
}

impl DeliveryState {
    /// Notes the webhooks whose queue or state a commit has changed.
    pub fn note_commit(&self, effects: &[Effect]) {
        for effect in effects {
            match effect {
                Effect::DeliveriesChanged(webhook) => _ = self.changed().webhooks.insert(*webhook),
                Effect::Foreign => self.changed().is_all = true,
                _ => {}
            }
        }
    }

    /// The last row of the log that webhooks have followed.
    pub fn followed_seq(&self) -> i64 {
        self.followed.load(Relaxed)
    }

    /// The number of webhooks with a due delivery and no free slot, as of the last pass.
    pub fn count_waiting_webhooks(&self) -> usize {
        self.due.load(Relaxed)
    }

    pub(crate) fn changed(&self) -> MutexGuard<'_, Changed> {
        self.changed.lock()
    }

    pub(crate) fn slots(&self) -> MutexGuard<'_, DeliverySlots> {
        self.slots.lock()
    }
}
