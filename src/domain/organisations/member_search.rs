//! Finding members of an organisation by their names, e-mail addresses and roles.
//!
//! Each membership has the member's names beside it ([`crate::domain::accounts::searchable_names`]), so that a search looks
//! through one range of rows and no account.

use rusqlite::Connection;

use crate::{
    db::Columns,
    domain::{
        access::{self, Caller, HIDDEN_CHANNEL, OUTSIDER},
        accounts::searchable_names::BEGINNING,
        organisations::roles,
        text::{self, Rule},
    },
    error::{Code, Error, Result},
    id::{ChannelId, OrganisationId, UserId},
    time::Time,
};

text::rules! {
    /// What is searched for in the names and e-mail addresses of members.
    pub Text: Rule::line(256);
    /// Identifiers of users.
    pub Ids: Rule::identifier_list();
}

/// Which members are wanted.
pub struct Search {
    /// Each is in a member's names; their case is folded.
    sought: Vec<String>,
    is_by_name: bool,
    /// The role that members have, as [`roles::find_named`] takes it.
    role: Option<String>,
    /// The channel that they are in.
    channel: Option<ChannelId>,
}

impl Search {
    /// A search for members with all words of `text` in their names, and with a name that begins with each word of `beginning`.
    /// None if it asks for nothing, as empty texts do. 400 for a text of several lines, or one that is too long; `text` comes with the
    /// name of its parameter.
    pub fn parse(
        (text, parameter): (&str, &'static str),
        beginning: &str,
        role: Option<String>,
        channel: Option<ChannelId>,
    ) -> Result<Option<Search>> {
        let text = Text::check(text, parameter).map_err(Error::BadRequest)?;
        let beginning = Text::check(beginning, "q").map_err(Error::BadRequest)?;
        let begins = beginning.split_whitespace().map(|word| format!("{BEGINNING}{}", text::folded(word)));
        let sought: Vec<_> = text.split_whitespace().map(text::folded).chain(begins).collect();
        let is_asked = role.is_some() || channel.is_some() || !sought.is_empty();
        Ok(is_asked.then_some(Search { sought, is_by_name: !beginning.is_empty(), role, channel }))
    }
}

/// The identifiers of users in a request, separated by commas. 400 unless they are at most 100.
pub fn parse_user_ids(text: &str) -> Result<Vec<UserId>> {
    let text = Ids::check(text, "ids").map_err(Error::BadRequest)?;
    let ids = text.split(',').map(|id| id.parse().map(UserId));
    ids.collect::<Result<_, _>>()
        .map_err(|_| Error::BadRequest(Code::InvalidValue.says("ids must be identifiers, separated by commas").at("ids")))
}

/// Finds members whatever their status: newest first, or by name where the beginning of one is sought. For members, who all see
/// each other's names and addresses; 403 for outsiders and for a channel that the caller can't see, 400 for an unknown role.
///
/// A slow read: it looks at all members of the organisation, a millisecond for 10,000. The longest word is sought by SQLite,
/// so that few rows leave it.
pub fn find(conn: &Connection, caller: Caller, organisation: OrganisationId, search: &Search) -> Result<Vec<UserId>> {
    access::require_member(conn, caller, organisation, OUTSIDER)?;
    if let Some(channel) = search.channel {
        access::require_organisation_channel(conn, caller, organisation, channel, HIDDEN_CHANNEL)?;
    }
    let role = match &search.role {
        Some(named) => {
            let role = roles::find_named(conn, organisation, named)?;
            Some(role.ok_or_else(|| Error::BadRequest(Code::RoleNotFound.says("role: no such role").at("role")))?.id)
        }
        None => None,
    };
    let longest = search.sought.iter().max_by_key(|word| word.len()).map_or("", String::as_str);
    let mut members = conn.prepare_cached(
        "select user_id, created_at, names from organisation_members
         where organisation_id = ?1 and (?2 is null or role_id = ?2) and instr(names, ?3)
           and (?4 is null or exists (select 1 from channel_members cm
             where cm.channel_id = ?4 and cm.user_id = organisation_members.user_id))",
    )?;
    let (mut rows, mut found) = (members.query((organisation, role, longest, search.channel))?, Vec::new());
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of_row(row);
        let (user, joined_at, names): (UserId, Time, String) = (columns.take()?, columns.take()?, columns.take()?);
        if search.sought.iter().all(|word| names.contains(word)) {
            found.push((user, joined_at, names));
        }
    }
    if search.is_by_name {
        found.sort_unstable_by(|(.., a), (.., b)| a.cmp(b));
    } else {
        found.sort_by_key(|(_, joined_at, _)| std::cmp::Reverse(*joined_at));
    }
    Ok(found.into_iter().map(|(user, ..)| user).collect())
}
