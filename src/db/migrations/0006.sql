-- Organisations count their live channels.

alter table organisations add column channels_count integer not null default 0;
update organisations set channels_count = (select count(*) from channels c
    where c.organisation_id = organisations.id and c.is_dm = 0 and c.deleted_at is null and c.archived_at is null);
