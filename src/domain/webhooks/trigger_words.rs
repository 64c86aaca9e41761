//! The words with which a message must begin to be delivered, as outgoing webhooks of Slack and Mattermost have them.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::{
    domain::text::{self, Rule},
    error::{Code, Error, Result},
};

text::rules! {
    /// A word with which messages begin; it may have spaces and signs.
    pub TriggerWord: Rule::name(LONGEST);
}

/// Characters of a word, at most.
const LONGEST: usize = 50;
/// Characters of a text that are compared: folding makes up to three of one, and one more tells where the word ends.
const HEAD: usize = 3 * LONGEST + 1;

/// Trigger words of a webhook, at most.
pub const MOST: usize = 20;

/// The trigger words of a webhook, stored as an array in JSON. Without any, each message is delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerWords(Vec<String>);

impl TriggerWords {
    /// 422 for a word that is no name of up to 50 characters, and for more than 20.
    pub fn of(words: &[String]) -> Result<TriggerWords> {
        if words.len() > MOST {
            let refusal = Code::TooManyItems.says(format!("trigger_words has at most {MOST} words")).at("trigger_words");
            return Err(Error::Invalid(refusal.with_limit(MOST)));
        }
        let check = |word: &String| TriggerWord::check(word, "trigger_words: each").map(str::to_owned);
        let words: Result<_, _> = words.iter().map(check).collect();
        words.map(TriggerWords).map_err(|refusal| Error::Invalid(refusal.at("trigger_words")))
    }

    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Whether a message of this text is delivered: it begins with one of the words, in small or capital letters, and the word
    /// ends there.
    pub fn matches(&self, text: &str) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let head: String = text.trim_start().chars().take(HEAD).collect();
        let head = text::folded(&head);
        self.0.iter().any(|word| begins(&head, word))
    }
}

/// Whether a folded text begins with a word.
fn begins(text: &str, word: &str) -> bool {
    let goes_on = |rest: &str| word.ends_with(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric);
    text.strip_prefix(&*text::folded(word)).is_some_and(|rest| !goes_on(rest))
}

impl ToSql for TriggerWords {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let json = serde_json::to_string(&self.0).map_err(|err| rusqlite::Error::ToSqlConversionFailure(err.into()))?;
        Ok(json.into())
    }
}

impl FromSql for TriggerWords {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<TriggerWords> {
        match value.as_str()? {
            "[]" => Ok(TriggerWords::default()),
            json => serde_json::from_str(json).map(TriggerWords).map_err(|err| FromSqlError::Other(err.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_begins_with_a_word_that_ends_there() {
        let words =
            TriggerWords::of(&["Deploy".into(), "big news".into(), "!b:".into(), "STRASSE".into(), "ΐ".repeat(50)]).unwrap();
        for text in ["deploy", "DEPLOY now", " \n deploy: now", "deploy/now", "Big News, people", "!b:x", "straße 1", "deploy 🎉"]
        {
            assert!(words.matches(text), "{text}");
        }
        for text in ["", "deployed", "please deploy", "big", "bignews", "!b", "strasbourg", "straßen", "deploy2"] {
            assert!(!words.matches(text), "{text}");
        }
        assert!(words.matches(&format!("{} and on", "ΐ".repeat(50))) && !words.matches(&"ΐ".repeat(51)));
        assert!(TriggerWords::default().matches("anything"));
    }
}
