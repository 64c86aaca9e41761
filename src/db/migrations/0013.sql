-- Tokens of programs: sessions that no log-in began, for some operations and, if they are limited, for some channels.

alter table sessions add column token_hash blob;
alter table sessions add column token_name text not null default '';
alter table sessions add column scopes integer;
alter table sessions add column is_limited integer not null default 0 check (is_limited in (0, 1));
create unique index sessions_by_token on sessions (token_hash) where token_hash is not null;
create index sessions_of_tokens on sessions (user_id, created_at) where token_hash is not null;

create table token_channels (
    session_id blob not null references sessions (id) on delete cascade,
    channel_id blob not null references channels (id) on delete cascade,
    primary key (session_id, channel_id)
) strict, without rowid;
create index token_channels_by_channel on token_channels (channel_id);
