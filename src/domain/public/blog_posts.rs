//! Blog posts, which the server's administrators write and anybody reads, and readers' feedback on them.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::Tx,
    domain::{
        access::{Caller, PlatformRole},
        page::Page,
        public::blog_categories,
        text::{self, Rule, Ruled},
    },
    error::{Code, Error, Result},
    id::{BlogId, CategoryId, FeedbackId, UserId},
    time::Time,
};

text::rules! {
    pub Content: Rule::non_blank_text(200_000);
    pub Title: Rule::line(120);
    pub Search: Rule::text(256);
}

#[derive(Clone, Debug)]
pub struct Blog {
    pub id: BlogId,
    pub title: String,
    pub content: String,
    pub category: CategoryId,
    pub image_url: String,
    pub author: UserId,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A blog post to create; an empty title is taken from the content.
#[derive(Debug)]
pub struct New {
    pub title: String,
    pub content: String,
    pub category: CategoryId,
    pub image_url: String,
}

/// A new blog post with checked author and texts, and its text folded for the search. For the longest texts that takes
/// milliseconds, so it happens before the write and not on the writer.
pub struct Checked {
    new: New,
    author: UserId,
    folded: String,
}

impl New {
    /// Checks a new blog post. Needs the role of a server administrator; 403 otherwise. 400 for empty content, texts that
    /// are too long, and an image address that is not a web address.
    pub fn check(mut self, caller: Caller) -> Result<Checked> {
        caller.require_platform_role(PlatformRole::Admin)?;
        Content::check(&self.content, "content").map_err(Error::BadRequest)?;
        self.title = match Title::check(&self.title, "title").map_err(Error::BadRequest)? {
            "" => title_of(&self.content),
            title => title.to_owned(),
        };
        // Pages show the address as an image: other schemes than those of the web could run a script there.
        let image_url = text::web_address_if_any(&self.image_url, "image_url").map_err(Error::BadRequest)?;
        self.image_url = image_url.to_owned();
        let folded = text::folded(&format!("{}\n{}", self.title, self.content));
        Ok(Checked { new: self, author: caller.user, folded })
    }
}

/// Stores a checked blog post. 400 for an unknown category.
pub fn create(tx: &mut Tx, Checked { new, author, folded }: Checked) -> Result<()> {
    blog_categories::find(tx, new.category)?
        .ok_or_else(|| Error::BadRequest(Code::CategoryNotFound.says("category_id: no such category").at("category_id")))?;
    tx.prepare_cached(
        "insert into blogs (id, title, content, category_id, image_url, folded, author_id, created_at, updated_at)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)",
    )?
    .execute((BlogId::new(), new.title, new.content, new.category, new.image_url, folded, author, tx.now()))?;
    Ok(())
}

/// The title for a blog post without one: the first Markdown heading, or the first line with text, cut at 120 characters.
pub(in crate::domain) fn title_of(content: &str) -> String {
    let lines = || content.lines().map(str::trim).filter(|line| !line.is_empty());
    let title = lines().find_map(heading).or_else(|| lines().next()).unwrap_or_default();
    let title: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).take(Title::RULE.max).collect();
    title.trim().to_owned()
}

/// The text of an ATX heading: one to six `#`, white space, and perhaps `#` at the end.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let is_heading = (1..=6).contains(&(line.len() - text.len())) && text.starts_with([' ', '\t']);
    let text = text.trim();
    let unclosed = text.trim_end_matches('#');
    let text = if unclosed.ends_with([' ', '\t']) { unclosed.trim_end() } else { text };
    (is_heading && !text.trim_matches('#').is_empty()).then_some(text)
}

/// A page of blog posts, newest first: those with `search` in title or content, if it is not empty, and of `category`, if
/// given. Anybody may call it.
pub fn list(conn: &Connection, search: &str, category: Option<CategoryId>, page: Page) -> Result<Vec<Blog>> {
    // Two statements, as one index serves each.
    let of_category = if category.is_some() { "category_id = ?4" } else { "?4 is null" };
    let sql = format!(
        "{SELECT}
         where {of_category} and (?1 = '' or instr(folded, ?1)) order by created_at desc, id desc limit ?2 offset ?3"
    );
    let mut found = conn.prepare_cached(&sql)?;
    let rows = found.query_map((text::folded(search.trim()), page.size, page.offset, category), from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// One blog post. Anybody may call it. 404 for an unknown id.
pub fn get(conn: &Connection, id: BlogId) -> Result<Blog> {
    let sql = format!("{SELECT} where id = ?1");
    conn.prepare_cached(&sql)?.query_row([id], from_row).optional()?.ok_or(UNKNOWN)
}

/// At most 1,000 rows of feedback are deleted in one write, so that other writes don't wait long.
const SLICE: usize = 1000;

/// Deletes a blog post after its feedback, a slice in each call, and returns whether it is gone: call until it is. Needs the
/// role of a server administrator. 404 for an unknown id; 403 without the role.
pub fn delete_slice(tx: &mut Tx, caller: Caller, id: BlogId) -> Result<bool> {
    require(tx, id)?;
    caller.require_platform_role(PlatformRole::Admin)?;
    let gone = tx
        .prepare_cached("delete from blog_feedback where id in (select id from blog_feedback where blog_id = ?1 limit ?2)")?
        .execute((id, SLICE as i64))?;
    if gone == SLICE {
        return Ok(false);
    }
    tx.prepare_cached("delete from blogs where id = ?1")?.execute([id])?;
    Ok(true)
}

/// Stores whether a reader liked a blog post. Anybody may call it. 404 for an unknown id.
pub fn add_feedback(tx: &mut Tx, id: BlogId, feedback: bool) -> Result<()> {
    require(tx, id)?;
    tx.prepare_cached("insert into blog_feedback (id, blog_id, feedback, created_at) values (?1, ?2, ?3, ?4)")?.execute((
        FeedbackId::new(),
        id,
        feedback,
        tx.now(),
    ))?;
    Ok(())
}

const UNKNOWN: Error = Error::NotFound(Code::BlogNotFound);

fn require(conn: &Connection, id: BlogId) -> Result<()> {
    let exists = conn.prepare_cached("select 1 from blogs where id = ?1")?.exists([id])?;
    if exists { Ok(()) } else { Err(UNKNOWN) }
}

const SELECT: &str = "select id, title, content, category_id, image_url, author_id, created_at, updated_at from blogs";

fn from_row(row: &Row) -> rusqlite::Result<Blog> {
    Ok(Blog {
        id: row.get("id")?,
        title: row.get("title")?,
        content: row.get("content")?,
        category: row.get("category_id")?,
        image_url: row.get("image_url")?,
        author: row.get("author_id")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_heading_or_the_first_line() {
        assert_eq!(title_of("\n  Hello there \nmore"), "Hello there");
        assert_eq!(title_of("Intro\n\n## The  news ##\n# Other"), "The  news");
        assert_eq!(title_of("#hashtag first\ntext"), "#hashtag first");
        assert_eq!(title_of("####### seven\n# C#"), "C#");
        assert_eq!(title_of("plain\n# \n##"), "plain");
        assert_eq!(title_of(&format!("# {}", "é".repeat(121))), "é".repeat(120));
    }
}
