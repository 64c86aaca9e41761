//! The people of an export, as records of people and members.

use std::collections::HashMap;

use super::{
    format::{User, cut_to_one_line},
    ids,
    import_memory_budget::MemoryBudget,
};
use crate::{
    domain::{
        accounts::{self, ERASED, PersonName, Username},
        rights::{BuiltInRole, MemberStatus},
        text::{self, Ruled},
        transfer::records::{Member, Person},
    },
    error::Result,
    id::{OrganisationId, UserId},
    time::Time,
};

/// Bytes that somebody takes besides the identifier in Slack: here, and among the accounts of the import.
const PERSON: usize = 300;

/// A person of the export.
pub struct ImportedPerson {
    pub id: UserId,
    /// The name in channels.
    pub name: String,
    /// Whether they are in the organisation, and not deactivated.
    pub is_member: bool,
    pub is_bot: bool,
}

pub struct People {
    organisation: OrganisationId,
    /// When all accounts are said to have begun: Slack doesn't tell.
    pub began: Time,
    all: Vec<ImportedPerson>,
    /// Indices of people by their identifiers in Slack.
    known: HashMap<String, u32>,
    pub held: MemoryBudget,
}

impl People {
    pub fn new(organisation: OrganisationId, began: Time) -> People {
        People { organisation, began, all: Vec::new(), known: HashMap::new(), held: MemoryBudget::new() }
    }

    pub fn get(&self, user: &str) -> Option<&ImportedPerson> {
        self.known.get(user).map(|index| self.by_index(*index))
    }

    /// A person whom [`Self::members_among`] has returned.
    pub fn by_index(&self, index: u32) -> &ImportedPerson {
        &self.all[index as usize]
    }

    /// The indices of those of these users who are members.
    pub fn members_among<'a>(&'a self, users: &'a [String]) -> impl Iterator<Item = u32> {
        users.iter().filter_map(|user| self.known.get(user).copied()).filter(|index| self.by_index(*index).is_member)
    }

    /// Holds somebody, or what the list says of them anew.
    fn hold(&mut self, user: &str, person: ImportedPerson) -> Result<()> {
        if let Some(index) = self.known.get(user) {
            self.all[*index as usize] = person;
            return Ok(());
        }
        self.held.reserve(PERSON + user.len())?;
        self.known.insert(user.to_owned(), self.all.len() as u32);
        self.all.push(person);
        Ok(())
    }

    /// The records of a user. One without an address gets an account that nobody can use, and is no member.
    pub fn add(&mut self, user: &User) -> Result<(Person, Option<Member>)> {
        let email = address(user);
        let profile = &user.profile;
        let full = [&profile.real_name, &user.real_name].into_iter().flatten().find(|name| !name.trim().is_empty());
        let (first, last) = match (&profile.first_name, &profile.last_name) {
            (Some(first), last) if !first.trim().is_empty() => (first.as_str(), last.as_deref().unwrap_or_default()),
            _ => full.map_or("", String::as_str).split_once(' ').unwrap_or((full.map_or("", String::as_str), "")),
        };
        let mut person = self.person(&user.id, email.as_deref(), &user.name);
        (person.first_name, person.last_name) =
            (cut_to_one_line(first, PersonName::RULE.max), cut_to_one_line(last, PersonName::RULE.max));
        let imported = ImportedPerson {
            id: person.id,
            name: person.username.clone(),
            is_member: email.is_some() && !user.deleted,
            is_bot: user.is_bot,
        };
        let role = match user {
            User { is_restricted: true, .. } | User { is_ultra_restricted: true, .. } => BuiltInRole::Guest,
            User { is_primary_owner: true, .. } | User { is_owner: true, .. } | User { is_admin: true, .. } => BuiltInRole::Admin,
            _ => BuiltInRole::Member,
        };
        let status = if user.deleted { MemberStatus::Deactivated } else { MemberStatus::Active };
        let member = email.is_some().then(|| self.member(person.id, role, status));
        self.hold(&user.id, imported)?;
        Ok((person, member))
    }

    /// The record of an owner who is not in the export.
    pub fn owner_not_in_export(&self, email: &str) -> Person {
        self.person(&format!("owner {email}"), Some(email), "")
    }

    /// The membership of the owner.
    pub fn owner_membership(&self, owner: UserId) -> Member {
        self.member(owner, BuiltInRole::Admin, MemberStatus::Active)
    }

    /// The record of somebody whom the list of people doesn't have, with the name that is known.
    pub fn unknown(&mut self, user: &str, name: &str) -> Result<Person> {
        let person = self.person(user, None, name);
        let imported = ImportedPerson { id: person.id, name: person.username.clone(), is_member: false, is_bot: false };
        self.hold(user, imported)?;
        Ok(person)
    }

    fn person(&self, user: &str, email: Option<&str>, name: &str) -> Person {
        let id = ids::of(self.organisation, "user", user, self.began);
        Person {
            id: UserId(id),
            email: email.map_or_else(|| format!("{id}{ERASED}"), str::to_owned),
            username: username(name),
            first_name: String::new(),
            last_name: String::new(),
            avatar_url: String::new(),
            face: None,
            is_active: email.is_some(),
            created_at: self.began,
            bot: None,
        }
    }

    fn member(&self, person: UserId, role: BuiltInRole, status: MemberStatus) -> Member {
        let status = status.as_str().to_owned();
        let notifications = Vec::new();
        Member { person, role: role.uuid(), status, notifications, created_at: self.began, updated_at: self.began }
    }
}

/// A user's address; none for a bot.
pub fn address(user: &User) -> Option<String> {
    user.profile.email.as_deref().filter(|_| !user.is_bot).and_then(text::normalised_address)
}

/// A name as accounts and channels have it.
fn username(name: &str) -> String {
    let kept: String =
        name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')).take(Username::RULE.max - 1).collect();
    let kept = if kept.is_empty() { "user".to_owned() } else { kept };
    accounts::check_username(&kept).unwrap_or_else(|_| format!("_{kept}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_reserved_gets_one_that_is_not() {
        for (name, kept) in [("ada", "ada"), ("Channel", "_Channel"), ("deleted-ada", "_deleted-ada"), ("\u{e9}", "user")] {
            assert_eq!(username(name), kept);
            accounts::check_username(&username(name)).unwrap();
        }
        assert_eq!(username(&"deleted-".repeat(9)).len(), Username::RULE.max);
    }
}
