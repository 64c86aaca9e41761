//! Admission of slow reads: a few users at once, one read each, and the public beside them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::OVERLOADED;
use crate::{
    error::{Error, Result},
    id::UserId,
};

const USERS: usize = 2;
const PUBLIC: usize = 1;
/// Slow reads at once.
pub(super) const SLOTS: usize = USERS + PUBLIC;
/// How long one waits for a slot, and for one's own read before.
const SLOT_WITHIN: Duration = Duration::from_secs(10);
const OWN_WITHIN: Duration = Duration::from_secs(1);

/// For whom a slow read is.
#[derive(Clone, Copy, Debug)]
pub enum Asker {
    User(UserId),
    /// Anybody, known or not: what is open to all takes no user's slot.
    Public,
}

impl From<UserId> for Asker {
    fn from(user: UserId) -> Self {
        Asker::User(user)
    }
}

pub(super) struct Admission {
    users: Arc<Semaphore>,
    public: Arc<Semaphore>,
    /// Of the users who read or wait now, one permit each.
    own: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

/// Held while reading.
pub(super) struct Permit {
    _slot: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl Default for Admission {
    fn default() -> Self {
        Admission { users: Arc::new(Semaphore::new(USERS)), public: Arc::new(Semaphore::new(PUBLIC)), own: Mutex::default() }
    }
}

impl Admission {
    /// 429 when the user reads already and goes on to, 503 when all slots stay taken.
    pub async fn permit(&self, asker: Asker) -> Result<Permit> {
        let (own, slots) = match asker {
            Asker::User(user) => {
                let own = timeout(OWN_WITHIN, self.own(user).acquire_owned()).await;
                let own = own.map_err(|_| Error::TooMany(OWN_WITHIN.as_secs()))?.map_err(Error::internal)?;
                (Some(own), &self.users)
            }
            Asker::Public => (None, &self.public),
        };
        let slot = timeout(SLOT_WITHIN, slots.clone().acquire_owned()).await;
        let slot = slot.map_err(|_| OVERLOADED)?.map_err(Error::internal)?;
        Ok(Permit { _slot: slot, _own: own })
    }

    fn own(&self, user: UserId) -> Arc<Semaphore> {
        let mut all = self.own.lock().expect("nothing panics while it holds this");
        all.retain(|_, own| own.strong_count() > 0);
        if let Some(own) = all.get(&user).and_then(Weak::upgrade) {
            return own;
        }
        let own = Arc::new(Semaphore::new(1));
        all.insert(user, Arc::downgrade(&own));
        own
    }
}
