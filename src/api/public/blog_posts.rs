//! Blog posts and the feedback on them.

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
            envelope::{Done, NoContent, PlainCreated, Success, created_without_data, done, ok},
            listing::{self, Address, Listed, Offset, PageNumber, Size, answer_list, fill},
            rows::Rows,
            visitor::Visitor,
        },
        tags::Tag,
    },
    db::{Class, View},
    domain::{public::blog_posts, text::WebAddress},
    error::{Error, Result},
    id::{BlogId, CategoryId, UserId},
    limits::Form,
    state::App,
    time::Time,
};

/// Blog posts on a page.
const PAGE: u32 = 100;
const LARGEST_PAGE: u32 = 100;

pub struct Api;

#[OpenApi]
impl Api {
    /// Write a blog post
    ///
    /// For administrators of the server.
    #[oai(path = "/blogs", method = "post", operation_id = "createBlog", tag = "Tag::Blogs")]
    async fn create(&self, caller: Bearer<CONTENT>, app: Data<&App>, body: Body<NewBlog>) -> Result<PlainCreated> {
        let NewBlog { content, category_id, title, image_url } = body.0;
        let new = blog_posts::New {
            title: title.unwrap_or_default().0,
            content: content.0,
            category: category_id,
            image_url: image_url.unwrap_or_default().0,
        };
        let checked = new.check(caller.0)?;
        app.db.write_sized(body.1, move |tx| blog_posts::create(tx, checked)).await?;
        Ok(created_without_data("Blog created successfully."))
    }

    /// List blog posts
    ///
    /// Lists blog posts, newest first.
    #[oai(path = "/blogs", method = "get", operation_id = "listBlogs", tag = "Tag::Blogs")]
    async fn list(
        &self,
        _visitor: Visitor,
        app: Data<&App>,
        address: Address,
        /// Lists only posts that contain this text in title or content, without regard to case. No character is a
        /// wildcard.
        search: Query<Option<Text<blog_posts::Search>>>,
        /// Lists only posts of this category.
        category: Query<Option<CategoryId>>,
        /// The page, from 1; default 1.
        page: Query<Option<PageNumber>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<Offset>>,
        /// Up to 100; default 100.
        limit: Query<Option<Size>>,
    ) -> Result<Listed<Rows<Blog>>> {
        let page = listing::requested_page(*page, *offset, *limit, PAGE, LARGEST_PAGE);
        let (search, category) = (search.0.unwrap_or_default(), *category);
        blog_posts::Search::check(&search, "search").map_err(Error::BadRequest)?;
        let found = if search.is_empty() {
            app.db
                .read_bounded(None, move |conn| fill(page, |part| blog_posts::list(conn, "", category, part), Blog::from))
                .await?
        } else {
            // A slow read: it looks through the text of all posts, and anybody may ask.
            let read = move |conn: &View| fill(page, |part| blog_posts::list(conn, &search, category, part), Blog::from);
            app.db.read_slow(Class::Public, read).await?
        };
        Ok(answer_list("Blogs retrieved successfully.", found, &address))
    }

    /// Read a blog post
    #[oai(path = "/blogs/:blog_id", method = "get", operation_id = "getBlog", tag = "Tag::Blogs")]
    async fn get(&self, _visitor: Visitor, app: Data<&App>, blog_id: Path<BlogId>) -> Result<Success<Blog>> {
        let found = app.db.read(|conn| blog_posts::get(conn, *blog_id))?;
        Ok(ok("Blog post retrieved successfully.", Blog::from(found)))
    }

    /// Delete a blog post
    ///
    /// Deletes the post with its feedback. For administrators of the server.
    #[oai(path = "/blogs/:blog_id", method = "delete", operation_id = "deleteBlog", tag = "Tag::Blogs")]
    async fn delete(&self, caller: Bearer<CONTENT>, app: Data<&App>, blog_id: Path<BlogId>) -> Result<NoContent> {
        let (caller, id) = (caller.0, *blog_id);
        app.db.write_in_steps(move |tx| Ok(blog_posts::delete_slice(tx, caller, id)?.then_some(()))).await?;
        Ok(NoContent::NoContent)
    }

    /// Give feedback on a blog post
    ///
    /// Needs no account. At most 5 a minute from one address.
    #[oai(path = "/blogs/feedback", method = "post", operation_id = "createBlogFeedback", tag = "Tag::Blogs")]
    async fn add_feedback(&self, visitor: Visitor, app: Data<&App>, body: Body<Feedback>) -> Result<Done> {
        app.limits.form(Form::Feedback, visitor.address)?;
        let Feedback { blog_id, feedback } = body.0;
        app.db.write(move |tx| blog_posts::add_feedback(tx, blog_id, feedback)).await?;
        Ok(done("Blog feedback submitted successfully."))
    }
}

#[derive(Object)]
struct NewBlog {
    /// Usually Markdown. The server doesn't sanitise it: clients that show it must.
    content: Text<blog_posts::Content>,
    category_id: CategoryId,
    /// If omitted, the content's first Markdown heading or first line.
    title: Option<Text<blog_posts::Title>>,
    /// An http or https address.
    image_url: Option<Text<WebAddress>>,
}

#[derive(Object)]
struct Feedback {
    blog_id: BlogId,
    /// Whether the reader liked the post.
    feedback: bool,
}

#[derive(Object, Serialize)]
struct Blog {
    id: BlogId,
    title: String,
    content: String,
    category_id: CategoryId,
    /// The picture's address; empty if there is none.
    image_url: String,
    author_id: UserId,
    created_at: Time,
    updated_at: Time,
}

impl From<blog_posts::Blog> for Blog {
    fn from(blog: blog_posts::Blog) -> Self {
        Blog {
            id: blog.id,
            title: blog.title,
            content: blog.content,
            category_id: blog.category,
            image_url: blog.image_url,
            author_id: blog.author,
            created_at: blog.created_at,
            updated_at: blog.updated_at,
        }
    }
}
