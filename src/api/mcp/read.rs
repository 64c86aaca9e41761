//! The tools that read.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    arguments::{self, Limit},
    shown::{self, BYTES, Channel, Listed, Message, Organisation, Thread, continuation_hint, paging_hints, result_text},
};
use crate::{
    api::{
        http::{
            json::Answer,
            listing::{Bounds, Filled, fill_in_two_steps_within, fill_within},
            rows::Rows,
        },
        messages::pages::{self, Around},
    },
    db::View,
    domain::{
        access::Caller,
        channels::lists,
        messages::{lists::List, search, threads},
        organisations,
        page::Page,
    },
    error::Result,
    id::OrganisationId,
    state::App,
};

/// Rows in a result if the call gives no number.
const ROWS: u32 = 20;
/// Channels in a result.
const CHANNELS: u32 = 200;
/// Direct messages in a result: the latest.
const DIRECT_MESSAGES: u32 = 50;
/// Organisations in a result.
const ORGANISATIONS: u32 = 20;

/// A result of so many bytes. Its rows are read in parts, as a row may be half as long.
fn bounds(bytes: usize) -> Bounds {
    Bounds { bytes, part: 8 }
}

/// Fills a part of a result with rows that are found at once: each look for some of them would sort them all again.
fn fill_found<R, T: Answer>(
    bytes: usize,
    page: Page,
    find: impl FnOnce(Page) -> Result<Vec<R>>,
    show: impl FnMut(R) -> T,
) -> Result<Filled<Rows<T>>> {
    fill_in_two_steps_within(bounds(bytes), page, find, Ok, show)
}

fn size(limit: Option<Limit>) -> u32 {
    limit.map_or(ROWS, |limit| limit.0)
}

#[derive(Serialize)]
struct Channels {
    /// The organisation of the channels.
    organisation_id: OrganisationId,
    organisations: Rows<Organisation>,
    channels: Rows<Channel>,
    direct_messages: Rows<Channel>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    more: Vec<String>,
}

pub async fn list_channels(app: &App, caller: Caller, arguments: Map<String, Value>) -> Result<String> {
    let arguments::ListChannels { organisation, offset } = arguments::parse(arguments)?;
    let page = Page { offset: offset.map_or(0, |offset| offset.0.into()), size: CHANNELS };
    let read = move |conn: &View| {
        let id = organisations::find_named_or_current(conn, caller, organisation.as_deref())?;
        let channels = fill_found(BYTES / 2, page, |page| lists::joined(conn, caller, id, page), Channel::from)?;
        let latest = Page { offset: 0, size: DIRECT_MESSAGES };
        let direct = fill_found(BYTES / 4, latest, |page| lists::direct_messages(conn, caller, id, page), Channel::from)?;
        let all = Page { offset: 0, size: ORGANISATIONS };
        let own = fill_found(BYTES / 4, all, |page| organisations::list_own(conn, caller, page), Organisation::from)?;
        let mut more = continuation_hint(channels.rest);
        more.extend(direct.rest.map(|_| "Only the latest direct messages are listed".to_owned()));
        more.extend(own.rest.map(|_| "The user is in more organisations; name one by its slug".to_owned()));
        let (channels, direct_messages, organisations) = (channels.data, direct.data, own.data);
        Ok(result_text(&Channels { organisation_id: id, organisations, channels, direct_messages, more }))
    };
    app.db.read_bounded(caller.share(), read).await
}

pub async fn list_threads(app: &App, caller: Caller, arguments: Map<String, Value>) -> Result<String> {
    let arguments::ListThreads { channel, organisation, offset, limit } = arguments::parse(arguments)?;
    let page = Page { offset: offset.map_or(0, |offset| offset.0.into()), size: size(limit) };
    let read = move |conn: &View| {
        let place = channel.map(|named| arguments::channel(conn, caller, &named, organisation.as_deref())).transpose()?;
        let find = |page| match &place {
            Some(channel) => threads::list(conn, caller, channel.id, page),
            None => {
                let own = threads::list_own(
                    conn,
                    caller,
                    organisations::find_named_or_current(conn, caller, organisation.as_deref())?,
                    None,
                    page,
                )?;
                Ok(own.into_iter().map(|(_, root)| root).collect())
            }
        };
        let read = |part| threads::load_list(conn, caller, part, 0);
        let Filled { data, rest: left } = fill_in_two_steps_within(bounds(BYTES), page, find, read, Thread::from)?;
        Ok(result_text(&Listed { channel: place.map(Into::into), thread: None, messages: data, more: continuation_hint(left) }))
    };
    app.db.read_bounded(caller.share(), read).await
}

pub async fn read_messages(app: &App, caller: Caller, arguments: Map<String, Value>) -> Result<String> {
    let arguments::ReadMessages { channel, organisation, before, after, around, limit } = arguments::parse(arguments)?;
    let at = pages::requested_part(before, after, around.map(Around::Message))?;
    let read = move |conn: &View| {
        let channel = arguments::channel(conn, caller, &channel, organisation.as_deref())?;
        let list = List::posts(conn, caller, channel.id)?;
        let (messages, links) = pages::read_bounded(conn, &list, at, size(limit), BYTES, Message::from)?;
        Ok(result_text(&Listed {
            channel: Some(channel.into()),
            thread: None,
            messages: messages.reversed(),
            more: paging_hints(links),
        }))
    };
    app.db.read_bounded(caller.share(), read).await
}

pub async fn read_thread(app: &App, caller: Caller, arguments: Map<String, Value>) -> Result<String> {
    let arguments::ReadThread { thread, before, after, limit } = arguments::parse(arguments)?;
    let at = pages::requested_part(before, after, None)?;
    let read = move |conn: &View| {
        let threads::Thread { root, channel, .. } = threads::get(conn, caller, thread, 0)?;
        let (list, _) = List::replies(conn, caller, root.channel, thread)?;
        let (messages, links) = pages::read_bounded(conn, &list, at, size(limit), BYTES / 2, Message::from)?;
        let channel = Some(shown::NamedChannel { id: root.channel, name: channel.name });
        Ok(result_text(&Listed { channel, thread: Some(root.into()), messages: messages.reversed(), more: paging_hints(links) }))
    };
    app.db.read_bounded(caller.share(), read).await
}

pub async fn search_messages(app: &App, caller: Caller, arguments: Map<String, Value>) -> Result<String> {
    let arguments::SearchMessages { query, organisation, channel, author, before, after, offset, limit } =
        arguments::parse(arguments)?;
    let query = search::Query::parse(&query)?;
    let page = Page { offset: offset.map_or(0, |offset| offset.0.into()), size: size(limit) };
    let (organisation, channel) = app.db.read(|conn| {
        let chosen = organisations::find_named_or_current(conn, caller, organisation.as_deref())?;
        let channel = channel.map(|named| arguments::channel(conn, caller, &named, organisation.as_deref())).transpose()?;
        Ok((chosen, channel))
    })?;
    let among =
        search::Among { channel: channel.as_ref().map(|channel| channel.id), user: author, before, after, with_files: false };
    let read = move |conn: &View| {
        let find = |part| search::find(conn, caller, organisation, among, &query, part);
        let Filled { data, rest: left } = fill_within(bounds(BYTES), page, find, Message::from)?;
        Ok(result_text(&Listed { channel: channel.map(Into::into), thread: None, messages: data, more: continuation_hint(left) }))
    };
    app.read_slow_in_organisation(caller, organisation, read).await
}
