//! Pages of messages: the newest ones, those before or after a message, and those around one.

use std::convert::identity;

use poem_openapi::{
    registry::MetaSchema,
    types::{ParseError, ParseFromParameter, ParseResult},
};
use serde_json::json;

use crate::{
    api::http::{
        framework_traits::{described, inline_schema},
        json::Answer,
        listing::{Address, BYTES, Bounds, Filled, fill_within},
        rows::Rows,
    },
    db::View,
    domain::{
        messages::{
            lists::{At, Excerpt, List, Span},
            record::Message,
        },
        page::Page,
    },
    error::{Code, Error, Result},
    id::MessageId,
};

/// What a page is around.
#[derive(Clone, Copy)]
pub enum Around {
    Message(MessageId),
    /// The first unread post.
    Unread,
}

described!(
    Around,
    "around",
    inline_schema(MetaSchema {
        any_of: vec![
            inline_schema(MetaSchema::new_with_format("string", "uuid")),
            inline_schema(MetaSchema { enum_items: vec![json!("unread")], ..MetaSchema::new("string") }),
        ],
        ..MetaSchema::ANY
    })
);

impl ParseFromParameter for Around {
    fn parse_from_parameter(value: &str) -> ParseResult<Self> {
        match (value, value.parse()) {
            ("unread", _) => Ok(Around::Unread),
            (_, Ok(id)) => Ok(Around::Message(MessageId(id))),
            _ => Err(ParseError::custom(format!("must be a UUID or \"unread\", not {value:?}"))),
        }
    }
}

/// The part that a request asks for. 400 for a page around a message that is also to be before or after one.
pub fn requested_part(before: Option<MessageId>, after: Option<MessageId>, around: Option<Around>) -> Result<At> {
    match around {
        Some(_) if before.is_some() || after.is_some() => {
            Err(Error::BadRequest(Code::ConflictingFields.says("around goes without before and after").at("around")))
        }
        Some(Around::Message(id)) => Ok(At::Around(id)),
        Some(Around::Unread) => Ok(At::Unread),
        None => Ok(At::Range { before, after }),
    }
}

/// Where a list goes on. The cursors are messages and not offsets, so that newer messages shift no rows.
#[derive(Clone, Copy, Default)]
pub struct Links {
    /// The parameter and the message of the page that follows in the direction of this one.
    pub next: Option<(&'static str, MessageId)>,
    /// On a page around a message: the newest on the page, if there are newer ones.
    pub newer: Option<MessageId>,
}

impl Links {
    /// The `Link` header.
    pub fn header(self, address: &Address) -> Option<String> {
        let next = self.next.map(|(parameter, id)| address.link("next", parameter, &id.to_string()));
        let newer = self.newer.map(|id| address.link("prev", "after", &id.to_string()));
        let links: Vec<String> = next.into_iter().chain(newer).collect();
        (!links.is_empty()).then(|| links.join(", "))
    }
}

/// Reads a page of the list, always with the newest message first.
pub fn read(conn: &View, list: &List, at: At, size: u32) -> Result<(Rows<Message>, Links)> {
    read_bounded(conn, list, at, size, BYTES, identity)
}

/// Works like [`read`], within other bytes. `show` turns a message into what is answered.
pub fn read_bounded<T: Answer>(
    conn: &View,
    list: &List,
    at: At,
    size: u32,
    bytes: usize,
    show: impl Fn(Message) -> T,
) -> Result<(Rows<T>, Links)> {
    let part = |span, size, bytes| Part::read(conn, list, span, size, bytes, &show);
    match list.locate_page(conn, at)? {
        Excerpt::One(span) => {
            let Part { rows, ids, is_more } = part(span, size, bytes)?;
            let parameter = if span.is_ascending { "after" } else { "before" };
            let next = ids.last().filter(|_| is_more).map(|last| (parameter, *last));
            Ok((if span.is_ascending { rows.reversed() } else { rows }, Links { next, newer: None }))
        }
        Excerpt::Both { older, newer } => {
            let newer = part(newer, size / 2, bytes / 2)?;
            let older = part(older, size - newer.ids.len() as u32, bytes / 2)?;
            let mut rows = newer.rows.reversed();
            rows.extend(&older.rows);
            let next = older.ids.last().filter(|_| older.is_more).map(|last| ("before", *last));
            let asked = if let At::Around(id) = at { Some(id) } else { None };
            let newest = newer.ids.last().or(older.ids.first()).copied().or(asked);
            Ok((rows, Links { next, newer: newest.filter(|_| newer.is_more) }))
        }
    }
}

/// Consecutive messages of a list.
struct Part<T> {
    rows: Rows<T>,
    ids: Vec<MessageId>,
    /// Whether the list goes on behind them.
    is_more: bool,
}

impl<T: Answer> Part<T> {
    fn read(conn: &View, list: &List, span: Span, size: u32, bytes: usize, show: impl Fn(Message) -> T) -> Result<Part<T>> {
        let (mut ids, bounds) = (Vec::new(), Bounds { bytes, ..Bounds::ANSWER });
        let show = |message: Message| {
            ids.push(message.id);
            show(message)
        };
        let Filled { data, rest } = fill_within(bounds, Page::new(1, size), |page| list.read(conn, span, page), show)?;
        ids.truncate(data.len()); // the last one read may not have fitted
        Ok(Part { rows: data, ids, is_more: rest.is_some() })
    }
}
