-- Users may say what they do now.
alter table users add column status_emoji text not null default '';
alter table users add column status_text text not null default '';
alter table users add column status_until integer;
create index users_by_status_end on users (status_until) where status_until is not null;
