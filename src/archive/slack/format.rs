//! Slack's export format, as far as it is imported: <https://slack.com/help/articles/220556107>. Fields that are missing count
//! as empty. No list has more values than Slack allows, or a workspace of 200,000 people needs.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    domain::text,
    formats::{bounded_lists::deserialize_bounded, slack_messages::attachments::Attachment},
    time::Time,
};

/// Characters of a file's name, at most.
const FILE_NAME: usize = 255;

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct User {
    pub id: String,
    pub name: String,
    pub deleted: bool,
    pub real_name: Option<String>,
    pub is_primary_owner: bool,
    pub is_owner: bool,
    pub is_admin: bool,
    pub is_restricted: bool,
    pub is_ultra_restricted: bool,
    pub is_bot: bool,
    pub profile: Profile,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Profile {
    pub email: Option<String>,
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub real_name: Option<String>,
    pub image_512: Option<String>,
    pub image_192: Option<String>,
}

impl Profile {
    /// The address of the largest picture that a face needs.
    pub fn picture(&self) -> Option<&str> {
        self.image_512.as_deref().or(self.image_192.as_deref())
    }
}

/// A channel of any of the four lists.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct SlackChannel {
    pub id: String,
    pub name: String,
    /// Seconds.
    pub created: i64,
    pub creator: Option<String>,
    pub is_archived: bool,
    pub is_general: bool,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 200_000>")]
    pub members: Vec<String>,
    pub topic: Text,
    pub purpose: Text,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 1_000>")]
    pub pins: Vec<Pin>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Text {
    pub value: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Pin {
    /// The pinned message's `ts`.
    pub id: String,
    pub created: i64,
}

/// The part of a message that tells when it was written.
#[derive(Deserialize)]
pub struct Stamp {
    pub ts: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Message {
    pub r#type: String,
    pub subtype: Option<String>,
    pub hidden: bool,
    pub user: Option<String>,
    pub username: Option<String>,
    pub bot_id: Option<String>,
    pub bot_profile: Option<BotProfile>,
    pub text: Option<String>,
    pub ts: String,
    pub thread_ts: Option<String>,
    pub edited: Option<Edited>,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 1_000>")]
    pub reactions: Vec<Reaction>,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 100>")]
    pub attachments: Vec<Attachment>,
    /// Read by [`crate::formats::slack_messages::blocks`]: their forms are many.
    pub blocks: Option<Box<RawValue>>,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 1_000>")]
    pub files: Vec<File>,
    /// The field's name in older exports.
    pub file: Option<File>,
}

impl Message {
    pub fn all_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().chain(&self.file)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct BotProfile {
    pub name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Edited {
    pub ts: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Reaction {
    pub name: String,
    #[serde(deserialize_with = "deserialize_bounded::<_, _, 200_000>")]
    pub users: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub struct File {
    pub id: Option<String>,
    pub name: Option<String>,
    pub title: Option<String>,
    pub mimetype: Option<String>,
    /// `hosted` and `snippet` of what Slack keeps; `external` of a link, `tombstone` and `hidden_by_limit` of what is gone.
    pub mode: Option<String>,
    /// Bytes; whatever its form, the message is read.
    pub size: Option<Box<RawValue>>,
    pub alt_txt: Option<String>,
    pub permalink: Option<String>,
    pub url_private: Option<String>,
    pub url_private_download: Option<String>,
}

impl File {
    pub fn is_kept_by_slack(&self) -> bool {
        !matches!(self.mode.as_deref(), Some("external" | "tombstone" | "hidden_by_limit"))
    }

    /// Its length, as the export says.
    pub fn bytes(&self) -> u64 {
        self.size.as_ref().and_then(|size| size.get().parse().ok()).unwrap_or_default()
    }

    /// Where its content is.
    pub fn address(&self) -> Option<&str> {
        self.url_private_download.as_deref().or(self.url_private.as_deref())
    }

    /// Its name, with the ending.
    pub fn shown_name(&self) -> String {
        first_name([&self.name, &self.title])
    }

    /// What people have called it.
    pub fn shown_title(&self) -> String {
        first_name([&self.title, &self.name])
    }
}

fn first_name(names: [&Option<String>; 2]) -> String {
    let names = names.into_iter().flatten().map(|name| cut_to_one_line(name, FILE_NAME));
    names.into_iter().find(|name| !name.is_empty()).unwrap_or_else(|| "a file".into())
}

/// A text on one line, cut to `most` characters.
pub fn cut_to_one_line(text: &str, most: usize) -> String {
    text::format_characters::without_format_characters(&text::printable(text))
        .replace('\n', " ")
        .trim()
        .chars()
        .take(most)
        .collect()
}

/// The time of a `ts` such as `1355517523.000005`.
pub fn time(ts: &str) -> Option<Time> {
    let (seconds, micros) = ts.split_once('.').unwrap_or((ts, "0"));
    let micros = if micros.len() <= 6 { format!("{micros:0<6}") } else { return None };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(seconds) || !is_number(&micros) || seconds.len() > 11 {
        return None;
    }
    Some(Time::from_unix_seconds(seconds.parse().ok()?) + Duration::from_micros(micros.parse().ok()?))
}

/// The time of whole seconds; the first that there is for one that is none.
pub fn time_from_seconds(seconds: i64) -> Time {
    Time::from_unix_seconds(seconds.clamp(0, 99_999_999_999))
}

#[cfg(test)]
mod tests {
    use super::time;

    #[test]
    fn a_ts_has_microseconds() {
        assert_eq!(time("1355517523.000005").unwrap().to_string(), "2012-12-14T20:38:43.000005Z");
        assert_eq!(time("1355517523").unwrap().to_string(), "2012-12-14T20:38:43.000000Z");
        for bad in ["", ".", "x", "-1.0", "1.0000001", "999999999999.0", "1.-1"] {
            assert_eq!(time(bad), None, "{bad:?}");
        }
    }
}
