//! Imports an export of Slack: translates it into the records of an exported organisation, which the one import writes.
//!
//! The lists of people and channels are read value by value, and so are the messages, day by day. What an import holds is
//! bounded: the entries of the zip ([`archive`]), people and channels ([`import_memory_budget`]), and the messages of a day
//! that are put in order.

mod archive;
mod channels;
mod fetched;
mod fetching;
mod format;
mod ids;
mod import_memory_budget;
mod messages;
mod people;
mod zip_entry;

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
};

use serde_json::value::RawValue;

use self::{
    archive::{Archive, Day, Other},
    channels::{ChannelKind, ImportedChannel, LISTS},
    fetched::Fetched,
    format::{Stamp, time, time_from_seconds},
    messages::Translator,
    people::People,
};
use crate::{
    archive::{
        Progress,
        contents::SPACE_KEPT,
        staged_files::StagedFiles,
        transfer::{Batches, RECORD, Writer, fingerprint, unreadable},
    },
    db::{self, Tx},
    domain::{
        accounts,
        organisations::by_operator,
        transfer::{
            import::{Import, Report},
            records::{Member, Organisation, Person, Record},
        },
    },
    error::{Error, Result},
    id::{OrganisationId, UserId},
    outgoing::Outgoing,
    regular_file,
    time::Time,
};

/// Bytes of messages of one day that are put in order together, over all channels. A day with more is imported in parts, each in
/// its order: within a channel, nothing changes.
const WINDOW: usize = 16 << 20;
/// Bytes that a message takes in the window besides its text.
const WAITING: usize = 64;
/// Bytes that a reaction counts for in a batch.
const REACTION: usize = 100;

/// Where an export is imported to.
pub enum Target {
    /// A new organisation with this name; or the one that was made from the same file before. Its owner is the one of the
    /// export, unless an address is given.
    New { name: String, owner: Option<String> },
    /// An organisation on this server, and its owner's address.
    Existing { id: OrganisationId, owner: String },
}

/// Where the files of an export are.
pub struct Files {
    pub folder: PathBuf,
    /// What fetches those that are not there from Slack.
    pub fetch: Option<Outgoing>,
}

/// Imports the zip of an export into the database of the folder `data`, to which `writer` writes.
pub fn import(
    data: &Path,
    from: &Path,
    target: Target,
    files: Option<&Files>,
    writer: Writer,
    progress: Progress,
) -> Result<Report> {
    let failed = unreadable(from);
    let mut file = regular_file::open(from).map_err(failed)?;
    let source = fingerprint(&mut file).map_err(failed)?;
    let mut archive = Archive::open(file, &lists().collect::<Vec<_>>())?;
    db::require_space(data, archive.bytes, SPACE_KEPT, "the unpacked export")?;
    let overview = ChannelSummary::read(&mut archive, &target)?;
    let organisation = match &target {
        Target::New { .. } => ids::organisation_of_file(&source, overview.began),
        Target::Existing { id, .. } => *id,
    };
    if let Target::New { name, owner } = &target {
        (writer.write)(&mut |tx| check(tx, organisation, name, owner.as_deref(), overview.owner.is_some()))?;
    }
    let fetched = files.map(|files| Fetched::new(&files.folder)).transpose()?;
    let mut missing = BTreeMap::new();
    if let (Some(fetched), Some(Files { fetch: Some(outgoing), .. })) = (&fetched, files) {
        missing = fetching::fetch(&mut archive, overview.people, fetched, outgoing, progress)?;
    }
    let import = Import::new(source, None).with_orphan_replies_as_posts().with_later_files();
    let batches = Batches::new(import, writer, StagedFiles::new(data)?);
    let people = People::new(organisation, overview.began);
    let mut export = Export {
        organisation,
        people,
        channels: Vec::new(),
        folders: HashMap::new(),
        batches,
        fetched,
        window: Vec::new(),
        window_bytes: 0,
    };
    let owner = export.owner(target, &overview)?;
    archive.each_in_list(overview.people, &mut |user| export.user(&user, owner))?;
    for (list, kind) in LISTS {
        archive.each_in_list(list, &mut |channel| export.channel(&channel, kind, owner))?;
    }
    export.messages(&mut archive, progress)?;
    export.members()?;
    missing.into_iter().for_each(|(why, number)| export.batches.import.leave_out(why, number));
    export.batches.finish()
}

/// Refuses an owner with neither an account here nor an address in the export: whoever has that mailbox would own the
/// organisation. For a file that was imported before, refuses another name or owner than its organisation has.
fn check(tx: &Tx, id: OrganisationId, name: &str, owner: Option<&str>, is_known: bool) -> Result<()> {
    let known = match by_operator::show(tx, id) {
        Ok(known) => known.listed,
        Err(Error::NotFound(_)) => {
            let Some(owner) = owner else { return Ok(()) };
            return match is_known || accounts::find_by_email(tx, owner)?.is_some() {
                true => Ok(()),
                false => Err(Error::failed(format!("{owner} has no account, and is not in the export"))),
            };
        }
        Err(err) => return Err(err),
    };
    match known.name == name && owner.is_none_or(|owner| owner == known.owner) {
        true => Ok(()),
        false => Err(Error::failed(format!(
            "the file was imported already: as {}, which {} owns. To add to it, use --organisation {}",
            known.name, known.owner, known.slug
        ))),
    }
}

/// The facts that the lists at the top of an export are read for, before they are imported.
struct ChannelSummary {
    /// The name of the list of people.
    people: &'static str,
    /// The owner of the organisation, if the export has them.
    owner: Option<format::User>,
    /// When the first channel was made.
    began: Time,
}

impl ChannelSummary {
    fn read(archive: &mut Archive, target: &Target) -> Result<ChannelSummary> {
        let wanted = match target {
            Target::New { owner, .. } => owner.as_deref(),
            Target::Existing { owner, .. } => Some(owner.as_str()),
        };
        let mut owner = None;
        let mut look = |user: format::User| {
            let is_owner = match (people::address(&user), wanted) {
                (Some(email), Some(wanted)) => email == wanted,
                (Some(_), None) => user.is_primary_owner && !user.deleted,
                (None, _) => false,
            };
            if owner.is_none() && is_owner {
                owner = Some(user);
            }
            Ok(())
        };
        let mut people = None;
        for list in PEOPLE {
            if people.is_none() && archive.each_in_list(list, &mut look)? {
                people = Some(list);
            }
        }
        let people = people.ok_or_else(|| {
            Error::failed("the zip has no users.json: expected an export as Slack makes it, not unpacked and packed again")
        })?;
        let mut began: Option<i64> = None;
        for (list, _) in LISTS {
            archive.each_in_list(list, &mut |channel: format::SlackChannel| {
                began = Some(began.map_or(channel.created, |began| began.min(channel.created)));
                Ok(())
            })?;
        }
        Ok(ChannelSummary { people, owner, began: time_from_seconds(began.unwrap_or_default()) })
    }
}

/// An export under way.
struct Export<'a> {
    organisation: OrganisationId,
    people: People,
    channels: Vec<ImportedChannel>,
    /// Channels by the name of their folder, which is the channel's name or identifier.
    folders: HashMap<String, u32>,
    batches: Batches<'a>,
    fetched: Option<Fetched>,
    /// Messages of one day that are yet to be put in order: each with its time and the index of its channel.
    window: Vec<(Time, u32, Box<RawValue>)>,
    window_bytes: usize,
}

impl Export<'_> {
    fn push(&mut self, record: Record) -> Result<()> {
        let bytes = RECORD
            + match &record {
                Record::Message(message) => message.content.len() + REACTION * message.reactions.len(),
                _ => 0,
            };
        self.batches.add(record, bytes)
    }

    fn leave_out(&mut self, what: impl Into<Cow<'static, str>>) {
        self.batches.import.leave_out(what, 1);
    }

    /// Imports the owner and the organisation. Returns the owner.
    fn owner(&mut self, target: Target, overview: &ChannelSummary) -> Result<UserId> {
        let (name, wanted) = match target {
            Target::New { name, owner } => (Some(name), owner),
            Target::Existing { owner, .. } => (None, Some(owner)),
        };
        let owner = match (&overview.owner, wanted) {
            (Some(user), _) => self.person(user)?.0,
            (None, Some(email)) => self.people.owner_not_in_export(&email),
            (None, None) => {
                return Err(Error::failed(
                    "the export names no owner with an address: say with --owner who is to own the organisation",
                ));
            }
        };
        let (id, owning) = (owner.id, self.people.owner_membership(owner.id));
        self.push(Record::Person(owner))?;
        match name {
            None => self.batches.import.into_existing(self.organisation),
            Some(name) => {
                let organisation = organisation(self.organisation, name, id, self.people.began);
                self.push(Record::Organisation(organisation))?;
            }
        }
        self.push(Record::Member(owning))?;
        Ok(id)
    }

    /// The records of somebody, with their face.
    fn person(&mut self, user: &format::User) -> Result<(Person, Option<Member>)> {
        let (mut person, member) = self.people.add(user)?;
        if let Some(fetched) = &self.fetched {
            person.face = fetched.face(&user.id, &self.batches.files)?;
        }
        Ok((person, member))
    }

    fn user(&mut self, user: &format::User, owner: UserId) -> Result<()> {
        let (person, member) = self.person(user)?;
        if person.id == owner {
            return Ok(());
        }
        if member.is_none() {
            let what = if user.is_bot { "bots" } else { "people without an address" };
            self.leave_out(format!("{what}: an account that nobody can use stands for each"));
        }
        self.push(Record::Person(person))?;
        member.map_or(Ok(()), |member| self.push(Record::Member(member)))
    }

    fn channel(&mut self, channel: &format::SlackChannel, kind: ChannelKind, owner: UserId) -> Result<()> {
        if let Some(creator) = channel.creator.as_deref().filter(|user| !user.is_empty() && self.people.get(user).is_none()) {
            let person = self.people.unknown(creator, creator)?;
            self.push(Record::Person(person))?;
        }
        let imported = ImportedChannel::new(channel, kind, self.organisation, &mut self.people)?;
        if kind != ChannelKind::Public && !imported.has_members() {
            self.leave_out("members of private channels: none of them has an address, so nobody sees the channel");
        }
        self.push(Record::Channel(imported.to_record(channel, &self.people, owner)))?;
        for folder in [&channel.name, &channel.id].into_iter().filter(|folder| !folder.is_empty()) {
            self.folders.entry(folder.clone()).or_insert(self.channels.len() as u32);
        }
        self.channels.push(imported);
        Ok(())
    }

    fn messages(&mut self, archive: &mut Archive, progress: Progress) -> Result<()> {
        let (folders, import) = (&self.folders, &mut self.batches.import);
        let days = archive.days(&|folder| folders.get(folder).copied(), &mut |other| match other {
            Other::Day => import.leave_out("days of folders that no list of channels names", 1),
            Other::Entry(path) if lists().any(|list| list == path) => {}
            Other::Entry(path) if path.ends_with(".json") && !path.contains('/') => import.leave_out(path.to_owned(), 1),
            Other::Entry(_) => import.leave_out("entries of the zip that Slack does not document", 1),
        })?;
        let all = days.len() as u64;
        let mut done = 0;
        for of_a_day in days.chunk_by(|a, b| a.date == b.date) {
            for day in of_a_day {
                self.read(archive, *day)?;
            }
            self.translate()?;
            done += of_a_day.len() as u64;
            progress("importing", done, all);
        }
        Ok(())
    }

    /// Reads the messages of a channel on one day into the window.
    fn read(&mut self, archive: &mut Archive, day: Day) -> Result<()> {
        let path = format!("{}/{}.json", self.channels[day.folder as usize].name, day.name());
        archive.messages(&path, day, &mut |message| {
            let at = serde_json::from_str(message.get()).ok().and_then(|Stamp { ts }| time(&ts));
            let Some(at) = at else {
                self.leave_out(UNREADABLE);
                return Ok(());
            };
            self.window_bytes += WAITING + message.get().len();
            self.window.push((at, day.folder, message));
            if self.window_bytes > WINDOW { self.translate() } else { Ok(()) }
        })
    }

    /// Imports the messages of the window in their order.
    fn translate(&mut self) -> Result<()> {
        self.window_bytes = 0;
        let mut window = std::mem::take(&mut self.window);
        window.sort_by_key(|(at, channel, _)| (*at, *channel));
        for (at, channel, message) in window.drain(..) {
            let Ok(message) = serde_json::from_str(message.get()) else {
                self.leave_out(UNREADABLE);
                continue;
            };
            let Export { organisation, people, channels, folders, batches, fetched, .. } = self;
            let mut translator =
                Translator { organisation: *organisation, people, channels, folders, batches, fetched: fetched.as_ref() };
            let translated = translator.record_of(&channels[channel as usize], &message, at)?;
            if let Some(message) = translated {
                self.channels[channel as usize].last = Some(message.id);
                self.push(Record::Message(message))?;
            }
        }
        self.window = window;
        Ok(())
    }

    fn members(&mut self) -> Result<()> {
        for channel in std::mem::take(&mut self.channels) {
            channel.members(&self.people).try_for_each(|member| self.batches.add(Record::ChannelMember(member), RECORD))?;
        }
        Ok(())
    }
}

const UNREADABLE: &str = "messages that are not in a form that Slack documents";

/// The names of a list of people, of which an export has one.
const PEOPLE: [&str; 2] = ["users.json", "org_users.json"];

fn lists() -> impl Iterator<Item = &'static str> {
    PEOPLE.into_iter().chain(LISTS.map(|(list, _)| list))
}

fn organisation(id: OrganisationId, name: String, owner: UserId, began: Time) -> Organisation {
    let (description, email, industry, location, country, logo_url) = Default::default();
    Organisation {
        id,
        name,
        description,
        email,
        industry,
        location,
        country,
        logo_url,
        logo: None,
        owner,
        created_at: began,
        updated_at: began,
    }
}
