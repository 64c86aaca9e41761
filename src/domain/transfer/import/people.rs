//! People, the organisation, its roles and its members.

use rusqlite::OptionalExtension;
use uuid::Uuid;

use super::{Import, PEOPLE_MAX, foreign, identifiers::Identifiers};
use crate::{
    db::{Tx, log_reader},
    domain::{
        accounts::{self, PersonName},
        faces,
        organisations::{Description, Detail, Name, bots, roles, slugs},
        rights::{BuiltInRole, MemberStatus},
        text,
        transfer::{
            notifications,
            records::{Base64, Member, Organisation, Person, Role},
        },
    },
    error::{Error, Result},
    event::Effect,
    id::{OrganisationId, UserId},
};

impl Import {
    /// Finds the account with the person's or the bot's address, or makes one without a password.
    pub(super) fn person(&mut self, tx: &mut Tx, person: &Person) -> Result<bool> {
        if self.people.len() == PEOPLE_MAX && !self.people.contains_key(&person.id) {
            return Err(Error::failed(format!("the file has more than {PEOPLE_MAX} people")));
        }
        let email = text::normalised_address(&person.email)
            .ok_or_else(|| Error::failed(format!("{:?} is not an e-mail address", person.email)))?;
        let is_bot = email.ends_with(accounts::BOT);
        if person.bot.is_some() && !is_bot {
            return Err(Error::failed(format!("{email:?} is not the address of a bot")));
        }
        let found: Option<UserId> = tx
            .prepare_cached("select id from users where email = ?1 and is_bot = ?2")?
            .query_row((&email, is_bot), |row| row.get(0))
            .optional()?;
        if let Some(found) = found {
            self.know(person, found);
            return Ok(false);
        }
        let id = if accounts::find(tx, person.id)?.is_some() { UserId::new() } else { person.id };
        let username = match accounts::check_imported_username(&person.username) {
            Ok(name) if !tx.prepare_cached("select 1 from users where username = ?1")?.exists([&name])? => name,
            _ => accounts::free_username(tx, &email)?,
        };
        let avatar_url = picture(tx, id.0, person.face.as_ref(), &person.avatar_url)?;
        tx.prepare_cached(
            "insert into users (id, email, username, first_name, last_name, avatar_url, is_active, created_at, updated_at, is_bot, is_verified)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?9)",
        )?
        .execute((
            id,
            &email,
            username,
            PersonName::check(&person.first_name, "first_name").map_err(Error::BadRequest)?,
            PersonName::check(&person.last_name, "last_name").map_err(Error::BadRequest)?,
            avatar_url,
            person.is_active && !email.ends_with(accounts::ERASED),
            person.created_at,
            is_bot,
        ))?;
        tx.then(Effect::AccountChanged(id));
        self.know(person, id);
        Ok(true)
    }

    /// Notes the account of a person or a bot.
    fn know(&mut self, person: &Person, account: UserId) {
        self.people.insert(person.id, account);
        if let Some(bot) = &person.bot {
            self.bots.insert(account, bot.clone());
        }
    }

    /// Makes a member's account one of the organisation's bots, if it is a bot's. A bot is one organisation's for ever.
    fn bot(&self, tx: &Tx, id: OrganisationId, user: UserId) -> Result<()> {
        let Some(bot) = self.bots.get(&user) else { return Ok(()) };
        let description = bots::Description::check(&bot.description, "description").map_err(Error::BadRequest)?;
        tx.prepare_cached(
            "insert or ignore into bots (user_id, organisation_id, owner_id, description) values (?1, ?2, ?3, ?4)",
        )?
        .execute((user, id, self.account(bot.owner)?, description))?;
        let is_here = tx.prepare_cached("select 1 from bots where user_id = ?1 and organisation_id = ?2")?.exists((user, id))?;
        if is_here { Ok(()) } else { Err(foreign("bot", user)) }
    }

    pub(super) fn organisation(&mut self, tx: &mut Tx, organisation: &Organisation) -> Result<bool> {
        if self.organisation.is_some() {
            return Err(Error::failed("the file has several organisations"));
        }
        self.taken = Identifiers::for_exported_organisation(organisation.id);
        let id = OrganisationId(self.taken.here(tx, organisation.id.0)?);
        if self.into.is_some_and(|into| into != id) {
            return Err(Error::failed(format!("the file has the organisation {id}, not the one that --organisation names")));
        }
        let found: Option<bool> = tx
            .prepare_cached("select deleted_at is not null from organisations where id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        self.organisation = Some(id);
        match found {
            Some(true) => Err(Error::failed("this server has had the organisation, and it was deleted here")),
            Some(false) if self.into == Some(id) || self.is_from_here(tx, id)? => Ok(false),
            Some(false) => Err(Error::failed(format!(
                "the organisation {id} is on this server, and did not come from this file: to add what the file has more, name it with --organisation"
            ))),
            None => {
                let id = OrganisationId(self.taken.unused(tx, organisation.id.0)?);
                self.organisation = Some(id);
                self.insert_organisation(tx, id, organisation)?;
                tx.prepare_cached("insert or replace into meta (key, value) values (?1, ?2)")?
                    .execute((imported(id), &self.source))?;
                Ok(true)
            }
        }
    }

    /// Whether the organisation was imported from the same file.
    fn is_from_here(&self, tx: &Tx, id: OrganisationId) -> Result<bool> {
        Ok(tx.prepare_cached("select 1 from meta where key = ?1 and value = ?2")?.exists((imported(id), &self.source))?)
    }

    fn insert_organisation(&self, tx: &mut Tx, id: OrganisationId, organisation: &Organisation) -> Result<()> {
        let name = Name::check(&organisation.name, "name").map_err(Error::BadRequest)?;
        Description::check(&organisation.description, "description").map_err(Error::BadRequest)?;
        for (detail, field) in
            [(&organisation.industry, "industry"), (&organisation.location, "location"), (&organisation.country, "country")]
        {
            Detail::check(detail, field).map_err(Error::BadRequest)?;
        }
        let email = text::normalised_address(&organisation.email).unwrap_or_default();
        let logo_url = picture(tx, id.0, organisation.logo.as_ref(), &organisation.logo_url)?;
        tx.prepare_cached(
            "insert into organisations
               (id, name, slug, description, email, industry, location, country, logo_url, owner_id, created_at, updated_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(rusqlite::params![
            id,
            name,
            slugs::make(tx, name)?,
            organisation.description,
            email,
            organisation.industry,
            organisation.location,
            organisation.country,
            logo_url,
            self.account(organisation.owner)?,
            organisation.created_at,
            organisation.updated_at
        ])?;
        Ok(())
    }

    pub(super) fn role(&mut self, tx: &mut Tx, role: &Role) -> Result<bool> {
        let id = self.id()?;
        let found: Option<Option<OrganisationId>> = tx
            .prepare_cached("select organisation_id from roles where uuid = ?1")?
            .query_row([role.id], |row| row.get(0))
            .optional()?;
        match found {
            Some(of) if of == Some(id) => return Ok(false),
            Some(_) => return Err(foreign("role", role.id)),
            None => {}
        }
        let name = roles::Name::check(&role.name, "name").map_err(Error::BadRequest)?;
        let free = self.free_role(tx, id, name)?;
        let description = roles::Description::check(&role.description, "description").map_err(Error::BadRequest)?;
        tx.prepare_cached(
            "insert into roles (uuid, organisation_id, name, description, rights, created_at, updated_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((role.id, id, free, description, role.rights & 255, role.created_at, role.updated_at))?;
        Ok(true)
    }

    /// The role's name, or that with a number if it names a built-in role or another one of the organisation.
    fn free_role(&mut self, tx: &Tx, id: OrganisationId, name: &str) -> Result<String> {
        let mut taken = tx.prepare_cached(
            "select 1 from roles where organisation_id is ?1 and deleted_at is null and name = ?2 collate nocase",
        )?;
        let free = accounts::first_free(name, |name| Ok(roles::check_name(name).is_err() || taken.exists((id, name))?))?;
        if free != name {
            self.leave_out(format!("the name of the role {name}, which another one has: it is {free}"), 1);
        }
        Ok(free)
    }

    /// A role that was deleted here meanwhile counts as `member`.
    pub(super) fn member(&mut self, tx: &mut Tx, member: &Member) -> Result<bool> {
        let (id, user) = (self.id()?, self.account(member.person)?);
        let role: Option<i64> = tx
            .prepare_cached(
                "select iif(deleted_at is null, id, ?3) from roles where uuid = ?1 and (organisation_id is null or organisation_id = ?2)",
            )?
            .query_row((member.role, id, BuiltInRole::Member as i64), |row| row.get(0))
            .optional()?;
        let role = role.ok_or_else(|| Error::failed(format!("the file does not describe the role {}", member.role)))?;
        let inserted = tx
            .prepare_cached(
                "insert into organisation_members (organisation_id, user_id, role_id, status, joined_seq, created_at, updated_at)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict (organisation_id, user_id) do nothing",
            )?
            .execute((id, user, role, &member.status, log_reader::last_seq(tx)?, member.created_at, member.updated_at))?;
        self.bot(tx, id, user)?;
        if inserted > 0 {
            accounts::searchable_names::write(tx, &accounts::get(tx, user)?)?;
            notifications::keep_in_organisation(tx, id, user, &member.notifications)?;
        }
        if inserted > 0 && member.status != MemberStatus::Deactivated.as_str() {
            tx.prepare_cached("update users set current_org = ?2 where id = ?1 and current_org is null")?.execute((user, id))?;
            tx.then(Effect::AccountChanged(user));
        }
        Ok(inserted > 0)
    }
}

/// The address of a picture: of the one that comes with a record, or else of one elsewhere.
fn picture(tx: &mut Tx, owner: Uuid, kept: Option<&[Base64; 2]>, elsewhere: &str) -> Result<String> {
    match kept {
        Some(face) => faces::keep(tx, owner, Some(&face.clone().map(|Base64(bytes)| bytes))),
        None => Ok(text::web_address_if_any(elsewhere, "avatar_url").unwrap_or_default().to_owned()),
    }
}

/// The key in `meta` of the file that an organisation was imported from.
fn imported(organisation: OrganisationId) -> String {
    format!("imported {organisation}")
}
