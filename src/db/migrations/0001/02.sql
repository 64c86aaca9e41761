-- The address of a webhook's feed can be replaced.

drop index messages_by_author;
create index messages_by_author on messages (channel_id, user_id, n) where root is null and type = 'message';
alter table webhooks add column generation integer not null default 1;
-- Their addresses were derived without a generation.
update webhooks set generation = 0;
