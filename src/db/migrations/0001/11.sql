-- Reactions are counted, and mails tell of which webhook they are.

create index invitations_by_inviter on invitations (invited_by) where accepted_at is null;
create index reactions_first on reactions (n, emoji, created_at, user_id);
create table reaction_counts (
    n          integer not null references messages (n),
    emoji      text not null,
    count      integer not null,
    first_at   integer not null,
    primary key (n, emoji)
) strict, without rowid;
insert into reaction_counts (n, emoji, count, first_at) select n, emoji, count(*), min(created_at) from reactions group by n, emoji;

create table new_chores (
    id              integer primary key autoincrement,
    kind            text not null check (kind in ('departure', 'webhooks', 'reclaim', 'role', 'message')),
    organisation_id blob,
    user_id         blob,
    number          integer,
    cursor          blob not null,
    retry_at        integer not null default 0
) strict;
insert into new_chores (id, kind, organisation_id, user_id, number, cursor, retry_at)
    select id, kind, organisation_id, user_id, number, cursor, retry_at from chores;
delete from sqlite_sequence where name = 'new_chores';
update sqlite_sequence set name = 'new_chores' where name = 'chores';
drop table chores;
alter table new_chores rename to chores;
create index chores_by_subject on chores (kind, organisation_id, user_id, number);
alter table mails add column webhook_id blob;
