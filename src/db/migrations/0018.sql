-- A message may have several events for webhooks.

alter table webhook_events rename column message_n to n;
alter table webhook_events add column message_n integer;
update webhook_events set message_n = n;
create index webhook_events_by_message on webhook_events (message_n);
alter table deliveries rename column message_n to event_n;
drop index deliveries_by_message;
create unique index deliveries_by_event on deliveries (event_n, webhook_id);
