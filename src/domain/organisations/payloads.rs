//! The data of the events that all members of an organisation receive.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    id::{OrganisationId, RoleUuid, UserId},
    time::Time,
};

/// An organisation after a change. It has neither fields that differ among members, nor counts, which change with every
/// message.
#[derive(Serialize, JsonSchema)]
pub struct OrganisationUpdate<'a> {
    #[schemars(extend("enum" = ["updated", "deleted"]))]
    pub action: &'a str,
    pub organisation_id: OrganisationId,
    pub name: &'a str,
    pub organisation_slug: &'a str,
    pub description: &'a str,
    pub email: &'a str,
    pub industry: &'a str,
    pub location: &'a str,
    pub country: &'a str,
    pub logo_url: &'a str,
    pub owner_id: UserId,
    pub created_at: Time,
    pub updated_at: Time,
}

/// A member of an organisation after a change.
#[derive(Serialize, JsonSchema)]
pub struct MemberUpdate<'a> {
    #[schemars(extend("enum" = ["joined", "updated", "removed"]))]
    pub action: &'a str,
    pub organisation_id: OrganisationId,
    pub user_id: UserId,
    pub username: &'a str,
    /// The full name, otherwise the username.
    pub name: &'a str,
    pub full_name: &'a str,
    pub email: &'a str,
    pub phone_number: &'a str,
    pub avatar_url: &'a str,
    /// Whether the member's e-mail address is verified.
    pub is_verified: bool,
    /// The name of the member's role.
    pub role: &'a str,
    #[schemars(extend("enum" = ["active", "inactive", "deactivated"]))]
    pub status: &'a str,
}

/// A role of an organisation after a change.
#[derive(Serialize, JsonSchema)]
pub struct RoleUpdate<'a> {
    #[schemars(extend("enum" = ["created", "updated", "deleted"]))]
    pub action: &'a str,
    pub organisation_id: OrganisationId,
    /// The role's number.
    pub id: i64,
    pub uuid: RoleUuid,
    pub name: &'a str,
    pub description: &'a str,
    /// Each right by its name, and whether the role holds it.
    pub permission_list: BTreeMap<String, bool>,
    pub permissions: Permissions,
    pub created_at: Time,
    pub updated_at: Time,
}

/// The rights of a role by their keys.
#[derive(Serialize, JsonSchema)]
pub struct Permissions {
    /// Each right by its key, and whether the role holds it.
    pub permission_list: BTreeMap<String, bool>,
}
