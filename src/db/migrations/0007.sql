-- Pinned messages name the member who pinned them.

alter table messages add column pinned_by blob references users (id);
