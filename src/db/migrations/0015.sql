-- Organisations have bots, whose accounts programs alone use.

alter table users add column is_bot integer not null default 0 check (is_bot in (0, 1));
create table bots (
    user_id         blob primary key references users (id),
    organisation_id blob not null references organisations (id),
    owner_id        blob not null references users (id),
    description     text not null default ''
) strict, without rowid;
create index bots_by_organisation on bots (organisation_id);
create index bots_by_owner on bots (owner_id);
