-- Members call programs by commands.

create table commands (
    id              blob primary key check (length(id) = 16),
    organisation_id blob not null references organisations (id),
    owner_id        blob not null references users (id),
    name            text not null,
    description     text not null,
    hint            text not null,
    url             text not null,
    target          text not null,
    form            text not null check (form in ('json', 'slack')),
    secret          blob not null,
    created_at      integer not null,
    updated_at      integer not null
) strict, without rowid;
create unique index commands_by_name on commands (organisation_id, name);
-- Calls that their programs may still answer.
create table command_calls (
    token_hash blob primary key,
    command_id blob not null references commands (id) on delete cascade,
    channel_id blob not null references channels (id) on delete cascade,
    user_id    blob not null references users (id),
    thread_id  blob,
    answers    integer not null default 0,
    expires_at integer not null
) strict, without rowid;
create index command_calls_by_command on command_calls (command_id);
create index command_calls_by_channel on command_calls (channel_id);
create index command_calls_by_end on command_calls (expires_at);
