//! The messages of an export, as records.

use std::collections::HashSet;

use super::{
    channels::Room,
    format::{self, Attachment, File, Message, time},
    markup::{self, Mentioned, Names},
    people::{People, line},
};
use crate::{
    domain::{
        messages::{
            mentions::{self, Kind, Mention},
            posting::Content,
        },
        text::Ruled,
        transfer::records::{self, Person, Reaction},
        webhooks::feeds::Username,
    },
    id::{MessageId, OrganisationId, UserId},
    time::Time,
};

/// Characters of a message, of a program's name, and of a file's, at most.
const CONTENT: usize = Content::RULE.max;
const LABEL: usize = Username::RULE.max;
const FILE: usize = 255;
/// Slack's kinds of messages that somebody wrote. All others tell of a change.
const WRITTEN: [&str; 8] =
    ["", "bot_message", "me_message", "thread_broadcast", "file_share", "file_comment", "slackbot_response", "document_comment"];
/// What stands for a deleted post with replies.
const TOMBSTONE: &str = "tombstone";

/// What becomes of a message: records of people it names first, then its own; and what is left out.
#[derive(Default)]
pub struct Translated {
    pub people: Vec<Person>,
    pub message: Option<records::Message>,
    pub left_out: Vec<String>,
}

/// What the messages of an export refer to.
pub struct Translator<'a> {
    pub organisation: OrganisationId,
    pub people: &'a mut People,
    pub names: &'a dyn Fn(&str) -> Option<String>,
    /// The posts so far that have replies.
    pub threads: HashSet<MessageId>,
}

/// Who a message is shown to be from.
struct From {
    author: Option<UserId>,
    name: String,
}

impl Translator<'_> {
    /// Translates a message. It marks as the room's newest one what it returns.
    pub fn translate(&mut self, room: &mut Room, from: &Message, at: Time) -> Translated {
        let mut done = Translated::default();
        let subtype = from.subtype.as_deref().unwrap_or_default();
        let is_deleted = subtype == TOMBSTONE;
        if from.r#type != "message" || from.hidden || !(is_deleted || WRITTEN.contains(&subtype)) {
            let kind = if subtype.is_empty() { &from.r#type } else { subtype };
            done.left_out.push(format!("messages of the kind {}", line(kind, LABEL)));
            return done;
        }
        let (content, mentions) = self.content(room, from, &mut done);
        if content.trim().is_empty() && !is_deleted {
            done.left_out.push("messages without a text".into());
            return done;
        }
        let id = room.message(self.organisation, &from.ts, at);
        let thread = self.thread(room, from, id, &mut done);
        let From { author, name } = self.author(from, &mut done);
        let edited_at = from.edited.as_ref().and_then(|edited| time(&edited.ts));
        room.last = Some(id);
        let reactions = if is_deleted { Vec::new() } else { self.reactions(from, at, &mut done) };
        done.message = Some(records::Message {
            id,
            channel: room.id,
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
            pinned_at: room.pins.get(&from.ts).copied(),
            pinned_by: None,
            created_at: at,
            updated_at: edited_at.unwrap_or(at),
            edited_at,
            deleted_at: is_deleted.then_some(at),
            reactions,
        });
        done
    }

    /// The post that a message replies to.
    fn thread(&mut self, room: &Room, from: &Message, id: MessageId, done: &mut Translated) -> Option<MessageId> {
        let ts = from.thread_ts.as_deref()?;
        if ts == from.ts {
            self.threads.insert(id);
            return None;
        }
        let thread = time(ts).map(|at| room.message(self.organisation, ts, at)).filter(|thread| self.threads.contains(thread));
        if thread.is_none() {
            done.left_out.push("the threads of replies whose first post is not imported: each reply is a post".into());
        }
        thread
    }

    /// A person, or a program whose name is a label.
    fn author(&mut self, from: &Message, done: &mut Translated) -> From {
        let user = from.user.as_deref().unwrap_or_default();
        let is_bot = self.people.get(user).is_some_and(|somebody| somebody.is_bot);
        let is_program = from.subtype.as_deref() == Some("bot_message") || user.is_empty();
        if is_program || (from.bot_id.is_some() && (is_bot || self.people.get(user).is_none())) {
            let profile = from.bot_profile.as_ref().map(|profile| profile.name.as_str());
            let own = self.people.get(user).map(|somebody| somebody.name.as_str());
            let name = [from.username.as_deref(), profile, own]
                .into_iter()
                .flatten()
                .map(|name| line(name, LABEL))
                .find(|name| !name.is_empty());
            return From { author: None, name: name.unwrap_or_else(|| "bot".into()) };
        }
        let author = self.somebody(user, from.username.as_deref().unwrap_or(user), done);
        From { author: Some(author), name: self.people.get(user).map_or_else(String::new, |somebody| somebody.name.clone()) }
    }

    /// A person who may not be in the list of people.
    fn somebody(&mut self, user: &str, name: &str, done: &mut Translated) -> UserId {
        if let Some(known) = self.people.get(user) {
            return known.id;
        }
        let person = self.people.unknown(user, name);
        let id = person.id;
        done.people.push(person);
        done.left_out.push("people who are not in the list of people: an account that nobody can use stands for each".into());
        id
    }

    fn reactions(&mut self, from: &Message, at: Time, done: &mut Translated) -> Vec<Reaction> {
        let mut reactions = Vec::new();
        for reaction in &from.reactions {
            for user in &reaction.users {
                let person = self.somebody(user, user, done);
                reactions.push(Reaction { emoji: markup::emoji(&reaction.name), person, created_at: at });
            }
        }
        reactions
    }

    /// The text with what is attached to it, a line for each.
    fn content(&self, room: &Room, from: &Message, done: &mut Translated) -> (String, Vec<Mention>) {
        let (text, mentioned) = markup::convert(from.text.as_deref().unwrap_or_default(), self);
        let mut lines = vec![text];
        for attachment in &from.attachments {
            match attachment {
                Attachment { from_url: Some(_), .. } => done.left_out.push("previews of links".into()),
                shown => lines.extend(self.attachment(shown)),
            }
        }
        for file in from.files.iter().chain(&from.file) {
            lines.push(named(file));
            done.left_out.push("files: a line has the name and the address of each".into());
        }
        let whole = lines.into_iter().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n");
        let content: String = whole.chars().take(CONTENT).collect();
        if content.len() < whole.len() {
            done.left_out.push(format!("the ends of texts with more than {CONTENT} characters"));
        }
        (content, self.mentions(room, mentioned))
    }

    fn attachment(&self, from: &Attachment) -> Vec<String> {
        let text =
            |part: &Option<String>| part.as_deref().map(|part| markup::convert(part, self).0).filter(|part| !part.is_empty());
        let title = match (text(&from.title), &from.title_link) {
            (Some(title), Some(link)) => Some(format!("{title} ({link})")),
            (title, _) => title,
        };
        let parts: Vec<String> = [text(&from.pretext), title, text(&from.text)].into_iter().flatten().collect();
        if parts.is_empty() { text(&from.fallback).into_iter().collect() } else { parts }
    }

    fn mentions(&self, room: &Room, mentioned: Vec<Mentioned>) -> Vec<Mention> {
        let mut found: Vec<Mention> = Vec::new();
        for mentioned in mentioned {
            let mention = match mentioned {
                Mentioned::Everybody => Some(Mention { id: room.id.0, kind: Kind::Channel, username: "channel".into() }),
                Mentioned::User(user) => self.people.get(&user).map(|somebody| Mention {
                    id: somebody.id.0,
                    kind: Kind::User,
                    username: somebody.name.clone(),
                }),
            };
            found.extend(mention.filter(|mention| !found.iter().any(|other| other.id == mention.id)));
        }
        found.truncate(mentions::MOST);
        found
    }
}

impl Names for Translator<'_> {
    fn user(&self, id: &str) -> Option<String> {
        self.people.get(id).map(|somebody| somebody.name.clone())
    }

    fn channel(&self, id: &str) -> Option<String> {
        (self.names)(id)
    }
}

/// A file's name and address.
fn named(file: &File) -> String {
    let name = [&file.title, &file.name].into_iter().flatten().map(|name| line(name, FILE)).find(|name| !name.is_empty());
    let address = file.permalink.as_ref().or(file.url_private.as_ref()).map(|address| line_of(address));
    let name = name.unwrap_or_else(|| "a file".into());
    address.map_or(name.clone(), |address| format!("{name}: {address}"))
}

fn line_of(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The messages of a file, each with its time; and how many are in no form that Slack documents.
pub fn read(day: format::Day) -> (Vec<(Time, Message)>, usize) {
    let all = day.len();
    let messages: Vec<_> = day
        .into_iter()
        .filter_map(|message| {
            let message: Message = serde_json::from_str(message.get()).ok()?;
            Some((time(&message.ts)?, message))
        })
        .collect();
    let unreadable = all - messages.len();
    (messages, unreadable)
}
