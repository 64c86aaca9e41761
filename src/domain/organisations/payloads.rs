//! The data of the events that all members of an organisation receive.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    domain::accounts::custom_status::CustomStatus,
    id::{OrganisationId, RoleUuid, UserId},
    time::Time,
};

/// An organisation after a change. It has neither fields that differ among members, nor counts, which change with every
/// message.
#[derive(Serialize, JsonSchema)]
pub struct OrganisationUpdate<'a> {
    /// What happened to the organisation.
    #[schemars(extend("enum" = ["updated", "deleted"]))]
    pub action: &'a str,
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// Its name.
    pub name: String,
    /// Its slug.
    pub organisation_slug: String,
    /// Its description.
    pub description: String,
    /// Its e-mail address.
    pub email: String,
    /// Its kind.
    pub industry: String,
    /// The same as `industry`.
    pub r#type: String,
    /// Its location.
    pub location: String,
    /// Its country.
    pub country: String,
    /// The address of its logo.
    pub logo_url: String,
    /// The user who owns the organisation.
    pub owner_id: UserId,
    /// When the organisation was created.
    pub created_at: Time,
    /// When the organisation was last changed.
    pub updated_at: Time,
}

/// A member of an organisation after a change.
#[derive(Serialize, JsonSchema)]
pub struct MemberUpdate<'a> {
    /// What happened to the member.
    #[schemars(extend("enum" = ["joined", "updated", "removed"]))]
    pub action: &'a str,
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The member.
    pub user_id: UserId,
    /// The member's username.
    pub username: &'a str,
    /// The full name, otherwise the username.
    pub name: &'a str,
    /// The member's full name; may be empty.
    pub full_name: &'a str,
    /// The member's e-mail address.
    pub email: &'a str,
    /// The member's phone number.
    pub phone_number: &'a str,
    /// The address of the member's picture.
    pub avatar_url: &'a str,
    /// What the member does now, if they have said so.
    pub custom_status: Option<&'a CustomStatus>,
    /// Whether the member is a person or a bot.
    #[schemars(extend("enum" = ["user", "bot"]))]
    pub user_type: &'a str,
    /// Whether the member's e-mail address is verified.
    pub is_verified: bool,
    /// The key of the member's role.
    pub role: &'a str,
    /// The same as `role`, under its name in the list of members.
    pub role_key: &'a str,
    /// The integer of the member's role.
    pub role_id: i64,
    /// The name of the member's role; `Owner` for the organisation's owner.
    pub role_name: &'a str,
    /// The member's status in the organisation.
    #[schemars(extend("enum" = ["active", "inactive", "deactivated"]))]
    pub status: &'a str,
}

/// The receiver's membership of an organisation after a change.
#[derive(Serialize, JsonSchema)]
pub struct MembershipUpdate<'a> {
    /// What the receiver did, or what was done to them.
    #[schemars(extend("enum" = ["joined", "left"]))]
    pub action: &'a str,
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// Its name.
    pub name: &'a str,
    /// Its name in clients' addresses.
    pub organisation_slug: &'a str,
    /// The address of its logo.
    pub logo_url: &'a str,
    /// The key of the receiver's role.
    pub org_role: &'a str,
    /// The name of the receiver's role; `Owner` for the organisation's owner.
    pub role_name: &'a str,
}

/// A role of an organisation after a change.
#[derive(Serialize, JsonSchema)]
pub struct RoleUpdate<'a> {
    /// What happened to the role.
    #[schemars(extend("enum" = ["created", "updated", "deleted"]))]
    pub action: &'a str,
    /// The organisation.
    pub organisation_id: OrganisationId,
    /// The role's number.
    pub id: i64,
    /// The role's other identifier.
    pub uuid: RoleUuid,
    /// The word for the role in `role` and `org_role`.
    pub key: &'a str,
    /// The role's name.
    pub name: &'a str,
    /// The role's description.
    pub description: &'a str,
    /// Each right by its name, and whether the role holds it.
    pub permission_list: BTreeMap<String, bool>,
    /// The same rights by their keys.
    pub permissions: Permissions,
    /// When the role was created.
    pub created_at: Time,
    /// When the role was last changed.
    pub updated_at: Time,
}

/// The rights of a role by their keys.
#[derive(Serialize, JsonSchema)]
pub struct Permissions {
    /// Each right by its key, and whether the role holds it.
    pub permission_list: BTreeMap<String, bool>,
}
