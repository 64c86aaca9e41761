//! The arguments of the tools: their types, which are also their schemas.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    api::http::number::Number,
    db::View,
    domain::{
        access::Caller,
        channels::{lists, record::Channel},
        messages::{posting, search},
        organisations,
        page::DEEPEST,
        text::{Emoji, Ruled},
    },
    error::{Code, Error, Result},
    id::{ChannelId, MessageId, UserId},
    time::Time,
};

/// Rows in a result, at most.
const MOST: u32 = 50;

/// Rows in a result.
pub type Limit = Number<1, MOST>;
/// Rows to skip.
pub type Offset = Number<0, { DEEPEST - 1 }>;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListChannels {
    /// Slug or id of an organisation. If omitted, the one that the user has open.
    pub organisation: Option<String>,
    /// Channels to skip, as an earlier result says.
    pub offset: Option<Offset>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListThreads {
    /// Id or name of a channel. If omitted, the threads that the user takes part in, in all channels of the organisation.
    pub channel: Option<String>,
    /// Slug or id of an organisation. If omitted, the one that the user has open.
    pub organisation: Option<String>,
    /// Threads to skip, as an earlier result says.
    pub offset: Option<Offset>,
    /// Threads in the result, at most; default 20.
    pub limit: Option<Limit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadMessages {
    /// Id or name of the channel.
    pub channel: String,
    /// Slug or id of the organisation that a name is looked up in. If omitted, the one that the user has open.
    pub organisation: Option<String>,
    /// Id of a message: read those before it.
    pub before: Option<MessageId>,
    /// Id of a message: read those after it, beginning with the next.
    pub after: Option<MessageId>,
    /// Id of a message: read those on both sides of it, instead of before and after.
    pub around: Option<MessageId>,
    /// Messages in the result, at most; default 20.
    pub limit: Option<Limit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadThread {
    /// Id of the thread, which is that of its first message.
    pub thread: MessageId,
    /// Id of a reply: read those before it.
    pub before: Option<MessageId>,
    /// Id of a reply, or of the thread: read the replies after it, beginning with the next.
    pub after: Option<MessageId>,
    /// Replies in the result, at most; default 20.
    pub limit: Option<Limit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchMessages {
    /// Words that a message contains, all of them: at least three characters, or two in Chinese, Japanese or Korean.
    #[schemars(length(min = search::Text::RULE.min, max = search::Text::RULE.max))]
    pub query: String,
    /// Slug or id of an organisation. If omitted, the one that the user has open.
    pub organisation: Option<String>,
    /// Id or name of a channel: search only there.
    pub channel: Option<String>,
    /// Id of a user, as `author_id` of messages has it: search only what they wrote.
    pub author: Option<UserId>,
    /// Search only what was written before this time (RFC 3339).
    pub before: Option<Time>,
    /// Search only what was written after this time (RFC 3339).
    pub after: Option<Time>,
    /// Messages to skip, as an earlier result says.
    pub offset: Option<Offset>,
    /// Messages in the result, at most; default 20.
    pub limit: Option<Limit>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostMessage {
    /// Id or name of the channel.
    pub channel: String,
    /// Slug or id of the organisation that a name is looked up in. If omitted, the one that the user has open.
    pub organisation: Option<String>,
    /// The message, in Markdown. `@username` and `@channel` notify people.
    #[schemars(length(min = posting::Content::RULE.min, max = posting::Content::RULE.max))]
    pub text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// Id of the thread, which is that of its first message, or of a reply in it.
    pub thread: MessageId,
    /// The reply, in Markdown. `@username` and `@channel` notify people.
    #[schemars(length(min = posting::Content::RULE.min, max = posting::Content::RULE.max))]
    pub text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct React {
    /// Id of the message.
    pub message: MessageId,
    /// One emoji, such as 👍.
    #[schemars(length(min = Emoji::RULE.min, max = Emoji::RULE.max))]
    pub emoji: String,
}

/// Parses the arguments of a call. 400 that names the argument at fault.
pub fn parse<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T> {
    let parsed = |arguments: Map<String, Value>| serde_json::from_value::<T>(Value::Object(arguments));
    // By itself an argument is read before it turns out which others are missing.
    let is_at_fault = |(name, value): &(&String, &Value)| {
        let alone = Map::from_iter([((*name).clone(), (*value).clone())]);
        parsed(alone).is_err_and(|err| !err.to_string().starts_with("missing field"))
    };
    let named = arguments.iter().find(is_at_fault).map(|(name, _)| format!("{name}: ")).unwrap_or_default();
    parsed(arguments).map_err(|err| Error::BadRequest(Code::InvalidValue.says(format!("{named}{err}"))))
}

/// The channel that an argument names, by its id or by its name in an organisation. 404 for one that the caller can't see.
pub fn channel(conn: &View, caller: Caller, named: &str, organisation: Option<&str>) -> Result<Channel> {
    let found = match named.parse() {
        Ok(id) => lists::get(conn, caller, ChannelId(id), lists::Users::None)?,
        Err(_) => {
            let organisation = organisations::find_named_or_current(conn, caller, organisation)?;
            let by_name = |name| lists::find_by_name(conn, caller, name, Some(organisation), lists::Users::None);
            match (by_name(named), named.strip_prefix('#')) {
                (Err(Error::NotFound(_)), Some(name)) => by_name(name)?,
                (found, _) => found?,
            }
        }
    };
    Ok(found.channel)
}

/// The schema of a tool's arguments, in the plain form that all models understand: an argument that may be omitted is not
/// said to be null as well, though null counts as omitted.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema.as_object_mut().map(|schema| schema.remove("title"));
    for property in schema["properties"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        if let Some(one) = property["type"].as_array().map(|types| types[0].clone()) {
            property["type"] = one;
        }
    }
    schema
}
