-- What members are notified of in an organisation, where they have chosen other than mentions. It ends with the membership.
create table organisation_notifications (
    organisation_id blob not null,
    user_id         blob not null,
    device          text not null check (device in ('web', 'mobile')),
    notify_about    text not null check (notify_about in ('all_new_messages', 'mentions', 'nothing')),
    primary key (organisation_id, user_id, device),
    foreign key (organisation_id, user_id) references organisation_members (organisation_id, user_id) on delete cascade
) strict, without rowid;
create index organisation_notifications_of_all on organisation_notifications (organisation_id, user_id)
    where notify_about = 'all_new_messages';

-- What they are notified of in a channel, where that differs. It ends with the membership in the channel.
create table channel_notifications (
    channel_id   blob not null,
    user_id      blob not null,
    device       text not null check (device in ('web', 'mobile')),
    notify_about text check (notify_about in ('all_new_messages', 'mentions', 'nothing')), -- null = as in the organisation
    at_channel   integer not null default 1 check (at_channel in (0, 1)), -- whether @channel notifies
    primary key (channel_id, user_id, device),
    foreign key (channel_id, user_id) references channel_members (channel_id, user_id) on delete cascade
) strict, without rowid;
create index channel_notifications_of_all on channel_notifications (channel_id, user_id)
    where notify_about = 'all_new_messages';
