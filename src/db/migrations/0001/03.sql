-- Open sessions are counted by an index.

create index sessions_open on sessions (user_id) where ended_at is null;
