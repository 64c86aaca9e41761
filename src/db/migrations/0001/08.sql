-- A chore that failed waits.

alter table chores add column retry_at integer not null default 0;
