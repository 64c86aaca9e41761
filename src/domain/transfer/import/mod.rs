//! Writes an organisation's records. A record that is there already stays as it is, so an import that was interrupted is
//! repeated from its beginning, and a second one changes nothing.
//!
//! The records come from outside: each is checked against the organisation, so that none can reach into another one.

mod messages;

use std::collections::HashMap;

use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};

use super::records::{Channel, ChannelMember, Member, Organisation, Person, Role, Webhook};
use crate::{
    db::{Tx, log},
    domain::{accounts, channels::record, organisations::slugs, text, webhooks},
    error::{Error, OrConflict, Result},
    event::Effect,
    id::{ChannelId, OrganisationId, UserId},
    secret,
};

/// What an import has done with the records of a part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    pub part: String,
    pub written: u64,
    /// Those that were there already.
    pub found: u64,
}

/// An import under way.
#[derive(Default)]
pub struct Import {
    organisation: Option<OrganisationId>,
    /// Accounts on this server by their identifiers on the exporting one.
    people: HashMap<UserId, UserId>,
    outcomes: Vec<Outcome>,
    /// What could not be imported as it was, for people to read.
    remarks: Vec<String>,
}

impl Import {
    /// Imports a line of a part. 400 for a line that can't be read, or that refers to what is not the organisation's.
    pub fn line(&mut self, tx: &mut Tx, part: &str, line: &str) -> Result<()> {
        let is_new = match part {
            "people.jsonl" => self.person(tx, read(part, line)?)?,
            "organisation.jsonl" => self.organisation(tx, read(part, line)?)?,
            "roles.jsonl" => self.role(tx, read(part, line)?)?,
            "members.jsonl" => self.member(tx, read(part, line)?)?,
            "channels.jsonl" => self.channel(tx, read(part, line)?)?,
            "messages.jsonl" => self.message(tx, read(part, line)?)?,
            "channel_members.jsonl" => self.channel_member(tx, read(part, line)?)?,
            "webhooks.jsonl" => self.webhook(tx, read(part, line)?)?,
            _ => return Err(Error::bad_request(format!("{part} is no part of an export"))),
        };
        if self.outcomes.last().is_none_or(|last| last.part != part) {
            self.outcomes.push(Outcome { part: part.to_owned(), ..Outcome::default() });
        }
        let outcome = self.outcomes.last_mut().ok_or_else(|| Error::internal("it was just pushed"))?;
        *(if is_new { &mut outcome.written } else { &mut outcome.found }) += 1;
        Ok(())
    }

    /// What was done, and what could not be imported as it was.
    pub fn report(&self) -> Vec<Outcome> {
        let remarks = self.remarks.iter().map(|remark| Outcome { part: remark.clone(), ..Outcome::default() });
        self.outcomes.iter().cloned().chain(remarks).collect()
    }

    fn id(&self) -> Result<OrganisationId> {
        self.organisation.ok_or_else(|| Error::bad_request("the export has no organisation"))
    }

    /// The account of an exported person.
    fn account(&self, person: UserId) -> Result<UserId> {
        self.people
            .get(&person)
            .copied()
            .ok_or_else(|| Error::bad_request(format!("the export does not describe the person {person}")))
    }

    /// Finds the account with the person's address, or makes one without a password.
    fn person(&mut self, tx: &mut Tx, person: Person) -> Result<bool> {
        let email = text::email_address(&person.email).filter(|email| *email == person.email);
        let email = email.ok_or_else(|| Error::bad_request(format!("{} is not an e-mail address", person.email)))?;
        if let Some(found) = accounts::find_by_email(tx, &email)? {
            self.people.insert(person.id, found.id);
            return Ok(false);
        }
        let id = if accounts::find(tx, person.id)?.is_some() { UserId::new() } else { person.id };
        let username = accounts::check_username(&person.username).ok();
        let is_free =
            |name: &String| Ok::<_, Error>(!tx.prepare_cached("select 1 from users where username = ?1")?.exists([name])?);
        let username = match username {
            Some(name) if is_free(&name)? => name,
            _ => accounts::free_username(tx, &email)?,
        };
        let line =
            |text: &str, field: &str| accounts::PersonName::check(text, field).map(str::to_owned).map_err(Error::BadRequest);
        tx.prepare_cached(
            "insert into users (id, email, username, first_name, last_name, avatar_url, is_active, created_at, updated_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
        )?
        .execute((
            id,
            &email,
            username,
            line(&person.first_name, "first_name")?,
            line(&person.last_name, "last_name")?,
            text::web_address_if_any(&person.avatar_url, "avatar_url").unwrap_or_default(),
            !email.ends_with(accounts::ERASED),
            person.created_at,
        ))?;
        tx.then(Effect::AccountChanged(id));
        self.people.insert(person.id, id);
        Ok(true)
    }

    fn organisation(&mut self, tx: &mut Tx, organisation: Organisation) -> Result<bool> {
        let id = organisation.id;
        if self.organisation.replace(id).is_some() {
            return Err(Error::bad_request("the export has several organisations"));
        }
        let found: Option<bool> = tx
            .prepare_cached("select deleted_at is not null from organisations where id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        match found {
            Some(true) => return Err(Error::bad_request("this server has had the organisation, and it was deleted here")),
            Some(false) => return Ok(false),
            None => {}
        }
        let owner = self.account(organisation.owner)?;
        tx.prepare_cached(
            "insert into organisations
               (id, name, slug, description, email, industry, location, country, logo_url, owner_id, created_at, updated_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute(rusqlite::params![
            id,
            organisation.name,
            slugs::make(tx, &organisation.name)?,
            organisation.description,
            organisation.email,
            organisation.industry,
            organisation.location,
            organisation.country,
            organisation.logo_url,
            owner,
            organisation.created_at,
            organisation.updated_at
        ])?;
        Ok(true)
    }

    fn role(&mut self, tx: &mut Tx, role: Role) -> Result<bool> {
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
        tx.prepare_cached(
            "insert into roles (uuid, organisation_id, name, description, rights, created_at, updated_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute((role.id, id, &role.name, &role.description, role.rights & 255, role.created_at, role.updated_at))
        .or_conflict(|| Error::bad_request(format!("the organisation has another role {}", role.name)))?;
        Ok(true)
    }

    fn member(&mut self, tx: &mut Tx, member: Member) -> Result<bool> {
        let (id, user) = (self.id()?, self.account(member.person)?);
        let role: Option<i64> = tx
            .prepare_cached("select id from roles where uuid = ?1 and (organisation_id is null or organisation_id = ?2)")?
            .query_row((member.role, id), |row| row.get(0))
            .optional()?;
        let role = role.ok_or_else(|| Error::bad_request(format!("the export does not describe the role {}", member.role)))?;
        let inserted = tx
            .prepare_cached(
                "insert into organisation_members (organisation_id, user_id, role_id, status, joined_seq, created_at, updated_at)
                 values (?1, ?2, ?3, ?4, ?5, ?6, ?7) on conflict (organisation_id, user_id) do nothing",
            )?
            .execute((id, user, role, member.status, log::last_seq(tx)?, member.created_at, member.updated_at))?;
        tx.prepare_cached("update users set current_org = ?2 where id = ?1 and current_org is null")?.execute((user, id))?;
        tx.then(Effect::AccountChanged(user));
        Ok(inserted > 0)
    }

    fn channel(&mut self, tx: &mut Tx, channel: Channel) -> Result<bool> {
        let id = self.id()?;
        if let Some(of) = organisation_of(tx, channel.id)? {
            return if of == id { Ok(false) } else { Err(foreign("channel", channel.id)) };
        }
        tx.prepare_cached(
            "insert into channels (id, organisation_id, name, description, topic, is_private, is_default, is_dm, owner_id, created_by,
               created_at, updated_at, archived_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(rusqlite::params![
            channel.id,
            id,
            channel.name,
            channel.description,
            channel.topic,
            channel.is_private,
            channel.is_default,
            channel.is_dm,
            self.account(channel.owner)?,
            self.account(channel.created_by)?,
            channel.created_at,
            channel.updated_at,
            channel.archived_at
        ])
        .or_conflict(|| Error::bad_request(format!("the organisation has another channel {}", channel.name)))?;
        if channel.archived_at.is_none() && !channel.is_dm {
            record::count(tx, id, 1)?;
        }
        Ok(true)
    }

    fn channel_member(&mut self, tx: &mut Tx, member: ChannelMember) -> Result<bool> {
        self.require_own(tx, member.channel)?;
        let user = self.account(member.person)?;
        if tx
            .prepare_cached("select 1 from channel_members where channel_id = ?1 and user_id = ?2")?
            .exists((member.channel, user))?
        {
            return Ok(false);
        }
        let mut taken = tx.prepare_cached("select 1 from channel_members where channel_id = ?1 and username = ?2")?;
        let username = accounts::check_username(&member.username).map_err(Error::BadRequest)?;
        let username = accounts::first_free(&username, |name| Ok(taken.exists((member.channel, name))?))?;
        // What comes after the mark is counted, as it is less than what comes before.
        tx.prepare_cached(
            "with mark as (select coalesce((select n from messages where id = ?3 and channel_id = ?1), 0) as n)
             insert into channel_members (channel_id, user_id, username, joined_seq, read_n, read_thread_count, read_mention_count,
               is_starred, created_at)
             select c.id, ?2, ?4, ?5, mark.n,
               c.thread_count - (select count(*) from messages m
                 where m.channel_id = c.id and m.root is null and m.deleted_at is null and m.n > mark.n),
               c.mention_count - (select count(*) from channel_mentions x where x.channel_id = c.id and x.n > mark.n), ?6, ?7
             from channels c, mark where c.id = ?1",
        )?
        .execute((member.channel, user, member.read, username, log::last_seq(tx)?, member.is_starred, member.created_at))?;
        tx.prepare_cached("update channels set user_count = user_count + 1 where id = ?1")?.execute([member.channel])?;
        Ok(true)
    }

    /// It is inactive until its owner gives it a secret that the receiver knows.
    fn webhook(&mut self, tx: &mut Tx, webhook: Webhook) -> Result<bool> {
        self.require_own(tx, webhook.channel)?;
        let found: Option<ChannelId> = tx
            .prepare_cached("select channel_id from webhooks where id = ?1")?
            .query_row([webhook.id], |row| row.get(0))
            .optional()?;
        if let Some(of) = found {
            return if of == webhook.channel { Ok(false) } else { Err(foreign("webhook", webhook.id)) };
        }
        let owner = self.account(webhook.owner)?;
        let (url, target) = match webhooks::check_url(tx.site(), &webhook.url) {
            Ok(checked) => checked,
            Err(err) => {
                self.remarks.push(format!("the webhook {} has no address here: {err}", webhook.name));
                Default::default()
            }
        };
        let keys = &tx.site().keys;
        tx.prepare_cached(
            "insert into webhooks (id, channel_id, owner_id, name, event_name, url, url_by, target, slug_hash, secret, status, from_seq,
               created_at, updated_at)
             values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'inactive', ?11, ?12, ?13)",
        )?
        .execute(rusqlite::params![
            webhook.id,
            webhook.channel,
            owner,
            webhook.name,
            webhook.event_name,
            url,
            (!url.is_empty()).then_some(owner),
            target,
            secret::sha256(&keys.webhook_slug(webhook.id, 1)),
            keys.seal(&secret::signing_secret()),
            log::last_seq(tx)?,
            webhook.created_at,
            webhook.updated_at
        ])?;
        Ok(true)
    }

    fn require_own(&self, tx: &Tx, channel: ChannelId) -> Result<()> {
        if organisation_of(tx, channel)? == Some(self.id()?) { Ok(()) } else { Err(foreign("channel", channel)) }
    }
}

fn organisation_of(tx: &Tx, channel: ChannelId) -> Result<Option<OrganisationId>> {
    Ok(tx
        .prepare_cached("select organisation_id from channels where id = ?1")?
        .query_row([channel], |row| row.get(0))
        .optional()?)
}

fn read<'a, T: Deserialize<'a>>(part: &str, line: &'a str) -> Result<T> {
    serde_json::from_str(line).map_err(|err| Error::bad_request(format!("{part}: {err}")))
}

fn foreign(what: &str, id: impl std::fmt::Display) -> Error {
    Error::bad_request(format!("the {what} {id} is not the organisation's on this server"))
}
