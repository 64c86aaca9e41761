//! What becomes of a program's answers to a call. The first answer is that of the request itself; later ones go to the address
//! in it, for half an hour.

use rusqlite::{OptionalExtension, Row};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Form, UNKNOWN,
    calling::Prepared,
    programs::{self, Target},
};
use crate::{
    db::{Tx, View},
    domain::{
        access::{self, Caller, UNKNOWN_CHANNEL},
        log::events,
        messages::{
            action_buttons::{self, Actions, Program},
            editing, posting, record,
            thread_members::Root,
        },
        text::{self, Rule},
        webhooks::incoming_posts::{self, Feed},
    },
    error::{Code, Error, Result},
    event::Kind,
    formats::{Dialect, Post, slack_messages},
    id::{ChannelId, MessageId, OrganisationId, UserId},
    secret,
};

/// How often a program may answer after a call.
pub const MOST_ANSWERS: u32 = 5;

text::rules! {
    pub AnswerToken: Rule::secret(64);
    /// An answer after the first.
    pub AnswerText: Rule::non_blank_text(4000);
    /// Who sees an answer.
    pub Audience: Rule::one_of(&["ephemeral", "in_channel"]);
}

/// What a program answers later, in words.
pub struct Later {
    text: String,
    author: String,
    shown: Shown,
    actions: Vec<action_buttons::New>,
}

/// What a program answers.
pub struct Answer {
    pub feed: Feed,
    pub shown: Shown,
}

/// Where an answer is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    ToCaller,
    /// As a post in the channel.
    ToAll,
    /// In place of the message whose action was clicked. To a command there is none, and it is as `ToCaller`.
    InPlace,
}

impl Later {
    /// The answer of these words. 422 for a bad text, another `response_type` than those of [`Audience`], and a bad name.
    pub fn new(
        text: &str,
        (response_type, is_in_place): (Option<&str>, bool),
        username: &str,
        actions: Vec<action_buttons::New>,
    ) -> Result<Later> {
        let text = AnswerText::check(text, "text").map_err(Error::Invalid)?.to_owned();
        let audience = response_type.map(|audience| Audience::check(audience, "response_type")).transpose();
        let author = incoming_posts::Username::check(username, "username").map_err(Error::Invalid)?.to_owned();
        let shown = Shown::from_response_type(audience.map_err(Error::Invalid)?, is_in_place);
        Ok(Later { text, author, shown, actions })
    }

    /// The answer to a call of this form, whose words are marked as Slack does if the call was in its form.
    fn to_answer(&self, form: Form) -> Answer {
        let text = match form {
            Form::Json => self.text.clone(),
            Form::Slack => slack_messages::message::post(&json!({ "text": self.text }), Dialect::Mrkdwn).text,
        };
        let feed = Feed { actions: self.actions.clone(), ..Post { text, author: self.author.clone(), ..Post::default() }.into() };
        Answer { feed, shown: self.shown }
    }
}

impl Shown {
    pub fn from_response_type(response_type: Option<&str>, is_in_place: bool) -> Shown {
        match response_type {
            _ if is_in_place => Shown::InPlace,
            Some("in_channel") => Shown::ToAll,
            _ => Shown::ToCaller,
        }
    }
}

/// What has become of an answer.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Reply {
    /// What the caller alone sees; may be empty.
    pub text: String,
    /// The post that it has become, or the message that it has replaced.
    pub message: Option<MessageId>,
}

/// Shows the first answer to a call; there may be none. If the program has gone meanwhile, 404 for a command and 403 for others;
/// 422 for an invalid answer; other errors as in [`super::calling::prepare`].
pub fn answer(tx: &mut Tx, call: &Prepared, answer: Option<&Answer>) -> Result<Reply> {
    let under_way = find(tx, &call.token)?.ok_or(UNKNOWN)?;
    let reply = answer.map_or_else(|| Ok(Reply::default()), |answer| under_way.show(tx, answer))?;
    if under_way.message.is_some() {
        let json = serde_json::to_string(&reply).map_err(Error::internal)?;
        let sql = "update calls set reply = ?2 where token_hash = ?1 and click_id is not null";
        tx.prepare_cached(sql)?.execute((secret::sha256(&call.token), json))?;
    }
    Ok(reply)
}

/// The refusal of a later answer to a call that takes none.
pub const CLOSED: Error = Error::NotFound(Code::CallNotFound);

/// Whether the call of this token takes a later answer.
pub fn takes_answer(conn: &View, token: &str) -> Result<bool> {
    let sql = "select 1 from calls where token_hash = ?1 and answers < ?2 and expires_at > ?3"; // as in `answer_later`
    Ok(conn.prepare_cached(sql)?.exists((secret::sha256(token), MOST_ANSWERS, conn.now()))?)
}

/// Shows a later answer: to the caller as an event. For everybody who knows the token. 404 for an unknown token, after half an
/// hour and after five answers; other errors as in [`answer`].
pub fn answer_later(tx: &mut Tx, token: &str, later: &Later) -> Result<()> {
    let hash = secret::sha256(token);
    let counted = "update calls set answers = answers + 1 where token_hash = ?1 and answers < ?2 and expires_at > ?3";
    if tx.prepare_cached(counted)?.execute((hash, MOST_ANSWERS, tx.now()))? == 0 {
        return Err(CLOSED);
    }
    let under_way = find(tx, token)?.ok_or(UNKNOWN)?;
    let Reply { text, message } = under_way.show(tx, &later.to_answer(under_way.form))?;
    if message.is_some() {
        return Ok(());
    }
    let UnderWay { program, name, organisation, channel, user, thread, message, .. } = under_way;
    let command = if let Program::Command(_) = program { format!("/{name}") } else { name };
    let data = CommandAnswer {
        command: &command,
        text: &text,
        organisation_id: organisation,
        channel_id: channel,
        thread_id: thread,
        message_id: message,
    };
    events::emit_to_account(tx, user, Kind::CommandAnswer, data)
}

/// What a program has answered to the receiver alone: to a command, or to a click on an action of a message.
#[derive(Serialize, JsonSchema)]
pub struct CommandAnswer<'a> {
    /// The command with its slash; for a click on the action of a bot or a webhook, its name.
    pub command: &'a str,
    /// The answer, in Markdown.
    pub text: &'a str,
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The channel in which it was called.
    pub channel_id: ChannelId,
    /// The post in whose thread it was called; null in the channel itself.
    pub thread_id: Option<MessageId>,
    /// The message whose action was clicked; null for a command.
    pub message_id: Option<MessageId>,
}

/// A call that may still be answered.
struct UnderWay {
    program: Program,
    name: String,
    form: Form,
    organisation: OrganisationId,
    channel: ChannelId,
    user: UserId,
    thread: Option<MessageId>,
    /// The message whose action was clicked.
    message: Option<MessageId>,
}

fn find(tx: &Tx, token: &str) -> Result<Option<UnderWay>> {
    let sql = "select k.program, c.organisation_id, k.channel_id, k.user_id, k.thread_id, k.message_id
        from calls k join channels c on c.id = k.channel_id join users u on u.id = k.user_id
        where k.token_hash = ?1 and u.is_active";
    let row = |row: &Row| {
        let program: String = row.get(0)?;
        Ok((program, (row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)))
    };
    let found = tx.prepare_cached(sql)?.query_row([secret::sha256(token)], row).optional()?;
    let Some((program, (organisation, channel, user, thread, message))) = found else { return Ok(None) };
    let program = serde_json::from_str(&program).map_err(Error::internal)?;
    let Target { name, form, .. } = programs::find(tx, organisation, channel, program)?;
    Ok(Some(UnderWay { program, name, form, organisation, channel, user, thread, message }))
}

impl UnderWay {
    /// Shows an answer. One for all is posted in the place of the call, under the program's name if it gives none. Whoever
    /// called must still be allowed to post there. What a member has fed with their bearer stays in their words.
    fn show(&self, tx: &mut Tx, answer: &Answer) -> Result<Reply> {
        let feed = &answer.feed;
        tx.quotas().charge_person(access::answerable_person(tx, self.user)?, feed.message.len())?;
        let access = access::require_poster(tx, Caller::operator_as(self.user), self.channel, UNKNOWN_CHANNEL)?;
        let replaced = self.message.filter(|_| answer.shown == Shown::InPlace);
        if replaced.is_none() && answer.shown != Shown::ToAll {
            return Ok(Reply { text: feed.message.clone(), message: None });
        }
        access.require_live()?;
        let message = match (replaced, self.program) {
            (Some(id), program) => {
                let message = record::find_live(tx, self.channel, id)?;
                let author = if let Program::Bot(bot) = program { Some(bot) } else { None };
                if message.user != author {
                    return Err(Error::Forbidden(Code::AuthorOnly, "A program replaces only what it has posted itself"));
                }
                posting::Content::check(&feed.message, "text").map_err(Error::Invalid)?;
                let actions = Actions::check(program, &feed.actions, || Ok(true))?;
                let media = message.media.clone();
                editing::replace(tx, message, &feed.message, actions.as_ref(), media)?.id
            }
            (None, Program::Bot(bot)) => {
                let (content, actions) = (feed.message.clone(), feed.actions.clone());
                let new = posting::New { content, thread: self.thread, actions, ..posting::New::default() };
                posting::create(tx, Caller::operator_as(bot), self.channel, new)?.id
            }
            (None, program) => {
                let root = Root::find_if_any(tx, self.channel, self.thread)?;
                incoming_posts::post_answer(tx, (self.channel, self.organisation), root, (program, &self.name), feed)?
            }
        };
        Ok(Reply { text: String::new(), message: Some(message) })
    }
}
