-- Live channels and direct messages are counted by an index.

drop index channels_by_organisation;
create index channels_by_organisation on channels (organisation_id, is_dm, deleted_at, archived_at);
create index channels_opened on channels (organisation_id, created_by) where is_dm = 1;
