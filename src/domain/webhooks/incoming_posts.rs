//! Feeds: posts by programs, through a webhook's secret address or with a member's bearer. With a bearer, the member is the
//! author and is shown as such; a feed by the address alone has no author.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::Tx,
    domain::{
        access::{self, Caller, HIDDEN_CHANNEL},
        messages::{
            action_buttons::{self, Actions, Program},
            inserting, posting,
            record::{FED, Message, Profile},
            thread_members::Root,
        },
        rights::Rights,
        text::{self, Rule},
        webhooks::{EventName, delivery::kind::DeliveryKind, history, owners, received::Received, record},
    },
    error::{Code, Error, Refusal, Result},
    id::{CallbackId, ChannelId, MessageId, OrganisationId, UserId, WebhookId},
    secret::{self, sender_proof::Proof},
};

text::rules! {
    /// The name shown.
    pub Username: Rule::line(64).visible();
    pub ActionType: Rule::line(80);
    pub Status: Rule::one_of(&["success", "error", "resolved", "firing"]);
    pub Slug: Rule::secret(64);
    /// A post in a query, which shares the request's head with all else.
    pub QueriedMessage: Rule::non_blank_text(4000);
}

/// A program's post. Empty texts count as absent.
#[derive(Default)]
pub struct Feed {
    pub message: String,
    /// The name shown; only a label beside the author, if there is one.
    pub username: String,
    pub event_name: String,
    pub action_type: String,
    pub avatar_url: String,
    /// The status of a post, or of an alert; `success` when absent.
    pub status: Option<String>,
    /// Whether strangers may have written the text, such as the title of an issue: a name in it mentions nobody.
    pub quotes_strangers: bool,
    /// What can be clicked.
    pub actions: Vec<action_buttons::New>,
}

impl Feed {
    /// The message, with these names where the feed gives none. 422 for a text that is empty, too long or has control characters,
    /// an invalid address, and another status.
    fn message(
        &self,
        tx: &Tx,
        (channel, organisation): (ChannelId, OrganisationId),
        (name, event_name): (&str, &str),
    ) -> Result<Message> {
        let checked = || -> Result<Message, Refusal> {
            posting::Content::check(&self.message, "message")?;
            Ok(Message {
                content: self.message.clone(),
                username: first_of(Username::check(&self.username, "username")?, name).into(),
                event_name: first_of(EventName::check(&self.event_name, "event_name")?, event_name).into(),
                action_type: ActionType::check(&self.action_type, "action_type")?.into(),
                author: Profile {
                    avatar_url: text::web_address_if_any(&self.avatar_url, "avatar_url")?.into(),
                    ..Profile::default()
                },
                status: shown(Status::check(self.status.as_deref().unwrap_or("success"), "status")?).into(),
                kind: FED.into(),
                ..Message::new(MessageId::new(), channel, organisation, tx.now())
            })
        };
        checked().map_err(Error::Invalid)
    }

    /// Posts the message with the feed's actions. 422 for bad ones, and for those of a program that takes no clicks.
    fn post(
        &self,
        tx: &mut Tx,
        mut message: Message,
        (caller, program): (Option<Caller>, Program),
        root: Option<Root>,
    ) -> Result<MessageId> {
        message.actions = Actions::check(program, &self.actions, || takes_clicks(tx, program))?;
        if let Some(Caller { user, .. }) = caller {
            message = message.by(user, Profile::find(tx, user)?); // a member's post has the member's picture
        }
        let write = if self.quotes_strangers { inserting::write_as_is } else { inserting::write };
        Ok(write(tx, message, root)?.id)
    }
}

/// The status that the post of a feed shows. Monitoring systems report that an alert is firing or resolved.
fn shown(status: &str) -> &str {
    match status {
        "firing" => "error",
        "resolved" => "success",
        other => other,
    }
}

/// A live webhook, with what a feed needs of it and its channel.
struct FeedTarget {
    webhook: WebhookId,
    owner: UserId,
    name: String,
    event_name: String,
    status: record::Status,
    sender_secret: Option<Vec<u8>>,
    channel: ChannelId,
    organisation: OrganisationId,
    is_archived: bool,
}

/// The refusal of a feed to an unknown slug.
pub const UNKNOWN: Error = Error::NotFound(Code::WebhookNotFound);

/// The person who answers for the feeds of the webhook with this slug, even if it takes none now.
pub fn answerable_person(conn: &Connection, slug: &str) -> Result<Option<UserId>> {
    find(conn, slug)?.map(|target| access::answerable_person(conn, target.owner)).transpose()
}

/// Posts a feed under the webhook's names, where the feed gives none, and records it with what was received. A paused webhook
/// only records it, and so does one that gets no feed, because the program had nothing to tell: there is no message. For
/// everybody who knows the slug and, if the webhook has a secret for that, proves to know it. A caller with a bearer must have
/// the right to post in the channel, and is the author. 404 for an unknown slug; 401 without that proof; 403 for an inactive
/// webhook, an archived channel, and a webhook whose owner has lost access to the channel or the right to post; 422 for an
/// invalid feed.
pub fn receive(
    tx: &mut Tx,
    caller: Option<Caller>,
    slug: &str,
    feed: Option<&Feed>,
    (received, proof): (&Received, &Proof),
) -> Result<Option<MessageId>> {
    let target = find(tx, slug)?.ok_or(UNKNOWN)?;
    if let Some(sealed) = &target.sender_secret {
        let secret = record::open(tx, sealed, "webhook")?;
        if !proof.shows(&secret, tx.now().unix_seconds()) {
            return Err(Error::Unauthorized(Code::SenderUnproved, "The request is not signed with the webhook's sender_secret"));
        }
    }
    if let Some(caller) = caller {
        access::require_poster(tx, caller, target.channel, HIDDEN_CHANNEL)?;
    }
    if target.is_archived {
        return Err(Error::Forbidden(Code::ChannelArchived, "The channel is archived"));
    }
    if target.status == record::Status::Inactive {
        return Err(Error::Forbidden(Code::WebhookInactive, "The webhook is inactive"));
    }
    let rights = owners::rights(tx, target.owner, target.channel)?;
    if !rights.is_some_and(|rights| rights.contains(Rights::POST_MESSAGES)) {
        return Err(Error::Forbidden(Code::WebhookOwnerBarred, "The webhook's owner may not post in the channel any more"));
    }
    let (place, names) = ((target.channel, target.organisation), (&*target.name, &*target.event_name));
    let message = feed.map(|feed| feed.message(tx, place, names)).transpose()?;
    let is_paused = target.status == record::Status::Paused;
    let posted = match feed.zip(message).filter(|_| !is_paused) {
        Some((feed, message)) => Some(feed.post(tx, message, (caller, Program::Webhook(target.webhook)), None)?),
        None => None,
    };
    let callback = posted.map_or_else(CallbackId::new, |message| CallbackId(message.0));
    history::record_received(tx, target.webhook, if is_paused { "paused" } else { "feed" }, callback, received, (200, ""))?;
    Ok(posted)
}

/// Records a feed whose body was refused with this status and these words, if a webhook has the slug. For everybody who knows
/// the slug.
pub fn record_refused(tx: &mut Tx, slug: &str, received: &Received, refusal: (u16, &str)) -> Result<()> {
    match find(tx, slug)? {
        Some(target) => history::record_received(tx, target.webhook, "feed", CallbackId::new(), received, refusal),
        None => Ok(()),
    }
}

/// Posts a feed without a webhook, and without a record of it. For members of the channel with the right to post, on behalf
/// of their own programs. The caller is the author; where the feed gives no name, their name in the channel is shown. 403
/// for other callers, a direct message and an archived channel; 422 for an invalid feed.
pub fn post_as_member(tx: &mut Tx, caller: Caller, channel: ChannelId, feed: &Feed) -> Result<MessageId> {
    let access = access::require_poster(tx, caller, channel, HIDDEN_CHANNEL)?;
    access.require_no_dm()?;
    access.require_live()?;
    let names = (access.username.as_deref().unwrap_or_default(), "");
    let message = feed.message(tx, (channel, access.organisation), names)?;
    feed.post(tx, message, (Some(caller), Program::Bot(caller.user)), None)
}

/// Posts what a program answers to a call, as a reply if there is a `root`. Where the answer gives no name, the program's is
/// shown. 422 for an invalid answer.
pub(in crate::domain) fn post_answer(
    tx: &mut Tx,
    place: (ChannelId, OrganisationId),
    root: Option<Root>,
    (program, name): (Program, &str),
    answer: &Feed,
) -> Result<MessageId> {
    let message = answer.message(tx, place, (name, ""))?;
    answer.post(tx, message, (None, program), root)
}

/// Whether the program may post actions. One that is just answering a call may.
fn takes_clicks(conn: &Connection, program: Program) -> Result<bool> {
    match program {
        Program::Command(_) => Ok(true),
        Program::Bot(user) => action_buttons::takes_clicks(conn, user),
        Program::Webhook(id) => {
            let sql = "select 1 from webhooks where id = ?1 and url <> '' and events & ?2 <> 0";
            Ok(conn.prepare_cached(sql)?.exists((id, DeliveryKind::ActionClicked.bit()))?)
        }
    }
}

fn first_of<'a>(given: &'a str, otherwise: &'a str) -> &'a str {
    if given.is_empty() { otherwise } else { given }
}

fn find(conn: &Connection, slug: &str) -> Result<Option<FeedTarget>> {
    Ok(conn
        .prepare_cached(
            "select w.id, w.owner_id, w.name, w.event_name, w.status, w.sender_secret, w.channel_id, c.organisation_id, c.archived_at is not null as is_archived
             from webhooks w join channels c on c.id = w.channel_id join organisations o on o.id = c.organisation_id
             where w.slug_hash = ?1 and w.deleted_at is null and c.deleted_at is null and o.deleted_at is null",
        )?
        .query_row([secret::sha256(slug)], from_row)
        .optional()?)
}

fn from_row(row: &Row) -> rusqlite::Result<FeedTarget> {
    Ok(FeedTarget {
        webhook: row.get("id")?,
        owner: row.get("owner_id")?,
        name: row.get("name")?,
        event_name: row.get("event_name")?,
        status: row.get("status")?,
        sender_secret: row.get("sender_secret")?,
        channel: row.get("channel_id")?,
        organisation: row.get("organisation_id")?,
        is_archived: row.get("is_archived")?,
    })
}
