//! Admission of slow reads: a few organisations at once, one read each; the public and lists beside them.
//!
//! Slots are given in the order of asking. Who waits for a slot has no other read of its kind that waits or goes on, so the
//! wait for a slot grows with the number of others who ask, and not with how much one of them asks for.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    error::{Error, Result},
    id::{OrganisationId, UserId},
    limits::Turns,
};

pub(super) const OVERLOADED: Error = Error::Unavailable("the server is overloaded, try again");
const ORGANISATIONS: usize = 2;
const PUBLIC: usize = 1;

/// How long one waits for a slot and those before one, and how long a member waits for an earlier read of theirs.
const SLOT_WITHIN: Duration = Duration::from_secs(10);
const OWN_WITHIN: Duration = Duration::from_secs(1);

/// Whose slots a slow read takes.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    /// A member, who has one at once, within an organisation, which has one at once.
    Member(UserId, OrganisationId),
    /// Anybody, known or not: what is open to all takes no user's slot.
    Public,
    /// Bounded in rows. A user has one at once; a client that asks for several gets one after the other, and no search
    /// holds them up. All who ask for a list of the public count as one.
    List(Option<UserId>),
}

impl Class {
    /// How long the read may take. With a second, 20 organisations have to use all of it all the time before another one
    /// waits for ten.
    pub(super) fn within(self) -> Duration {
        match self {
            Class::Member(..) => Duration::from_secs(1),
            Class::Public | Class::List(_) => Duration::from_secs(2),
        }
    }
}

/// Who has one slow read of a kind at once.
#[derive(PartialEq, Eq, Hash)]
enum Reader {
    Member(UserId),
    Organisation(OrganisationId),
    List(Option<UserId>),
}

pub(super) struct Admission {
    organisations: Arc<Semaphore>,
    public: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    own: Turns<Reader>,
}

/// Held while reading.
pub(super) struct Permit {
    _slot: OwnedSemaphorePermit,
    _own: Vec<OwnedSemaphorePermit>,
}

impl Admission {
    pub fn new(lists: usize) -> Self {
        let [organisations, public, lists] = [ORGANISATIONS, PUBLIC, lists].map(|slots| Arc::new(Semaphore::new(slots)));
        Admission { organisations, public, lists, own: Turns::new(1) }
    }

    /// Slow reads at once, of all classes.
    pub fn slots(lists: usize) -> usize {
        ORGANISATIONS + PUBLIC + lists
    }

    /// 429 when the member reads already and goes on to, 503 when the organisation's turn or a slot does not come.
    pub async fn permit(&self, class: Class) -> Result<Permit> {
        let end = Instant::now() + SLOT_WITHIN;
        let (own, slots) = match class {
            Class::Member(user, organisation) => {
                let own = timeout(OWN_WITHIN, self.own.of(Reader::Member(user)).acquire_owned()).await;
                let own = own.map_err(|_| Error::TooMany(OWN_WITHIN.as_secs()))?.map_err(Error::internal)?;
                (vec![own, by(end, self.own.of(Reader::Organisation(organisation))).await?], &self.organisations)
            }
            Class::Public => (Vec::new(), &self.public),
            Class::List(user) => (vec![by(end, self.own.of(Reader::List(user))).await?], &self.lists),
        };
        Ok(Permit { _slot: by(end, slots.clone()).await?, _own: own })
    }
}

async fn by(end: Instant, slots: Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
    timeout_at(end, slots.acquire_owned()).await.map_err(|_| OVERLOADED)?.map_err(Error::internal)
}
