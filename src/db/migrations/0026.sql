-- A webhook may deliver in order: what happened later waits for what happened before.
alter table webhooks add column is_ordered integer not null default 0 check (is_ordered in (0, 1));
alter table webhooks add column waits_until integer;
