//! The parts of memberships: rights, the built-in roles that bundle them, and the status of a member.

use std::collections::BTreeMap;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::error::{Error, Result};

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

    const NAMES: [(&'static str, Rights); 8] = [
        ("manage:organization", Rights::MANAGE_ORGANIZATION),
        ("manage:roles", Rights::MANAGE_ROLES),
        ("manage:webhooks", Rights::MANAGE_WEBHOOKS),
        ("manage:channels", Rights::MANAGE_CHANNELS),
        ("remove:members", Rights::REMOVE_MEMBERS),
        ("invite:members", Rights::INVITE_MEMBERS),
        ("create:channels", Rights::CREATE_CHANNELS),
        ("post:messages", Rights::POST_MESSAGES),
    ];

    pub fn include(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    /// Lists each right by its name, and whether this set holds it.
    pub fn list(self) -> BTreeMap<String, bool> {
        Rights::NAMES.iter().map(|(name, right)| ((*name).to_owned(), self.include(*right))).collect()
    }

    /// Adds and removes rights by name. 400 for an unknown name.
    pub fn with(self, changes: &BTreeMap<String, bool>) -> Result<Rights> {
        changes.iter().try_fold(self, |rights, (named, held)| {
            let known = Rights::NAMES.iter().find(|(name, _)| name == named);
            let (_, right) = known.ok_or_else(|| Error::bad_request(format!("permission_list: {named} is no right")))?;
            Ok(Rights(if *held { rights.0 | right.0 } else { rights.0 & !right.0 }))
        })
    }
}

impl FromSql for Rights {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(Rights)
    }
}

impl ToSql for Rights {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

/// The roles that every organisation has, with their numbers in `roles.id`. An organisation's own are numbered from 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInRole {
    Admin = 1,
    Manager = 2,
    ProjectLead = 3,
    /// The role of a member who got no other.
    Member = 4,
    /// A guest sees only the channels that they are in.
    Guest = 5,
}

impl BuiltInRole {
    pub const ALL: [BuiltInRole; 5] =
        [BuiltInRole::Admin, BuiltInRole::Manager, BuiltInRole::ProjectLead, BuiltInRole::Member, BuiltInRole::Guest];

    pub fn name(self) -> &'static str {
        match self {
            BuiltInRole::Admin => "admin",
            BuiltInRole::Manager => "manager",
            BuiltInRole::ProjectLead => "project-lead",
            BuiltInRole::Member => "member",
            BuiltInRole::Guest => "guest",
        }
    }
}

impl ToSql for BuiltInRole {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((*self as i64).into())
    }
}

/// The status of a member of an organisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatus {
    Active,
    /// A label: the member keeps all access.
    Inactive,
    /// The member has no access; reactivation gives it back.
    Deactivated,
}

impl MemberStatus {
    pub const ALL: [MemberStatus; 3] = [MemberStatus::Active, MemberStatus::Inactive, MemberStatus::Deactivated];
    pub const NAMES: [&'static str; 3] =
        [MemberStatus::Active.as_str(), MemberStatus::Inactive.as_str(), MemberStatus::Deactivated.as_str()];

    pub const fn as_str(self) -> &'static str {
        match self {
            MemberStatus::Active => "active",
            MemberStatus::Inactive => "inactive",
            MemberStatus::Deactivated => "deactivated",
        }
    }

    pub fn named(name: &str) -> Option<MemberStatus> {
        MemberStatus::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

impl FromSql for MemberStatus {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        MemberStatus::named(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for MemberStatus {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.as_str().into())
    }
}
