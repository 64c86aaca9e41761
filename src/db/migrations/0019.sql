-- Webhooks choose which kinds of events they deliver; they have delivered new messages until now.

alter table webhooks add column events integer not null default 1;
