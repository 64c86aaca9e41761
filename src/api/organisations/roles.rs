//! Roles of an organisation: built-in and custom ones.

use std::collections::BTreeMap;

use poem::web::Data;
use poem_openapi::{Object, OpenApi, param::Path};
use serde::Serialize;

use super::role_rights::{PermissionList, Permissions};
use crate::{
    api::{
        http::{
            auth::{Bearer, MEMBERS, READ},
            body::{Body, Text, into_string},
            envelope::{Created, Success, created, ok},
            framework_traits::{Null, Nullable},
        },
        tags::Tag,
    },
    domain::{organisations::roles, rights},
    error::{Code, Error, Result},
    id::{OrganisationId, RoleUuid},
    state::App,
    time::Time,
};

pub struct Api;

#[OpenApi]
impl Api {
    /// List an organisation's roles
    ///
    /// Lists the built-in roles, then the organisation's custom roles. For members. Requests name a role by its `id`, its
    /// `uuid`, its `name` or its `key`, the last two without regard to case.
    #[oai(path = "/organisations/:org_id/roles", method = "get", operation_id = "listRoles", tag = "Tag::Roles")]
    async fn list(&self, caller: Bearer<READ>, app: Data<&App>, org_id: Path<OrganisationId>) -> Result<Success<Vec<Role>>> {
        let listed = app.db.read(|conn| roles::list(conn, caller.0, *org_id))?;
        Ok(ok("Roles retrieved successfully", listed.into_iter().map(Role::from).collect()))
    }

    /// Make a role
    ///
    /// Needs `manage:roles`, and every right that the new role holds.
    #[oai(path = "/organisations/:org_id/roles", method = "post", operation_id = "createRole", tag = "Tag::Roles")]
    async fn create(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        body: Body<NewRole>,
    ) -> Result<Created<Role>> {
        let NewRole { name, description, rights } = body.0;
        let permissions = rights.list()?;
        let new = roles::Edit { name: Some(name.0), description: into_string(description), permissions };
        let made = app.db.write_sized(body.1, move |tx| roles::create(tx, caller.0, *org_id, &new)).await?;
        Ok(created("Role created successfully", made.into()))
    }

    /// Read a role
    ///
    /// Finds the role by its integer, its UUID, its name or its key. For members.
    #[oai(path = "/organisations/:org_id/roles/:role_id", method = "get", operation_id = "getRole", tag = "Tag::Roles")]
    async fn get(
        &self,
        caller: Bearer<READ>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        role_id: Path<Text<roles::Named>>,
    ) -> Result<Success<Role>> {
        let found = app.db.read(|conn| roles::read(conn, caller.0, *org_id, &role_id))?;
        Ok(ok("Role retrieved successfully", found.into()))
    }

    /// Change a role
    ///
    /// Changes the given fields. Needs `manage:roles`, and every right that the role has before or after the change.
    /// Built-in roles can't be changed.
    #[oai(path = "/organisations/:org_id/roles/:role_id", method = "put", operation_id = "updateRole", tag = "Tag::Roles")]
    async fn update(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        role_id: Path<Text<roles::Named>>,
        body: Body<EditRole>,
    ) -> Result<Success<Role>> {
        let EditRole { name, description, rights } = body.0;
        let permissions = rights.list()?;
        let edit = roles::Edit { name: into_string(name), description: into_string(description), permissions };
        let edited = app.db.write_sized(body.1, move |tx| roles::update(tx, caller.0, *org_id, &role_id, &edit)).await?;
        Ok(ok("Role updated successfully", edited.into()))
    }

    /// Change a role's rights
    ///
    /// A list of rights by name, such as `create:channels`, has changes: omitted rights stay as they are. A list by key,
    /// such as `can_create_channels`, is the whole list: the role doesn't hold omitted rights. An empty list changes
    /// nothing, and a list with names and keys is refused. Needs `manage:roles`, and every right that the role has before
    /// or after the change.
    #[oai(
        path = "/organisations/:org_id/roles/:role_id/permissions",
        method = "put",
        operation_id = "updateRolePermissions",
        tag = "Tag::Roles"
    )]
    async fn permissions(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        role_id: Path<Text<roles::Named>>,
        body: Body<RoleRights>,
    ) -> Result<Success<Role>> {
        let permissions = body.0.required()?;
        let edit = roles::Edit { permissions, ..Default::default() };
        let edited = app.db.write_sized(body.1, move |tx| roles::update(tx, caller.0, *org_id, &role_id, &edit)).await?;
        Ok(ok("Permissions updated successfully", edited.into()))
    }

    /// Delete a role
    ///
    /// Holders of the role, and people invited to it, get the role `member`. Needs `manage:roles`, and every right of
    /// the role and of `member`.
    #[oai(path = "/organisations/:org_id/roles/:role_id", method = "delete", operation_id = "deleteRole", tag = "Tag::Roles")]
    async fn delete(
        &self,
        caller: Bearer<MEMBERS>,
        app: Data<&App>,
        org_id: Path<OrganisationId>,
        role_id: Path<Text<roles::Named>>,
    ) -> Result<Success<Null>> {
        app.db.write(move |tx| roles::delete(tx, caller.0, *org_id, &role_id)).await?;
        Ok(ok("Role deleted successfully", Null))
    }
}

#[derive(Object)]
struct NewRole {
    /// Unique in the organisation, without regard to case.
    name: Text<roles::Name>,
    description: Option<Text<roles::Description>>,
    #[oai(flatten)]
    rights: RoleRights,
}

#[derive(Object)]
struct EditRole {
    name: Option<Text<roles::Name>>,
    description: Option<Text<roles::Description>>,
    #[oai(flatten)]
    rights: RoleRights,
}

/// The rights of a role in a request.
#[derive(Object)]
struct RoleRights {
    /// Rights by name or by key. A new role starts without rights.
    permission_list: Option<PermissionList>,
    /// The rights in the form of answers, instead of `permission_list`. A request with both is refused.
    permissions: Option<EditPermissions>,
}

impl RoleRights {
    /// The list of rights; empty if there is none. 400 if there are two.
    fn list(self) -> Result<BTreeMap<String, bool>> {
        Ok(self.one()?.map_or_else(BTreeMap::new, |list| list.0))
    }

    /// The list of rights. 400 if there is none, or if there are two.
    fn required(self) -> Result<BTreeMap<String, bool>> {
        Ok(self
            .one()?
            .ok_or_else(|| Error::BadRequest(Code::Required.says("permission_list is required").at("permission_list")))?
            .0)
    }

    fn one(self) -> Result<Option<PermissionList>> {
        match (self.permission_list, self.permissions) {
            (Some(_), Some(_)) => Err(Error::BadRequest(
                Code::ConflictingFields
                    .says("Give the rights in permission_list or in permissions, not in both")
                    .at("permission_list"),
            )),
            (list, None) => Ok(list),
            (None, Some(EditPermissions { permission_list: list })) => Ok(Some(list)),
        }
    }
}

#[derive(Object)]
struct EditPermissions {
    /// Rights by name or by key.
    permission_list: PermissionList,
}

#[derive(Object, Serialize)]
struct Role {
    /// The role's integer; 1 to 5 are the built-in roles.
    id: i64,
    uuid: RoleUuid,
    /// The organisation; null for built-in roles.
    organisation_id: Nullable<OrganisationId>,
    /// `Administrator`, `Manager`, `Project Lead`, `User` or `Guest` for a built-in role.
    name: String,
    /// The word for the role in `role` and `org_role`: `admin`, `manager`, `project-lead`, `member` or `guest` for a
    /// built-in role; otherwise the same as `name`.
    key: String,
    description: String,
    /// Each right by its name, and whether the role holds it.
    permission_list: BTreeMap<String, bool>,
    permissions: Permissions,
    created_at: Time,
    updated_at: Time,
}

impl From<roles::Role> for Role {
    fn from(role: roles::Role) -> Self {
        Role {
            id: role.id,
            uuid: role.uuid,
            organisation_id: Nullable(role.organisation),
            name: rights::role_title(&role.name).into(),
            key: role.name,
            description: role.description,
            permission_list: role.rights.held_by_name(),
            permissions: Permissions::from(role.rights),
            created_at: role.created_at,
            updated_at: role.updated_at,
        }
    }
}
