//! A cache of live sessions, so that most requests find their caller without the database.

use std::{
    collections::HashMap,
    sync::{
        RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::{domain::access::Caller, error::Result, event::Effect, id::SessionId};

/// The callers of live sessions, bounded in number. If any entry was removed since a read began, what it read is not
/// cached: a read from before a logout must not put the session back.
#[derive(Default)]
pub struct SessionCache {
    callers: RwLock<HashMap<SessionId, Caller>>,
    generation: AtomicU64,
}

impl SessionCache {
    const MOST: usize = 100_000;

    pub fn find(&self, session: SessionId, read: impl FnOnce() -> Result<Option<Caller>>) -> Result<Option<Caller>> {
        if let Some(caller) = self.callers.read().expect("nothing panics while it holds this").get(&session) {
            return Ok(Some(*caller));
        }
        let generation = self.generation.load(Relaxed);
        let caller = read()?;
        if let Some(caller) = caller {
            let mut callers = self.callers.write().expect("nothing panics while it holds this");
            if callers.len() >= Self::MOST {
                callers.clear();
            }
            if self.generation.load(Relaxed) == generation {
                callers.insert(session, caller);
            }
        }
        Ok(caller)
    }

    pub fn forget(&self, effects: &[Effect]) {
        let stale = |effect: &Effect| matches!(effect, Effect::SessionEnded { .. } | Effect::AccountChanged(_) | Effect::Foreign);
        if !effects.iter().any(stale) {
            return;
        }
        let mut callers = self.callers.write().expect("nothing panics while it holds this");
        self.generation.fetch_add(1, Relaxed);
        for effect in effects {
            match effect {
                Effect::SessionEnded { session, .. } => _ = callers.remove(session),
                Effect::AccountChanged(user) => callers.retain(|_, caller| caller.user != *user),
                Effect::Foreign => callers.clear(),
                _ => {}
            }
        }
    }
}
