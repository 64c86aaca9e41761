//! Calls of commands: what the program gets.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension};
use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded;

use super::{
    Form, UNKNOWN,
    programs::{self, Target},
};
use crate::{
    db::Tx,
    domain::{
        access::{self, Caller, UNKNOWN_CHANNEL},
        messages::{action_buttons::Program, thread_members::Root},
        text::{self, Rule},
        webhooks::delivery::queue,
    },
    error::{Error, Result},
    id::{ActionId, CallbackId, ChannelId, CommandId, MessageId, OrganisationId, UserId},
    secret,
    time::Time,
};

/// How long a program may answer after a call.
pub(super) const ANSWERED_WITHIN: Duration = Duration::from_secs(30 * 60);

text::rules! {
    /// What follows the command's name.
    pub Text: Rule::text(4000);
    /// A command's name, with its slash or without.
    pub Called: Rule::line(33).at_least(1);
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
#[derive(Clone)]
pub struct Prepared {
    /// By which the program recognises a call that it gets again (`webhook-id`).
    pub id: CallbackId,
    pub target: Target,
    pub content_type: &'static str,
    pub body: Bytes,
    pub(super) token: String,
}

/// Who calls what, and where.
pub(super) struct NewCall {
    pub program: Program,
    pub channel: ChannelId,
    pub user: UserId,
    pub thread: Option<MessageId>,
    /// The action that was clicked; none for a command.
    pub clicked: Option<Click>,
}

/// A click on an action of a message.
#[derive(Clone, Copy)]
pub struct Click {
    pub message: MessageId,
    pub action: ActionId,
    /// What the client calls the click, so that a repeated request calls nothing.
    pub id: Option<CallbackId>,
}

/// Opens a call, and returns the secret in the address for answers.
pub(super) fn open(tx: &Tx, call: &NewCall) -> Result<String> {
    let token = secret::random_token();
    let clicked = call.clicked;
    tx.prepare_cached(
        "insert into calls (token_hash, program, channel_id, user_id, thread_id, message_id, action_id, click_id, expires_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute((
        secret::sha256(&token),
        serde_json::to_string(&call.program).map_err(Error::internal)?,
        call.channel,
        call.user,
        call.thread,
        clicked.map(|clicked| clicked.message),
        clicked.map(|clicked| clicked.action),
        clicked.and_then(|clicked| clicked.id),
        tx.now() + ANSWERED_WITHIN,
    ))?;
    Ok(token)
}

/// The address for answers.
pub(super) fn response_url(tx: &Tx, token: &str) -> String {
    format!("{}/api/v1/commands/answers/{token}", tx.site().base_url)
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

/// Prepares a call of a command in a channel. For members of the channel with the right to post. 404 for a hidden channel and
/// for a command or thread that is not there, 403 without the right, in an archived channel, and if whoever answers for the
/// command may not do so any more.
pub fn prepare(tx: &mut Tx, caller: Caller, channel: ChannelId, call: &Call) -> Result<Prepared> {
    let access = access::require_poster(tx, caller, channel, UNKNOWN_CHANNEL)?;
    access.require_live()?;
    let text = Text::check(&call.text, "text").map_err(Error::Invalid)?;
    let name = Called::check(&call.command, "command").map_err(Error::Invalid)?.trim_start_matches('/').to_lowercase();
    let sql = "select id from commands where organisation_id = ?1 and name = ?2";
    let command: Option<CommandId> =
        tx.prepare_cached(sql)?.query_row((access.organisation, &name), |row| row.get(0)).optional()?;
    let program = Program::Command(command.ok_or(UNKNOWN)?);
    let target = programs::find(tx, access.organisation, channel, program)?;
    Root::find_if_any(tx, channel, call.thread)?;
    let token = open(tx, &NewCall { program, channel, user: caller.user, thread: call.thread, clicked: None })?;
    let channel_name = channel_name(tx, channel)?;
    let data = CommandCall {
        command: &format!("/{name}"),
        text,
        organisation_id: access.organisation,
        channel_id: channel,
        channel_name: &channel_name,
        thread_id: call.thread,
        user_id: caller.user,
        username: access.username.as_deref().unwrap_or_default(),
        response_url: &response_url(tx, &token),
    };
    let (content_type, body) = match target.form {
        Form::Json => ("application/json", queue::payload("command.called", tx.now(), &data)?),
        Form::Slack => ("application/x-www-form-urlencoded", slack_form(&data)),
    };
    Ok(Prepared { id: CallbackId::new(), target, content_type, body: body.into(), token })
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

pub(super) fn channel_name(conn: &Connection, channel: ChannelId) -> Result<String> {
    Ok(conn.prepare_cached("select name from channels where id = ?1")?.query_row([channel], |row| row.get(0))?)
}

/// Has a click that has failed called again if it is repeated, and forgets a call that has not even been sent.
pub fn settle_failed(tx: &mut Tx, call: &Prepared, is_called: bool) -> Result<()> {
    let sql = match is_called {
        true => "update calls set click_id = null where token_hash = ?1",
        false => "delete from calls where token_hash = ?1",
    };
    tx.prepare_cached(sql)?.execute([secret::sha256(&call.token)])?;
    Ok(())
}

/// Deletes up to `limit` calls that can't be answered any more.
pub fn prune(tx: &mut Tx, now: Time, limit: u32) -> Result<usize> {
    let sql = "delete from calls where token_hash in (select token_hash from calls where expires_at < ?1 limit ?2)";
    Ok(tx.prepare_cached(sql)?.execute((now, limit))?)
}
