//! `tidings demo`: fills an empty server with an organisation and a week of conversation.

use std::{collections::HashMap, path::Path};

use serde::Serialize;

use super::{folder, output::Output};
use crate::{
    config::{DAY, MINUTE},
    db::Tx,
    domain::{
        access::{Caller, PlatformRole},
        accounts::{self, New, by_operator},
        channels::{self, lists::Users},
        messages::{posting, reactions},
        organisations::{self, Edit, members, roles},
    },
    error::{Error, Result},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    secret,
    time::Time,
};

/// The conversation, a line for each message: the day, the time, the channel, the author, `:` for a post or `>` for a reply to
/// the channel's last post, the text, and after a bar an emoji and those who gave it.
const CONVERSATION: &str = include_str!("demo.txt");
/// The first of them is the administrator, and owns the organisation.
const PEOPLE: [(&str, &str, &str); 5] = [
    ("ada", "Ada", "Lovelace"),
    ("grace", "Grace", "Hopper"),
    ("linus", "Linus", "Pauling"),
    ("katherine", "Katherine", "Johnson"),
    ("margaret", "Margaret", "Hamilton"),
];
/// Besides the default channel.
const CHANNELS: [(&str, &str); 2] = [("engine", "The machine: what runs, and what doesn't"), ("launch", "Eight days to go")];
const ORGANISATION: &str = "Analytical Engines";

/// A log-in of the demonstration.
#[derive(Serialize)]
struct LogIn {
    name: String,
    email: String,
    password: String,
}

/// Fails on a server with accounts.
pub fn run(data: &Path, output: Output) -> Result<()> {
    let (log_ins, hashes): (Vec<LogIn>, Vec<String>) = PEOPLE
        .iter()
        .map(|(username, first, last)| {
            let password = secret::random_token()[..16].to_owned();
            let hash = secret::hash_password(&password)?;
            Ok((LogIn { name: format!("{first} {last}"), email: format!("{username}@demo.example"), password }, hash))
        })
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .unzip();
    let begin = Time::now() - DAY * 7;
    let mut scene = folder::create(data, begin, |tx| Scene::new(tx, &hashes))?;
    for line in CONVERSATION.lines() {
        let line = Line::read(line).ok_or_else(|| Error::internal(format!("demo.txt: {line}")))?;
        folder::create(data, (begin + line.after).min(Time::now()), |tx| scene.post(tx, &line))?;
    }
    output.rows(&log_ins)
}

struct Scene {
    people: HashMap<&'static str, UserId>,
    channels: HashMap<String, ChannelId>,
    /// The last post of each channel, to reply to.
    last: HashMap<String, MessageId>,
}

impl Scene {
    fn new(tx: &mut Tx, hashes: &[String]) -> Result<Scene> {
        if by_operator::has_any_account(tx)? {
            return Err(Error::failed("this server has accounts already: a demonstration needs an empty data folder"));
        }
        let mut people = HashMap::new();
        for ((username, first, last), hash) in PEOPLE.iter().zip(hashes) {
            let email = format!("{username}@demo.example");
            let mut new = New::check(&email, Some(username), first, last).map_err(Error::Invalid)?;
            new.role = if people.is_empty() { PlatformRole::Superadmin } else { PlatformRole::User };
            people.insert(*username, by_operator::create(tx, &new, hash)?);
        }
        let owner = Caller::operator_as(people[PEOPLE[0].0]);
        let organisation = organisations::found(tx, owner, Edit { name: Some(ORGANISATION.into()), ..Edit::default() })?.id;
        let others: Vec<UserId> = PEOPLE[1..].iter().map(|(username, ..)| people[username]).collect();
        for user in &others {
            let role = roles::find_named(tx, organisation, "member")?.ok_or_else(|| Error::internal("the role is built in"))?;
            members::join(tx, organisation, &accounts::get(tx, *user)?, &role)?;
        }
        let mut channels = HashMap::from([("general".to_owned(), default_channel(tx, owner, organisation)?)]);
        for (name, description) in CHANNELS {
            let (name, description, users) = (name.to_owned(), description.to_owned(), others.clone());
            let new = channels::New { organisation, name: name.clone(), description, is_private: false, username: None, users };
            channels.insert(name, channels::create(tx, owner, new)?.channel.id);
        }
        Ok(Scene { people, channels, last: HashMap::new() })
    }

    fn post(&mut self, tx: &mut Tx, line: &Line) -> Result<()> {
        let caller = |name: &str| {
            let user = self.people.get(name).ok_or_else(|| Error::internal(format!("demo.txt: {name}")))?;
            Ok::<_, Error>(Caller::operator_as(*user))
        };
        let channel = *self.channels.get(line.channel).ok_or_else(|| Error::internal(format!("demo.txt: {}", line.channel)))?;
        let thread = if line.is_reply { self.last.get(line.channel).copied() } else { None };
        let new = posting::New { content: line.text.to_owned(), thread, ..posting::New::default() };
        let message = posting::create(tx, caller(line.author)?, channel, new)?.id;
        for name in &line.given_by {
            reactions::add(tx, caller(name)?, channel, message, (line.emoji, "emoji"))?;
        }
        if !line.is_reply {
            self.last.insert(line.channel.to_owned(), message);
        }
        Ok(())
    }
}

fn default_channel(tx: &Tx, owner: Caller, organisation: OrganisationId) -> Result<ChannelId> {
    Ok(channels::lists::find_by_name(tx, owner, "general", Some(organisation), Users::None)?.channel.id)
}

/// A line of [`CONVERSATION`].
struct Line<'a> {
    after: std::time::Duration,
    channel: &'a str,
    author: &'a str,
    is_reply: bool,
    text: &'a str,
    emoji: &'a str,
    given_by: Vec<&'a str>,
}

impl Line<'_> {
    fn read(line: &str) -> Option<Line<'_>> {
        let (message, given) = line.split_once(" | ").unwrap_or((line, ""));
        let mut words = message.splitn(5, ' ');
        let (day, time, channel, author, text) = (words.next()?, words.next()?, words.next()?, words.next()?, words.next()?);
        let (hour, minute) = time.split_once(':')?;
        let number = |text: &str| text.parse::<u32>().ok();
        let mut given = given.split_whitespace();
        Some(Line {
            after: DAY * number(day)?.checked_sub(1)? + MINUTE * (60 * number(hour)? + number(minute)?),
            channel: channel.strip_prefix('#')?,
            is_reply: author.ends_with('>'),
            author: author.trim_end_matches([':', '>']),
            text,
            emoji: given.next().unwrap_or_default(),
            given_by: given.collect(),
        })
    }
}
