-- Members star channels for themselves.
alter table channel_members add column is_starred integer not null default 0 check (is_starred in (0, 1));
