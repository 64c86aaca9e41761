//! What a member may do: built-in roles 1 to 5, an organisation's own from 6 up.

use rusqlite::{Connection, OptionalExtension, Row};

use crate::{
    error::Result,
    id::{OrganisationId, RoleUuid},
};

/// A set of rights; the bits are those of `roles.rights`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights(pub i64);

impl Rights {
    pub const MANAGE_ORGANIZATION: Rights = Rights(1);
    pub const MANAGE_ROLES: Rights = Rights(2);
    pub const MANAGE_WEBHOOKS: Rights = Rights(4);
    pub const MANAGE_CHANNELS: Rights = Rights(8);
    pub const REMOVE_MEMBERS: Rights = Rights(16);
    pub const INVITE_MEMBERS: Rights = Rights(32);
    pub const CREATE_CHANNELS: Rights = Rights(64);
    pub const POST_MESSAGES: Rights = Rights(128);

    pub fn include(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }
}

#[derive(Clone, Debug)]
pub struct Role {
    pub id: i64,
    pub uuid: RoleUuid,
    pub name: String,
    pub rights: Rights,
}

/// The built-in role that sees only the channels that it is in.
pub const GUEST: i64 = 5;

/// A role as a request names it: by integer, UUID or name, all as text.
pub fn find(conn: &Connection, organisation: OrganisationId, named: &str) -> Result<Option<Role>> {
    let named = named.trim();
    let by = if named.parse::<i64>().is_ok() {
        "id = cast(?2 as integer)"
    } else if let Ok(uuid) = named.parse::<uuid::Uuid>() {
        return one(conn, "uuid = ?2", organisation, RoleUuid(uuid));
    } else {
        "name = ?2 collate nocase"
    };
    let name = match named.to_lowercase().as_str() {
        "user" => "member",
        "administrator" => "admin",
        _ => named,
    };
    one(conn, by, organisation, name)
}

fn one(conn: &Connection, by: &str, organisation: OrganisationId, value: impl rusqlite::ToSql) -> Result<Option<Role>> {
    // An organisation's own role hides a built-in one of the same name.
    let sql = format!(
        "select id, uuid, name, rights from roles
         where {by} and (organisation_id is null or organisation_id = ?1) order by organisation_id is null limit 1"
    );
    Ok(conn.prepare_cached(&sql)?.query_row((organisation, value), from_row).optional()?)
}

fn from_row(row: &Row) -> rusqlite::Result<Role> {
    Ok(Role { id: row.get("id")?, uuid: row.get("uuid")?, name: row.get("name")?, rights: Rights(row.get("rights")?) })
}
