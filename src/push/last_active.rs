//! When users were last active, between two writes of these times.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::{
    clock::Clock,
    id::{SessionId, UserId},
    time::Time,
};

pub struct Activity {
    clock: Clock,
    noted: Mutex<Noted>,
}

/// When users were last active, and in which sessions, since these times were last written.
#[derive(Default)]
pub struct Noted {
    pub users: HashMap<UserId, Time>,
    pub sessions: HashMap<SessionId, Time>,
}

impl Activity {
    pub fn new(clock: Clock) -> Activity {
        Activity { clock, noted: Mutex::default() }
    }

    /// Notes that a user is active now, in a session. A job writes these times once per minute.
    pub fn note(&self, user: UserId, session: SessionId) {
        let (now, mut noted) = (self.clock.now(), self.noted.lock());
        noted.users.insert(user, now);
        noted.sessions.insert(session, now);
    }

    /// When the user was last active, if that is not written yet.
    pub fn noted(&self, user: UserId) -> Option<Time> {
        self.noted.lock().users.get(&user).copied()
    }

    /// Takes the noted times, to write them.
    pub fn take(&self) -> Noted {
        std::mem::take(&mut *self.noted.lock())
    }
}
