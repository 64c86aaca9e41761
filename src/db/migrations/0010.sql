-- Threads have members with read marks of their own, and channels know the newest post that each member has read.

alter table channel_members add column read_id blob;
update channel_members set read_id =
    (select m.id from messages m where m.channel_id = channel_members.channel_id and m.root is null and m.deleted_at is null
       and m.n <= channel_members.read_n order by m.n desc limit 1);

alter table messages add column participant_count integer not null default 0;
drop index messages_replies;
create index messages_replies on messages (root, n, user_id, deleted_at) where root is not null;
create index messages_told on messages (channel_id, last_seq) where root is null and last_seq <> 0;

create table thread_members (
    root             integer not null references messages (n),
    user_id          blob not null references users (id),
    channel_id       blob not null,
    first_n          integer,
    replies          integer not null default 0,
    read_n           integer not null,
    read_reply_count integer not null,
    mention_count    integer not null default 0,
    primary key (root, user_id)
) strict, without rowid;
create table reply_mentions (
    root       integer not null references messages (n),
    user_id    blob not null references users (id),
    n          integer not null references messages (n),
    primary key (root, user_id, n)
) strict, without rowid;

-- Mentions in replies have belonged to the channel's mark until now.
insert into reply_mentions (root, user_id, n)
    select m.root, x.user_id, x.n from mentions x join messages m on m.n = x.n where m.root is not null;
delete from mentions where n in (select n from reply_mentions);

-- Everything that exists counts as read.
insert into thread_members (root, user_id, channel_id, first_n, replies, read_n, read_reply_count)
    select m.root, m.user_id, m.channel_id, min(m.n), count(*), r.active_n, r.reply_count
    from messages m join messages r on r.n = m.root
    where m.user_id is not null and m.deleted_at is null group by m.root, m.user_id;
insert into thread_members (root, user_id, channel_id, read_n, read_reply_count)
    select who.root, who.user_id, r.channel_id, r.active_n, r.reply_count
    from (select n as root, user_id from messages
            where root is null and reply_count > 0 and type = 'message' and deleted_at is null and user_id is not null
          union select root, user_id from reply_mentions
          union select x.n, x.user_id from mentions x join messages m on m.n = x.n where m.reply_count > 0) who
    join messages r on r.n = who.root
    where true on conflict do nothing;
update messages set participant_count =
    (select count(*) from thread_members t where t.root = messages.n and t.first_n is not null)
    where root is null and reply_count > 0;

create index thread_members_by_user on thread_members (user_id, channel_id, root);
create index thread_members_first on thread_members (root, first_n) where first_n is not null;
create index thread_members_mentioned on thread_members (channel_id, user_id, mention_count) where mention_count > 0;
create index reply_mentions_by_message on reply_mentions (n);
