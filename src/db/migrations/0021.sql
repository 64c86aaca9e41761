-- A message of a program may have actions. A click on one is a call of that program, as a command is, and bots get an address for it.

alter table messages add column actions text;
alter table bots add column url text not null default '';
alter table bots add column url_by blob references users (id);
alter table bots add column target text not null default '';
alter table bots add column secret blob;
create table calls (
    token_hash blob primary key,
    program    text not null,
    channel_id blob not null references channels (id) on delete cascade,
    user_id    blob not null references users (id),
    thread_id  blob,
    message_id blob,
    action_id  blob,
    click_id   blob unique,
    reply      text,
    answers    integer not null default 0,
    expires_at integer not null
) strict, without rowid;
insert into calls (token_hash, program, channel_id, user_id, thread_id, answers, expires_at)
    select token_hash,
      '{"command":"' || lower(substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-' || substr(h, 13, 4) || '-' || substr(h, 17, 4) || '-' || substr(h, 21)) || '"}',
      channel_id, user_id, thread_id, answers, expires_at
    from (select *, hex(command_id) as h from command_calls);
drop table command_calls;
create index calls_by_channel on calls (channel_id);
create index calls_by_end on calls (expires_at);
