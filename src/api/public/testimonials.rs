//! Testimonials. Their envelope has no `status_code`.

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Query};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::{Bearer, CONTENT},
            body::{Body, Text},
            envelope::{UncodedCreated, ok_without_code},
            listing::{self, Address, Filled, ShallowOffset, ShallowPage, Size, UncodedListed, fill},
            rows::Rows,
            visitor::Visitor,
        },
        tags::Tag,
    },
    domain::public::testimonials,
    error::Result,
    id::{TestimonialId, UserId},
    state::App,
    time::Time,
};

/// Testimonials on a page.
const PAGE: u32 = 10;
const LARGEST_PAGE: u32 = 100;

pub struct Api;

#[OpenApi]
impl Api {
    /// Write a testimonial
    ///
    /// The testimonial is public, under the name and with the picture of the caller's account.
    #[oai(path = "/testimonials", method = "post", operation_id = "createTestimonial", tag = "Tag::Testimonials")]
    async fn create(
        &self,
        caller: Bearer<CONTENT>,
        app: Data<&App>,
        body: Body<NewTestimonial>,
    ) -> Result<UncodedCreated<Testimonial>> {
        let Body(NewTestimonial { company_name, content }, bytes) = body;
        let made = app.db.write_sized(bytes, move |tx| testimonials::create(tx, caller.0, &company_name, &content)).await?;
        Ok(UncodedCreated::Created(ok_without_code("Testimonial created successfully", Testimonial::from(made))))
    }

    /// List testimonials
    ///
    /// Lists testimonials, newest first.
    #[oai(path = "/testimonials", method = "get", operation_id = "listTestimonials", tag = "Tag::Testimonials")]
    async fn list(
        &self,
        _visitor: Visitor,
        app: Data<&App>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<ShallowPage>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<ShallowOffset>>,
        /// Up to 100; default 10.
        limit: Query<Option<Size>>,
        /// Another name for `limit`.
        page_limit: Query<Option<Size>>,
    ) -> Result<UncodedListed<Rows<Testimonial>>> {
        let page = listing::requested_page(*page, *offset, limit.or(*page_limit), PAGE, LARGEST_PAGE).shallow()?;
        let Filled { data, rest } = app.db.read(|conn| fill(page, |part| testimonials::list(conn, part), Testimonial::from))?;
        Ok(UncodedListed::Ok(ok_without_code("Testimonials retrieved successfully.", data), address.next_link(rest)))
    }
}

#[derive(Object)]
struct NewTestimonial {
    company_name: Text<testimonials::CompanyName>,
    /// The server doesn't sanitise it: clients that show it must.
    content: Text<testimonials::Content>,
}

#[derive(Object, Serialize)]
struct Testimonial {
    id: TestimonialId,
    user_id: UserId,
    company_name: String,
    /// The address of the account's picture; empty if there is none.
    image_url: String,
    /// The account's full name; its username if there is none.
    name: String,
    content: String,
    created_at: Time,
}

impl From<testimonials::Testimonial> for Testimonial {
    fn from(testimonial: testimonials::Testimonial) -> Self {
        Testimonial {
            id: testimonial.id,
            user_id: testimonial.user,
            company_name: testimonial.company_name,
            image_url: testimonial.image_url,
            name: testimonial.name,
            content: testimonial.content,
            created_at: testimonial.created_at,
        }
    }
}
