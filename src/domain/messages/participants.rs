//! Participants of threads: the members who have replied, in the order of their first reply.

use std::collections::HashMap;

use rusqlite::{Connection, Row};
use serde_json::json;

use crate::{
    db::Columns,
    domain::{
        accounts,
        messages::record::{Message, Participant},
    },
    error::Result,
};

/// Participants shown with a thread, at most; their number counts all of them.
const SHOWN: i64 = 3;

/// The first participants of each of the threads with these `n`.
pub fn of(conn: &Connection, roots: &[i64]) -> Result<HashMap<i64, Vec<Participant>>> {
    let mut select = conn.prepare_cached(
        "select t.root, t.first_n, t.user_id, coalesce(cm.username, u.username), u.first_name, u.last_name, u.avatar_url, u.is_bot
         from json_each(?1) listed
           cross join thread_members t indexed by thread_members_first on t.root = listed.value and t.first_n is not null
             and t.first_n <= coalesce((select last.first_n from thread_members last
               where last.root = listed.value and last.first_n is not null order by last.first_n limit 1 offset ?2), ?3)
           cross join users u on u.id = t.user_id
           left join channel_members cm on cm.channel_id = t.channel_id and cm.user_id = t.user_id",
    )?;
    let from_row = |row: &Row| {
        let mut columns = Columns::of_row(row);
        let (root, first): (i64, i64) = (columns.take()?, columns.take()?);
        let participant = Participant {
            user_id: columns.take()?,
            username: columns.take()?,
            full_name: accounts::join_names(&columns.take::<String>()?, &columns.take::<String>()?),
            avatar_url: columns.take()?,
            user_type: accounts::user_type(columns.take()?),
        };
        Ok((root, first, participant))
    };
    let mut found: Vec<(i64, i64, Participant)> =
        select.query_map((json!(roots).to_string(), SHOWN - 1, i64::MAX), from_row)?.collect::<rusqlite::Result<_>>()?;
    found.sort_unstable_by_key(|(_, first, _)| *first);
    let mut participants: HashMap<i64, Vec<Participant>> = HashMap::new();
    for (root, _, participant) in found {
        participants.entry(root).or_default().push(participant);
    }
    Ok(participants)
}

/// Reads the participants of all threads among these messages at once.
pub fn attach<'a>(conn: &Connection, messages: impl IntoIterator<Item = &'a mut Message>) -> Result<()> {
    let mut threads: Vec<&mut Message> = messages.into_iter().filter(|message| message.participant_count > 0).collect();
    if threads.is_empty() {
        return Ok(());
    }
    let mut found = of(conn, &threads.iter().map(|thread| thread.n).collect::<Vec<_>>())?;
    for thread in &mut threads {
        thread.participants = found.remove(&thread.n).unwrap_or_default();
    }
    Ok(())
}
