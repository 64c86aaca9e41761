-- Webhooks follow the event log by a cursor, and keep in memory which of them delivers next.

-- An account that was reclaimed becomes a row of the log for webhooks to act on, after the row that they begin with. Their
-- departed owners' chores tell of themselves when they end.
insert into meta (key, value)
    select 'webhooks_seq', coalesce((select max(seq) from sqlite_sequence where name = 'events'), 0)
    where exists (select 1 from chores where kind = 'reclaim');
insert into events (stream, audience, type, actor_id, body, created_at)
    select '', 'nobody', 'reclaimed', user_id, 'null', unixepoch() * 1000000 from chores where kind = 'reclaim';
delete from sqlite_sequence where name = 'events' and seq = 0; -- of an insert of nothing

create table new_chores (
    id              integer primary key autoincrement,
    kind            text not null check (kind in ('departure', 'profile', 'role', 'message')),
    organisation_id blob,
    user_id         blob,
    number          integer,
    cursor          blob not null,
    retry_at        integer not null default 0
) strict;
insert into new_chores (id, kind, organisation_id, user_id, number, cursor, retry_at)
    select id, kind, organisation_id, user_id, number, cursor, retry_at from chores where kind not in ('webhooks', 'reclaim');
delete from sqlite_sequence where name = 'new_chores';
update sqlite_sequence set name = 'new_chores' where name = 'chores';
drop table chores;
alter table new_chores rename to chores;
create index chores_by_subject on chores (kind, organisation_id, user_id, number);

drop index webhooks_due;
alter table webhooks drop column is_prompt;
alter table webhooks drop column next_due;
alter table webhooks add column from_seq integer not null default 0;

drop index deliveries_by_message;
create unique index deliveries_by_message on deliveries (message_n, webhook_id);
create index events_endings on events (actor_id, seq) where type in ('departed', 'reclaimed');
