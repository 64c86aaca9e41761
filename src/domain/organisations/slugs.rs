//! Slugs: the names of organisations in clients' addresses. A slug is made once, from the organisation's first name, and stays
//! when the name changes. Those of deleted organisations are free again, so that a new one doesn't tell of them.

use rusqlite::{Connection, OptionalExtension};

use crate::{
    domain::{
        access::{Caller, ENTITLED, UNKNOWN_ORGANISATION},
        accounts,
        text::{self, Rule},
    },
    error::Result,
    id::OrganisationId,
};

text::rules! {
    pub Slug: Rule::name(MOST + 10);
}

/// Characters of a slug, without the number that makes it unique: at most ten digits more.
const MOST: usize = 50;

/// Slugs that no organisation gets: clients show slugs at the beginning of their paths, where these mean something else.
/// `migrations/0004.sql` has the same list.
const RESERVED: [&str; 8] = [accounts::NO_ORGANISATION, "api", "auth", "centrifugo", "connection", "docs", "health", "metrics"];

/// A free slug for a new organisation: the ASCII letters and digits of its name, in lower case, with hyphens in the places of
/// all other characters, and a number if that slug is taken.
pub fn make(conn: &Connection, name: &str) -> Result<String> {
    let mut taken = conn.prepare_cached("select 1 from organisations where slug = ?1 and deleted_at is null")?;
    accounts::first_free(&spelled(name), |slug| Ok(RESERVED.contains(&slug) || taken.exists([slug])?))
}

pub(in crate::domain) fn spelled(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let slug: String = words.join("-").chars().take(MOST).collect();
    match slug.trim_end_matches('-') {
        "" => "organisation".into(),
        slug => slug.into(),
    }
}

/// The fields of an organisation that clients show to choose it.
pub struct Named {
    pub id: OrganisationId,
    pub name: String,
    pub slug: String,
}

/// Finds an organisation of the caller's by its slug. For members; 404 for outsiders.
pub fn find(conn: &Connection, caller: Caller, slug: &str) -> Result<Named> {
    Slug::check(slug, "slug").map_err(|_| UNKNOWN_ORGANISATION)?;
    let sql = format!(
        "select o.id, o.name, o.slug from organisations o join organisation_members m on m.organisation_id = o.id
         where o.slug = ?1 and m.user_id = ?2 and {ENTITLED} and o.deleted_at is null"
    );
    conn.prepare_cached(&sql)?
        .query_row((slug, caller.user), |row| Ok(Named { id: row.get(0)?, name: row.get(1)?, slug: row.get(2)? }))
        .optional()?
        .ok_or(UNKNOWN_ORGANISATION)
}

#[cfg(test)]
mod tests {
    use super::{MOST, RESERVED, spelled};

    #[test]
    fn a_slug_has_the_letters_and_digits_of_the_name() {
        for (name, slug) in [
            ("Analytical Engines", "analytical-engines"),
            ("  Ada's (2nd) \u{2014} Caf\u{e9}! ", "ada-s-2nd-caf"),
            ("a_b/c", "a-b-c"),
            ("\u{212a}elvin", "elvin"),
            ("\u{65e5}\u{672c}", "organisation"),
            ("-", "organisation"),
        ] {
            assert_eq!(spelled(name), slug);
        }
        assert_eq!(spelled(&"x".repeat(255)), "x".repeat(MOST));
        assert_eq!(spelled(&format!("{} y", "x".repeat(MOST - 1))), "x".repeat(MOST - 1), "no hyphen at the end");
    }

    #[test]
    fn the_step_that_made_the_first_slugs_reserved_the_same() {
        let list = RESERVED.map(|slug| format!("'{slug}'")).join(", ");
        assert!(include_str!("../../db/migrations/0004.sql").contains(&format!("not in ({list})")));
    }
}
