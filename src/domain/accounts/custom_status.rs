//! Custom statuses: what users say that they do now, as in "🌴 On holiday", for all who share an organisation with them. The
//! status of a member ([`MemberStatus`](crate::domain::rights::MemberStatus)) is another thing. [`profiles`](super::profiles) sets
//! them.

use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::Columns,
    domain::{
        access::{Caller, ENTITLED},
        text::{self, Emoji, Rule},
    },
    error::{Code, Error, Refusal, Result},
    id::UserId,
    time::Time,
};

text::rules! {
    /// The text of a status.
    pub Text: Rule::line(100);
}

/// What a user does now. At least one of emoji and text is not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CustomStatus {
    /// An emoji, or its name; may be empty.
    pub emoji: String,
    /// What the user does; may be empty.
    pub text: String,
    /// When the server takes the status away, if it does.
    pub until: Option<Time>,
}

impl CustomStatus {
    /// Takes the columns `status_emoji`, `status_text` and `status_until` of `users`. None if the user has no status.
    pub fn take(columns: &mut Columns) -> rusqlite::Result<Option<CustomStatus>> {
        Ok(CustomStatus { emoji: columns.take()?, text: columns.take()?, until: columns.take()? }.if_any())
    }

    /// Checks the fields of a status. None without an emoji and a text. The error says what is wrong with the first bad one.
    pub fn check(
        emoji: Option<&str>,
        text: Option<&str>,
        until: Option<Time>,
        now: Time,
    ) -> Result<Option<CustomStatus>, Refusal> {
        let emoji = emoji.map(|emoji| Emoji::check(emoji, "emoji")).transpose()?.unwrap_or_default().to_owned();
        let text = text.map(|text| Text::check(text, "text")).transpose()?.unwrap_or_default().to_owned();
        if until.is_some_and(|until| until <= now) {
            return Err(Code::InvalidValue.says("until must be a time to come").at("until"));
        }
        Ok(CustomStatus { emoji, text, until }.if_any())
    }

    fn if_any(self) -> Option<CustomStatus> {
        (!(self.emoji.is_empty() && self.text.is_empty())).then_some(self)
    }
}

/// What a user does now, for the user and for those who share an organisation with them. 404 for all others, as for an unknown user.
pub fn find(conn: &Connection, caller: Caller, user: UserId) -> Result<Option<CustomStatus>> {
    let sql = format!(
        "select status_emoji, status_text, status_until from users
         where id = ?2 and (id = ?1 or exists (
           select 1 from organisation_members m
             join organisations o on o.id = m.organisation_id
             join organisation_members other on other.organisation_id = m.organisation_id and other.user_id = ?2
           where m.user_id = ?1 and {ENTITLED} and o.deleted_at is null))"
    );
    let status = |row: &Row| CustomStatus::take(&mut Columns::of_row(row));
    conn.prepare_cached(&sql)?.query_row((caller.user, user), status).optional()?.ok_or(Error::NotFound(Code::UserNotFound))
}
