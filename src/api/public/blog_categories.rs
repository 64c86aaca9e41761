//! Categories of blog posts.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::{Bearer, CONTENT},
            body::{Body, Text},
            envelope::{Created, NoContent, Success, created, ok},
            listing::{Address, Listed, Offset, Size, answer_list, fill, page_or_whole_list},
            rows::Rows,
            visitor::Visitor,
        },
        tags::Tag,
    },
    domain::public::blog_categories,
    error::Result,
    id::CategoryId,
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make a blog category
    ///
    /// For administrators of the server.
    #[oai(path = "/blog_categories", method = "post", operation_id = "createBlogCategory", tag = "Tag::Blogs")]
    async fn create(&self, caller: Bearer<CONTENT>, app: Data<&App>, body: Body<NewCategory>) -> Result<Created<Category>> {
        let made = app.db.write_sized(body.1, move |tx| blog_categories::create(tx, caller.0, &body.name)).await?;
        Ok(created("Blog category created successfully.", Category::from(made)))
    }

    /// List blog categories
    ///
    /// Lists all categories, ordered by name.
    #[oai(path = "/blog_categories", method = "get", operation_id = "listBlogCategories", tag = "Tag::Blogs")]
    async fn list(
        &self,
        _visitor: Visitor,
        app: Data<&App>,
        address: Address,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 1,000, the default. An answer may end earlier, at 1 MB.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<Category>>> {
        let page = page_or_whole_list(*offset, *limit);
        let found = app.db.read(|conn| fill(page, |part| blog_categories::list(conn, part), Category::from))?;
        Ok(answer_list("Blog categories retrieved successfully.", found, &address))
    }

    /// Read a blog category
    #[oai(path = "/blog_categories/:category_id", method = "get", operation_id = "getBlogCategory", tag = "Tag::Blogs")]
    async fn get(&self, _visitor: Visitor, app: Data<&App>, category_id: Path<CategoryId>) -> Result<Success<Category>> {
        let found = app.db.read(|conn| blog_categories::get(conn, *category_id))?;
        Ok(ok("Blog category retrieved successfully.", Category::from(found)))
    }

    /// Delete a blog category
    ///
    /// The category must have no blog posts. For administrators of the server.
    #[oai(path = "/blog_categories/:category_id", method = "delete", operation_id = "deleteBlogCategory", tag = "Tag::Blogs")]
    async fn delete(&self, caller: Bearer<CONTENT>, app: Data<&App>, category_id: Path<CategoryId>) -> Result<NoContent> {
        app.db.write(move |tx| blog_categories::delete(tx, caller.0, *category_id)).await?;
        Ok(NoContent::NoContent)
    }
}

#[derive(Object)]
struct NewCategory {
    /// Unique among categories.
    name: Text<blog_categories::Name>,
}

#[derive(Object, Serialize)]
struct Category {
    id: CategoryId,
    name: String,
    created_at: Time,
    updated_at: Time,
}

impl From<blog_categories::Category> for Category {
    fn from(category: blog_categories::Category) -> Self {
        let blog_categories::Category { id, name, created_at, updated_at } = category;
        Category { id, name, created_at, updated_at }
    }
}
