//! Members of organisations.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use crate::{
    api::{
        accounts::custom_status::CustomStatus,
        http::{
            auth::{Bearer, MEMBERS, READ},
            body::{Body, RoleName, Text, into_string},
            envelope::{Done, Success, done, ok},
            framework_traits::Nullable,
            listing::{self, Address, Offset, PageNumber, Paged, Pagination, Size, fill, paged},
            number::Number,
            rows::Rows,
        },
        tags::Tag,
    },
    domain::{
        access::Caller,
        accounts,
        organisations::{
            leaving,
            member_search::{self, Search},
            members, memberships, roles,
        },
        page::Page,
        rights::{self, MemberStatus},
    },
    error::Result,
    id::{ChannelId, OrganisationId, UserId},
    state::App,
    time::Time,
};

/// Members on a page.
const PAGE: u32 = 20;
pub const LARGEST_PAGE: u32 = 200;
/// Days within which a member counts as active in metrics, unless the request says otherwise.
const DAYS: u32 = 7;

pub struct Api;

#[OpenApi]
impl Api {
    /// Add a user to an organisation
    ///
    /// For superadmins of the server. Everybody else invites, and gets 403 whether there is such an organisation or not.
    #[oai(path = "/organisations/:org_id/users", method = "post", operation_id = "addOrganisationMember", tag = "Tag::Members")]
    async fn add(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<NewMember>,
    ) -> Result<Done> {
        let NewMember { user_id, role } = body.0;
        let role = role.map(|role| role.0);
        app.db.write_sized(body.1, move |tx| members::add(tx, caller.0, *org_id, user_id, role.as_deref())).await?;
        Ok(done("User added successfully"))
    }

    /// List an organisation's members
    ///
    /// Lists members in all statuses, newest first; with `search`, `q`, `channel_id` or `role`, only those who match, and
    /// with `q` by name. With `ids`, these users alone, in that order: also those who have left the organisation, in
    /// status `removed`, and without those who never were in it.
    #[oai(path = "/organisations/:org_id/users", method = "get", operation_id = "listOrganisationMembers", tag = "Tag::Members")]
    async fn list(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// The page, from 1; default 1.
        page: Query<Option<PageNumber>>,
        /// Rows to skip, instead of `page`.
        offset: Query<Option<Offset>>,
        /// Up to 200; default 20.
        page_size: Query<Option<Size>>,
        /// Another name for `page_size`.
        limit: Query<Option<Size>>,
        /// Words that are all in a member's full name, username or e-mail address, without regard to case.
        search: Query<Option<Text<member_search::Text>>>,
        /// Words that each begin a part of a member's full name, username or e-mail address before its `@`, without regard to case.
        q: Query<Option<Text<member_search::Text>>>,
        /// The channel that the members are in.
        channel_id: Query<Option<ChannelId>>,
        /// Up to 100 identifiers of users, separated by commas. The other parameters don't count then.
        ids: Query<Option<Text<member_search::Ids>>>,
        /// The members' role: its integer, its UUID, its name or its key.
        role: Query<Option<Text<roles::Named>>>,
    ) -> Result<Paged<Rows<Member>, Pagination>> {
        let page = listing::requested_page(*page, *offset, page_size.or(*limit), PAGE, LARGEST_PAGE);
        let (caller, id) = (caller.0, *org_id);
        if let Some(ids) = ids.0 {
            let ids = member_search::parse_user_ids(&ids)?;
            let page = Page { offset: 0, size: ids.len() as u32 };
            let read = app.db.read_bounded(caller.share(), move |conn| {
                fill(page, |part| members::find_by_ids(conn, caller, id, part.slice_of(&ids)), Member::from)
            });
            let found = read.await?;
            let total = found.data.len() as u32;
            return Ok(paged("Users retrieved successfully", found, Pagination::new(page, total), &address));
        }
        let text = search.0.unwrap_or_default();
        let search = Search::parse((&text, "search"), &q.0.unwrap_or_default(), into_string(role.0), *channel_id)?;
        find(&app, caller, id, search, page, &address).await
    }

    /// Search an organisation's members, by another path
    ///
    /// The same as `GET /organisations/{org_id}/users` with `search`.
    #[oai(
        path = "/organisations/:org_id/users/search",
        method = "get",
        operation_id = "searchOrganisationMembers",
        tag = "Tag::Members"
    )]
    async fn search(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        address: Address,
        /// Words that are all in a member's full name, username or e-mail address, without regard to case. All members if omitted.
        query: Query<Option<Text<member_search::Text>>>,
        /// Rows to skip; default 0.
        offset: Query<Option<Offset>>,
        /// Up to 200; default 20.
        limit: Query<Option<Size>>,
    ) -> Result<Paged<Rows<Member>, Pagination>> {
        let page = listing::requested_page(None::<PageNumber>, *offset, *limit, PAGE, LARGEST_PAGE);
        let search = Search::parse((&query.0.unwrap_or_default(), "query"), "", None, None)?;
        find(&app, caller.0, *org_id, search, page, &address).await
    }

    /// Change a member's role or status
    ///
    /// Changing the role needs `manage:roles`, changing the status `remove:members`. `deactivated` ends all access at
    /// once and keeps the membership. Nobody changes a member who has rights that the caller lacks, or gives a role
    /// with such rights.
    #[oai(
        path = "/organisations/:org_id/users/:user_id",
        method = "put",
        operation_id = "updateOrganisationMember",
        tag = "Tag::Members"
    )]
    async fn update(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        user_id: Path<UserId>,
        body: Body<EditMember>,
    ) -> Result<Success<Membership>> {
        let EditMember { role_id, status } = body.0;
        let edit = memberships::Edit { role: role_id.map(|role| role.0), status: into_string(status) };
        change(&app, caller.0, (*org_id, *user_id), edit, body.1).await
    }

    /// Change a member's role, by another path
    ///
    /// The same as `PUT /organisations/{org_id}/users/{user_id}` with `role_id`.
    #[oai(
        path = "/organisations/:org_id/users/:user_id/role",
        method = "patch",
        operation_id = "updateOrganisationMemberRole",
        tag = "Tag::Members"
    )]
    async fn update_role(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        user_id: Path<UserId>,
        body: Body<NewMemberRole>,
    ) -> Result<Success<Membership>> {
        let Body(NewMemberRole { role_id }, bytes) = body;
        change(&app, caller.0, (*org_id, *user_id), memberships::Edit { role: Some(role_id.0), status: None }, bytes).await
    }

    /// Activate or deactivate a member, by another path
    ///
    /// The same as `PUT /organisations/{org_id}/users/{user_id}` with the status `active` or `deactivated`.
    #[oai(
        path = "/organisations/:org_id/users/:user_id/status",
        method = "patch",
        operation_id = "updateOrganisationMemberStatus",
        tag = "Tag::Members"
    )]
    async fn update_status(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        user_id: Path<UserId>,
        body: Body<NewMemberState>,
    ) -> Result<Success<Membership>> {
        let status = if body.active { MemberStatus::Active } else { MemberStatus::Deactivated };
        let edit = memberships::Edit { role: None, status: Some(status.as_str().into()) };
        change(&app, caller.0, (*org_id, *user_id), edit, body.1).await
    }

    /// Remove a member
    ///
    /// Members remove themselves to leave; removing others needs `remove:members`. The member's channels pass to other
    /// members. A removed member can be invited again.
    #[oai(
        path = "/organisations/:org_id/users/:user_id",
        method = "delete",
        operation_id = "removeOrganisationMember",
        tag = "Tag::Members"
    )]
    async fn remove(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        user_id: Path<UserId>,
    ) -> Result<Success<String>> {
        app.db.write(move |tx| leaving::remove(tx, caller.0, *org_id, *user_id)).await?;
        Ok(ok("success", "Member removed successfully".to_owned()))
    }

    /// Pin or unpin an organisation
    ///
    /// For the caller alone: the mark is in the caller's list of organisations and ends with the membership. The same again
    /// changes nothing.
    #[oai(path = "/organisations/:org_id/pin", method = "put", operation_id = "pinOrganisation", tag = "Tag::Organisations")]
    async fn pin(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<PinChange>,
    ) -> Result<Success<Pin>> {
        let (id, pinned) = (*org_id, body.pinned);
        app.db.write(move |tx| memberships::set_pinned(tx, caller.0, id, pinned)).await?;
        let message = if pinned { "Organisation pinned successfully" } else { "Organisation unpinned successfully" };
        Ok(ok(message, Pin { id, pinned }))
    }

    /// Count an organisation's members
    ///
    /// Counts all members, and the active ones: those in status `active` who sent a request or had an open socket in
    /// the last days.
    #[oai(path = "/organisations/:org_id/metrics", method = "get", operation_id = "getOrganisationMetrics", tag = "Tag::Members")]
    async fn metrics(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        /// The number of last days; default 7.
        days: Query<Option<Number<1, 365>>>,
    ) -> Result<Success<Metrics>> {
        let (here, id, days) = (app.clone(), *org_id, days.map_or(DAYS, |days| days.0));
        // A slow read: it looks at every member.
        let read = app.read_slow_in_organisation(caller.0, id, move |conn| {
            members::count_active(conn, caller.0, id, days, |user| here.is_here(user))
        });
        let members::Metrics { active, total } = read.await?;
        let metrics = Metrics { active_count: active, inactive_count: total - active, total_members: total };
        Ok(ok("Metrics fetched successfully", metrics))
    }
}

/// A page of the members, or of those that a search finds.
async fn find(
    app: &App,
    caller: Caller,
    id: OrganisationId,
    search: Option<Search>,
    page: Page,
    address: &Address,
) -> Result<Paged<Rows<Member>, Pagination>> {
    let (found, total) = match search {
        None => {
            let read = app.db.read_bounded(caller.share(), move |conn| {
                let total = members::count(conn, caller, id)?;
                Ok((fill(page, |part| members::list(conn, caller, id, part), Member::from)?, total))
            });
            read.await?
        }
        Some(search) => {
            let read = app.read_slow_in_organisation(caller, id, move |conn| {
                let all = member_search::find(conn, caller, id, &search)?;
                Ok((fill(page, |part| members::read_rows(conn, id, part.slice_of(&all)), Member::from)?, all.len() as u32))
            });
            read.await?
        }
    };
    let pagination = Pagination::new(page, total);
    Ok(paged("Users retrieved successfully", found, pagination, address))
}

/// Changes a member as [`memberships::update`] does, for a body of so many bytes.
async fn change(
    app: &App,
    caller: Caller,
    (organisation, user): (OrganisationId, UserId),
    edit: memberships::Edit,
    bytes: usize,
) -> Result<Success<Membership>> {
    let edited = app.db.write_sized(bytes, move |tx| memberships::update(tx, caller, organisation, user, edit)).await?;
    Ok(ok("success", edited.into()))
}

#[derive(Object)]
struct NewMemberRole {
    /// The new role: its integer, its UUID, its name or its key.
    role_id: RoleName,
}

#[derive(Object)]
struct NewMemberState {
    /// `true` gives access, `false` ends it and keeps the membership.
    active: bool,
}

#[derive(Object)]
struct PinChange {
    /// `true` pins the organisation, `false` unpins it.
    pinned: bool,
}

#[derive(Object, Serialize)]
#[oai(rename = "OrganisationPin")]
struct Pin {
    id: OrganisationId,
    /// Whether the caller has pinned the organisation.
    pinned: bool,
}

#[derive(Object)]
struct NewMember {
    user_id: UserId,
    /// The role: its integer, its UUID, its name or its key; `member` if omitted.
    #[oai(rename = "role_Id")]
    role: Option<RoleName>,
}

#[derive(Object)]
struct EditMember {
    /// The new role: its integer, its UUID, its name or its key.
    role_id: Option<RoleName>,
    /// `inactive` keeps access, `deactivated` ends it.
    status: Option<Text<memberships::Status>>,
}

#[derive(Object, Serialize)]
#[oai(rename = "OrganisationMembership")]
struct Membership {
    user_id: UserId,
    organisation_id: OrganisationId,
    status: String,
    role_id: i64,
    created_at: Time,
    /// Always null: removed members are not shown.
    deleted_at: Nullable<Time>,
}

impl From<memberships::Member> for Membership {
    fn from(member: memberships::Member) -> Self {
        Membership {
            user_id: member.user,
            organisation_id: member.organisation,
            status: member.status.as_str().into(),
            role_id: member.role.id,
            created_at: member.created_at,
            deleted_at: Nullable(None),
        }
    }
}

#[derive(Object, Serialize)]
struct Metrics {
    /// The number of members in status `active` who were seen in the last days.
    active_count: i64,
    /// The number of all other members.
    inactive_count: i64,
    total_members: i64,
}

#[derive(Object, Serialize)]
struct Member {
    id: UserId,
    email: String,
    phone_number: String,
    /// The full name; the username if there is none.
    name: String,
    username: String,
    /// The full name; may be empty.
    full_name: String,
    /// The name of the member's role in the list of roles; `Owner` for the organisation's owner.
    role: String,
    /// The `key` of the member's role.
    role_key: String,
    /// The integer of the member's role; null for a former member.
    role_id: Nullable<i64>,
    /// The same as `role`.
    role_name: String,
    /// `active`, `inactive` or `deactivated`; `removed` for a former member.
    status: String,
    /// The address of the member's picture; empty if there is none.
    profile_url: String,
    /// What the member does now; null if they have not said so.
    custom_status: Nullable<CustomStatus>,
    /// Whether the member is a person or a bot: `user` or `bot`.
    user_type: String,
    /// The same as `user_type`.
    entity_type: String,
    /// Whether the e-mail address is verified; until then, anybody may have registered it.
    is_verified: bool,
    /// When the member joined; `0001-01-01T00:00:00Z` for a former member.
    created_at: Time,
}

impl From<members::Listed> for Member {
    fn from(member: members::Listed) -> Self {
        let (role, user_type) = (rights::member_title(&member.role, member.is_owner), accounts::user_type(member.is_bot));
        Member {
            id: member.id,
            email: member.email,
            phone_number: member.phone,
            name: member.name,
            username: member.username,
            full_name: member.full_name,
            role: role.into(),
            role_name: role.into(),
            role_key: member.role,
            role_id: Nullable(member.role_id),
            status: member.status.map_or("removed", MemberStatus::as_str).into(),
            profile_url: member.avatar_url,
            custom_status: Nullable(member.custom_status.map(CustomStatus::from)),
            user_type: user_type.into(),
            entity_type: user_type.into(),
            is_verified: member.is_verified,
            created_at: member.joined_at.unwrap_or(Time::NEVER),
        }
    }
}
