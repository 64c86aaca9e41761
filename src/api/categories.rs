//! Categories of blog posts.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};

use super::{
    Tag,
    auth::{Bearer, Visitor},
    body::{Body, Text, example},
    envelope::{Created, Gone, Success, created, ok},
};
use crate::{app::App, domain::categories, error::Result, id::CategoryId, time::Time};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a blog category
    ///
    /// For administrators of the server.
    #[oai(path = "/blog_categories", method = "post", tag = "Tag::Blogs")]
    async fn create(&self, caller: Bearer, app: Data<&App>, body: Body<NewCategory>) -> Result<Created<Category>> {
        let made = app.db.write_sized(body.1, move |tx| categories::create(tx, caller.0, &body.name)).await?;
        Ok(created("Blog category created successfully.", Category::from(made)))
    }

    /// List blog categories
    ///
    /// All of them, by name.
    #[oai(path = "/blog_categories", method = "get", tag = "Tag::Blogs")]
    async fn list(&self, _visitor: Visitor, app: Data<&App>) -> Result<Success<Vec<Category>>> {
        let listed = app.db.read(categories::list)?;
        Ok(ok("Blog categories retrieved successfully.", listed.into_iter().map(Category::from).collect()))
    }

    /// Read a blog category
    #[oai(path = "/blog_categories/:categoryId", method = "get", tag = "Tag::Blogs")]
    async fn get(
        &self,
        _visitor: Visitor,
        app: Data<&App>,
        #[oai(name = "categoryId")] id: Path<CategoryId>,
    ) -> Result<Success<Category>> {
        let found = app.db.read(|conn| categories::get(conn, *id))?;
        Ok(ok("Blog category retrieved successfully.", Category::from(found)))
    }

    /// Delete a blog category
    ///
    /// One that no blog post is in. For administrators of the server.
    #[oai(path = "/blog_categories/:categoryId", method = "delete", tag = "Tag::Blogs")]
    async fn delete(&self, caller: Bearer, app: Data<&App>, #[oai(name = "categoryId")] id: Path<CategoryId>) -> Result<Gone> {
        app.db.write(move |tx| categories::delete(tx, caller.0, *id)).await?;
        Ok(Gone::NoContent)
    }
}

#[derive(Object)]
#[oai(example)]
struct NewCategory {
    /// 1 to 100 characters; no other category has it.
    name: Text,
}
example!(NewCategory, { "name": "Engineering" });

#[derive(Object)]
struct Category {
    id: CategoryId,
    name: String,
    created_at: Time,
    updated_at: Time,
}

impl From<categories::Category> for Category {
    fn from(category: categories::Category) -> Self {
        let categories::Category { id, name, created_at, updated_at } = category;
        Category { id, name, created_at, updated_at }
    }
}
