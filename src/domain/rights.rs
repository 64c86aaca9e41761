//! The parts of memberships: rights, the built-in roles that bundle them, and the status of a member.

use std::collections::BTreeMap;

use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::Serialize;
use uuid::Uuid;

use crate::{
    db::text_enum,
    error::{Code, Error, Result},
    id::RoleUuid,
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

    pub fn contains(self, other: Rights) -> bool {
        self.0 & other.0 == other.0
    }

    /// Lists each right by its name, and whether this set holds it.
    pub fn held_by_name(self) -> BTreeMap<String, bool> {
        self.list_by(|right| [right.name])
    }

    /// Lists each right by all of its keys, and whether this set holds it.
    pub fn by_every_key(self) -> BTreeMap<String, bool> {
        self.list_by(Right::key_and_aliases)
    }

    fn list_by<N: IntoIterator<Item = &'static str>>(self, named: impl Fn(&'static Right) -> N) -> BTreeMap<String, bool> {
        let named = |right| named(right).into_iter().map(|name| (name.to_owned(), self.contains(right.bit)));
        Right::ALL.iter().flat_map(named).collect()
    }

    /// Applies a list from a request. Rights by name are changes to this set. Rights by key are the whole new set: a right
    /// that the list omits is off. Among several keys of one right, one that changes this set counts: a client sends keys
    /// that it doesn't know back as it got them. An empty list changes nothing. 400 for an unknown right, and for a list with
    /// names and keys.
    pub fn changed_by(self, list: &BTreeMap<String, bool>) -> Result<Rights> {
        let is_key = |named: &String| Right::ALL.iter().any(|right| right.key_and_aliases().any(|key| key == named));
        let by_key = list.keys().next().is_some_and(is_key);
        let (mut rights, mut changed) = (if by_key { Rights(0) } else { self }, Rights(0));
        for (named, held) in list {
            let known = Right::ALL.iter().find(|right| right.name == named || right.key_and_aliases().any(|key| key == named));
            let right = known.ok_or_else(|| {
                Error::BadRequest(
                    Code::RightNotFound.says(format!("permission_list: {named} is not a right")).at("permission_list"),
                )
            })?;
            if is_key(named) != by_key {
                let Right { name, key, .. } = right;
                return Err(Error::BadRequest(
                    Code::InvalidValue
                        .says(format!("permission_list: name all rights like {name}, or all like {key}"))
                        .at("permission_list"),
                ));
            }
            if *held != self.contains(right.bit) {
                changed.0 |= right.bit.0;
            } else if changed.contains(right.bit) {
                continue;
            }
            rights = Rights(if *held { rights.0 | right.bit.0 } else { rights.0 & !right.bit.0 });
        }
        Ok(rights)
    }
}

/// A right, as requests and answers name it.
pub struct Right {
    pub bit: Rights,
    /// The name in a role's `permission_list`.
    pub name: &'static str,
    /// The key in a role's `permissions`.
    pub key: &'static str,
    /// Further keys, by which other programs know the right.
    pub other_keys: &'static [&'static str],
    pub title: &'static str,
    pub category: &'static str,
    pub description: &'static str,
}

impl Right {
    /// All keys: `key`, then `other_keys`.
    pub fn key_and_aliases(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.key].into_iter().chain(self.other_keys.iter().copied())
    }

    pub const ALL: [Right; 8] = [
        Right {
            bit: Rights::MANAGE_ORGANIZATION,
            name: "manage:organization",
            key: "can_manage_organisation",
            other_keys: &["can_manage_organization"],
            title: "Manage the organisation",
            category: "Organisation",
            description: "Change the organisation's name, description and other details",
        },
        Right {
            bit: Rights::MANAGE_ROLES,
            name: "manage:roles",
            key: "can_manage_roles",
            other_keys: &["can_change_user_org_role"],
            title: "Manage roles",
            category: "Members",
            description: "Make, change and delete roles, and give members other roles",
        },
        Right {
            bit: Rights::REMOVE_MEMBERS,
            name: "remove:members",
            key: "can_remove_members",
            other_keys: &["can_remove_people"],
            title: "Remove members",
            category: "Members",
            description: "Remove members, and change their status",
        },
        Right {
            bit: Rights::INVITE_MEMBERS,
            name: "invite:members",
            key: "can_invite_members",
            other_keys: &[],
            title: "Invite members",
            category: "Members",
            description: "Invite people to the organisation by e-mail",
        },
        Right {
            bit: Rights::CREATE_CHANNELS,
            name: "create:channels",
            key: "can_create_channels",
            other_keys: &[],
            title: "Create channels",
            category: "Channels",
            description: "Make channels in the organisation",
        },
        Right {
            bit: Rights::MANAGE_CHANNELS,
            name: "manage:channels",
            key: "can_manage_channels",
            other_keys: &[],
            title: "Manage channels",
            category: "Channels",
            description: "Change, archive and delete channels that other members own, and delete messages in them",
        },
        Right {
            bit: Rights::MANAGE_WEBHOOKS,
            name: "manage:webhooks",
            key: "can_create_webhooks",
            other_keys: &[],
            title: "Create webhooks",
            category: "Webhooks",
            description: "Make, read, change and delete webhooks of channels that other members own",
        },
        Right {
            bit: Rights::POST_MESSAGES,
            name: "post:messages",
            key: "can_post_messages",
            other_keys: &["can_comment_threads"],
            title: "Post messages",
            category: "Messages",
            description: "Post, reply, react and pin in channels, and add members to them",
        },
    ];
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

    /// Its UUID, as in `schema.sql`.
    pub fn uuid(self) -> RoleUuid {
        RoleUuid(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + self as u128))
    }

    /// Finds a built-in role by its name or title, without regard to case.
    pub fn named(named: &str) -> Option<BuiltInRole> {
        let is = |word: &str| word.eq_ignore_ascii_case(named);
        BuiltInRole::ALL.into_iter().find(|role| is(role.name()) || is(role.title()))
    }

    pub fn name(self) -> &'static str {
        match self {
            BuiltInRole::Admin => "admin",
            BuiltInRole::Manager => "manager",
            BuiltInRole::ProjectLead => "project-lead",
            BuiltInRole::Member => "member",
            BuiltInRole::Guest => "guest",
        }
    }

    /// Its name for people to read.
    pub fn title(self) -> &'static str {
        match self {
            BuiltInRole::Admin => "Administrator",
            BuiltInRole::Manager => "Manager",
            BuiltInRole::ProjectLead => "Project Lead",
            BuiltInRole::Member => "User",
            BuiltInRole::Guest => "Guest",
        }
    }
}

/// The title of an organisation's owner, whatever their role is.
pub const OWNER: &str = "Owner";

/// The title of a role, which people read: that of the built-in role with this name, otherwise the name itself.
pub fn role_title(name: &str) -> &str {
    BuiltInRole::ALL.into_iter().find(|role| role.name() == name).map_or(name, |role| role.title())
}

/// The title of a member's role: `Owner` for the organisation's owner, otherwise the role's.
pub fn member_title(name: &str, is_owner: bool) -> &str {
    if is_owner { OWNER } else { role_title(name) }
}

impl ToSql for BuiltInRole {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok((*self as i64).into())
    }
}

text_enum! {
    /// The status of a member of an organisation.
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum MemberStatus {
        Active = "active",
        /// A label: the member keeps all access.
        Inactive = "inactive",
        /// The member has no access; reactivation gives it back.
        Deactivated = "deactivated",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_right_has_one_bit_one_name_and_keys_of_its_own() {
        let all = Right::ALL.iter().fold(0, |bits, right| bits + right.bit.0);
        assert_eq!(all, 255);
        let keys: Vec<_> = Right::ALL.iter().flat_map(Right::key_and_aliases).collect();
        assert_eq!((Rights(0).held_by_name().len(), Rights(0).by_every_key().len(), keys.len()), (8, 12, 12));
    }

    #[test]
    fn names_change_a_set_and_keys_replace_it() {
        let with = |list: &[(&str, bool)]| {
            let list = list.iter().map(|(named, held)| ((*named).to_owned(), *held)).collect();
            Rights::CREATE_CHANNELS.changed_by(&list).map(|rights| rights.0).map_err(|err| err.to_string())
        };
        assert_eq!(with(&[]), Ok(64));
        assert_eq!(with(&[("post:messages", true)]), Ok(64 + 128));
        assert_eq!(with(&[("create:channels", false), ("post:messages", true)]), Ok(128));
        assert_eq!(with(&[("can_post_messages", true)]), Ok(128));
        assert_eq!(with(&[("can_post_messages", false)]), Ok(0));
        // Another key of the same right.
        assert_eq!(with(&[("can_comment_threads", true), ("can_create_channels", true)]), Ok(64 + 128));
        // One of two keys is as the client got it.
        assert_eq!(with(&[("can_comment_threads", true), ("can_post_messages", false)]), Ok(128));
        assert_eq!(with(&[("can_comment_threads", false), ("can_post_messages", true)]), Ok(128));
        let posts = Rights::POST_MESSAGES;
        for list in [
            [("can_comment_threads", false), ("can_post_messages", true)],
            [("can_comment_threads", true), ("can_post_messages", false)],
        ] {
            assert_eq!(posts.changed_by(&list.map(|(key, held)| (key.to_owned(), held)).into()).unwrap(), Rights(0));
        }
        let mixed = "permission_list: name all rights like post:messages, or all like can_post_messages";
        assert_eq!(with(&[("can_create_channels", true), ("post:messages", true)]), Err(mixed.into()));
        assert_eq!(with(&[("rule:world", true)]), Err("permission_list: rule:world is not a right".into()));
    }
}
