-- Threads that members have left: what follows there calls them only by a mention.
alter table thread_members add column is_followed integer not null default 1 check (is_followed in (0, 1));
