//! Commands: programs that members call by a slash and a name, as in `/deploy production`. Managing them needs `manage:webhooks`.
//! Whoever made or last changed a command answers for it: it works while they hold that right. Above webhooks and messages.
//!
//! Below: calling a command, clicking on an action of a message, the programs that get both, and what they answer.

pub mod answers;
pub mod calling;
pub mod clicking;
mod programs;

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::{Columns, Tx, text_enum},
    domain::{
        access::{self, Caller, OUTSIDER},
        messages::action_buttons::{self, Program},
        page::Page,
        program_urls,
        rights::Rights,
        text::{self, Rule},
    },
    error::{Code, Error, OrConflict, Result},
    id::{CommandId, OrganisationId, UserId},
    secret,
    time::Time,
};

/// At most 100 commands of an organisation: clients show them all.
pub const MOST: u32 = 100;

text::rules! {
    /// A name without its slash.
    pub Name: Rule::username(32);
    pub Description: Rule::line(200);
    /// What follows the name, as in `[environment]`.
    pub Hint: Rule::line(80);
    pub FormName: Rule::one_of(Form::NAMES);
    /// The address of a program.
    pub Address: Rule::web_address(2000).at_least(1);
}

/// Names that clients have commands for, or may have.
pub const BUILT_IN: [&str; 11] = ["archive", "dm", "help", "invite", "leave", "me", "mute", "remind", "shrug", "status", "topic"];

text_enum! {
    /// The form of a call's body.
    pub enum Form {
        /// This server's own.
        Json = "json",
        /// The form fields of Slack, for programs that were written for it.
        Slack = "slack",
    }
}

/// A command, as the members of its organisation see it.
pub struct Command {
    pub id: CommandId,
    pub organisation: OrganisationId,
    /// Who answers for it.
    pub owner: UserId,
    pub name: String,
    pub description: String,
    pub hint: String,
    /// The address of its program; none for those who don't manage commands.
    pub url: Option<String>,
    pub form: Form,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A command to be made.
pub struct New {
    pub name: String,
    pub description: String,
    pub hint: String,
    pub url: String,
    pub form: Option<String>,
}

/// Makes a command, and returns it with the secret that signs its calls, which is never returned again. Needs
/// `manage:webhooks`. 403 for outsiders, 422 for a bad field, a name that is taken or a client's own, and beyond the most
/// commands of an organisation.
pub fn create(tx: &mut Tx, caller: Caller, organisation: OrganisationId, new: &New) -> Result<(Command, String)> {
    access::require_right(tx, caller, Rights::MANAGE_WEBHOOKS, organisation, OUTSIDER)?;
    let name = check_name(&new.name)?;
    let description = Description::check(&new.description, "description").map_err(Error::Invalid)?;
    let hint = Hint::check(&new.hint, "hint").map_err(Error::Invalid)?;
    let (url, target) = check_url(tx, &new.url)?;
    let form = check_form(new.form.as_deref())?.unwrap_or(Form::Json);
    let sql = "select count(*) from commands where organisation_id = ?1";
    let held: u32 = tx.prepare_cached(sql)?.query_row([organisation], |row| row.get(0))?;
    if held >= MOST {
        let says = format!("an organisation has at most {MOST} commands: delete one first");
        return Err(Error::Invalid(Code::LimitReached.says(says).with_limit(MOST)));
    }
    let (id, secret, now) = (CommandId::new(), secret::signing_secret(), tx.now());
    tx.prepare_cached(
        "insert into commands (id, organisation_id, owner_id, name, description, hint, url, target, form, secret, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11)",
    )?
    .execute((
        id,
        organisation,
        caller.user,
        &name,
        description,
        hint,
        url,
        target,
        form,
        tx.site().keys().seal(&secret),
        now,
    ))
    .or_conflict(|| taken(&name))?;
    Ok((get(tx, organisation, id)?, secret))
}

/// Lists the commands of an organisation, in the order of their names. For members; 403 for outsiders.
pub fn list(conn: &Connection, caller: Caller, organisation: OrganisationId, page: Page) -> Result<Vec<Command>> {
    let own = access::require_member(conn, caller, organisation, OUTSIDER)?;
    let sql = format!("{SELECT} where organisation_id = ?1 order by name limit ?2 offset ?3");
    let mut select = conn.prepare_cached(&sql)?;
    let mut commands: Vec<Command> =
        select.query_map((organisation, page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?;
    if !caller.sees_program_urls(own) {
        commands.iter_mut().for_each(|command| command.url = None);
    }
    Ok(commands)
}

/// Changes to a command. An absent field stays as it is.
#[derive(Default)]
pub struct Change {
    pub name: Option<String>,
    pub description: Option<String>,
    pub hint: Option<String>,
    pub url: Option<String>,
    pub form: Option<String>,
    /// Whether it gets a new secret. The former one signs no more.
    pub is_new_secret: bool,
}

/// Changes a command, and returns it with its secret if that is new. Needs `manage:webhooks`; the caller answers for it from
/// now on. 403 for outsiders, 404 for a command that is not the organisation's, 422 for a bad field and a name that is taken.
pub fn update(
    tx: &mut Tx,
    caller: Caller,
    organisation: OrganisationId,
    id: CommandId,
    change: &Change,
) -> Result<(Command, Option<String>)> {
    access::require_right(tx, caller, Rights::MANAGE_WEBHOOKS, organisation, OUTSIDER)?;
    get(tx, organisation, id)?;
    let name = change.name.as_deref().map(check_name).transpose()?;
    let line = |text: &Option<String>, check: fn(&str) -> Result<&str, _>| {
        text.as_deref().map(|text| check(text).map(str::to_owned)).transpose().map_err(Error::Invalid)
    };
    let description = line(&change.description, |text| Description::check(text, "description"))?;
    let hint = line(&change.hint, |text| Hint::check(text, "hint"))?;
    let (url, target) = change.url.as_deref().map(|url| check_url(tx, url)).transpose()?.unzip();
    let form = check_form(change.form.as_deref())?;
    let secret = change.is_new_secret.then(secret::signing_secret);
    let sealed = secret.as_ref().map(|secret| tx.site().keys().seal(secret));
    tx.prepare_cached(
        "update commands set owner_id = ?2, name = coalesce(?3, name), description = coalesce(?4, description),
           hint = coalesce(?5, hint), url = coalesce(?6, url), target = coalesce(?7, target), form = coalesce(?8, form),
           secret = coalesce(?9, secret), updated_at = ?10
         where id = ?1",
    )?
    .execute((id, caller.user, &name, description, hint, url, target, form, sealed, tx.now()))
    .or_conflict(|| taken(name.as_deref().unwrap_or_default()))?;
    if url.is_some() {
        action_buttons::end_calls(tx, Program::Command(id))?;
    }
    Ok((get(tx, organisation, id)?, secret))
}

/// Deletes a command. Calls under way can't be answered any more. Needs `manage:webhooks`. 403 for outsiders, 404 for a command
/// that is not the organisation's.
pub fn delete(tx: &mut Tx, caller: Caller, organisation: OrganisationId, id: CommandId) -> Result<()> {
    access::require_right(tx, caller, Rights::MANAGE_WEBHOOKS, organisation, OUTSIDER)?;
    let sql = "delete from commands where id = ?1 and organisation_id = ?2";
    if tx.prepare_cached(sql)?.execute((id, organisation))? == 0 { Err(UNKNOWN) } else { Ok(()) }
}

const UNKNOWN: Error = Error::NotFound(Code::CommandNotFound);

/// Checks a name, and returns it in lower case.
fn check_name(name: &str) -> Result<String> {
    let name = Name::check(name, "name").map_err(Error::Invalid)?.to_lowercase();
    if BUILT_IN.contains(&&*name) {
        return Err(Error::Invalid(Code::Reserved.says(format!("name {name} is reserved")).at("name")));
    }
    Ok(name)
}

fn taken(name: &str) -> Error {
    Error::Invalid(Code::NameTaken.says(format!("the organisation has a command {name} already")).at("name"))
}

/// Checks the address of a command's program as that of a webhook, and returns it with its host and port.
fn check_url<'a>(tx: &Tx, url: &'a str) -> Result<(&'a str, String)> {
    program_urls::check(tx.site(), Address::check(url, "url").map_err(Error::Invalid)?, "url")
}

fn check_form(form: Option<&str>) -> Result<Option<Form>> {
    let form = form.map(|form| FormName::check(form, "form")).transpose().map_err(Error::Invalid)?;
    Ok(form.and_then(Form::named))
}

/// Selects commands. [`from_row`] takes the columns in this order.
const SELECT: &str =
    "select id, organisation_id, owner_id, name, description, hint, url, form, created_at, updated_at from commands";

fn get(conn: &Connection, organisation: OrganisationId, id: CommandId) -> Result<Command> {
    let sql = format!("{SELECT} where id = ?1 and organisation_id = ?2");
    conn.prepare_cached(&sql)?.query_row((id, organisation), from_row).optional()?.ok_or(UNKNOWN)
}

fn from_row(row: &Row) -> rusqlite::Result<Command> {
    let mut columns = Columns::of_row(row);
    Ok(Command {
        id: columns.take()?,
        organisation: columns.take()?,
        owner: columns.take()?,
        name: columns.take()?,
        description: columns.take()?,
        hint: columns.take()?,
        url: columns.take()?,
        form: columns.take()?,
        created_at: columns.take()?,
        updated_at: columns.take()?,
    })
}
