//! Calls of commands: what the program gets, and what becomes of its answers. The first answer is that of the request itself; later
//! ones go to the address in it, for half an hour.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension};
use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded;

use super::{Form, UNKNOWN};
use crate::{
    db::Tx,
    domain::{
        access::{self, Caller, UNKNOWN_CHANNEL},
        log::events,
        messages::{record::UNKNOWN_THREAD, thread_members::Root},
        rights::Rights,
        text::{self, Rule},
        webhooks::{
            delivery::queue::Delivery,
            feeds::{self, Feed},
        },
    },
    error::{Code, Error, Result},
    event::Kind,
    formats::Post,
    id::{CallbackId, ChannelId, CommandId, MessageId, OrganisationId, UserId},
    secret,
    time::Time,
};

/// How long a program may answer after a call, and how often.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30 * 60);
pub const MOST_ANSWERS: u32 = 5;

text::rules! {
    /// What follows the command's name.
    pub Text: Rule::text(4000);
    pub AnswerToken: Rule::secret(64);
    /// A command's name, with its slash or without.
    pub Called: Rule::line(33).at_least(1);
    /// An answer after the first.
    pub AnswerText: Rule::solid(4000);
    /// Who sees an answer.
    pub Audience: Rule::one_of(&["ephemeral", "in_channel"]);
}

/// What a member calls.
pub struct Call {
    /// The command's name, with its slash or without.
    pub command: String,
    pub text: String,
    /// The post in whose thread the command is called.
    pub thread: Option<MessageId>,
}

/// A call that is ready to be sent.
pub struct Prepared {
    pub id: CallbackId,
    pub organisation: OrganisationId,
    pub url: String,
    /// Host and port of the address.
    pub host: String,
    pub content_type: &'static str,
    pub body: Bytes,
    /// The signing secret (`whsec_…`).
    pub secret: String,
    pub form: Form,
    token: String,
}

/// The body of a call.
#[derive(Serialize, JsonSchema)]
pub struct CommandCall<'a> {
    /// The command with its slash, as in `/deploy`.
    pub command: &'a str,
    /// What follows it.
    pub text: &'a str,
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The channel in which it was called.
    pub channel_id: ChannelId,
    /// The name of the channel.
    pub channel_name: &'a str,
    /// The post in whose thread it was called; null in the channel itself.
    pub thread_id: Option<MessageId>,
    /// Who has called it.
    pub user_id: UserId,
    /// Their name in the channel.
    pub username: &'a str,
    /// Where up to five further answers are taken, for half an hour.
    pub response_url: &'a str,
}

/// Prepares a call of a command in a channel. For members of the channel with the right to post. 404 for a hidden channel and for a
/// command or thread that is not there, 403 without the right, in an archived channel, and if whoever answers for the command may not do
/// so any more.
pub fn prepare(tx: &mut Tx, caller: Caller, channel: ChannelId, call: &Call) -> Result<Prepared> {
    let access = access::may_post(tx, caller, channel, UNKNOWN_CHANNEL)?;
    access.require_live()?;
    let text = Text::check(&call.text, "text").map_err(Error::Invalid)?;
    let name = Called::check(&call.command, "command").map_err(Error::Invalid)?.trim_start_matches('/').to_lowercase();
    let found: Option<(CommandId, UserId, String, String, Form, Vec<u8>)> = tx
        .prepare_cached("select id, owner_id, url, target, form, secret from commands where organisation_id = ?1 and name = ?2")?
        .query_row((access.organisation, &name), |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
        })
        .optional()?;
    let (command, owner, url, host, form, sealed) = found.ok_or(UNKNOWN)?;
    let rights = access::membership(tx, access.organisation, owner)?.map(|own| own.rights);
    if !rights.is_some_and(|rights| rights.include(Rights::MANAGE_WEBHOOKS)) {
        return Err(Error::Forbidden(Code::CommandOwnerBarred, "Whoever made the command may not manage it any more"));
    }
    let secret = tx.site().keys().open(&sealed).map_err(|_| {
        Error::Invalid(
            Code::SecretUnreadable
                .says("the command's secret can't be read, for the server's key was replaced: give it a new one"),
        )
    })?;
    root(tx, channel, call.thread)?;
    let token = secret::random_token();
    tx.prepare_cached("insert into command_calls (token_hash, command_id, channel_id, user_id, thread_id, expires_at) values (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute((secret::sha256(&token), command, channel, caller.user, call.thread, tx.now() + ANSWERED_WITHIN))?;
    let sql = "select name from channels where id = ?1";
    let channel_name: String = tx.prepare_cached(sql)?.query_row([channel], |row| row.get(0))?;
    let data = CommandCall {
        command: &format!("/{name}"),
        text,
        organisation_id: access.organisation,
        channel_id: channel,
        channel_name: &channel_name,
        thread_id: call.thread,
        user_id: caller.user,
        username: access.username.as_deref().unwrap_or_default(),
        response_url: &format!("{}/api/v1/commands/answers/{token}", tx.site().base_url),
    };
    let body = match form {
        Form::Json => serde_json::to_string(&Delivery::new("command.called", tx.now(), &data)).map_err(Error::internal)?,
        Form::Slack => slack_form(&data),
    };
    let content_type = if form == Form::Json { "application/json" } else { "application/x-www-form-urlencoded" };
    Ok(Prepared {
        id: CallbackId::new(),
        organisation: access.organisation,
        url,
        host,
        content_type,
        body: body.into(),
        secret,
        form,
        token,
    })
}

/// A call as Slack sends it. The first two fields are Slack's own marks of an app and of a workspace.
fn slack_form(call: &CommandCall) -> String {
    let thread = call.thread_id.map(|id| id.to_string()).unwrap_or_default();
    form_urlencoded::Serializer::new(String::new())
        .append_pair("token", "")
        .append_pair("team_id", &call.organisation_id.to_string())
        .append_pair("channel_id", &call.channel_id.to_string())
        .append_pair("channel_name", call.channel_name)
        .append_pair("thread_ts", &thread)
        .append_pair("user_id", &call.user_id.to_string())
        .append_pair("user_name", call.username)
        .append_pair("command", call.command)
        .append_pair("text", call.text)
        .append_pair("response_url", call.response_url)
        .finish()
}

/// The post that replies go to. 404 if it is not there.
fn root(conn: &Connection, channel: ChannelId, thread: Option<MessageId>) -> Result<Option<Root>> {
    let Some(thread) = thread else { return Ok(None) };
    Ok(Some(Root::find(conn, channel, thread)?.ok_or(UNKNOWN_THREAD)?))
}

/// What a program answers.
pub struct Answer {
    pub feed: Feed,
    /// Whether everybody in the channel sees it, and not the caller alone.
    pub is_for_all: bool,
}

impl Answer {
    /// An answer after the first. 422 for a bad text, another `response_type` than those of [`Audience`], and a bad name.
    pub fn later(text: &str, response_type: Option<&str>, username: &str) -> Result<Answer> {
        let text = AnswerText::check(text, "text").map_err(Error::Invalid)?.to_owned();
        let audience = response_type.map(|audience| Audience::check(audience, "response_type")).transpose();
        let author = feeds::Username::check(username, "username").map_err(Error::Invalid)?.to_owned();
        let is_for_all = audience.map_err(Error::Invalid)? == Some("in_channel");
        Ok(Answer { feed: Post { text, author, ..Post::default() }.into(), is_for_all })
    }
}

/// An answer that the caller alone sees, or the post that it has become.
pub enum Shown {
    ToCaller(String),
    Posted(MessageId),
}

/// Shows the first answer to a call. 404 if the command was deleted meanwhile; 422 for an invalid answer; other errors as in [`prepare`].
pub fn answer(tx: &mut Tx, call: &Prepared, answer: &Answer) -> Result<Shown> {
    let under_way = find(tx, &call.token)?.ok_or(UNKNOWN)?;
    under_way.show(tx, answer)
}

/// Shows a later answer: to the caller as an event. For everybody who knows the token. 404 for an unknown token, after half an hour and
/// after five answers; other errors as in [`answer`].
pub fn answer_later(tx: &mut Tx, token: &str, answer: &Answer) -> Result<()> {
    let hash = secret::sha256(token);
    let counted = "update command_calls set answers = answers + 1 where token_hash = ?1 and answers < ?2 and expires_at > ?3";
    if tx.prepare_cached(counted)?.execute((hash, MOST_ANSWERS, tx.now()))? == 0 {
        return Err(Error::NotFound(Code::CallNotFound));
    }
    let under_way = find(tx, token)?.ok_or(UNKNOWN)?;
    match under_way.show(tx, answer)? {
        Shown::Posted(_) => Ok(()),
        Shown::ToCaller(text) => {
            let UnderWay { name, organisation, channel, user, thread, .. } = under_way;
            let data = CommandAnswer {
                command: &format!("/{name}"),
                text: &text,
                organisation_id: organisation,
                channel_id: channel,
                thread_id: thread,
            };
            events::emit_to_account(tx, user, Kind::CommandAnswer, data)
        }
    }
}

/// What a command has answered to the receiver alone.
#[derive(Serialize, JsonSchema)]
pub struct CommandAnswer<'a> {
    /// The command with its slash.
    pub command: &'a str,
    /// The answer, in Markdown.
    pub text: &'a str,
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The channel in which it was called.
    pub channel_id: ChannelId,
    /// The post in whose thread it was called; null in the channel itself.
    pub thread_id: Option<MessageId>,
}

/// A call that may still be answered.
struct UnderWay {
    name: String,
    organisation: OrganisationId,
    channel: ChannelId,
    user: UserId,
    thread: Option<MessageId>,
}

fn find(tx: &Tx, token: &str) -> Result<Option<UnderWay>> {
    let sql = "select c.name, c.organisation_id, k.channel_id, k.user_id, k.thread_id
        from command_calls k join commands c on c.id = k.command_id where k.token_hash = ?1";
    let row = |row: &rusqlite::Row| {
        Ok(UnderWay {
            name: row.get(0)?,
            organisation: row.get(1)?,
            channel: row.get(2)?,
            user: row.get(3)?,
            thread: row.get(4)?,
        })
    };
    Ok(tx.prepare_cached(sql)?.query_row([secret::sha256(token)], row).optional()?)
}

impl UnderWay {
    /// Posts an answer that is for all in the place of the call, under the command's name if the program gives none. Whoever called must
    /// still be allowed to post there.
    fn show(&self, tx: &mut Tx, answer: &Answer) -> Result<Shown> {
        if !answer.is_for_all {
            return Ok(Shown::ToCaller(answer.feed.message.clone()));
        }
        access::may_post(tx, Caller::acting_as(self.user), self.channel, UNKNOWN_CHANNEL)?.require_live()?;
        let root = root(tx, self.channel, self.thread)?;
        feeds::post_answer(tx, (self.channel, self.organisation), root, &self.name, &answer.feed).map(Shown::Posted)
    }
}

/// Deletes up to `limit` calls that can't be answered any more.
pub fn prune(tx: &mut Tx, now: Time, limit: u32) -> Result<usize> {
    let sql =
        "delete from command_calls where token_hash in (select token_hash from command_calls where expires_at < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((now, limit))?)
}
