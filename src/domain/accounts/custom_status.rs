//! Custom statuses: what users say that they do now, as in "🌴 On holiday", for all who share an organisation with them. The
//! status of a member ([`MemberStatus`](crate::domain::rights::MemberStatus)) is another thing. [`profiles`](super::profiles) sets
//! them.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    db::Columns,
    domain::text::{self, Emoji, Rule},
    error::{Code, Refusal},
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
