-- The history of webhooks keeps what came in, and as what it was read.

alter table webhook_history add column received text;
alter table webhook_history add column read_as text not null default '';
create index webhook_history_received on webhook_history (webhook_id, attempted_at desc, id desc) where received is not null;
