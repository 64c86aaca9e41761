//! Admission of slow reads: a few users at once, one read each; the public and lists beside them.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::OVERLOADED;
use crate::{
    error::{Error, Result},
    id::UserId,
    limits::Turns,
};

const USERS: usize = 2;
const PUBLIC: usize = 1;

/// How long one waits for a slot, and for one's own read before.
const SLOT_WITHIN: Duration = Duration::from_secs(10);
const OWN_WITHIN: Duration = Duration::from_secs(1);

/// Whose slots a slow read takes.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    /// A user, who has one at once.
    User(UserId),
    /// Anybody, known or not: what is open to all takes no user's slot.
    Public,
    /// Bounded in rows. A client may ask for several at once, and no search holds them up.
    List,
}

impl From<UserId> for Class {
    fn from(user: UserId) -> Self {
        Class::User(user)
    }
}

pub(super) struct Admission {
    users: Arc<Semaphore>,
    public: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    own: Turns<UserId>,
}

/// Held while reading.
pub(super) struct Permit {
    _slot: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl Admission {
    pub fn new(lists: usize) -> Self {
        let [users, public, lists] = [USERS, PUBLIC, lists].map(|slots| Arc::new(Semaphore::new(slots)));
        Admission { users, public, lists, own: Turns::new(1) }
    }

    /// Slow reads at once, of all classes.
    pub fn slots(lists: usize) -> usize {
        USERS + PUBLIC + lists
    }

    /// 429 when the user reads already and goes on to, 503 when all slots stay taken.
    pub async fn permit(&self, class: Class) -> Result<Permit> {
        let (own, slots) = match class {
            Class::User(user) => {
                let own = timeout(OWN_WITHIN, self.own.of(user).acquire_owned()).await;
                let own = own.map_err(|_| Error::TooMany(OWN_WITHIN.as_secs()))?.map_err(Error::internal)?;
                (Some(own), &self.users)
            }
            Class::Public => (None, &self.public),
            Class::List => (None, &self.lists),
        };
        let slot = timeout(SLOT_WITHIN, slots.clone().acquire_owned()).await;
        let slot = slot.map_err(|_| OVERLOADED)?.map_err(Error::internal)?;
        Ok(Permit { _slot: slot, _own: own })
    }
}
