-- Join links, and codes beside magic links.

alter table one_time_tokens add column code_hash blob;
create unique index one_time_tokens_by_code on one_time_tokens (code_hash) where code_hash is not null;

create table code_requests (
    hash       blob primary key,                              -- SHA-256 of the secret of the client that asked
    tries      integer not null default 0,
    expires_at integer not null
) strict, without rowid;
create index code_requests_by_end on code_requests (expires_at);

create table join_links (
    id              blob primary key check (length(id) = 16),
    organisation_id blob not null references organisations (id),
    token_hash      blob not null unique,                     -- SHA-256
    role_id         integer not null references roles (id),
    created_by      blob not null references users (id),
    domain          text not null,                            -- of the addresses that may join; '' = all
    uses            integer not null,                         -- how many people may join
    used            integer not null default 0 check (used <= uses),
    created_at      integer not null,
    expires_at      integer not null
) strict, without rowid;
create index join_links_newest on join_links (organisation_id, created_at desc, id desc);
create index join_links_by_role on join_links (role_id);
create index join_links_by_maker on join_links (created_by);
create index join_links_by_end on join_links (expires_at);
