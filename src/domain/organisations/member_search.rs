//! Finding members of an organisation by their names, e-mail addresses and roles.

use rusqlite::Connection;

use crate::{
    db::Columns,
    domain::{
        access::{self, Caller, OUTSIDER},
        accounts,
        organisations::roles,
        text::{self, Rule},
    },
    error::{Error, Result},
    id::{OrganisationId, UserId},
};

text::rules! {
    /// What is searched for in the names and e-mail addresses of members.
    pub Text: Rule::line(256);
}

/// Which members are wanted.
pub struct Search {
    /// Each is in a member's full name, username or e-mail address; their case is folded.
    words: Vec<String>,
    /// The role that members have, as [`roles::find`] takes it.
    role: Option<String>,
}

impl Search {
    /// A search by the words of `text` and by a role. None if it asks for neither, as an empty text does. 400 for a text of
    /// several lines, or one that is too long.
    pub fn parse(text: &str, role: Option<String>) -> Result<Option<Search>> {
        let text = Text::check(text, "search").map_err(Error::BadRequest)?;
        let words: Vec<_> = text.split_whitespace().map(text::folded).collect();
        Ok((role.is_some() || !words.is_empty()).then_some(Search { words, role }))
    }
}

/// Finds members whatever their status, newest first. For members, who all see each other's names and addresses; 403 for
/// outsiders, 400 for an unknown role.
///
/// A slow read: it looks at all members of the organisation, because an index of parts of names would cost every change of a
/// profile a write.
pub fn find(conn: &Connection, caller: Caller, organisation: OrganisationId, search: &Search) -> Result<Vec<UserId>> {
    access::is_member(conn, caller, organisation, OUTSIDER)?;
    let role = match &search.role {
        Some(named) => {
            let role = roles::find(conn, organisation, named)?;
            Some(role.ok_or_else(|| Error::bad_request("role: no such role"))?.id)
        }
        None => None,
    };
    let mut members = conn.prepare_cached(
        "select m.user_id, u.first_name, u.last_name, u.username, u.email
           from organisation_members m join users u on u.id = m.user_id
         where m.organisation_id = ?1 and (?2 is null or m.role_id = ?2) order by m.created_at desc, m.user_id",
    )?;
    let (mut rows, mut found) = (members.query((organisation, role))?, Vec::new());
    while let Some(row) = rows.next()? {
        let mut columns = Columns::of(row);
        let user = columns.take()?;
        let full_name = accounts::full_name(&columns.take::<String>()?, &columns.take::<String>()?);
        let names = text::folded(&format!("{full_name}\n{}\n{}", columns.take::<String>()?, columns.take::<String>()?));
        if search.words.iter().all(|word| names.contains(word)) {
            found.push(user);
        }
    }
    Ok(found)
}
