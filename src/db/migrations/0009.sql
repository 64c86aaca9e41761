-- Accounts have a stream of their own: its last seq outlives the pruning of the log.
alter table users add column last_seq integer not null default 0;
