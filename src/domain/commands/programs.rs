//! The programs that calls go to: where each is, what signs its calls, and whether whoever answers for it still may.

use rusqlite::OptionalExtension;

use super::{Form, UNKNOWN};
use crate::{
    db::Tx,
    domain::{
        access,
        messages::action_buttons::Program,
        rights::Rights,
        webhooks::{
            delivery::{cursor, kind::DeliveryKind},
            owners, record,
        },
    },
    error::{Code, Error, Result},
    id::{ChannelId, CommandId, OrganisationId, UserId, WebhookId},
};

/// Where the calls of a program go.
#[derive(Clone)]
pub struct Target {
    /// The name under which its answers are posted.
    pub name: String,
    pub url: String,
    /// The account that answers for the address.
    pub account: UserId,
    /// Host and port of the address.
    pub host: String,
    /// The signing secrets (`whsec_…`).
    pub secrets: Vec<String>,
    pub form: Form,
}

pub(super) const UNAVAILABLE: Error =
    Error::Forbidden(Code::ProgramUnavailable, "The program that has posted this takes no clicks any more");

/// Finds a program that may be called in a channel. For a command: 404 if it was deleted, 403 if whoever answers for it may not
/// do so any more. For others: 403 if the program has gone, has no address any more, or may not be in the channel. 422 if the
/// server's key can't open its secret.
pub(super) fn find(tx: &Tx, organisation: OrganisationId, channel: ChannelId, program: Program) -> Result<Target> {
    match program {
        Program::Command(id) => command(tx, organisation, channel, id),
        Program::Webhook(id) => webhook(tx, channel, id),
        Program::Bot(id) => bot(tx, organisation, channel, id),
    }
}

fn command(tx: &Tx, organisation: OrganisationId, channel: ChannelId, id: CommandId) -> Result<Target> {
    let sql = "select owner_id, name, url, target, form, secret from commands where id = ?1 and organisation_id = ?2";
    let found: Option<(UserId, String, String, String, Form, Vec<u8>)> = tx
        .prepare_cached(sql)?
        .query_row((id, organisation), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)))
        .optional()?;
    let (owner, name, url, host, form, sealed) = found.ok_or(UNKNOWN)?;
    // A reclaimed account has left the address empty.
    if url.is_empty() {
        return Err(Error::Forbidden(Code::CommandOwnerBarred, "The command has no address: it has to be set again"));
    }
    if !manages(tx, organisation, channel, owner)? {
        return Err(Error::Forbidden(Code::CommandOwnerBarred, "Whoever made the command may not manage it any more"));
    }
    let account = access::answerable_person(tx, owner)?;
    Ok(Target { name, url, account, host, secrets: vec![record::open(tx, &sealed, "command")?], form })
}

fn webhook(tx: &Tx, channel: ChannelId, id: WebhookId) -> Result<Target> {
    let takes = |webhook: &record::Webhook| {
        webhook.status == record::Status::Active && webhook.events.includes(DeliveryKind::ActionClicked)
    };
    let webhook = record::find(tx, channel, id)?.filter(takes).ok_or(UNAVAILABLE)?;
    let url_by = webhook.url_by.ok_or(UNAVAILABLE)?;
    let owner = owners::rights(tx, webhook.owner_id, channel)?;
    let may_post = owner.is_some_and(|rights| rights.contains(Rights::POST_MESSAGES));
    if !may_post || owners::rights(tx, url_by, channel)?.is_none() {
        return Err(UNAVAILABLE);
    }
    let (account, secrets) = (access::answerable_person(tx, url_by)?, record::secrets(tx, id)?);
    Ok(Target { name: webhook.name, url: webhook.url, account, host: webhook.target, secrets, form: Form::Json })
}

fn bot(tx: &Tx, organisation: OrganisationId, channel: ChannelId, id: UserId) -> Result<Target> {
    let sql = "select m.username, b.url, b.url_by, b.url_by = b.owner_id, b.target, b.secret
        from bots b join channel_members m on m.channel_id = ?2 and m.user_id = b.user_id where b.user_id = ?1 and b.url <> ''";
    let found: Option<(String, String, UserId, bool, String, Vec<u8>)> = tx
        .prepare_cached(sql)?
        .query_row((id, channel), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?)))
        .optional()?;
    let (name, url, url_by, is_owner, host, sealed) = found.ok_or(UNAVAILABLE)?;
    // The owner may read what the bot can, wherever it is. Anybody else's program learns of no channel that they don't see.
    let may_know = is_owner || owners::rights(tx, url_by, channel)?.is_some();
    if access::membership(tx, organisation, id)?.is_none() || !may_know || !manages(tx, organisation, channel, url_by)? {
        return Err(UNAVAILABLE);
    }
    let account = access::answerable_person(tx, url_by)?;
    Ok(Target { name, url, account, host, secrets: vec![record::open(tx, &sealed, "bot")?], form: Form::Json })
}

/// Whether the user may manage programs of the organisation: not with an account that is disabled, or is just being reclaimed.
fn manages(tx: &Tx, organisation: OrganisationId, channel: ChannelId, user: UserId) -> Result<bool> {
    let own = access::membership(tx, organisation, user)?;
    let is_active = tx.prepare_cached("select 1 from users where id = ?1 and is_active")?.exists([user])?;
    let holds = own.is_some_and(|own| own.rights.contains(Rights::MANAGE_WEBHOOKS));
    Ok(holds && is_active && !cursor::is_ending(tx, user, channel)?)
}
