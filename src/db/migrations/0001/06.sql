-- Work that a change leaves to the jobs is kept in chores.

drop index users_by_current_org;
alter table roles add column deleted_at integer;
drop index roles_by_name;
create unique index roles_by_name on roles (organisation_id, name collate nocase) where deleted_at is null;
drop index messages_top;
create index messages_top on messages (channel_id, n, deleted_at) where root is null;
create table chores (
    id              integer primary key autoincrement,
    kind            text not null check (kind in ('departure', 'webhooks', 'role', 'message')),
    organisation_id blob,
    user_id         blob,
    number          integer,
    cursor          blob not null
) strict;
create index chores_by_subject on chores (kind, organisation_id, user_id, number);
drop index webhooks_by_owner;
create index webhooks_by_owner on webhooks (owner_id, channel_id);
