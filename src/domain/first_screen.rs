//! The data of a client's first screen, in one state of the database: the account, its organisations, and one of them with its
//! channels.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::{
    db::{Columns, View},
    domain::{
        access::{self, Caller, Membership},
        accounts::{self, User, sessions},
        channels::{
            lists,
            members::{self, Member},
            record::Visible,
            unread_counts::{COUNTS, Counts},
        },
        organisations::{self, Own, founding},
        page::Page,
    },
    error::{Error, Result},
    id::OrganisationId,
    time::Time,
};

/// At most 1,000 organisations and channels, as in the lists of them.
const ALL: Page = Page { offset: 0, size: 1000 };
/// At most 200 direct messages: a sidebar shows the latest.
const LATEST: Page = Page { offset: 0, size: 200 };

pub struct Start {
    pub user: User,
    /// When the caller's session ends.
    pub expires_at: Time,
    /// By name, with what is unread in the channels and direct messages of each: mentions in all, posts where they are not muted.
    pub organisations: Vec<(Own, Counts)>,
    pub open: Option<Open>,
    /// Whether the caller may found another organisation.
    pub may_found: bool,
}

/// The organisation that the client shows.
pub struct Open {
    pub id: OrganisationId,
    pub membership: Membership,
    /// The live channels that the caller is in, by name.
    pub channels: Vec<(Counts, Visible)>,
    /// The latest active first, with their other people.
    pub direct_messages: Vec<(Counts, Visible, Vec<Member>)>,
}

/// Reads the start with the organisation of this slug open; without one the caller's current organisation, or else the first. 404
/// for the slug of an organisation that the caller is no member of.
pub fn read(conn: &View, caller: Caller, slug: Option<&str>) -> Result<Start> {
    let user = accounts::own(conn, caller)?;
    let expires_at = sessions::expiry(conn, caller)?;
    let mut unread = unread(conn, caller)?;
    let organisations = organisations::list_own(conn, caller, ALL)?;
    let open = match slug {
        Some(slug) => Some(organisations.iter().find(|one| one.slug == slug).ok_or(access::UNKNOWN_ORGANISATION)?),
        None => organisations.iter().find(|one| Some(one.id) == user.current_org).or(organisations.first()),
    };
    let open = open.map(|open| Open::read(conn, caller, open.id)).transpose()?;
    let organisations = organisations.into_iter().map(|one| {
        let counts = unread.remove(&one.id).unwrap_or_default();
        (one, counts)
    });
    let may_found = match founding::require_may(conn, caller) {
        Ok(()) => true,
        Err(Error::Forbidden(..)) => false,
        Err(err) => return Err(err),
    };
    Ok(Start { organisations: organisations.collect(), user, expires_at, open, may_found })
}

impl Open {
    fn read(conn: &Connection, caller: Caller, id: OrganisationId) -> Result<Open> {
        let found = lists::direct_messages(conn, caller, id, LATEST)?;
        let ids: Vec<_> = found.iter().map(|(_, found)| found.channel.id).collect();
        let mut people = members::of_direct_messages(conn, &ids)?;
        let with_people = |(unread, found): (Counts, Visible)| {
            let mut people = people.remove(&found.channel.id).unwrap_or_default();
            people.retain(|person| person.user != caller.user);
            (unread, found, people)
        };
        Ok(Open {
            id,
            membership: access::require_member(conn, caller, id, access::UNKNOWN_ORGANISATION)?,
            channels: lists::joined(conn, caller, id, ALL)?,
            direct_messages: found.into_iter().map(with_people).collect(),
        })
    }
}

/// The caller's unread counts in the live channels and direct messages of each organisation, without the posts of muted ones.
fn unread(conn: &Connection, caller: Caller) -> Result<HashMap<OrganisationId, Counts>> {
    let sql = format!(
        "select c.organisation_id, cm.is_muted, {COUNTS} from channel_members cm cross join channels c on c.id = cm.channel_id
         where cm.user_id = ?1 and c.deleted_at is null and c.archived_at is null"
    );
    let mut sums: HashMap<OrganisationId, Counts> = HashMap::new();
    let mut select = conn.prepare_cached(&sql)?;
    let mut rows = select.query([caller.user])?;
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of_row(row);
        let (organisation, is_muted, counts): (_, bool, _) = (columns.take()?, columns.take()?, Counts::take(&mut columns)?);
        let sum = sums.entry(organisation).or_default();
        if !is_muted {
            sum.threads += counts.threads;
        }
        sum.mentions += counts.mentions;
    }
    Ok(sums)
}
