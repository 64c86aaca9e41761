//! Organisations.

pub mod acceptance;
pub mod bots;
pub mod channels;
pub mod invitations;
pub mod join_links;
pub mod members;
pub mod role_rights;
pub mod roles;

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};
use serde::Serialize;

use super::{
    http::{
        auth::{Bearer, MEMBERS, READ},
        body::{Body, Text, into_string},
        envelope::{Created, NoContent, Success, created, ok},
    },
    tags::Tag,
};
use crate::{
    domain::{
        access::Caller,
        organisations::{self, founding},
        text::{EmailIfAny, WebAddress},
    },
    error::Result,
    id::{OrganisationId, UserId},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// Make an organisation
    ///
    /// The caller becomes the owner and first member. The organisation starts with a channel `general`. For those whom
    /// `organisations_by` of `GET /features` names, and for superadmins. Who registered by a join link first joins by it.
    #[oai(path = "/organisations", method = "post", operation_id = "createOrganisation", tag = "Tag::Organisations")]
    async fn create(&self, caller: Bearer, app: Data<&App>, body: Body<NewOrganisation>) -> Result<Created<Organisation>> {
        let made = app.db.write_sized(body.1, move |tx| founding::create(tx, caller.0, body.0.into())).await?;
        Ok(created("Organization created successfully", made.into()))
    }

    /// Read an organisation
    #[oai(path = "/organisations/:org_id", method = "get", operation_id = "getOrganisation", tag = "Tag::Organisations")]
    async fn get(&self, caller: Bearer<READ>, app: Data<&App>, org_id: Path<OrganisationId>) -> Result<Success<Organisation>> {
        Ok(ok("Organization retrieved successfully", read(&app, caller.0, *org_id).await?))
    }

    /// Read an organisation by its slug
    #[oai(path = "/organisations/slug/:slug", method = "get", operation_id = "getOrganisationBySlug", tag = "Tag::Organisations")]
    async fn get_by_slug(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        slug: Path<Text<organisations::slugs::Slug>>,
    ) -> Result<Success<Organisation>> {
        let slug = slug.0.0;
        let read = app.db.read_bounded(caller.0.share(), move |conn| {
            let named = organisations::slugs::find(conn, caller.0, &slug)?;
            organisations::get(conn, caller.0, named.id)
        });
        Ok(ok("Organization retrieved successfully", read.await?.into()))
    }

    /// Change an organisation
    ///
    /// Omitted fields stay as they are; empty ones are cleared, except the name and the logo. Needs `manage:organization`.
    ///
    /// A logo in the body itself, as a `data:` address of a JPEG or PNG picture, isn't kept: the other fields are changed, the logo
    /// stays as it is, and `message` says so.
    #[oai(path = "/organisations/:org_id", method = "put", operation_id = "updateOrganisation", tag = "Tag::Organisations")]
    async fn update(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<EditOrganisation>,
    ) -> Result<Success<Organisation>> {
        let Body(EditOrganisation { name, details, remove_logo }, bytes) = body;
        let is_picture = details.has_picture();
        let message = if is_picture {
            "Organization updated successfully, without the logo: the server takes its address and no picture"
        } else {
            "Organization updated successfully"
        };
        let mut edit = details.named(into_string(name));
        edit.logo_url = match remove_logo {
            Some(true) => Some(String::new()),
            _ => edit.logo_url.filter(|logo| !logo.is_empty()),
        };
        let id = *org_id;
        app.db.write_sized(bytes, move |tx| organisations::update(tx, caller.0, id, edit)).await?;
        Ok(ok(message, read(&app, caller.0, id).await?))
    }

    /// Delete an organisation
    ///
    /// For its owner only. Nobody sees the organisation afterwards.
    #[oai(path = "/organisations/:org_id", method = "delete", operation_id = "deleteOrganisation", tag = "Tag::Organisations")]
    async fn delete(&self, caller: Bearer, app: Data<&App>, org_id: Path<OrganisationId>) -> Result<NoContent> {
        app.db.write(move |tx| organisations::delete(tx, caller.0, *org_id)).await?;
        Ok(NoContent::NoContent)
    }

    /// Transfer an organisation
    ///
    /// For its owner only. The new owner must be another member, and gets the role `admin`; the former owner keeps
    /// their role.
    #[oai(
        path = "/organisations/:org_id/owner",
        method = "put",
        operation_id = "changeOrganisationOwner",
        tag = "Tag::Organisations"
    )]
    async fn pass_on(
        &self,
        caller: Bearer,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<NewOwner>,
    ) -> Result<Success<Organisation>> {
        let (id, user) = (*org_id, body.0.user_id);
        app.db.write(move |tx| organisations::pass_on(tx, caller.0, id, user)).await?;
        Ok(ok("Organization updated successfully", read(&app, caller.0, id).await?))
    }
}

/// The organisation, as the caller sees it. A slow read: it adds up the messages of all channels, direct messages included. So it comes
/// after a change, and not in its transaction.
pub async fn read(app: &App, caller: Caller, id: OrganisationId) -> Result<Organisation> {
    Ok(app.db.read_bounded(caller.share(), move |conn| organisations::get(conn, caller, id)).await?.into())
}

#[derive(Object)]
struct NewOrganisation {
    name: Text<organisations::Name>,
    #[oai(flatten)]
    details: Details,
}

#[derive(Object)]
struct EditOrganisation {
    name: Option<Text<organisations::Name>>,
    #[oai(flatten)]
    details: Details,
    /// `true` removes the logo. An empty `logo_url` doesn't: existing clients send it with every change.
    remove_logo: Option<bool>,
}

/// What an organisation says of itself.
#[derive(Object)]
struct Details {
    description: Option<Text<organisations::Description>>,
    email: Option<Text<EmailIfAny>>,
    /// The kind of organisation; shown as `type` and `industry`.
    #[oai(rename = "type")]
    kind: Option<Text<organisations::Detail>>,
    location: Option<Text<organisations::Detail>>,
    country: Option<Text<organisations::Detail>>,
    /// An http or https address. A picture as a `data:` address isn't kept.
    logo_url: Option<Text<WebAddress>>,
}

/// The beginnings of pictures that existing clients send as a logo.
const PICTURES: [&str; 2] = ["data:image/jpeg;base64,", "data:image/png;base64,"];

impl Details {
    /// Whether the logo is a picture in the body itself.
    fn has_picture(&self) -> bool {
        self.logo_url.as_ref().is_some_and(|logo| PICTURES.iter().any(|picture| logo.starts_with(picture)))
    }

    /// The changes, without a picture.
    fn named(self, name: Option<String>) -> organisations::Edit {
        let has_picture = self.has_picture();
        organisations::Edit {
            name,
            description: into_string(self.description),
            email: into_string(self.email),
            industry: into_string(self.kind),
            location: into_string(self.location),
            country: into_string(self.country),
            logo_url: into_string(self.logo_url).filter(|_| !has_picture),
        }
    }
}

impl From<NewOrganisation> for organisations::Edit {
    fn from(new: NewOrganisation) -> Self {
        new.details.named(Some(new.name.0))
    }
}

#[derive(Object)]
struct NewOwner {
    user_id: UserId,
}

#[derive(Object, Serialize)]
pub struct Organisation {
    id: OrganisationId,
    name: String,
    /// Made from the first name, unique, and kept when the name changes.
    organisation_slug: String,
    description: String,
    email: String,
    country: String,
    /// The kind of organisation.
    #[oai(rename = "type")]
    #[serde(rename = "type")]
    kind: String,
    /// The same as `type`.
    industry: String,
    location: String,
    logo_url: String,
    owner_id: UserId,
    /// The number of live channels that the caller may see, without direct messages.
    channels_count: i64,
    /// The number of posts and replies in all that the caller may see, also in archived channels and direct messages.
    total_messages_count: i64,
    /// The `key` of the caller's role; `admin` for the organisation's owner.
    org_role: String,
    /// The name of the caller's role in the list of roles; `Owner` for the organisation's owner.
    role_name: String,
    /// The same as `role_name`.
    role: String,
    user_role: UserRole,
    created_at: Time,
    updated_at: Time,
}

impl From<organisations::Organisation> for Organisation {
    fn from(organisation: organisations::Organisation) -> Self {
        let role_name = organisation.caller_role_title().to_owned();
        let role_id = if organisation.is_owner { OWNER } else { organisation.role_id };
        Organisation {
            id: organisation.id,
            name: organisation.name,
            organisation_slug: organisation.slug,
            description: organisation.description,
            email: organisation.email,
            country: organisation.country,
            kind: organisation.industry.clone(),
            industry: organisation.industry,
            location: organisation.location,
            logo_url: organisation.logo_url,
            owner_id: organisation.owner_id,
            channels_count: organisation.channels_count,
            total_messages_count: organisation.total_messages_count,
            org_role: organisation.role,
            role: role_name.clone(),
            user_role: UserRole { role_id, role_name: role_name.clone() },
            role_name,
            created_at: organisation.created_at,
            updated_at: organisation.updated_at,
        }
    }
}

/// The `role_id` of an organisation's owner, who has more rights than any role of the list.
const OWNER: i64 = -1;

/// The caller's role in an organisation.
#[derive(Object, Serialize)]
struct UserRole {
    /// The `id` in the list of roles; -1, which is none of them, for the organisation's owner.
    role_id: i64,
    /// The same as `role_name` of the organisation.
    role_name: String,
}
