-- Messages have files.
alter table messages add column media text;
-- Files whose bytes are on disk. Until a message takes one, it is its uploader's alone, for a day.
create table files (
    id              blob primary key check (length(id) = 16),
    organisation_id blob not null,                            -- no reference, as channel_id
    user_id         blob not null references users (id),      -- who uploaded it
    name            text not null,
    mime_type       text not null,                            -- what its content is
    kind            text not null check (kind in ('image', 'video', 'audio', 'document', 'file')),
    size            integer not null,
    width           integer,                                  -- of a picture as it is shown, in pixels; null where its beginning does not tell
    height          integer,
    sha256          blob not null check (length(sha256) = 32),
    description     text not null default '',                 -- what it shows, for those who can't see it
    channel_id      blob,                                     -- of the message that has taken it
    message_n       integer,
    created_at      integer not null,
    deleted_at      integer,                                  -- nobody reads it any more; the row goes after its bytes
    check ((channel_id is null) = (message_n is null))
) strict, without rowid;
create index files_by_message on files (message_n) where message_n is not null;
create index files_by_channel on files (channel_id, message_n) where channel_id is not null and deleted_at is null;
create index files_by_kind on files (channel_id, kind, message_n) where channel_id is not null and deleted_at is null;
create index files_untaken on files (created_at) where message_n is null and deleted_at is null;
create index files_deleted on files (deleted_at) where deleted_at is not null;
-- Uploads that come in parts. What has arrived lies in `files/incoming`, and its length is the offset.
create table uploads (
    id              blob primary key check (length(id) = 16), -- and that of the file which it becomes
    organisation_id blob not null,
    user_id         blob not null references users (id),
    name            text not null,
    length          integer not null,                         -- of the whole
    expires_at      integer not null
) strict, without rowid;
create index uploads_by_user on uploads (user_id);
create index uploads_by_end on uploads (expires_at);
-- Bytes of the files that are not deleted, so that nothing counts over `files`.
create table file_totals (
    organisation_id blob primary key,
    bytes           integer not null
) strict, without rowid;
