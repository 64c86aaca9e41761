-- Organisations have a slug, and members pin organisations for themselves.

-- The slugs are made as `domain/organisations/slugs.rs` makes them, except that the number behind one that is taken is always
-- a random one: a small number may end another name.
create table new_organisations (
    id          blob primary key check (length(id) = 16),
    name        text not null,
    slug        text not null,
    description text not null default '',
    email       text not null default '',
    industry    text not null default '',
    location    text not null default '',
    country     text not null default '',
    logo_url    text not null default '',
    owner_id    blob not null references users (id),
    last_seq    integer not null default 0,
    created_at  integer not null,
    updated_at  integer not null,
    deleted_at  integer
) strict, without rowid;
insert into new_organisations (id, name, slug, description, email, industry, location, country, logo_url, owner_id, last_seq,
        created_at, updated_at, deleted_at)
    with recursive
        spelled (id, rest, slug) as (
            select id, lower(name), '' from organisations
            union all
            select id, substr(rest, 2), case
                when rest glob '[a-z0-9]*' then slug || substr(rest, 1, 1)
                when slug = '' or slug like '%-' then slug
                else slug || '-'
            end from spelled where rest <> '' and length(slug) < 50
        ),
        made (id, slug) as (
            select id, coalesce(nullif(rtrim(slug, '-'), ''), 'organisation') from spelled where rest = '' or length(slug) = 50
        ),
        numbered (id, slug, number) as (
            select id, m.slug, row_number() over (partition by m.slug, o.deleted_at is null order by id)
            from made m join organisations o using (id)
        )
    select id, o.name, n.slug || iif(
            n.number = 1
                and n.slug not in ('client', 'api', 'auth', 'centrifugo', 'connection', 'docs', 'health', 'metrics'),
            '', abs(random() % 10000000000)
        ),
        o.description, o.email, o.industry, o.location, o.country, o.logo_url, o.owner_id, o.last_seq,
        o.created_at, o.updated_at, o.deleted_at
    from organisations o join numbered n using (id);
drop table organisations;
alter table new_organisations rename to organisations;
create index organisations_by_owner on organisations (owner_id) where deleted_at is null;
create unique index organisations_by_slug on organisations (slug) where deleted_at is null;

alter table organisation_members add column is_pinned integer not null default 0 check (is_pinned in (0, 1));
