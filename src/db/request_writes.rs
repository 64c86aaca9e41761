//! What a request may write; background jobs may write always.
//!
//! While the disk is nearly full, what frees space must go on, or a full disk could not be emptied by those who filled it:
//! deletions, log-outs and superadmins pass ([`lift_floor`]).
//!
//! A browser sends its cookie with a link that somebody follows, and pages show links of others: so a GET that a cookie has
//! admitted writes nothing ([`ban_writes`]).
//!
//! The rows that a request adds to the event log count for the person who answers for it ([`note_person`]), because the request
//! may be much shorter than they are.

use std::cell::Cell;

use super::tx::View;
use crate::{
    error::{Error, Result},
    id::{SessionId, UserId},
};

#[derive(Clone, Copy)]
struct Request {
    writes: Writes,
    person: Option<UserId>,
    recheck: Option<Recheck>,
}

/// A check that each write of a request repeats in its transaction: what the request was admitted by may have ended since.
#[derive(Clone, Copy)]
pub struct Recheck {
    pub check: fn(&View, SessionId, UserId) -> Result<()>,
    pub session: SessionId,
    /// Who answered for the session when the request was admitted.
    pub person: UserId,
}

impl Recheck {
    pub(super) fn run(self, view: &View) -> Result<()> {
        (self.check)(view, self.session, self.person)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    Banned,
    /// While there is more free space than the floor.
    AboveFloor,
    All,
}

tokio::task_local! {
    static REQUEST: Cell<Request>;
}

const JOB: Request = Request { writes: Writes::All, person: None, recheck: None };

/// Runs a request, which writes nothing below the floor unless [`lift_floor`] is called meanwhile.
pub async fn held_to_floor<T>(request: impl Future<Output = T>) -> T {
    REQUEST.scope(Cell::new(Request { writes: Writes::AboveFloor, ..JOB }), request).await
}

/// Lets the running request write below the floor.
pub fn lift_floor() {
    if present().writes == Writes::AboveFloor {
        change(|request| request.writes = Writes::All);
    }
}

/// Bans all writes of the running request from here on.
pub fn ban_writes() {
    change(|request| request.writes = Writes::Banned);
}

/// Notes the person who answers for what the running request writes.
pub fn note_person(person: UserId) {
    change(|request| request.person = Some(person));
}

/// Work that outlives the request that it is for, in a task of its own, and may write what the request may now.
pub fn for_request<T>(work: impl Future<Output = T>) -> impl Future<Output = T> {
    REQUEST.scope(Cell::new(present()), work)
}

/// Has each write of the running request repeat a check.
pub fn recheck_in_writes(recheck: Recheck) {
    change(|request| request.recheck = Some(recheck));
}

/// Fails if the running request may not write: its operation has to look at the `Authorization` header alone.
pub(super) fn check() -> Result<()> {
    match present().writes {
        Writes::Banned => Err(Error::internal("a GET that a cookie has admitted may not write")),
        Writes::AboveFloor | Writes::All => Ok(()),
    }
}

pub(super) fn may_write_below_floor() -> bool {
    present().writes == Writes::All
}

/// The person for whom the running request's writes count; none for those that pass below the floor.
pub(super) fn payer() -> Option<UserId> {
    present().person.filter(|_| !may_write_below_floor())
}

pub(super) fn recheck() -> Option<Recheck> {
    present().recheck
}

fn present() -> Request {
    REQUEST.try_with(Cell::get).unwrap_or(JOB)
}

fn change(f: impl FnOnce(&mut Request)) {
    _ = REQUEST.try_with(|request| {
        let mut changed = request.get();
        f(&mut changed);
        request.set(changed);
    });
}
