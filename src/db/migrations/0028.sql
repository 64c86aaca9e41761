-- Accounts that nobody goes on with end, and join links keep places for those who join later.
create table unfinished_accounts (
    user_id blob primary key references users (id),
    due_at  integer not null
) strict, without rowid;
create index unfinished_accounts_by_due on unfinished_accounts (due_at);
create table join_places (
    user_id blob primary key references users (id),
    link_id blob not null references join_links (id) on delete cascade
) strict, without rowid;
create index join_places_by_link on join_places (link_id);
create index former_members_by_user on former_members (user_id);
-- Those of the past are looked at a day after this step, so that their owners can still come back.
insert into unfinished_accounts (user_id, due_at)
    select u.id, (unixepoch() + 86400) * 1000000 from users u
    where u.is_active and not u.mailbox_proved and not u.is_bot and u.role = 'user'
      and not exists (select 1 from organisation_members m where m.user_id = u.id)
      and not exists (select 1 from former_members f where f.user_id = u.id);
