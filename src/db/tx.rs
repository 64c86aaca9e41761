//! A job's view: the database, the server it belongs to, and the time. A write adds what it sets off once it has
//! committed.

use std::ops::Deref;

use rusqlite::Connection;
use tokio::sync::OwnedSemaphorePermit;

use super::position;
use crate::{error::Result, event::Effect, id::UserId, limits::byte_quotas::ByteQuotas, site::Site, time::Time};

/// The view of a read, and of a write, too: one state of the database at one time.
pub struct View<'a> {
    conn: &'a Connection,
    site: &'a Site,
    now: Time,
}

impl<'a> View<'a> {
    pub(super) fn new(conn: &'a Connection, site: &'a Site, now: Time) -> Self {
        View { conn, site, now }
    }

    /// The time at which the job began: all that it writes bears the same one.
    pub fn now(&self) -> Time {
        self.now
    }

    pub fn site(&self) -> &'a Site {
        self.site
    }

    /// Notes that the answer of the running task shows this state. [`super::Db::read`] does so by itself.
    pub fn note_position(&self) -> Result<()> {
        position::note(self.conn)
    }
}

impl Deref for View<'_> {
    type Target = Connection;
    fn deref(&self) -> &Connection {
        self.conn
    }
}

/// What the jobs of a committed transaction leave.
#[derive(Default)]
pub struct Committed {
    /// In the order of the jobs.
    pub effects: Vec<Effect>,
    /// Given back once what the jobs have changed is sent.
    pub permits: Vec<OwnedSemaphorePermit>,
}

/// The connection inside a write transaction, for one job. The job itself never begins, commits or rolls back.
pub struct Tx<'a> {
    view: View<'a>,
    committed: &'a mut Committed,
    quotas: &'a ByteQuotas,
    payer: Option<UserId>,
}

impl<'a> Tx<'a> {
    pub(super) fn new(view: View<'a>, committed: &'a mut Committed, quotas: &'a ByteQuotas) -> Self {
        Tx { view, committed, quotas, payer: None }
    }

    /// Has what the job adds to the event log count for a person.
    pub(super) fn set_payer(&mut self, payer: Option<UserId>) {
        self.payer = payer;
    }

    /// Counts bytes that a job of a request adds to the event log. 429 past the quota of the person who answers for the request.
    pub fn charge_logged(&self, bytes: usize) -> Result<()> {
        self.payer.map_or(Ok(()), |person| self.quotas.charge_person(person, bytes))
    }

    /// The bytes that may be written. What a job is charged stays so, even if it fails.
    pub fn quotas(&self) -> &'a ByteQuotas {
        self.quotas
    }

    /// Adds an effect that follows the commit, in order. It is dropped if the job fails.
    pub fn then(&mut self, effect: Effect) {
        self.committed.effects.push(effect);
    }

    /// Holds a permit until what the job changes is sent, or the job fails.
    pub fn hold(&mut self, permit: OwnedSemaphorePermit) {
        self.committed.permits.push(permit);
    }
}

impl<'a> Deref for Tx<'a> {
    type Target = View<'a>;
    fn deref(&self) -> &View<'a> {
        &self.view
    }
}
