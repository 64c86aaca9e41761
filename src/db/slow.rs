//! Whose turn it is to read slowly: a few users at once, one read each, and the public beside them.

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
pub(super) const PLACES: usize = USERS + PUBLIC;
/// How long one waits for a place, and for one's own read before.
const PLACE_WITHIN: Duration = Duration::from_secs(10);
const OWN_WITHIN: Duration = Duration::from_secs(1);

/// For whom a slow read is.
#[derive(Clone, Copy, Debug)]
pub enum Asker {
    User(UserId),
    /// Anybody, known or not: what is open to all takes no user's place.
    Public,
}

impl From<UserId> for Asker {
    fn from(user: UserId) -> Self {
        Asker::User(user)
    }
}

pub(super) struct Turns {
    users: Arc<Semaphore>,
    public: Arc<Semaphore>,
    /// Of the users who read or wait now, one turn each.
    own: Mutex<HashMap<UserId, Weak<Semaphore>>>,
}

/// Held while reading.
pub(super) struct Turn {
    _place: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { users: Arc::new(Semaphore::new(USERS)), public: Arc::new(Semaphore::new(PUBLIC)), own: Mutex::default() }
    }
}

impl Turns {
    /// 429 when the user reads already and goes on to, 503 when all places stay taken.
    pub async fn take(&self, asker: Asker) -> Result<Turn> {
        let (own, places) = match asker {
            Asker::User(user) => {
                let own = timeout(OWN_WITHIN, self.own(user).acquire_owned()).await;
                let own = own.map_err(|_| Error::TooMany(OWN_WITHIN.as_secs()))?.map_err(Error::internal)?;
                (Some(own), &self.users)
            }
            Asker::Public => (None, &self.public),
        };
        let place = timeout(PLACE_WITHIN, places.clone().acquire_owned()).await;
        let place = place.map_err(|_| OVERLOADED)?.map_err(Error::internal)?;
        Ok(Turn { _place: place, _own: own })
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
