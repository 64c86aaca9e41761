//! The schemas that databases have had, and how one is recognised: its version names it, and its definitions must agree.
//!
//! A number alone doesn't tell. The file may be another program's, or somebody has changed it by hand. And version 1 names
//! several schemas, because it stayed the same until the first step was numbered; each of them is the result of a step.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::comparable_schema::definitions;
use crate::error::{Error, Result};

/// The version of a schema: 0 for an empty or missing file.
pub type Version = u32;

/// A schema with the steps that lead to it, each with the version of its result. The first one makes the oldest schema of all.
pub(super) struct History<'a> {
    pub schema: &'a str,
    pub steps: &'a [(Version, &'a str)],
}

/// Definitions that a refusal shows, of each kind.
const SHOWN: usize = 3;

impl History<'_> {
    pub(super) fn newest(&self) -> Version {
        self.steps[self.steps.len() - 1].0
    }

    /// The number of steps behind a database's schema, 0 for an empty database. Fails if its definitions are not those of its
    /// version, or nobody knows the version. Changes nothing.
    pub(super) fn recognise(&self, conn: &Connection) -> Result<usize> {
        let (have, found) = (user_version(conn)?, definitions(conn)?);
        // A database with no known schema is compared with the one that it is most like.
        let distance = |state: &BTreeSet<String>| state.symmetric_difference(&found).count();
        let nearest = self.states(have)?.into_iter().min_by_key(|(_, state)| distance(state));
        match nearest {
            Some((steps, state)) if state == found => Ok(steps),
            Some((_, state)) => Err(unlike(have, &state, &found)),
            None => Err(Error::failed(format!("this binary knows no schema version {have}"))),
        }
    }

    /// The definitions of each schema that a version names, with the number of steps behind it.
    fn states(&self, version: Version) -> Result<Vec<(usize, BTreeSet<String>)>> {
        let known = Connection::open_in_memory()?;
        if version == 0 {
            return Ok(vec![(0, BTreeSet::new())]);
        }
        if version == self.newest() {
            known.execute_batch(self.schema)?;
            return Ok(vec![(self.steps.len(), definitions(&known)?)]);
        }
        let mut states = Vec::new();
        for ((its, step), number) in self.steps.iter().zip(1..).take_while(|((its, _), _)| *its <= version) {
            known.execute_batch(step)?;
            if *its == version {
                states.push((number, definitions(&known)?));
            }
        }
        Ok(states)
    }
}

pub(super) fn user_version(conn: &Connection) -> Result<Version> {
    Ok(conn.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

fn unlike(version: Version, state: &BTreeSet<String>, found: &BTreeSet<String>) -> Error {
    let only = |these: &BTreeSet<String>, those: &BTreeSet<String>| {
        let only: Vec<_> = these.difference(those).map(|definition| format!("[{definition}]")).collect();
        match only.len().saturating_sub(SHOWN) {
            0 if only.is_empty() => "nothing".to_owned(),
            0 => only.join(", "),
            more => format!("{} and {more} more", only[..SHOWN].join(", ")),
        }
    };
    Error::failed(format!(
        "the database says that it has schema version {version}, but its definitions differ from that version's, and nothing was \
         changed. Missing: {}. Unexpected: {}. If somebody changed it by hand, undo that; otherwise run the tidings that made \
         the database, or `tidings restore` with a backup",
        only(state, found),
        only(found, state),
    ))
}
