-- Organisations learn of a changed profile in slices.

create table new_chores (
    id              integer primary key autoincrement,
    kind            text not null check (kind in ('departure', 'webhooks', 'reclaim', 'profile', 'role', 'message')),
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
