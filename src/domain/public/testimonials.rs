//! Testimonials, which users write and anybody reads.

use rusqlite::{Connection, Row};

use crate::{
    db::Tx,
    domain::{
        access::Caller,
        accounts,
        page::Page,
        text::{self, Rule},
    },
    error::{Error, Result},
    id::{TestimonialId, UserId},
    time::Time,
};

text::rules! {
    pub CompanyName: Rule::name(200);
    pub Content: Rule::non_blank_text(5000);
}

#[derive(Clone, Debug)]
pub struct Testimonial {
    pub id: TestimonialId,
    pub user: UserId,
    pub company_name: String,
    /// The current picture of the account.
    pub image_url: String,
    /// The account's full name, or its username if it has none. It never derives from the e-mail address, as anybody reads
    /// it.
    pub name: String,
    pub content: String,
    pub created_at: Time,
}

/// Stores a testimonial of the caller; anybody with an account may write one. 400 for texts that are empty or too long.
pub fn create(tx: &mut Tx, caller: Caller, company_name: &str, content: &str) -> Result<Testimonial> {
    let company_name = CompanyName::check(company_name, "company_name").map_err(Error::BadRequest)?;
    let content = Content::check(content, "content").map_err(Error::BadRequest)?;
    let id = TestimonialId::new();
    tx.prepare_cached("insert into testimonials (id, user_id, company_name, content, created_at) values (?1, ?2, ?3, ?4, ?5)")?
        .execute((id, caller.user, company_name, content, tx.now()))?;
    Ok(tx.prepare_cached(&format!("{SELECT} where t.id = ?1"))?.query_row([id], from_row)?)
}

/// A page of testimonials, newest first. Anybody may call it.
pub fn list(conn: &Connection, page: Page) -> Result<Vec<Testimonial>> {
    let sql = format!("{SELECT} order by t.created_at desc, t.id desc limit ?1 offset ?2");
    let mut found = conn.prepare_cached(&sql)?;
    Ok(found.query_map((page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?)
}

const SELECT: &str = "select t.id, t.user_id, t.company_name, t.content, t.created_at,
      u.username, u.first_name, u.last_name, u.avatar_url
    from testimonials t join users u on u.id = t.user_id";

fn from_row(row: &Row) -> rusqlite::Result<Testimonial> {
    let full_name = accounts::join_names(&row.get::<_, String>("first_name")?, &row.get::<_, String>("last_name")?);
    Ok(Testimonial {
        id: row.get("id")?,
        user: row.get("user_id")?,
        company_name: row.get("company_name")?,
        image_url: row.get("avatar_url")?,
        name: if full_name.is_empty() { row.get("username")? } else { full_name },
        content: row.get("content")?,
        created_at: row.get("created_at")?,
    })
}
