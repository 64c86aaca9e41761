-- Proof of a mailbox is kept, and mails are counted by kind.

alter table users add column mailbox_proved integer not null default 0 check (mailbox_proved in (0, 1));
create index identities_by_user on identities (user_id);
create table used_id_tokens (
    hash       blob primary key,
    expires_at integer not null
) strict, without rowid;
create index used_id_tokens_by_end on used_id_tokens (expires_at);

create table invitation_counts (
    counted blob primary key,
    day     integer not null,
    mailed  integer not null
) strict, without rowid;
create index invitation_counts_by_day on invitation_counts (day);
insert into invitation_counts (counted, day, mailed)
    select id, invited_on, invited_count from organisations where invited_count > 0;
alter table organisations drop column invited_on;
alter table organisations drop column invited_count;

create table new_invitations (
    id              blob primary key check (length(id) = 16),
    organisation_id blob not null references organisations (id),
    email           text not null,
    role_id         integer not null references roles (id),
    invited_by      blob not null references users (id),
    generation      integer not null default 1,
    token_hash      blob not null unique,
    mailed_hash     blob not null unique,
    created_at      integer not null,
    sent_at         integer not null,
    expires_at      integer not null,
    accepted_at     integer
) strict, without rowid;
-- The mailed link was the one that the inviter saw. It still works, and proves no mailbox: no token has a random hash.
insert into new_invitations (id, organisation_id, email, role_id, invited_by, generation, token_hash, mailed_hash, created_at,
        sent_at, expires_at, accepted_at)
    select id, organisation_id, email, role_id, invited_by, generation, token_hash, randomblob(32), created_at,
        sent_at, expires_at, accepted_at from invitations;
drop table invitations;
alter table new_invitations rename to invitations;
create unique index invitations_open on invitations (organisation_id, email) where accepted_at is null;
create index invitations_by_email on invitations (email) where accepted_at is null;
create index invitations_newest on invitations (organisation_id, created_at desc, id desc);
create index invitations_by_role on invitations (role_id);

-- What the queued mails were about is not known: as notices they count in no quota.
create table new_mails (
    id          blob primary key check (length(id) = 16),
    recipient   text not null,
    kind        text not null,
    sealed      blob,
    created_at  integer not null,
    due_at      integer,
    attempts    integer not null default 0,
    sent_at     integer,
    error       text not null default ''
) strict, without rowid;
insert into new_mails (id, recipient, kind, sealed, created_at, due_at, attempts, sent_at, error)
    select id, recipient, 'notice', sealed, created_at, due_at, attempts, sent_at, error from mails;
drop table mails;
alter table new_mails rename to mails;
create index mails_due on mails (due_at) where due_at is not null;
create index mails_done on mails (created_at) where due_at is null;
create index mails_by_recipient on mails (recipient, kind, created_at) where kind <> 'notice';
