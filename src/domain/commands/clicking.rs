//! Clicks on the actions of messages: calls of the program that has posted the message.

use std::time::Duration;

use rusqlite::OptionalExtension;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    answers::Reply,
    calling::{self, ANSWERED_WITHIN, Click, NewCall, Prepared},
    programs::{self, UNAVAILABLE},
};
use crate::{
    db::Tx,
    domain::{
        access::{self, Caller, UNKNOWN_CHANNEL},
        messages::record,
        webhooks::delivery::{kind::DeliveryKind, queue},
    },
    error::{Code, Error, Result},
    id::{ActionId, CallbackId, ChannelId, MessageId, OrganisationId, UserId},
};

/// A click that calls the program, or one that was answered before.
pub enum Clicking {
    Anew(Prepared),
    Answered(Reply),
}

/// The body of a click.
#[derive(Serialize, JsonSchema)]
pub struct ActionClick<'a> {
    /// The action.
    pub action_id: ActionId,
    /// What stands on its button.
    pub label: &'a str,
    /// What the program has given with it.
    pub value: &'a str,
    /// The message.
    pub message_id: MessageId,
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The channel of the message.
    pub channel_id: ChannelId,
    /// The name of the channel.
    pub channel_name: &'a str,
    /// The post to which the message is a reply; null for a post.
    pub thread_id: Option<MessageId>,
    /// Who has clicked.
    pub user_id: UserId,
    /// Their name in the channel.
    pub username: &'a str,
    /// Where up to five further answers are taken, for half an hour.
    pub response_url: &'a str,
}

/// Prepares a click. For members of the channel with the right to post. 404 for a hidden channel, and for a message or an
/// action that is not there; 403 without the right, in an archived channel, and if the program takes no clicks any more; 422
/// while the program has not answered the same click.
pub fn prepare(tx: &mut Tx, caller: Caller, channel: ChannelId, click: Click) -> Result<Clicking> {
    let Click { message, action, id } = click;
    let access = access::require_poster(tx, caller, channel, UNKNOWN_CHANNEL)?;
    access.require_live()?;
    if let Some(reply) = repeated(tx, caller, channel, click)? {
        return Ok(Clicking::Answered(reply));
    }
    let message = record::find_live(tx, channel, message)?;
    let actions = message.actions.ok_or(UNKNOWN)?;
    let found = actions.list.iter().find(|known| known.id == action).ok_or(UNKNOWN)?;
    let target = programs::find(tx, access.organisation, channel, actions.program).map_err(|err| match err {
        Error::NotFound(_) | Error::Forbidden(..) => UNAVAILABLE,
        other => other,
    });
    let target = target?;
    let thread = message.is_reply.then_some(message.thread);
    let token =
        calling::open(tx, &NewCall { program: actions.program, channel, user: caller.user, thread, clicked: Some(click) })?;
    let data = ActionClick {
        action_id: action,
        label: &found.label,
        value: &found.value,
        message_id: message.id,
        organisation_id: access.organisation,
        channel_id: channel,
        channel_name: &calling::channel_name(tx, channel)?,
        thread_id: thread,
        user_id: caller.user,
        username: access.username.as_deref().unwrap_or_default(),
        response_url: &calling::response_url(tx, &token),
    };
    let body = queue::payload(DeliveryKind::ActionClicked.name(), tx.now(), &data)?;
    Ok(Clicking::Anew(Prepared {
        id: id.unwrap_or_else(CallbackId::new),
        target,
        content_type: "application/json",
        body: body.into(),
        token,
    }))
}

/// How long a click is under way at most.
const UNDER_WAY: Duration = Duration::from_secs(10);

const UNKNOWN: Error = Error::NotFound(Code::ActionNotFound);

/// What the same click was answered before; none if it is new. 422 if it is under way, and for an id that another click has.
fn repeated(tx: &Tx, caller: Caller, channel: ChannelId, click: Click) -> Result<Option<Reply>> {
    let Some(id) = click.id else { return Ok(None) };
    // A server that was killed has recorded no answer: by then, no program would be waited for.
    let sql = "update calls set click_id = null where click_id = ?1 and reply is null and expires_at <= ?2";
    tx.prepare_cached(sql)?.execute((id, tx.now() + ANSWERED_WITHIN - UNDER_WAY))?;
    let sql =
        "select user_id = ?2 and channel_id = ?3 and message_id = ?4 and action_id = ?5, reply from calls where click_id = ?1";
    let found: Option<(bool, Option<String>)> = tx
        .prepare_cached(sql)?
        .query_row((id, caller.user, channel, click.message, click.action), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    match found {
        None => Ok(None),
        Some((true, Some(reply))) => serde_json::from_str(&reply).map(Some).map_err(Error::internal),
        Some((true, None)) => Err(Error::Invalid(Code::ClickUnderWay.says("The program has not answered this click yet"))),
        Some((false, _)) => Err(Error::Invalid(Code::IdTaken.says("id: another click has it").at("id"))),
    }
}
