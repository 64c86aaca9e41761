//! Admission of slow reads. Organisations, the public and lists each have slots of their own; an organisation uses one at
//! a time.
//!
//! Slots are given in the order of asking. A reader that waits for a slot has no other read of its kind that waits or runs, but
//! one list. So the wait for a slot grows with the number of readers, and not with the number of requests of one of them.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    error::{Code, Error, Result},
    id::{OrganisationId, Share},
    limits::Permits,
};

pub(super) const OVERLOADED: Error = Error::Unavailable(Code::Overloaded, "the server is overloaded, try again");
const ORGANISATIONS: usize = 2;
const PUBLIC: usize = 1;

/// How long a read waits for its organisation's or user's permit and a slot together.
const SLOT_WITHIN: Duration = Duration::from_secs(10);
/// How long a member's read waits for the member's earlier read.
const OWN_WITHIN: Duration = Duration::from_secs(1);

/// The slots and permits that a slow read takes.
#[derive(Clone, Copy, Debug)]
pub enum Class {
    /// A read within an organisation: one at a time for the member, and one for the organisation.
    Member(Share, OrganisationId),
    /// A read that is open to everybody. It takes no user's permit, whether the caller has a session or not.
    Public,
    /// A list, bounded in rows: two at a time for a user, so that two tabs don't wait for each other, and two for all callers
    /// without a session. A client that asks for more gets them in turn. No search holds them up, because they have slots of
    /// their own.
    List(Option<Share>),
}

impl Class {
    /// How long the read may take. With one second and two slots, 20 organisations must read all the time before another
    /// one waits for ten seconds.
    pub(super) fn within(self) -> Duration {
        match self {
            Class::Member(..) => Duration::from_secs(1),
            Class::Public | Class::List(_) => Duration::from_secs(2),
        }
    }
}

/// Lists that a user reads at a time.
pub(super) const LISTS: usize = 2;

/// A key of `own`: a reader that has one read at a time.
#[derive(PartialEq, Eq, Hash)]
enum Reader {
    Member(Share),
    Organisation(OrganisationId),
}

pub(super) struct ReadSlots {
    organisations: Arc<Semaphore>,
    public: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    own: Permits<Reader>,
    own_lists: Permits<Option<Share>>,
}

/// The slot and permits of a running read; dropping it frees them.
pub(super) struct ReadSlot {
    _slot: OwnedSemaphorePermit,
    _own: Vec<OwnedSemaphorePermit>,
}

impl ReadSlots {
    pub fn new(lists: usize) -> Self {
        let [organisations, public, lists] = [ORGANISATIONS, PUBLIC, lists].map(|slots| Arc::new(Semaphore::new(slots)));
        ReadSlots { organisations, public, lists, own: Permits::new(1), own_lists: Permits::new(LISTS) }
    }

    /// Most concurrent slow reads, of all classes.
    pub fn most_at_once(lists: usize) -> usize {
        ORGANISATIONS + PUBLIC + lists
    }

    /// Waits for a read's permits and slot. 429 if the member's earlier read goes on for too long, 503 if no permit or slot
    /// becomes free in time.
    pub async fn permit(&self, class: Class) -> Result<ReadSlot> {
        let end = Instant::now() + SLOT_WITHIN;
        let (own, slots) = match class {
            Class::Member(user, organisation) => {
                let own = timeout(OWN_WITHIN, self.own.semaphore_for(Reader::Member(user)).acquire_owned()).await;
                let own = own.map_err(|_| Error::TooMany(OWN_WITHIN.as_secs()))?.map_err(Error::internal)?;
                (vec![own, by(end, self.own.semaphore_for(Reader::Organisation(organisation))).await?], &self.organisations)
            }
            Class::Public => (Vec::new(), &self.public),
            Class::List(user) => (vec![by(end, self.own_lists.semaphore_for(user)).await?], &self.lists),
        };
        Ok(ReadSlot { _slot: by(end, slots.clone()).await?, _own: own })
    }
}

/// Waits for a permit until `end`. 503 after that.
async fn by(end: Instant, slots: Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
    timeout_at(end, slots.acquire_owned()).await.map_err(|_| OVERLOADED)?.map_err(Error::internal)
}
