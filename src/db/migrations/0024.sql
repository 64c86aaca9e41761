-- The server reminds users of what they have asked for.
create table reminders (
    id         blob primary key check (length(id) = 16),
    user_id    blob not null references users (id),
    channel_id blob references channels (id) on delete set null,
    text       text not null,
    due_at     integer not null,
    is_due     integer not null default 0 check (is_due in (0, 1)),
    created_at integer not null
) strict, without rowid;
create index reminders_by_user on reminders (user_id, due_at, id);
create index reminders_waiting on reminders (due_at) where is_due = 0;
create index reminders_by_channel on reminders (channel_id) where channel_id is not null;
