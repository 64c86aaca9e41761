//! Categories of blog posts.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    db::Tx,
    domain::{
        access::{Caller, PlatformRole},
        page::Page,
        text::{self, Rule},
    },
    error::{Code, Error, OrConflict, Result},
    id::CategoryId,
    time::Time,
};

text::rules! {
    pub Name: Rule::name(100);
}

#[derive(Clone, Debug)]
pub struct Category {
    pub id: CategoryId,
    pub name: String,
    pub created_at: Time,
    pub updated_at: Time,
}

/// Creates a category. Needs the role of a server administrator; 403 otherwise. 400 for a name that is empty, too long or
/// taken.
pub fn create(tx: &mut Tx, caller: Caller, name: &str) -> Result<Category> {
    caller.require_platform_role(PlatformRole::Admin)?;
    let name = Name::check(name, "name").map_err(Error::BadRequest)?;
    let now = tx.now();
    let category = Category { id: CategoryId::new(), name: name.to_owned(), created_at: now, updated_at: now };
    tx.prepare_cached("insert into blog_categories (id, name, created_at, updated_at) values (?1, ?2, ?3, ?3)")?
        .execute((category.id, &category.name, now))
        .or_conflict(|| Error::BadRequest(Code::NameTaken.says("A category of this name exists already").at("name")))?;
    Ok(category)
}

/// A page of all categories, ordered by name. Anybody may call it.
pub fn list(conn: &Connection, page: Page) -> Result<Vec<Category>> {
    let mut all = conn.prepare_cached(&format!("{SELECT} order by name limit ?1 offset ?2"))?;
    Ok(all.query_map((page.size, page.offset), from_row)?.collect::<rusqlite::Result<_>>()?)
}

pub fn find(conn: &Connection, id: CategoryId) -> Result<Option<Category>> {
    Ok(conn.prepare_cached(&format!("{SELECT} where id = ?1"))?.query_row([id], from_row).optional()?)
}

/// One category. Anybody may call it. 404 for an unknown id.
pub fn get(conn: &Connection, id: CategoryId) -> Result<Category> {
    find(conn, id)?.ok_or(Error::NotFound(Code::CategoryNotFound))
}

/// Deletes a category. Needs the role of a server administrator. 404 for an unknown id; 403 without the role; 400 while a
/// blog post is in it.
pub fn delete(tx: &mut Tx, caller: Caller, id: CategoryId) -> Result<()> {
    get(tx, id)?;
    caller.require_platform_role(PlatformRole::Admin)?;
    if tx.prepare_cached("select 1 from blogs where category_id = ?1")?.exists([id])? {
        return Err(Error::BadRequest(Code::CategoryInUse.says("The category is in use")));
    }
    tx.prepare_cached("delete from blog_categories where id = ?1")?.execute([id])?;
    Ok(())
}

const SELECT: &str = "select id, name, created_at, updated_at from blog_categories";

fn from_row(row: &Row) -> rusqlite::Result<Category> {
    Ok(Category {
        id: row.get("id")?,
        name: row.get("name")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}
