-- A member may mute a channel.
alter table channel_members add column is_muted integer not null default 0 check (is_muted in (0, 1));
