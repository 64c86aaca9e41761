//! Imports an export of Slack: translates it into the records of an exported organisation, which the one import writes.
//!
//! Messages are translated day by day, so that of all of them only the newest day is in memory.

mod archive;
mod channels;
mod format;
mod ids;
mod markup;
mod messages;
mod people;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs::File,
    path::Path,
};

use self::{
    archive::Archive,
    channels::{Kind, LISTS, Room},
    format::seconds,
    messages::{Translated, Translator},
    people::People,
};
use crate::{
    archive::Progress,
    db::Tx,
    domain::{
        accounts,
        organisations::administration,
        transfer::{
            import::{Import, Report},
            records::{Organisation, Record},
        },
    },
    error::{Error, Result},
    id::{OrganisationId, UserId},
    time::Time,
    transfer::{Batches, Writer, fingerprint, unreadable},
};

/// Bytes of all channels' messages of one day, at most: they are in memory together, to be put in order.
const DAY_MAX: u64 = 512 << 20;
/// Bytes that a record counts for in a batch, besides those of a message's text.
const RECORD: usize = 500;

/// Where an export is imported to.
pub enum Target {
    /// A new organisation with this name; or the one that was made from the same file before. Its owner is the one of the
    /// export, unless an address is given.
    New { name: String, owner: Option<String> },
    /// An organisation on this server, and its owner's address.
    Existing { id: OrganisationId, owner: String },
}

/// Imports the zip of an export.
pub fn import(from: &Path, target: Target, write: Writer, progress: Progress) -> Result<Report> {
    let failed = unreadable(from);
    let mut file = File::open(from).map_err(failed)?;
    let source = fingerprint(&mut file).map_err(failed)?;
    let mut archive = Archive::open(file)?;
    let lists = Lists::read(&mut archive)?;
    let organisation = match &target {
        Target::New { .. } => ids::organisation(&source, lists.began()),
        Target::Existing { id, .. } => *id,
    };
    if let Target::New { name, owner } = &target {
        write(&mut |tx| check(tx, organisation, name, owner.as_deref(), &lists.users))?;
    }
    let batches = Batches::new(Import::new(source, None), write);
    let people = People::new(organisation, lists.began());
    let mut export = Export { archive, organisation, people, rooms: Vec::new(), folders: HashMap::new(), batches };
    let owner = export.people(&lists.users, target, lists.began())?;
    export.channels(&lists.channels, owner)?;
    export.messages(progress)?;
    export.members()?;
    export.batches.finish()
}

/// Refuses an owner with neither an account here nor an address in the export: whoever has that mailbox would own the
/// organisation. For a file that was imported before, refuses another name or owner than its organisation has.
fn check(tx: &Tx, id: OrganisationId, name: &str, owner: Option<&str>, users: &[format::User]) -> Result<()> {
    let known = match administration::show(tx, id) {
        Ok(known) => known.listed,
        Err(Error::NotFound(_)) => {
            let Some(owner) = owner else { return Ok(()) };
            let is_known = users.iter().any(|user| people::address(user).as_deref() == Some(owner));
            return match is_known || accounts::find_by_email(tx, owner)?.is_some() {
                true => Ok(()),
                false => Err(Error::bad_request(format!("{owner} has no account, and is not in the export"))),
            };
        }
        Err(err) => return Err(err),
    };
    match known.name == name && owner.is_none_or(|owner| owner == known.owner) {
        true => Ok(()),
        false => Err(Error::bad_request(format!(
            "the file was imported already: as {}, which {} owns. To add to it, use --organisation {}",
            known.name, known.owner, known.slug
        ))),
    }
}

/// The lists at the top of an export.
struct Lists {
    users: Vec<format::User>,
    channels: Vec<(Kind, format::Channel)>,
}

impl Lists {
    fn read(archive: &mut Archive) -> Result<Lists> {
        let users = match archive.read("users.json")? {
            Some(users) => Some(users),
            None => archive.read("org_users.json")?,
        };
        let (users, _) = users.ok_or_else(|| {
            Error::bad_request("the zip has no users.json: expected an export as Slack makes it, not unpacked and packed again")
        })?;
        let mut channels = Vec::new();
        for (list, kind) in LISTS {
            let (listed, _): (Vec<format::Channel>, _) = archive.read(list)?.unwrap_or_default();
            channels.extend(listed.into_iter().map(|channel| (kind, channel)));
        }
        Ok(Lists { users, channels })
    }

    /// When the first channel was made.
    fn began(&self) -> Time {
        seconds(self.channels.iter().map(|(_, channel)| channel.created).min().unwrap_or_default())
    }
}

/// An export under way.
struct Export<'a> {
    archive: Archive,
    organisation: OrganisationId,
    people: People,
    rooms: Vec<Room>,
    /// Rooms by the name of their folder, which is the channel's name or identifier.
    folders: HashMap<String, usize>,
    batches: Batches<'a>,
}

impl Export<'_> {
    fn push(&mut self, record: Record) -> Result<()> {
        let bytes = RECORD + if let Record::Message(message) = &record { message.content.len() } else { 0 };
        self.batches.push(record, bytes)
    }

    fn leave_out(&mut self, what: impl Into<String>, number: usize) {
        self.batches.import.leave_out(Into::<String>::into(what), number as u64);
    }

    /// Imports the people and the organisation. Returns the owner.
    fn people(&mut self, users: &[format::User], target: Target, began: Time) -> Result<UserId> {
        let (name, wanted) = match target {
            Target::New { name, owner } => (Some(name), owner),
            Target::Existing { owner, .. } => (None, Some(owner)),
        };
        let found = users.iter().find(|user| user.is_primary_owner && !user.deleted).and_then(people::address);
        let email = wanted.or(found).ok_or_else(|| {
            Error::bad_request("the export names no owner with an address: say with --owner who is to own the organisation")
        })?;
        let added: Vec<_> = users.iter().map(|user| self.people.add(user)).collect();
        let owner = added.iter().find(|(person, _)| person.email == email).map(|(person, _)| person.clone());
        let owner = owner.unwrap_or_else(|| self.people.owner(&email));
        let (id, owning) = (owner.id, self.people.owning(owner.id));
        self.push(Record::Person(owner))?;
        match name {
            None => self.batches.import.open(self.organisation),
            Some(name) => self.push(Record::Organisation(organisation(self.organisation, name, id, began)))?,
        }
        self.push(Record::Member(owning))?;
        for ((person, member), user) in added.into_iter().zip(users).filter(|((person, _), _)| person.id != id) {
            if member.is_none() {
                let what = if user.is_bot { "bots" } else { "people without an address" };
                self.leave_out(format!("{what}: an account that nobody can use stands for each"), 1);
            }
            self.push(Record::Person(person))?;
            member.map_or(Ok(()), |member| self.push(Record::Member(member)))?;
        }
        Ok(id)
    }

    fn channels(&mut self, channels: &[(Kind, format::Channel)], owner: UserId) -> Result<()> {
        let mut in_time: Vec<_> = channels.iter().collect();
        in_time.sort_by_key(|(_, channel)| (channel.created, &channel.id));
        for (kind, channel) in in_time {
            if let Some(creator) = channel.creator.as_deref().filter(|user| !user.is_empty() && self.people.get(user).is_none()) {
                let person = self.people.unknown(creator, creator);
                self.push(Record::Person(person))?;
            }
            let room = Room::new(channel, *kind, self.organisation, &self.people);
            if *kind != Kind::Public && !room.has_members() {
                self.leave_out("members of private channels: none of them has an address, so nobody sees the channel", 1);
            }
            self.push(Record::Channel(room.record(channel, &self.people, owner)))?;
            for folder in [&channel.name, &channel.id].into_iter().filter(|folder| !folder.is_empty()) {
                self.folders.entry(folder.clone()).or_insert(self.rooms.len());
            }
            self.rooms.push(room);
        }
        Ok(())
    }

    fn messages(&mut self, progress: Progress) -> Result<()> {
        let (days, others) = self.archive.days();
        let all = days.len() as u64;
        for path in others.iter().filter(|path| !is_list(path)) {
            let is_known = path.ends_with(".json") && !path.contains('/');
            self.leave_out(if is_known { path.as_str() } else { "entries of the zip that Slack does not document" }, 1);
        }
        let named: HashMap<String, String> =
            self.folders.iter().map(|(folder, room)| (folder.clone(), self.rooms[*room].name.clone())).collect();
        let names = |channel: &str| named.get(channel).cloned();
        let mut threads = HashSet::new();
        for (n, (day, folders)) in days.iter().enumerate() {
            for (at, room, message) in self.day(day, folders)? {
                let (organisation, people) = (self.organisation, &mut self.people);
                let mut translator = Translator { organisation, people, names: &names, threads };
                let Translated { people, message, left_out } = translator.translate(&mut self.rooms[room], &message, at);
                threads = translator.threads;
                people.into_iter().try_for_each(|person| self.push(Record::Person(person)))?;
                message.map_or(Ok(()), |message| self.push(Record::Message(message)))?;
                left_out.into_iter().for_each(|what| self.leave_out(what, 1));
            }
            progress("importing", n as u64 + 1, all);
        }
        Ok(())
    }

    /// The messages of all channels on one day in their order, each with its time and the index of its room.
    fn day(&mut self, day: &str, folders: &BTreeSet<String>) -> Result<Vec<(Time, usize, format::Message)>> {
        let (mut messages, mut bytes) = (Vec::new(), 0);
        for folder in folders {
            let Some(&room) = self.folders.get(folder) else {
                self.leave_out("days of folders that no list of channels names", 1);
                continue;
            };
            let Some((file, read)) = self.archive.read(&format!("{folder}/{day}.json"))? else { continue };
            bytes += read;
            if bytes > DAY_MAX {
                return Err(Error::bad_request(format!("the messages of {day} have more than {DAY_MAX} bytes")));
            }
            let (read, unreadable) = messages::read(file);
            if unreadable > 0 {
                self.leave_out("messages that are not in a form that Slack documents", unreadable);
            }
            messages.extend(read.into_iter().map(|(at, message)| (at, room, message)));
        }
        messages.sort_by_key(|(at, room, _)| (*at, *room));
        Ok(messages)
    }

    fn members(&mut self) -> Result<()> {
        for room in std::mem::take(&mut self.rooms) {
            room.members().try_for_each(|member| self.push(Record::ChannelMember(member)))?;
        }
        Ok(())
    }
}

fn is_list(path: &str) -> bool {
    ["users.json", "org_users.json"].contains(&path) || LISTS.iter().any(|(list, _)| *list == path)
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
        owner,
        created_at: began,
        updated_at: began,
    }
}
