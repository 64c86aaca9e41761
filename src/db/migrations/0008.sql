-- Members are found by their names and former ones by their id, channels know when they were last written in, sessions when
-- they were last seen, and texts in Chinese, Japanese and Korean are indexed again, by pairs of characters.

alter table channels add column last_message_at integer;
update channels set last_message_at = (select m.created_at from messages m where m.n = channels.last_n);

alter table sessions add column last_seen_at integer;

-- Filled at the next start: SQL folds the case of ASCII alone.
alter table organisation_members add column names text not null default '';

create table former_members (
    organisation_id blob not null references organisations (id),
    user_id         blob not null references users (id),
    primary key (organisation_id, user_id)
) strict, without rowid;
insert into former_members (organisation_id, user_id)
    select c.organisation_id, m.user_id from messages m join channels c on c.id = m.channel_id where m.user_id is not null
    union select c.organisation_id, r.user_id from reactions r join messages m on m.n = r.n join channels c on c.id = m.channel_id
    union select c.organisation_id, cm.user_id from channel_members cm join channels c on c.id = cm.channel_id
    union select organisation_id, created_by from channels
    except select organisation_id, user_id from organisation_members;

insert or ignore into unindexed_edits (n)
    select n from messages
    where content glob '*[' || char(0x3005) || '-' || char(0x3007) || char(0x3041) || '-' || char(0x312f)
        || char(0x31f0) || '-' || char(0x31ff) || char(0x3400) || '-' || char(0x9fff) || char(0xac00) || '-' || char(0xd7a3)
        || char(0xf900) || '-' || char(0xfaff) || char(0xff66) || '-' || char(0xff9f) || char(0x20000) || '-' || char(0x323af) || ']*'
      and n <= (select cast(value as integer) from meta where key = 'search_cursor');
