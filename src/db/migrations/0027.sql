-- A server knows after a restart which targets have answered promptly.
alter table webhooks add column is_proven integer not null default 0 check (is_proven in (0, 1));
