//! Invitations: making, listing, cancelling and sending them again.

use poem::web::Data;
use poem_openapi::{
    Object, OpenApi,
    param::{Path, Query},
};
use serde::Serialize;

use crate::{
    api::{
        http::{
            auth::{Bearer, MEMBERS},
            body::{Body, List, RoleName, Text, into_strings},
            envelope::{Created, Done, Success, created, done, ok},
            listing::{self, Address, Offset, PageNumber, Paged, Size, fill, paged},
            rows::Rows,
            secret_text::Secret,
        },
        tags::Tag,
    },
    domain::{
        organisations::{
            self,
            invitations::{
                self, Listed,
                send::{Invited, MOST},
            },
            members, roles,
        },
        rights,
        text::Email,
    },
    error::{Code, Result},
    id::{InvitationId, OrganisationId, UserId},
    site::Site,
    state::App,
    time::Time,
};

/// Invitations on a page.
const PAGE: u32 = 20;
const LARGEST_PAGE: u32 = 200;

pub struct Api;

#[OpenApi]
impl Api {
    /// Invite people to an organisation
    ///
    /// Mails a link to each address, or explains in `errors`, and by codes in `refused`, why an address could not be invited. The link and token in
    /// the answer differ from the mailed ones: they let the invited person in, but do not verify the address. Nobody
    /// invites to a role with rights that they lack.
    #[oai(path = "/invite", method = "post", operation_id = "createInvitations", tag = "Tag::Invitations")]
    async fn create(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        body: Body<NewInvitations>,
    ) -> Result<Created<InvitationList>> {
        let NewInvitations { org_id, emails, role } = body.0;
        let emails = into_strings(emails);
        let role = role.map_or_else(|| "member".to_owned(), |role| role.0);
        let (invitations, declined) =
            app.db.write_sized(body.1, move |tx| invitations::send::create(tx, caller.0, org_id, &emails, &role)).await?;
        let invitations =
            invitations.into_iter().map(|invitation| Invitation::new(&app.site, invitation, app.clock.now())).collect();
        let errors = declined.iter().map(|declined| declined.reason.says.clone()).collect();
        let refused = declined.into_iter().map(|one| RefusedAddress { email: one.email, code: one.reason.code }).collect();
        Ok(created("Invitations created successfully", InvitationList { invitations, errors, refused }))
    }

    /// List an organisation's invitations
    ///
    /// Lists invitations in all statuses, newest first. Needs `invite:members` for the caller's own invitations, and
    /// also `remove:members` for those of others.
    #[oai(path = "/organisations/:org_id/invites", method = "get", operation_id = "listInvitations", tag = "Tag::Invitations")]
    async fn list(
        &self,
        caller: Bearer<MEMBERS>,
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
    ) -> Result<Paged<SentInvitations, Pagination>> {
        let page = listing::requested_page(*page, *offset, page_size.or(*limit), PAGE, LARGEST_PAGE);
        let (caller, id) = (caller.0, *org_id);
        let read = app.db.read_bounded(caller.share(), move |conn| {
            let totalnoguests = members::count_guests(conn, caller, id)?;
            let organisation = Organisation::new(organisations::get(conn, caller, id)?, roles::list(conn, caller, id)?);
            let total = invitations::count(conn, caller, id)?;
            let read = |part| invitations::list(conn, caller, id, part);
            let listed = fill(page, read, |listed| SentInvitation::new(listed, organisation.clone(), conn.now()))?;
            Ok((listed, totalnoguests, total))
        });
        let (found, totalnoguests, total) = read.await?;
        let pagination = Pagination {
            current_page: page.number(),
            page_count: found.data.len() as u32,
            total_pages_count: total.div_ceil(page.size),
        };
        let shown = found.map(|invitations| SentInvitations { invitations, totalnoguests });
        Ok(paged("success", shown, pagination, &address))
    }

    /// Cancel an invitation
    ///
    /// Its link no longer works. For its sender and for holders of `remove:members`.
    #[oai(path = "/invite/:invite_id", method = "delete", operation_id = "cancelInvitation", tag = "Tag::Invitations")]
    async fn cancel(&self, caller: Bearer<MEMBERS>, app: Data<&App>, invite_id: Path<InvitationId>) -> Result<Done> {
        app.db.write(move |tx| invitations::cancel(tx, caller.0, *invite_id)).await?;
        Ok(done("Invitation cancelled successfully"))
    }

    /// Send invitations again
    ///
    /// Mails each address a new link, which works for seven days; the former link no longer works. If one of the
    /// addresses has no pending invitation, nothing is sent.
    #[oai(path = "/invite/resend", method = "post", operation_id = "resendInvitations", tag = "Tag::Invitations")]
    async fn resend(&self, caller: Bearer<MEMBERS>, app: Data<&App>, body: Body<Resend>) -> Result<Success<String>> {
        let (org_id, emails) = (body.0.org_id, into_strings(body.0.emails));
        app.db.write_sized(body.1, move |tx| invitations::send::resend(tx, caller.0, org_id, &emails)).await?;
        Ok(ok("success", "Invitations sent successfully".to_owned()))
    }
}

#[derive(Object)]
struct NewInvitations {
    org_id: OrganisationId,
    /// The addresses.
    emails: List<Text<Invited>, 1, MOST>,
    /// The role: its integer, its UUID, its name or its key; `member` if omitted.
    role: Option<RoleName>,
}

#[derive(Object)]
struct Resend {
    org_id: OrganisationId,
    /// The addresses.
    emails: List<Text<Email>, 1, MOST>,
}

#[derive(Object, Serialize)]
struct InvitationList {
    invitations: Vec<Invitation>,
    /// An explanation for each address that could not be invited.
    errors: Vec<String>,
    /// The same reasons in the same order, for programs.
    refused: Vec<RefusedAddress>,
}

/// An address that could not be invited.
#[derive(Object, Serialize)]
struct RefusedAddress {
    /// The address as the request has it.
    email: String,
    code: Code,
}

#[derive(Object, Serialize)]
struct Invitation {
    id: InvitationId,
    email: String,
    org_id: OrganisationId,
    /// Always `invited`.
    status: String,
    invite_token: Secret,
    /// Whether the address has an account.
    is_platform_user: bool,
    /// Whether that account's address is verified.
    is_verified: bool,
    invitation_link: Secret,
    sent_at: Time,
    expires_at: Time,
}

impl Invitation {
    fn new(site: &Site, invitation: invitations::Invitation, now: Time) -> Self {
        Invitation {
            id: invitation.id,
            status: invitation.status(now).into(),
            invite_token: invitation.token(site).into(),
            invitation_link: invitation.link(site).into(),
            email: invitation.email,
            org_id: invitation.organisation,
            is_platform_user: invitation.is_platform_user,
            is_verified: invitation.is_verified,
            sent_at: invitation.sent_at,
            expires_at: invitation.expires_at,
        }
    }
}

#[derive(Object, Serialize)]
struct SentInvitations {
    invitations: Rows<SentInvitation>,
    /// The number of members with the role `guest`.
    totalnoguests: i64,
}

#[derive(Object, Serialize)]
struct SentInvitation {
    id: InvitationId,
    email: String,
    /// The token to accept with; empty unless the invitation is pending and the caller has all rights of its role.
    token: Secret,
    /// `invited`, `accepted` or `expired`.
    status: String,
    /// The `key` of the role.
    role: String,
    /// The name of the role in the list of roles.
    role_name: String,
    organisation_id: OrganisationId,
    /// Whether the address has an account.
    is_platform_user: bool,
    /// Whether that account's address is verified.
    is_verified: bool,
    invited_by: UserId,
    #[oai(rename = "Organisation")]
    #[serde(rename = "Organisation")]
    organisation: Organisation,
    created_at: Time,
    /// When the last mail was sent.
    sent_at: Time,
    expires_at: Time,
}

impl SentInvitation {
    fn new(Listed { invitation, role, token }: Listed, organisation: Organisation, now: Time) -> Self {
        SentInvitation {
            id: invitation.id,
            status: invitation.status(now).into(),
            email: invitation.email,
            token: token.unwrap_or_default().into(),
            role_name: rights::role_title(&role).into(),
            role,
            organisation_id: invitation.organisation,
            is_platform_user: invitation.is_platform_user,
            is_verified: invitation.is_verified,
            invited_by: invitation.invited_by,
            organisation,
            created_at: invitation.created_at,
            sent_at: invitation.sent_at,
            expires_at: invitation.expires_at,
        }
    }
}

/// The organisation in a list of its invitations.
#[derive(Object, Clone, Serialize)]
#[oai(rename = "InvitationOrganisation")]
struct Organisation {
    id: OrganisationId,
    name: String,
    organisation_slug: String,
    description: String,
    email: String,
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    location: String,
    country: String,
    owner_id: UserId,
    /// The number of live channels that the caller may see, without direct messages.
    channels_count: i64,
    /// The number of posts and replies in all that the caller may see, also in archived channels and direct messages.
    total_messages_count: i64,
    /// The roles that members of the organisation can have.
    org_roles: Vec<RoleOption>,
    /// Always empty: members have their own list.
    #[oai(rename = "Users")]
    #[serde(rename = "Users")]
    users: Vec<String>,
    created_at: Time,
    updated_at: Time,
}

#[derive(Object, Clone, Serialize)]
struct RoleOption {
    id: i64,
    name: String,
    /// The word for the role in `role` and `org_role`.
    key: String,
}

impl From<roles::Role> for RoleOption {
    fn from(role: roles::Role) -> Self {
        RoleOption { id: role.id, name: rights::role_title(&role.name).into(), key: role.name }
    }
}

impl Organisation {
    fn new(organisation: organisations::Organisation, roles: Vec<roles::Role>) -> Self {
        Organisation {
            id: organisation.id,
            name: organisation.name,
            organisation_slug: organisation.slug,
            description: organisation.description,
            email: organisation.email,
            kind: organisation.industry,
            location: organisation.location,
            country: organisation.country,
            owner_id: organisation.owner_id,
            channels_count: organisation.channels_count,
            total_messages_count: organisation.total_messages_count,
            org_roles: roles.into_iter().map(RoleOption::from).collect(),
            users: Vec::new(),
            created_at: organisation.created_at,
            updated_at: organisation.updated_at,
        }
    }
}

#[derive(Object, Serialize)]
#[oai(rename = "InvitationPagination")]
struct Pagination {
    current_page: u32,
    /// The number of invitations on this page.
    page_count: u32,
    /// The number of pages.
    total_pages_count: u32,
}
