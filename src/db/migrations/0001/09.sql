-- Whoever set the address of a webhook answers for it.

create table new_webhooks (
    id              blob primary key check (length(id) = 16),
    channel_id      blob not null references channels (id),
    owner_id        blob not null references users (id),
    name            text not null,
    event_name      text not null default '',
    url             text not null default '',
    url_by          blob references users (id),
    slug_hash       blob not null unique,
    generation      integer not null default 1,
    status          text not null default 'active' check (status in ('active', 'inactive', 'paused')),
    secret          blob not null,
    old_secret      blob,
    old_secret_until integer,
    target          text not null default '',
    is_prompt       integer not null default 0 check (is_prompt in (0, 1)),
    next_due        integer,
    last_success_at integer,
    created_at      integer not null,
    updated_at      integer not null,
    deleted_at      integer,
    check ((url = '') = (url_by is null))
) strict, without rowid;
insert into new_webhooks (id, channel_id, owner_id, name, event_name, url, url_by, slug_hash, generation, status, secret, old_secret,
        old_secret_until, target, is_prompt, next_due, last_success_at, created_at, updated_at, deleted_at)
    select id, channel_id, owner_id, name, event_name, url, iif(url = '', null, owner_id), slug_hash, generation, status, secret,
        old_secret, old_secret_until, target, is_prompt, next_due, last_success_at, created_at, updated_at, deleted_at
    from webhooks;
drop table webhooks;
alter table new_webhooks rename to webhooks;
create index webhooks_by_channel on webhooks (channel_id, created_at);
create index webhooks_by_owner on webhooks (owner_id, channel_id);
create index webhooks_by_url_by on webhooks (url_by, channel_id) where url_by is not null;
create index webhooks_deleted on webhooks (deleted_at) where deleted_at is not null;
create index webhooks_due on webhooks (is_prompt, next_due, target, channel_id) where next_due is not null;
