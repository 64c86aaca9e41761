//! The messages of an export, as records.

use std::{borrow::Cow, collections::HashMap};

use serde_json::value::RawValue;

use super::{
    channels::ImportedChannel,
    fetched::Fetched,
    format::{File, Message, cut_to_one_line, time, time_from_seconds},
    ids,
    people::People,
};
use crate::{
    archive::transfer::{Batches, RECORD},
    domain::{
        files::taking,
        messages::{
            mentions::{self, Mention, MentionKind},
            posting::Content,
        },
        text::{self, Ruled},
        transfer::records::{self, Reaction, Record},
        webhooks::incoming_posts::Username,
    },
    error::Result,
    formats::slack_messages::{
        attachments::Attachment,
        blocks,
        plain_text::{self, Mentioned, Names},
        said_once,
    },
    id::{FileId, MessageId, OrganisationId, UserId},
    time::Time,
};

/// Characters of a message, and of a program's name, at most.
const CONTENT: usize = Content::RULE.max;
const LABEL: usize = Username::RULE.max;
/// Reactions to a message, at most, of all emoji together: a record is written at once, and the writer waits for it.
const REACTIONS_MAX: usize = 20_000;
/// Slack's kinds of messages that somebody wrote. All others tell of a change.
const WRITTEN: [&str; 8] =
    ["", "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment", "slackbot_response", "document_comment"];
/// The text in place of a deleted post with replies.
const TOMBSTONE: &str = "tombstone";

/// The records that the messages of an export refer to, and those that are found in them.
pub struct Translator<'a, 'b> {
    pub organisation: OrganisationId,
    pub people: &'a mut People,
    pub channels: &'a [ImportedChannel],
    /// Channels by their name or identifier in Slack.
    pub folders: &'a HashMap<String, u32>,
    /// Takes the people that messages name, before these themselves.
    pub batches: &'a mut Batches<'b>,
    pub fetched: Option<&'a Fetched>,
}

/// The shown author of a message.
struct From {
    author: Option<UserId>,
    name: String,
}

impl Translator<'_, '_> {
    /// Translates a message. `None` for one that is left out.
    pub fn record_of(&mut self, channel: &ImportedChannel, from: &Message, at: Time) -> Result<Option<records::Message>> {
        let subtype = from.subtype.as_deref().unwrap_or_default();
        let is_deleted = subtype == TOMBSTONE;
        if from.r#type != "message" || from.hidden || !(is_deleted || WRITTEN.contains(&subtype)) {
            let kind = if subtype.is_empty() { &from.r#type } else { subtype };
            self.leave_out(format!("messages of the kind {}", cut_to_one_line(kind, LABEL)));
            return Ok(None);
        }
        let files = if is_deleted { Vec::new() } else { self.files(channel, from, at)? };
        let (content, mentions) = self.content(channel, from, &files);
        if content.trim().is_empty() && files.is_empty() && !is_deleted {
            self.leave_out("messages without a text");
            return Ok(None);
        }
        let thread = self.thread(channel, from);
        let From { author, name } = self.author(from)?;
        let edited_at = from.edited.as_ref().and_then(|edited| time(&edited.ts));
        let reactions = if is_deleted { Vec::new() } else { self.reactions(from, at)? };
        Ok(Some(records::Message {
            id: channel.message_id(self.organisation, &from.ts, at),
            channel: channel.id,
            thread,
            author,
            username: name,
            avatar_url: String::new(),
            content: if is_deleted { String::new() } else { content },
            mentions: if is_deleted { Vec::new() } else { mentions },
            r#type: if author.is_some() { "message" } else { "thread" }.into(),
            event_name: String::new(),
            action_type: String::new(),
            status: "success".into(),
            current_status: "pending".into(),
            pinned_at: channel.pins.get(&from.ts).copied(),
            pinned_by: None,
            created_at: at,
            updated_at: edited_at.unwrap_or(at),
            edited_at,
            deleted_at: is_deleted.then_some(at),
            reactions,
            files: files.into_iter().map(|(_, file)| file).collect(),
        }))
    }

    fn leave_out(&mut self, what: impl Into<Cow<'static, str>>) {
        self.batches.import.leave_out(what, 1);
    }

    /// The post that a message replies to, if its time is one. The import knows whether the post is there.
    fn thread(&self, channel: &ImportedChannel, from: &Message) -> Option<MessageId> {
        let ts = from.thread_ts.as_deref().filter(|ts| *ts != from.ts)?;
        Some(channel.message_id(self.organisation, ts, time(ts).unwrap_or_else(|| time_from_seconds(0))))
    }

    /// A person, or a program whose name is a label.
    fn author(&mut self, from: &Message) -> Result<From> {
        let user = from.user.as_deref().unwrap_or_default();
        let is_bot = self.people.get(user).is_some_and(|person| person.is_bot);
        let is_program = from.subtype.as_deref() == Some("bot_message") || user.is_empty();
        if is_program || (from.bot_id.is_some() && (is_bot || self.people.get(user).is_none())) {
            let profile = from.bot_profile.as_ref().map(|profile| profile.name.as_str());
            let own = self.people.get(user).map(|person| person.name.as_str());
            let name = [from.username.as_deref(), profile, own]
                .into_iter()
                .flatten()
                .map(|name| cut_to_one_line(name, LABEL))
                .find(|name| !name.is_empty());
            return Ok(From { author: None, name: name.unwrap_or_else(|| "bot".into()) });
        }
        let author = self.person(user, from.username.as_deref().unwrap_or(user))?;
        let name = self.people.get(user).map_or_else(String::new, |person| person.name.clone());
        Ok(From { author: Some(author), name })
    }

    /// A person who may not be in the list of people.
    fn person(&mut self, user: &str, name: &str) -> Result<UserId> {
        if let Some(known) = self.people.get(user) {
            return Ok(known.id);
        }
        let person = self.people.unknown(user, name)?;
        let id = person.id;
        self.leave_out("people who are not in the list of people: an account that nobody can use stands for each");
        self.batches.add(Record::Person(person), RECORD)?;
        Ok(id)
    }

    fn reactions(&mut self, from: &Message, at: Time) -> Result<Vec<Reaction>> {
        let mut reactions = Vec::new();
        for reaction in &from.reactions {
            let emoji = emoji(&reaction.name);
            for user in &reaction.users {
                if reactions.len() == REACTIONS_MAX {
                    self.leave_out(format!("reactions to one message past {REACTIONS_MAX}"));
                    return Ok(reactions);
                }
                let person = self.person(user, user)?;
                reactions.push(Reaction { emoji: emoji.clone(), person, created_at: at });
            }
        }
        Ok(reactions)
    }

    /// The files that are there, each with its index among those of the message.
    fn files(&mut self, channel: &ImportedChannel, from: &Message, at: Time) -> Result<Vec<(usize, records::File)>> {
        let Some(fetched) = self.fetched else { return Ok(Vec::new()) };
        let mut files = Vec::new();
        for (index, file) in from.all_files().enumerate().filter(|(_, file)| file.is_kept_by_slack()) {
            if files.len() == taking::MOST {
                break;
            }
            let name = format!("{} {} {index}", channel.id, from.ts);
            let id = FileId(ids::of(self.organisation, "file", &name, at));
            files.extend(fetched.stage(file, (id, at), &mut self.batches.files)?.map(|file| (index, file)));
        }
        Ok(files)
    }

    /// The text with what is attached to it, a line for each. Files that come with it need none.
    fn content(&mut self, channel: &ImportedChannel, from: &Message, files: &[(usize, records::File)]) -> (String, Vec<Mention>) {
        let text = plain_text::convert(from.text.as_deref().unwrap_or_default(), self);
        let blocks = self.blocks(from.blocks.as_deref());
        let (text, mentioned) = said_once(text, blocks);
        let mut lines = vec![text];
        for attachment in &from.attachments {
            match attachment {
                Attachment { from_url: Some(_), .. } => self.leave_out("previews of links"),
                shown => lines.extend(self.attachment(shown)),
            }
        }
        for (index, file) in from.all_files().enumerate() {
            if files.iter().all(|(taken, _)| *taken != index) {
                lines.push(named(file));
                self.leave_out("files: a line has the name and the address of each");
            }
        }
        let whole = lines.into_iter().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n");
        let content: String = whole.chars().take(CONTENT).collect();
        if content.len() < whole.len() {
            self.leave_out(format!("the ends of texts with more than {CONTENT} characters"));
        }
        (content, self.mentions(channel, mentioned))
    }

    /// The text of blocks, with those whom they mention.
    fn blocks(&mut self, blocks: Option<&RawValue>) -> (String, Vec<Mentioned>) {
        let Some(blocks) = blocks else { return Default::default() };
        let Some(markup) = blocks::text_of_blocks(blocks) else {
            self.leave_out("blocks that are not in a form that Slack documents");
            return Default::default();
        };
        plain_text::convert(&markup, self)
    }

    fn attachment(&mut self, from: &Attachment) -> Vec<String> {
        let (blocks, _) = self.blocks(from.blocks.as_deref());
        from.lines(blocks, self)
    }

    fn mentions(&self, channel: &ImportedChannel, mentioned: Vec<Mentioned>) -> Vec<Mention> {
        let mut found: Vec<Mention> = Vec::new();
        for mentioned in mentioned {
            if found.len() == mentions::MOST {
                break;
            }
            let mention = match mentioned {
                Mentioned::Everybody => {
                    Some(Mention { id: channel.id.0, kind: MentionKind::Channel, username: "channel".into() })
                }
                Mentioned::User(user) => self.people.get(&user).map(|person| Mention {
                    id: person.id.0,
                    kind: MentionKind::User,
                    username: person.name.clone(),
                }),
            };
            found.extend(mention.filter(|mention| !found.iter().any(|other| other.id == mention.id)));
        }
        found
    }
}

impl Names for Translator<'_, '_> {
    fn user(&self, id: &str) -> Option<String> {
        self.people.get(id).map(|person| person.name.clone())
    }

    fn channel(&self, id: &str) -> Option<String> {
        self.folders.get(id).map(|channel| self.channels[*channel as usize].name.clone())
    }
}

/// A file's name and address.
fn named(file: &File) -> String {
    let name = file.shown_title();
    let address = file.permalink.as_ref().or(file.url_private.as_ref()).map(|address| cut_to_one_line(address, usize::MAX));
    address.map_or_else(|| name.clone(), |address| format!("{name}: {address}"))
}

/// The emoji of a reaction's name; the name between colons for one that only the workspace has.
fn emoji(name: &str) -> String {
    let short: String = text::printable(name).chars().filter(|c| !c.is_whitespace()).take(62).collect();
    plain_text::emoji(name).unwrap_or_else(|| format!(":{short}:"))
}

#[cfg(test)]
mod tests {
    use super::emoji;

    #[test]
    fn reactions_of_the_workspace_keep_their_name() {
        assert_eq!(emoji("thumbsup"), "\u{1f44d}");
        assert_eq!(emoji("party parrot"), ":partyparrot:");
        assert_eq!(emoji(&"x".repeat(100)).len(), 64);
        assert!(emoji(&"::skin-tone-".repeat(300_000)).len() <= 64);
    }
}
