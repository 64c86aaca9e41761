//! Writes an organisation's records. A record that is there already stays as it is, so an import that was interrupted is
//! repeated from its beginning, and a second one changes nothing.
//!
//! The records come from outside: each is checked like a request, and against the organisation, so that none can reach into
//! another one.

mod channels;
mod identifiers;
mod messages;
mod people;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use rusqlite::ErrorCode;
use serde::Serialize;

use self::identifiers::Identifiers;
use super::records::{Bot, Record};
use crate::{
    db::Tx,
    domain::organisations::former_members,
    error::{Error, Result},
    id::{FileId, OrganisationId, UserId},
    secret::Hash,
};

/// People of an export, at most: the import holds their identifiers.
const PEOPLE_MAX: usize = 200_000;
/// Different reasons for which something is left out. What comes after them is counted together.
const REASONS_MAX: usize = 1_000;

/// The counts of an import for the records of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub records: &'static str,
    pub written: u64,
    /// Records that were there already.
    pub found: u64,
}

/// Records that were not imported, or not as they were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub left_out: String,
    pub number: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub organisation: Option<OrganisationId>,
    pub imported: Vec<Outcome>,
    pub left_out: Vec<LeftOut>,
}

/// A file that an import has kept, whose bytes are to be in its place before that is on disk.
pub struct KeptFile {
    pub organisation: OrganisationId,
    pub id: FileId,
    pub sha256: Hash,
}

/// An import under way.
pub struct Import {
    /// SHA-256 of the file that the records come from.
    source: String,
    /// The organisation on this server that the operator adds the records to.
    into: Option<OrganisationId>,
    organisation: Option<OrganisationId>,
    /// Whether a reply to a post that is not there becomes a post, and is not refused.
    with_orphans: bool,
    /// Whether messages that are here already get files that they have not.
    with_later_files: bool,
    taken: Identifiers,
    /// Accounts on this server by the identifiers that the records name people with.
    people: HashMap<UserId, UserId>,
    /// What the records say of bots, by their accounts on this server.
    bots: HashMap<UserId, Bot>,
    files: Vec<KeptFile>,
    outcomes: Vec<Outcome>,
    left_out: BTreeMap<Cow<'static, str>, u64>,
}

impl Import {
    /// An import from a file with this SHA-256. An organisation that is on this server already is imported only from the same
    /// file, or if it is `into`: the identifier in a file is no proof that the file may add to the organisation.
    pub fn new(source: String, into: Option<OrganisationId>) -> Import {
        let (organisation, taken, people, bots, files, outcomes, left_out) = Default::default();
        Import {
            source,
            into,
            organisation,
            with_orphans: false,
            with_later_files: false,
            taken,
            people,
            bots,
            files,
            outcomes,
            left_out,
        }
    }

    /// Takes a reply to a post that is not there for a post, as of exports that begin in the middle of a thread.
    pub fn with_orphan_replies_as_posts(self) -> Import {
        Import { with_orphans: true, ..self }
    }

    /// Gives messages that are here already the files that they have not, as of exports whose files come apart from them.
    pub fn with_later_files(self) -> Import {
        Import { with_later_files: true, ..self }
    }

    /// Imports a record. 400 for one that breaks a rule, or refers to what is not the organisation's.
    pub fn import_record(&mut self, tx: &mut Tx, record: Record) -> Result<()> {
        let records = record.kind();
        let is_new = match record {
            Record::Person(person) => self.person(tx, &person),
            Record::Organisation(organisation) => self.organisation(tx, &organisation),
            Record::Role(role) => self.role(tx, &role),
            Record::Member(member) => self.member(tx, &member),
            Record::Channel(channel) => self.channel(tx, &channel),
            Record::Message(message) => self.message(tx, &message),
            Record::ChannelMember(member) => self.channel_member(tx, &member),
            Record::Webhook(webhook) => self.webhook(tx, &webhook),
        };
        let is_new = is_new.map_err(|err| named(records, err))?;
        self.count(records, is_new, 1);
        Ok(())
    }

    fn count(&mut self, records: &'static str, is_new: bool, number: usize) {
        let index = self.outcomes.iter().position(|outcome| outcome.records == records);
        let index = index.unwrap_or_else(|| {
            self.outcomes.push(Outcome { records, ..Outcome::default() });
            self.outcomes.len() - 1
        });
        let outcome = &mut self.outcomes[index];
        *(if is_new { &mut outcome.written } else { &mut outcome.found }) += number as u64;
    }

    /// The files that were kept since this was asked last.
    pub fn take_files(&mut self) -> Vec<KeptFile> {
        std::mem::take(&mut self.files)
    }

    /// Adds the records that follow to the organisation `into`, without a record of the organisation itself.
    pub fn into_existing(&mut self, organisation: OrganisationId) {
        (self.organisation, self.into) = (Some(organisation), Some(organisation));
        self.taken = Identifiers::for_exported_organisation(organisation);
    }

    /// Notes that something is not imported, or not as it was.
    pub fn leave_out(&mut self, what: impl Into<Cow<'static, str>>, number: u64) {
        let what = what.into();
        let is_one_more = self.left_out.len() >= REASONS_MAX && !self.left_out.contains_key(&what);
        let what = if is_one_more { "other things, for other reasons".into() } else { what };
        *self.left_out.entry(what).or_default() += number;
    }

    pub fn report(self) -> Report {
        let left_out =
            self.left_out.into_iter().map(|(left_out, number)| LeftOut { left_out: left_out.into_owned(), number }).collect();
        Report { organisation: self.organisation, imported: self.outcomes, left_out }
    }

    fn id(&self) -> Result<OrganisationId> {
        self.organisation.ok_or_else(|| Error::failed("the file has no organisation before what belongs to it"))
    }

    /// The account of an exported person.
    fn account(&self, person: UserId) -> Result<UserId> {
        self.people.get(&person).copied().ok_or_else(|| Error::failed(format!("the file does not describe the person {person}")))
    }

    /// [`Import::account`] of somebody whom the organisation's channels show. The members are imported before these.
    fn seen(&self, tx: &Tx, person: UserId) -> Result<UserId> {
        let (organisation, user) = (self.id()?, self.account(person)?);
        former_members::note(tx, organisation, user)?;
        Ok(user)
    }
}

/// An error of a record, with its kind. What breaks a rule of the schema is the file's fault.
fn named(records: &str, err: Error) -> Error {
    match err {
        Error::BadRequest(_) | Error::Invalid(_) | Error::Failed(_) => {
            Error::failed(format!("{records}: {}", err.admin_detail()))
        }
        Error::Internal { ref source, .. } => {
            let code = source.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
            let is_broken = code == Some(ErrorCode::ConstraintViolation);
            if is_broken { Error::failed(format!("{records}: a record breaks a rule: {source}")) } else { err }
        }
        other => other,
    }
}

fn foreign(what: &str, id: impl std::fmt::Display) -> Error {
    Error::failed(format!("the {what} {id} is not the organisation's on this server"))
}
