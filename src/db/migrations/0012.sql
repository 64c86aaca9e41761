-- Requests of codes know the account, so that wrong codes are counted by account.

alter table code_requests add column user_id blob references users (id);
create index code_requests_by_user on code_requests (user_id, expires_at) where user_id is not null;
