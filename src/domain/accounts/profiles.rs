//! Profiles: what users say of themselves, and the settings that the server keeps for their clients.

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller},
        accounts::{self, PersonName, User, custom_status::CustomStatus, searchable_names},
        deferred_work::{self, Cursor, DeferredWork},
        faces::{self, Face},
        log::events,
        text::{self, Rule},
    },
    error::{Code, Error, OrConflict, Result},
    event::{Effect, Kind, Queue},
    id::{OrganisationId, UserId},
    time::Time,
};

text::rules! {
    pub Phone: Rule::line(30);
    /// A first name, a space and a last name, which have rules of their own.
    pub FullName: Rule::line(2 * <PersonName as text::Ruled>::RULE.max + 1);
}

/// Changes to a profile. An absent field stays as it is; an empty one is cleared, except the username.
#[derive(Default, PartialEq, Eq)]
pub struct Edit {
    pub username: Option<String>,
    /// Both names; `first_name` and `last_name` take precedence.
    pub full_name: Option<String>,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub phone: Option<String>,
    pub avatar_url: Option<String>,
}

impl Edit {
    /// Checks and trims the fields, but not a username that is the `present` one: it may be older than a rule. 400 for a bad
    /// username, as at registration; 422 for any other bad field.
    fn check(self, present: &str) -> Result<Edit> {
        let name = |value: Option<String>, field| -> Result<Option<String>> {
            value.map(|value| PersonName::check(&value, field).map(str::to_owned)).transpose().map_err(Error::Invalid)
        };
        let full = self.full_name.map(|name| FullName::check(&name, "full_name").map(split_full_name)).transpose();
        let (first, last) = full.map_err(Error::Invalid)?.unzip();
        let part = |given: Option<String>, of_full, field| match given {
            Some(given) => name(Some(given), field),
            None => name(of_full, "full_name"),
        };
        let phone = self.phone.map(|phone| Phone::check(&phone, "phone").map(str::to_owned)).transpose();
        let avatar_url = self.avatar_url.as_deref().map(|url| text::web_address_if_any(url, "avatar_url")).transpose();
        let username = self.username.filter(|name| name != present);
        let username = username.as_deref().map(accounts::check_username).transpose();
        Ok(Edit {
            username: username.map_err(Error::BadRequest)?,
            avatar_url: avatar_url.map_err(Error::Invalid)?.map(str::to_owned),
            full_name: None,
            first_name: part(self.first_name, first, "first_name")?,
            last_name: part(self.last_name, last, "last_name")?,
            phone: phone.map_err(Error::Invalid)?,
        })
    }
}

/// The first and the last name of a full one: the first word, and the others.
fn split_full_name(name: &str) -> (String, String) {
    let (first, last) = name.trim().split_once(char::is_whitespace).unwrap_or((name.trim(), ""));
    (first.to_owned(), last.trim_start().to_owned())
}

/// Changes the caller's profile. If a name, the phone or the picture changes, the jobs tell the user's organisations. The
/// names that the user has in channels stay. 400 for a bad username, 422 for a taken one and for any other bad field.
pub fn update(tx: &mut Tx, caller: Caller, edit: Edit) -> Result<User> {
    let own = accounts::own(tx, caller)?;
    change(tx, own, edit)
}

/// Gives the caller a face, or none, and tells the caller's organisations as [`update`] does.
pub fn set_face(tx: &mut Tx, caller: Caller, face: Option<&Face>) -> Result<()> {
    let own = accounts::own(tx, caller)?;
    change_face(tx, own, face)
}

/// [`set_face`] of an account that the caller may change.
pub(in crate::domain) fn change_face(tx: &mut Tx, before: User, face: Option<&Face>) -> Result<()> {
    let avatar_url = Some(faces::keep(tx, before.id.0, face)?);
    change(tx, before, Edit { avatar_url, ..Edit::default() }).map(drop)
}

/// [`update`] of an account that the caller may change.
pub(in crate::domain) fn change(tx: &mut Tx, before: User, edit: Edit) -> Result<User> {
    let edit = edit.check(&before.username)?;
    if edit == Edit::default() {
        return Ok(before);
    }
    tx.prepare_cached(
        "update users set username = coalesce(?2, username), first_name = coalesce(?3, first_name),
           last_name = coalesce(?4, last_name), phone = coalesce(?5, phone), avatar_url = coalesce(?6, avatar_url),
           updated_at = ?7
         where id = ?1",
    )?
    .execute((before.id, edit.username, edit.first_name, edit.last_name, edit.phone, edit.avatar_url, tx.now()))
    .or_conflict(|| Error::Invalid(Code::UsernameTaken.says("username already exists").at("username")))?;
    let user = accounts::get(tx, before.id)?;
    if user.avatar_url != before.avatar_url {
        faces::remove_unless_shown(tx, user.id.0, &user.avatar_url)?;
    }
    let shown = |user: &User| (user.username.clone(), user.full_name(), user.phone.clone(), user.avatar_url.clone());
    searchable_names::write(tx, &user)?;
    // Each announcement costs a row of the event log per organisation.
    if shown(&user) != shown(&before) {
        announce(tx, user.id)?;
    }
    Ok(user)
}

/// Defers work ([`deferred_work`]) that tells all organisations of the user what the user shows. The jobs do it in slices, and
/// each slice tells the state at its time.
pub(in crate::domain) fn announce(tx: &mut Tx, user: UserId) -> Result<()> {
    tx.then(Effect::ProfileChanged);
    emit_own(tx, user)?;
    deferred_work::defer(tx, DeferredWork::Profile { user }, Some(Cursor::new()))
}

/// Sets the caller's status, or takes it away without an emoji and a text, and tells the caller's organisations as [`update`] does.
/// 422 for a bad field and an end that has passed.
pub fn set_status(tx: &mut Tx, caller: Caller, emoji: Option<&str>, text: Option<&str>, until: Option<Time>) -> Result<()> {
    let status = CustomStatus::check(emoji, text, until, tx.now()).map_err(Error::Invalid)?;
    if accounts::own(tx, caller)?.custom_status == status { Ok(()) } else { write_status(tx, caller.user, status) }
}

fn write_status(tx: &mut Tx, user: UserId, status: Option<CustomStatus>) -> Result<()> {
    let (emoji, text, until) = status.map(|status| (status.emoji, status.text, status.until)).unwrap_or_default();
    tx.prepare_cached("update users set status_emoji = ?2, status_text = ?3, status_until = ?4, updated_at = ?5 where id = ?1")?
        .execute((user, emoji, text, until, tx.now()))?;
    if until.is_some() {
        tx.then(Effect::Queued(Queue::Timers));
    }
    announce(tx, user)
}

/// Takes away statuses that have ended, at most `most` of them. Returns their number.
pub fn end_due_statuses(tx: &mut Tx, most: u32) -> Result<usize> {
    let ended: Vec<UserId> = tx
        .prepare_cached("select id from users where status_until <= ?1 order by status_until limit ?2")?
        .query_map((tx.now(), most), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    ended.iter().try_for_each(|user| write_status(tx, *user, None))?;
    Ok(ended.len())
}

/// When the next status ends.
pub fn next_status_end(conn: &Connection) -> Result<Option<Time>> {
    Ok(conn
        .prepare_cached("select min(status_until) from users where status_until is not null")?
        .query_row([], |row| row.get(0))?)
}

/// Sets the organisation that the caller's clients open with. 404 if the caller is not a member of it.
pub fn switch_organisation(tx: &mut Tx, caller: Caller, organisation: OrganisationId) -> Result<User> {
    access::require_member(tx, caller, organisation, access::UNKNOWN_ORGANISATION)?;
    set_current_organisation(tx, caller.user, organisation)?;
    accounts::own(tx, caller)
}

/// Sets the organisation that the account's clients open with: the one made, joined or chosen last.
pub fn set_current_organisation(tx: &mut Tx, user: UserId, organisation: OrganisationId) -> Result<()> {
    let sql = "update users set current_org = ?2 where id = ?1 and current_org is not ?2";
    if tx.prepare_cached(sql)?.execute((user, organisation))? > 0 {
        emit_own(tx, user)?;
    }
    Ok(())
}

/// Clears the account's current organisation if it is this one, which the account has lost.
pub fn leave_current_organisation(tx: &mut Tx, user: UserId, organisation: OrganisationId) -> Result<()> {
    let sql = "update users set current_org = null where id = ?1 and current_org = ?2";
    if tx.prepare_cached(sql)?.execute((user, organisation))? > 0 {
        emit_own(tx, user)?;
    }
    Ok(())
}

/// Records whether the user has seen the introduction.
pub fn set_onboarded(tx: &mut Tx, caller: Caller, is_onboarded: bool) -> Result<()> {
    tx.prepare_cached("update users set is_onboarded = ?2, updated_at = ?3 where id = ?1")?.execute((
        caller.user,
        is_onboarded,
        tx.now(),
    ))?;
    emit_own(tx, caller.user)
}

/// An account after a change, as its owner sees it.
#[derive(Serialize, JsonSchema)]
pub struct ProfileUpdate<'a> {
    /// The account.
    pub user_id: UserId,
    /// Its e-mail address.
    pub email: &'a str,
    /// Its username.
    pub username: &'a str,
    /// The first name; may be empty.
    pub first_name: &'a str,
    /// The last name; may be empty.
    pub last_name: &'a str,
    /// Both names; may be empty.
    pub fullname: &'a str,
    /// The phone number; may be empty.
    pub phone: &'a str,
    /// The address of the picture; may be empty.
    pub avatar_url: &'a str,
    /// What the user does now, if they have said so.
    pub custom_status: Option<&'a CustomStatus>,
    /// Whether the e-mail address is verified.
    pub is_verified: bool,
    /// Whether the user has seen the introduction.
    pub is_onboarded: bool,
    /// The organisation that the account's clients open with, if there is one.
    pub current_org: Option<OrganisationId>,
    /// Its slug; `client` without a current organisation.
    pub current_organisation_slug: &'a str,
}

/// Tells the account's own devices what it is now.
pub(super) fn emit_own(tx: &mut Tx, user: UserId) -> Result<()> {
    let user = accounts::get(tx, user)?;
    let data = ProfileUpdate {
        user_id: user.id,
        email: &user.email,
        username: &user.username,
        first_name: &user.first_name,
        last_name: &user.last_name,
        fullname: &user.full_name(),
        phone: &user.phone,
        avatar_url: &user.avatar_url,
        custom_status: user.custom_status.as_ref(),
        is_verified: user.is_verified,
        is_onboarded: user.is_onboarded,
        current_org: user.current_org,
        current_organisation_slug: &user.current_organisation_slug,
    };
    events::emit_to_account(tx, user.id, Kind::Profile, data)
}
