//! Members of organisations.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};

use super::{
    Tag,
    auth::Bearer,
    body::{Body, RoleName, example},
    envelope::{Done, Paged, done, paged},
    page,
};
use crate::{
    app::App,
    domain::members,
    error::Result,
    id::{OrganisationId, UserId},
};

/// Members on a page.
const PAGE: u32 = 20;
const LARGEST_PAGE: u32 = 200;

pub struct Api;

#[OpenApi]
impl Api {
    /// Add a user to an organisation
    ///
    /// For superadmins of the server; everybody else invites. The role is an integer, a UUID or a name.
    #[oai(path = "/organisations/:orgId/users", method = "post", tag = "Tag::Members")]
    async fn add(
        &self,
        caller: Bearer,
        app: Data<&App>,
        #[oai(name = "orgId")] id: Path<OrganisationId>,
        body: Body<NewMember>,
    ) -> Result<Done> {
        let NewMember { user_id, role } = body.0;
        app.db.write(move |tx| members::add(tx, caller.0, *id, user_id, role.as_ref().map(|role| role.0.as_str()))).await?;
        Ok(done("User added successfully"))
    }

    /// List an organisation's members
    ///
    /// Newest first, in all statuses.
    #[oai(path = "/organisations/:org_id/users", method = "get", tag = "Tag::Members")]
    async fn list(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        /// From 1; default 1.
        page: Query<Option<u32>>,
        /// Up to 200; default 20.
        page_size: Query<Option<u64>>,
        /// Another name for `page_size`.
        limit: Query<Option<u64>>,
    ) -> Result<Paged<Vec<Member>, Pagination>> {
        let page = self::page(*page, page_size.or(*limit), PAGE, LARGEST_PAGE)?;
        let (listed, total) = app.db.read(|conn| members::list(conn, caller.0, *org_id, page))?;
        let pagination = Pagination {
            current_page: page.number,
            page_size: page.size,
            total_items: total,
            total_pages: total.div_ceil(page.size),
        };
        Ok(paged("Users retrieved successfully", listed.into_iter().map(Member::from).collect(), pagination))
    }
}

#[derive(Object)]
#[oai(example)]
struct NewMember {
    user_id: UserId,
    /// An integer, a UUID or a name; `member` when left out.
    #[oai(rename = "role_Id")]
    role: Option<RoleName>,
}
example!(NewMember, { "user_id": "01900000-0000-7000-8000-0000000000aa", "role_Id": "01900000-0000-7000-8000-000000000004" });

#[derive(Object)]
struct Member {
    id: UserId,
    email: String,
    phone_number: String,
    /// The full name, else the username.
    name: String,
    role: String,
    /// `active`, `inactive` or `deactivated`.
    status: String,
}

impl From<members::Listed> for Member {
    fn from(member: members::Listed) -> Self {
        Member {
            id: member.id,
            email: member.email,
            phone_number: member.phone,
            name: member.name,
            role: member.role,
            status: member.status,
        }
    }
}

#[derive(Object)]
struct Pagination {
    current_page: u32,
    page_size: u32,
    total_items: u32,
    total_pages: u32,
}
