//! Bodies that programs send to a webhook's feed: this server's own, and those of other programs ([`crate::formats`]).

use std::sync::Arc;

use poem::{
    Endpoint, Request, RequestBody,
    http::{Method, Uri},
};
use poem_openapi::{
    ApiExtractor, ApiExtractorType, ExtractParamOptions, Object,
    payload::{Json, Payload},
    registry::{MetaRequest, Registry},
};
use serde_json::Value;
use url::form_urlencoded;

use crate::{
    api::{
        http::{
            body::{self, Body, Text, WITHOUT_SESSION, json},
            envelope::{FeedAnswer, ProgramAnswer},
        },
        messages::posted_actions::{self, Actions},
    },
    domain::{
        messages::posting::Content,
        text::WebAddress,
        webhooks::{
            EventName, incoming_posts,
            received::{OWN, Received},
        },
    },
    error::{Code, Error, Result},
    formats::{Dialect, Post, Program, SendingProgram},
    secret::sender_proof::Proof,
};

#[derive(Object)]
pub struct Feed {
    /// The text of the post. `@username` and `@channel` mention.
    message: Text<Content>,
    /// The name shown; if omitted, the webhook's name, or without a webhook the member's.
    username: Option<Text<incoming_posts::Username>>,
    /// If omitted, the webhook's event name.
    event_name: Option<Text<EventName>>,
    /// `success` or `error`, or as monitoring systems report alerts: `firing`, which the post shows as `error`, and
    /// `resolved`, which it shows as `success`. `success` if omitted.
    status: Option<Text<incoming_posts::Status>>,
    action_type: Option<Text<incoming_posts::ActionType>>,
    /// The http or https address of a picture. If a bearer token is sent, the post has the member's picture instead.
    avatar_url: Option<Text<WebAddress>>,
    /// What can be clicked. For webhooks with an address, and for bots.
    actions: Option<Actions>,
}

impl From<Feed> for incoming_posts::Feed {
    fn from(feed: Feed) -> Self {
        incoming_posts::Feed {
            message: feed.message.0,
            username: feed.username.unwrap_or_default().0,
            event_name: feed.event_name.unwrap_or_default().0,
            action_type: feed.action_type.unwrap_or_default().0,
            avatar_url: feed.avatar_url.unwrap_or_default().0,
            status: body::into_string(feed.status),
            quotes_strangers: false,
            actions: posted_actions::to_new_actions(feed.actions),
        }
    }
}

/// A body that was sent to a feed.
pub struct Incoming {
    /// The feed; `None` if the program has nothing to tell. 400 for a body that is not understood.
    pub read: Result<Option<incoming_posts::Feed>>,
    pub received: Received,
    /// What the request shows of its sender.
    pub proof: Proof,
    /// Bytes of the body.
    pub bytes: usize,
    pub answer: Answer,
}

/// Makes the answer that a program expects of the one that this server's own programs get.
type Answer = fn(FeedAnswer) -> ProgramAnswer;

impl<'a> ApiExtractor<'a> for Incoming {
    const TYPES: &'static [ApiExtractorType] = Body::<Feed>::TYPES;
    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        Body::<Feed>::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        Body::<Feed>::request_meta()
    }

    async fn from_request(req: &'a Request, sent: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        let bytes = body::read(req, sent.take()?, WITHOUT_SESSION).await?;
        let (title, answer, read) = match read(req, &bytes) {
            Ok((title, answer, feed)) => (title, answer, Ok(feed)),
            Err(err) => ("not understood".into(), ProgramAnswer::Envelope as Answer, Err(err)),
        };
        let (received, size) = (Received::new(&bytes, title), bytes.len());
        Ok(Incoming { read, received, proof: Proof::new(|name| req.header(name), bytes), bytes: size, answer })
    }
}

/// Reads a body: its title for the history, the answer that its program expects, and the feed.
fn read(req: &Request, bytes: &[u8]) -> Result<(String, Answer, Option<incoming_posts::Feed>)> {
    let text = match Carried::of(req.content_type(), bytes)? {
        Carried::Json(text) => text,
        Carried::Text(text) => {
            let post = Post { text, ..Post::default() };
            return Ok(("plain text".into(), ProgramAnswer::Envelope, Some(post.into())));
        }
    };
    let body = json::parse(&text)?;
    let dialect = req.data().copied().unwrap_or(Dialect::Mrkdwn);
    let Some(sender) = SendingProgram::recognise(|name| req.header(name), &body, dialect) else {
        let own: Feed = body::parse_json_fields(body, &text).map_err(|faulty| Error::BadRequest(faulty.0))?;
        return Ok((OWN.into(), ProgramAnswer::Envelope, Some(own.into())));
    };
    let answer: Answer = match sender.program {
        Program::Slack | Program::Mattermost => |_| ProgramAnswer::Word,
        Program::Discord if waits(req) => ProgramAnswer::Message,
        Program::Discord => |_| ProgramAnswer::Nothing,
        _ => ProgramAnswer::Envelope,
    };
    let post = sender.post(&body);
    if post.is_none() && sender.is_chat() {
        let expected = if sender.program == Program::Discord { "content or embeds" } else { "text, attachments or blocks" };
        return Err(Error::BadRequest(Code::Empty.says(format!("{expected} must have a text"))));
    }
    let feed = post.map(|post| incoming_posts::Feed { quotes_strangers: sender.quotes_strangers(), ..post.into() });
    Ok((sender.title_in_history(), answer, feed))
}

/// Whether a program of Discord's wants to know the message that it makes.
fn waits(req: &Request) -> bool {
    let query = req.uri().query().unwrap_or_default();
    form_urlencoded::parse(query.as_bytes())
        .any(|(name, value)| name == "wait" && (value.eq_ignore_ascii_case("true") || value == "1"))
}

/// What the content type of a body says that it carries.
enum Carried {
    Json(Vec<u8>),
    Text(String),
}

impl Carried {
    /// Forms carry JSON in their field `payload`. JSON is recognised in text, too, and in what `curl -d` sends as a form.
    fn of(content_type: Option<&str>, bytes: &[u8]) -> Result<Carried> {
        let is = |wanted: &str| {
            let kind = content_type.and_then(|kind| kind.split(';').next()).unwrap_or_default();
            kind.trim().eq_ignore_ascii_case(wanted)
        };
        let (is_form, is_text) = (is("application/x-www-form-urlencoded"), is("text/plain"));
        if bytes.is_empty() {
            return Ok(Carried::Json(b"{}".to_vec()));
        }
        let payload = || form_urlencoded::parse(bytes).find(|(name, _)| name == "payload");
        if let Some((_, payload)) = is_form.then(payload).flatten() {
            return Ok(Carried::Json(payload.into_owned().into_bytes()));
        }
        let is_object = bytes.trim_ascii_start().starts_with(b"{");
        let may_be_json = is_form || is_text || content_type.is_none();
        if content_type.is_some_and(Json::<Value>::check_content_type) || (is_object && may_be_json) {
            return Ok(Carried::Json(bytes.to_vec()));
        }
        match std::str::from_utf8(bytes) {
            Ok(text) if is_text => Ok(Carried::Text(text.to_owned())),
            _ => Err(Error::BadRequest(Code::NotJson.says(
                "The request body must be JSON with the content type application/json, a form with JSON in its field payload, \
                 or text with the content type text/plain",
            ))),
        }
    }
}

/// Serves Mattermost's path of incoming webhooks, `/hooks/{webhook_slug}`, by the feed: tools that post to Mattermost then need no
/// other change than the host. The texts of their bodies are Markdown.
pub async fn at_mattermosts_path<E: Endpoint>(next: Arc<E>, mut req: Request) -> poem::Result<E::Output> {
    if let Some(uri) = feed_of(&req) {
        *req.uri_mut() = uri;
        req.set_data(Dialect::Markdown);
    }
    next.call(req).await
}

/// The feed's address for a request to Mattermost's path.
fn feed_of(req: &Request) -> Option<Uri> {
    let slug = req.uri().path().strip_prefix("/hooks/")?.trim_end_matches('/');
    let is_slug = req.method() == Method::POST && !slug.is_empty() && !slug.contains('/');
    is_slug.then(|| format!("/api/v1/webhooks/feed/{slug}").parse().ok()).flatten()
}
