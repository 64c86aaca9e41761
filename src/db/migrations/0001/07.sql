-- Mails have one of the kinds that are known.

create table new_mails (
    id          blob primary key check (length(id) = 16),
    recipient   text not null,
    kind        text not null check (kind in ('verification', 'magic_link', 'password_reset', 'invitation', 'webhook', 'notice')),
    sealed      blob,
    created_at  integer not null,
    due_at      integer,
    attempts    integer not null default 0,
    sent_at     integer,
    error       text not null default ''
) strict, without rowid;
insert into new_mails (id, recipient, kind, sealed, created_at, due_at, attempts, sent_at, error)
    select id, recipient, kind, sealed, created_at, due_at, attempts, sent_at, error from mails;
drop table mails;
alter table new_mails rename to mails;
create index mails_due on mails (due_at) where due_at is not null;
create index mails_done on mails (created_at) where due_at is null;
create index mails_by_recipient on mails (recipient, kind, created_at) where kind <> 'notice';
