-- A webhook may deliver what happens in all public channels of an organisation.
alter table webhooks add column organisation_id blob references organisations (id);
create index webhooks_of_organisations on webhooks (organisation_id) where organisation_id is not null;
