-- The whole schema of a Tidings database, to be read from top to bottom.
--
-- Identifiers are 16-byte UUIDs. Times are microseconds since 1970 in UTC. A missing text is ''.
-- Rows that a client may still ask about are marked `deleted_at` and purged later.

-- Facts about this database itself.
create table meta (
    key   text primary key,
    value text not null
) strict, without rowid;

-- The epoch of the event log: offsets of different epochs cannot be compared.
insert into meta (key, value) values ('epoch', lower(hex(randomblob(8))));
-- The highest `seq` that has been pruned from `events`.
insert into meta (key, value) values ('events_floor', '0');
-- The last `seq` that a consumer of `events` has taken, which is kept until then: `webhooks_seq`, once the server has run,
-- `notified_seq` likewise, and `forwarded_seq` while an external Centrifugo is fed. `notified_some` is a row that notifications have not
-- taken, with the last member who was notified of it.
-- The last `n` of a message that stands in the search index.
insert into meta (key, value) values ('search_cursor', '0');
-- `instance` is the name of the server in its cookies, once the server has run.
-- `base_url` is the address of the server, once it has run: links to files begin with it.
-- `imported <organisation>` is the SHA-256 of the file that an organisation was imported from.
-- `imported <organisation> <identifier>` is the identifier here of a record whose own one was taken; both in the key are the
-- file's.
-- `domains_in_ascii` says that e-mail addresses were brought to the form that they have since then.
-- `guessed <user>` is when the owner of an account was last told that somebody guesses at its password, for a day.
-- When a request last queued no mail because its recipient had as many as they may.
insert into meta (key, value) values ('last_vain_request', '');


-- Accounts and sessions ------------------------------------------------------------------------

create table users (
    id            blob primary key check (length(id) = 16),
    email         text not null unique,                       -- trimmed, ASCII lower case, domain in ASCII
    username      text not null collate nocase unique,
    password_hash text not null default '',                   -- PHC string; '' = no password
    first_name    text not null default '',
    last_name     text not null default '',
    phone         text not null default '',
    avatar_url    text not null default '',
    role          text not null default 'user' check (role in ('user', 'admin', 'superadmin')),
    is_active     integer not null default 1 check (is_active in (0, 1)),
    is_verified   integer not null default 0 check (is_verified in (0, 1)),
    mailbox_proved integer not null default 0 check (mailbox_proved in (0, 1)), -- whoever uses the account reads the mailbox
    is_onboarded  integer not null default 0 check (is_onboarded in (0, 1)),
    current_org   blob references organisations (id),          -- none once that is deleted
    last_seen_at  integer,                                    -- written once a minute at the most
    created_at    integer not null,
    updated_at    integer not null,
    last_seq      integer not null default 0,                 -- of the account's own stream
    is_bot        integer not null default 0 check (is_bot in (0, 1)), -- without mailbox and password; a member has a row in `bots`
    status_emoji  text not null default '',                   -- what the user does now; both '' = no status
    status_text   text not null default '',
    status_until  integer                                     -- when it ends; null = never
) strict, without rowid;
create index users_by_status_end on users (status_until) where status_until is not null;

-- Accounts that somebody registered, until their first look after `due_at` shows whether they end or stay.
create table unfinished_accounts (
    user_id blob primary key references users (id),
    due_at  integer not null
) strict, without rowid;
create index unfinished_accounts_by_due on unfinished_accounts (due_at);

-- Accounts of OpenID Connect issuers.
create table identities (
    issuer  text not null,
    subject text not null,
    user_id blob not null references users (id),
    primary key (issuer, subject)
) strict, without rowid;
create index identities_by_user on identities (user_id);

-- Id tokens that have logged somebody in, until they expire: none does so twice.
create table used_id_tokens (
    hash       blob primary key,                              -- SHA-256 of what the token's signature covers
    expires_at integer not null
) strict, without rowid;
create index used_id_tokens_by_end on used_id_tokens (expires_at);

create table sessions (
    id                 blob primary key check (length(id) = 16),
    user_id            blob not null references users (id),
    notification_hash  blob not null unique,                  -- SHA-256 of the notification token
    user_agent         text not null default '',
    address            text not null default '',
    created_at         integer not null,
    expires_at         integer not null,
    ended_at           integer,                               -- logged out or revoked
    last_seen_at       integer,                               -- written once a minute at the most
    token_hash         blob,                                  -- SHA-256 of a program's token; null = a person has logged in
    token_name         text not null default '',
    scopes             integer,                               -- of a token: read 1, post 2, channels 4, members 8, webhooks 16, content 32
    is_limited         integer not null default 0 check (is_limited in (0, 1)) -- to its rows of `token_channels`
) strict, without rowid;
create unique index sessions_by_token on sessions (token_hash) where token_hash is not null;
create index sessions_of_tokens on sessions (user_id, created_at) where token_hash is not null;
create index sessions_by_user on sessions (user_id);
create index sessions_open on sessions (user_id) where ended_at is null;
create index sessions_by_end on sessions (expires_at);
create index sessions_ended on sessions (ended_at) where ended_at is not null;

-- The channels that a limited token is for.
create table token_channels (
    session_id blob not null references sessions (id) on delete cascade,
    channel_id blob not null references channels (id) on delete cascade,
    primary key (session_id, channel_id)
) strict, without rowid;
create index token_channels_by_channel on token_channels (channel_id);

-- Links in mails. At most three live tokens for each account and purpose.
create table one_time_tokens (
    hash       blob primary key,                              -- SHA-256
    purpose    text not null check (purpose in ('magic_link', 'password_reset', 'email_verification')),
    user_id    blob not null references users (id),
    created_at integer not null,
    expires_at integer not null,
    used_at    integer,                                       -- used, or voided by later ones
    code_hash  blob                                           -- SHA-256 of the request's secret and the code beside a magic link
) strict, without rowid;
create index one_time_tokens_by_end on one_time_tokens (expires_at);
create index one_time_tokens_by_user on one_time_tokens (user_id, purpose);
create unique index one_time_tokens_by_code on one_time_tokens (code_hash) where code_hash is not null;

-- Requests for magic links with a code, for addresses with and without an account.
create table code_requests (
    hash       blob primary key,                              -- SHA-256 of the secret of the client that asked
    tries      integer not null default 0,                    -- with wrong codes, as a right one is taken back
    expires_at integer not null,
    user_id    blob references users (id)                     -- whom the code was mailed to
) strict, without rowid;
create index code_requests_by_end on code_requests (expires_at);
create index code_requests_by_user on code_requests (user_id, expires_at) where user_id is not null;


-- Organisations, members, roles ----------------------------------------------------------------

create table organisations (
    id          blob primary key check (length(id) = 16),
    name        text not null,
    slug        text not null,                                -- in clients' addresses; stays when the name changes
    description text not null default '',
    email       text not null default '',
    industry    text not null default '',                     -- `type` in requests
    location    text not null default '',
    country     text not null default '',
    logo_url    text not null default '',
    owner_id    blob not null references users (id),
    channels_count integer not null default 0,                -- live, without direct messages
    last_seq    integer not null default 0,                   -- of its stream in `events`
    created_at  integer not null,
    updated_at  integer not null,
    deleted_at  integer
) strict, without rowid;
create index organisations_by_owner on organisations (owner_id) where deleted_at is null;
create unique index organisations_by_slug on organisations (slug) where deleted_at is null;

-- 1 to 5 are built in; an organisation's own roles start at 6. `rights` is a sum of
-- manage:organization 1, manage:roles 2, manage:webhooks 4, manage:channels 8, remove:members 16,
-- invite:members 32, create:channels 64, post:messages 128.
create table roles (
    id              integer primary key autoincrement,        -- never used twice: an old number names nothing
    uuid            blob not null unique check (length(uuid) = 16),
    organisation_id blob references organisations (id),       -- null = built in
    name            text not null,
    description     text not null default '',
    rights          integer not null,
    created_at      integer not null,
    updated_at      integer not null,
    deleted_at      integer                                   -- until the last holder has become a member
) strict;
create unique index roles_by_name on roles (organisation_id, name collate nocase) where deleted_at is null;

insert into roles (id, uuid, name, description, rights, created_at, updated_at) values
    (1, x'01900000000070008000000000000001', 'admin',        'Everything, except what only the owner may do', 255, 0, 0),
    (2, x'01900000000070008000000000000002', 'manager',      'Everything, except what only the owner may do', 255, 0, 0),
    (3, x'01900000000070008000000000000003', 'project-lead', 'Invites and removes members, makes channels, posts', 240, 0, 0),
    (4, x'01900000000070008000000000000004', 'member',       'Invites members, makes channels, posts', 224, 0, 0),
    (5, x'01900000000070008000000000000005', 'guest',        'Reads the channels that they were added to', 0, 0, 0);

create table organisation_members (
    organisation_id blob not null references organisations (id),
    user_id         blob not null references users (id),
    role_id         integer not null references roles (id),
    status          text not null default 'active' check (status in ('active', 'inactive', 'deactivated')),
    last_seq        integer not null default 0,               -- of the stream '<organisation>/<user>'
    joined_seq      integer not null default 0,               -- what was pushed up to here is not theirs
    is_pinned       integer not null default 0 check (is_pinned in (0, 1)), -- in the member's own list
    created_at      integer not null,
    updated_at      integer not null,
    names           text not null default '',                 -- what the member is found by, folded, each after a line feed
    primary key (organisation_id, user_id)
) strict, without rowid;
create index organisation_members_by_user on organisation_members (user_id);
create index organisation_members_by_role on organisation_members (role_id);
create index organisation_members_newest on organisation_members (organisation_id, created_at desc, user_id);

-- Who has been a member or wrote here, and may be one again: members are still shown their names.
create table former_members (
    organisation_id blob not null references organisations (id),
    user_id         blob not null references users (id),
    primary key (organisation_id, user_id)
) strict, without rowid;
create index former_members_by_user on former_members (user_id);

-- Accounts of an organisation that programs alone use.
create table bots (
    user_id         blob primary key references users (id),
    organisation_id blob not null references organisations (id),
    owner_id        blob not null references users (id),      -- who makes its tokens
    description     text not null default '',
    url             text not null default '',                 -- where clicks on the actions of its messages go; '' = nowhere
    url_by          blob references users (id),               -- who has set it: it works while they may manage bots
    target          text not null default '',                 -- host and port of url
    secret          blob                                      -- encrypted under the server's key; signs the clicks
) strict, without rowid;
create index bots_by_organisation on bots (organisation_id);
create index bots_by_owner on bots (owner_id);

create table invitations (
    id              blob primary key check (length(id) = 16),
    organisation_id blob not null references organisations (id),
    email           text not null,
    role_id         integer not null references roles (id),
    invited_by      blob not null references users (id),
    generation      integer not null default 1,               -- raised by each resend; part of the tokens
    token_hash      blob not null unique,                     -- SHA-256 of the token that the inviter is shown
    mailed_hash     blob not null unique,                     -- SHA-256 of the token that only the mail carries
    created_at      integer not null,
    sent_at         integer not null,
    expires_at      integer not null,
    accepted_at     integer
) strict, without rowid;
-- One open invitation for each address; an expired one is replaced.
create unique index invitations_open on invitations (organisation_id, email) where accepted_at is null;
create index invitations_by_email on invitations (email) where accepted_at is null;
create index invitations_newest on invitations (organisation_id, created_at desc, id desc);
create index invitations_by_role on invitations (role_id);
create index invitations_by_inviter on invitations (invited_by) where accepted_at is null;

-- Links by which people join an organisation as who they are.
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

-- Places of links that are taken by accounts which registered by them and join once their address is verified.
create table join_places (
    user_id blob primary key references users (id),
    link_id blob not null references join_links (id) on delete cascade
) strict, without rowid;
create index join_places_by_link on join_places (link_id);

-- Invitations that were mailed, and people who joined by links, on a day in UTC: by an account, in an organisation, by all accounts together that have not
-- proved their mailbox, and by the whole server.
create table invitation_counts (
    counted blob primary key,                                 -- the account, the organisation; 'unproved'; x'' = the server
    day     integer not null,                                 -- since 1970
    mailed  integer not null
) strict, without rowid;
create index invitation_counts_by_day on invitation_counts (day);


-- Channels -------------------------------------------------------------------------------------

create table channels (
    id              blob primary key check (length(id) = 16),
    organisation_id blob not null references organisations (id),
    name            text not null,
    description     text not null default '',
    topic           text not null default '',
    is_private      integer not null default 0 check (is_private in (0, 1)),
    is_dm           integer not null default 0 check (is_dm in (0, 1)),
    is_default      integer not null default 0 check (is_default in (0, 1)),
    dm_key          blob,                                     -- SHA-256 of the sorted members of a direct message
    owner_id        blob not null references users (id),
    created_by      blob not null references users (id),
    -- Counters, so that nothing counts over `messages`.
    user_count      integer not null default 0,
    message_count   integer not null default 0,               -- posts and replies, not deleted
    thread_count    integer not null default 0,               -- top-level posts, not deleted
    mention_count   integer not null default 0,               -- live messages that mention @channel
    last_thread     integer not null default 0,               -- `n` of the newest top-level post
    last_n          integer not null default 0,               -- `n` of the newest message
    last_seq        integer not null default 0,               -- of its stream in `events`
    message_seq     integer not null default 0,               -- seq of the last message: drives unread_thread_change
    edit_seq        integer not null default 0,               -- seq of the last edit: drives channel_update
    created_at      integer not null,
    updated_at      integer not null,
    archived_at     integer,
    deleted_at      integer,
    last_message_at integer                                   -- of `last_n`
) strict, without rowid;
create unique index channels_live_name on channels (organisation_id, name)
    where deleted_at is null and archived_at is null and is_dm = 0;
create unique index channels_default on channels (organisation_id) where is_default = 1 and deleted_at is null;
create index channels_by_organisation on channels (organisation_id, is_dm, deleted_at, archived_at);
create index channels_opened on channels (organisation_id, created_by) where is_dm = 1;
create index channels_deleted on channels (deleted_at) where deleted_at is not null;
create unique index channels_dm on channels (organisation_id, dm_key) where dm_key is not null;

create table channel_members (
    channel_id         blob not null references channels (id),
    user_id            blob not null references users (id),
    username           text not null collate nocase,          -- the name shown in this channel
    joined_seq         integer not null default 0,
    -- The read mark: what the channel's counters were when this member last read.
    read_n             integer not null default 0,            -- `n` of the last message read
    read_thread_count  integer not null default 0,
    read_mention_count integer not null default 0,
    read_id            blob,                                  -- the newest live post up to read_n; null = none
    is_starred         integer not null default 0 check (is_starred in (0, 1)), -- for themselves alone, like is_muted
    is_muted           integer not null default 0 check (is_muted in (0, 1)),
    created_at         integer not null,
    primary key (channel_id, user_id),
    unique (channel_id, username)
) strict, without rowid;
create index channel_members_by_user on channel_members (user_id);
create index channel_members_oldest on channel_members (channel_id, created_at, user_id);

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


-- Messages -------------------------------------------------------------------------------------

-- A top-level post (root is null) is a thread; a reply names its root.
create table messages (
    n             integer primary key autoincrement,          -- the order of messages, never used twice
    id            blob not null unique check (length(id) = 16),
    channel_id    blob not null,                              -- no reference: the end of a channel would look through all messages
    root          integer references messages (n),
    user_id       blob references users (id),                 -- null = fed without a bearer
    username      text not null,                              -- as it was when posted; of a feed its label
    avatar_url    text not null default '',                   -- of a feed without an author
    content       text not null,
    mentions      text not null default '[]',                 -- [{id, type, username}]
    type          text not null default 'message' check (type in ('message', 'thread')),
    event_name    text not null default '',
    action_type   text not null default '',
    status        text not null default 'success' check (status in ('success', 'error')),
    -- Of a thread:
    current_status text not null default 'pending' check (current_status in ('pending', 'completed')),
    reply_count   integer not null default 0,
    participant_count integer not null default 0,             -- members who have written a live reply
    active_n      integer not null default 0,                 -- `n` of the newest message of the thread
    last_reply_at integer,
    last_seq      integer not null default 0,                 -- of its stream in `events`
    pinned_at     integer,
    pinned_by     blob references users (id),                 -- null = nobody, or unknown
    created_at    integer not null,
    updated_at    integer not null,
    edited_at     integer,
    deleted_at    integer,
    actions       text,                                       -- JSON: the program that posted it, and what can be clicked; null = nothing
    media         text                                        -- JSON: what is shown of its rows of `files`, in their order; null = none
) strict;
create index messages_top on messages (channel_id, n, deleted_at) where root is null; -- to count without looking at texts
create index messages_active on messages (channel_id, active_n) where root is null and reply_count > 0; -- others: active_n = n
create index messages_replies on messages (root, n, user_id, deleted_at) where root is not null; -- to count, as above
create index messages_told on messages (channel_id, last_seq) where root is null and last_seq <> 0; -- the threads that changed
create index messages_by_author on messages (channel_id, user_id, n) where root is null and type = 'message';
create index messages_pinned on messages (channel_id, pinned_at) where pinned_at is not null;

-- Who takes part in a thread, and how far they have read its replies: its author and those whom its post mentions from the
-- first reply on, who has replied, followed it or marked it unread, and whom a reply mentions by name. The rows outlive a membership in the
-- channel.
create table thread_members (
    root             integer not null references messages (n),
    user_id          blob not null references users (id),
    channel_id       blob not null,                           -- the thread's
    first_n          integer,                                 -- `n` of their first live reply; null = none
    replies          integer not null default 0,              -- their live replies
    -- The read mark: what the thread's counter was when this member last read.
    read_n           integer not null,                        -- `n` of the last message read
    read_reply_count integer not null,
    mention_count    integer not null default 0,              -- unread replies that mention them by name
    is_followed      integer not null default 1 check (is_followed in (0, 1)), -- 0 = left: nothing is unread there
    primary key (root, user_id)
) strict, without rowid;
create index thread_members_by_user on thread_members (user_id, channel_id, root);
create index thread_members_first on thread_members (root, first_n) where first_n is not null;
create index thread_members_mentioned on thread_members (channel_id, user_id, mention_count) where mention_count > 0;
-- Whom replies mention by name.
create table reply_mentions (
    root       integer not null references messages (n),
    user_id    blob not null references users (id),
    n          integer not null references messages (n),
    primary key (root, user_id, n)
) strict, without rowid;
create index reply_mentions_by_message on reply_mentions (n);
-- Whom posts mention by name, for the count of unread mentions.
create table mentions (
    channel_id blob not null references channels (id),
    user_id    blob not null references users (id),
    n          integer not null references messages (n),
    primary key (channel_id, user_id, n)
) strict, without rowid;
create index mentions_by_message on mentions (n);
-- Messages that mention @channel.
create table channel_mentions (
    channel_id blob not null references channels (id),
    n          integer not null references messages (n),
    primary key (channel_id, n)
) strict, without rowid;
create index channel_mentions_by_message on channel_mentions (n);

create table reactions (
    n          integer not null references messages (n),
    emoji      text not null,
    user_id    blob not null references users (id),
    created_at integer not null,
    primary key (n, emoji, user_id)
) strict, without rowid;
create index reactions_first on reactions (n, emoji, created_at, user_id);
-- So that nothing counts over `reactions`.
create table reaction_counts (
    n          integer not null references messages (n),
    emoji      text not null,
    count      integer not null,                              -- who gave it; no row for none
    first_at   integer not null,                              -- when the first of these did
    primary key (n, emoji)
) strict, without rowid;

-- Files whose bytes are on disk. Until a message takes one, it is its uploader's alone, for a day.
create table files (
    id              blob primary key check (length(id) = 16),
    organisation_id blob not null,                            -- no reference, as channel_id
    user_id         blob not null references users (id),      -- who uploaded it
    name            text not null,
    mime_type       text not null,                            -- what its content is
    kind            text not null check (kind in ('image', 'video', 'audio', 'document', 'file')),
    size            integer not null,
    width           integer,                                  -- of a picture as it is shown, in pixels; null where it could not be decoded
    height          integer,
    sha256          blob not null check (length(sha256) = 32),
    description     text not null default '',                 -- what it shows, for those who can't see it
    channel_id      blob,                                     -- of the message that has taken it
    message_n       integer,
    created_at      integer not null,
    deleted_at      integer,                                  -- nobody reads it any more; the row goes after its bytes
    color           text check (length(color) = 7),           -- the mean of a picture, as in #a0b1c2; null where it could not be decoded
    is_animated     integer not null default 0 check (is_animated in (0, 1)),
    sent_size       integer,                                  -- bytes that were uploaded, where fewer are kept: what cameras note goes
    check ((channel_id is null) = (message_n is null))
) strict, without rowid;
create index files_by_message on files (message_n) where message_n is not null;
create index files_by_channel on files (channel_id, message_n) where channel_id is not null and deleted_at is null;
create index files_by_kind on files (channel_id, kind, message_n) where channel_id is not null and deleted_at is null;
create index files_untaken on files (created_at) where message_n is null and deleted_at is null;
create index files_deleted on files (deleted_at) where deleted_at is not null;
-- Uploads that come in parts. What has arrived lies in `files/incoming`, and its length is the offset.
create table uploads (
    id              blob primary key check (length(id) = 16), -- and that of the file which it becomes
    organisation_id blob not null,
    user_id         blob not null references users (id),
    name            text not null,
    length          integer not null,                         -- of the whole
    expires_at      integer not null
) strict, without rowid;
create index uploads_by_user on uploads (user_id);
create index uploads_by_end on uploads (expires_at);
-- Pictures of people, bots and organisations.
create table faces (
    id    blob primary key check (length(id) = 16), -- random, in the address: nobody guesses it, and it changes with the picture
    owner blob not null unique,                     -- a user, a bot or an organisation
    small blob not null,                            -- JPEG or PNG, 64 pixels a side
    large blob not null                             -- 256 pixels
) strict;
-- Bytes of the files that are not deleted, so that nothing counts over `files`.
create table file_totals (
    organisation_id blob primary key,
    bytes           integer not null
) strict, without rowid;

-- Full text, filled in the background from `messages` up to meta.search_cursor.
-- Holds trigrams, and pairs of ideographs, behind their organisation's key, one on a line (domain/messages/indexing.rs). All printable ASCII characters are
-- token characters: only the line feed separates terms.
create virtual table message_search using fts5 (content, content = '', contentless_delete = 1, detail = none,
    tokenize = "ascii tokenchars ' !""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'");
-- Merged in the background, a little at a time.
insert into message_search (message_search, rank) values ('automerge', 0);
-- Messages up to meta.search_cursor whose text `message_search` does not have, until the background gets there.
create table unindexed_edits (
    n integer primary key
) strict;


-- The event log: every change that a client can see --------------------------------------------

create table events (
    seq        integer primary key autoincrement,             -- the offset of the push protocol
    stream     text not null,                                 -- <channel>, <thread>, <organisation> or <organisation>/<user>
    audience   text not null check (audience in ('subscribers', 'members', 'both', 'nobody')), -- nobody = for consumers in this server
    type       text not null,                                 -- notification_type; '' = a bare message, 'published' = another program's words
    channel_id blob,                                          -- no reference: the log may outlive what it tells of
    message_n  integer,
    actor_id   blob references users (id),                    -- `members` leaves this one out
    body       text not null,                                 -- JSON: the envelope without notification_id, or whom it is about; of a new message '', as it is made from the message
    created_at integer not null
) strict;
create index events_by_stream on events (stream, seq);
-- What is told to the members of a channel on their personal streams, for those who come back.
create index events_to_members on events (channel_id, seq) where audience = 'members';
create index events_by_message on events (message_n) where message_n is not null and type <> '';
-- What webhooks of somebody wait for.
create index events_endings on events (actor_id, seq) where type in ('departed', 'reclaimed');


-- Deferred work --------------------------------------------------------------------------------

-- What a change left to be done by the background jobs, in slices.
create table deferred_work (
    id              integer primary key autoincrement,        -- the next slice is the lowest's
    kind            text not null check (kind in ('departure', 'profile', 'role', 'message')),
    organisation_id blob,                                     -- of a departure
    user_id         blob,                                     -- of a departure and of a profile
    number          integer,                                  -- of a role; `n` of a message
    cursor          blob not null,                            -- where the next slice begins
    retry_at        integer not null default 0                -- after a slice that failed: not before then
) strict;
create index deferred_work_by_subject on deferred_work (kind, organisation_id, user_id, number);


-- Mail -----------------------------------------------------------------------------------------

-- The outbox: written in the transaction of the change, sent by the background jobs.
create table mails (
    id          blob primary key check (length(id) = 16),
    recipient   text not null,
    -- A recipient's hourly limit counts each kind by itself, and 'notice' not at all.
    kind        text not null check (kind in ('verification', 'magic_link', 'password_reset', 'invitation', 'webhook', 'notice')),
    webhook_id  blob,                                         -- the one that it tells of; no reference, as a mail outlives it
    sealed      blob,                                         -- encrypted; null once sent or given up
    created_at  integer not null,
    due_at      integer,                                      -- null once sent or given up; a lease while being sent
    attempts    integer not null default 0,
    sent_at     integer,
    error       text not null default ''
) strict, without rowid;
create index mails_due on mails (due_at) where due_at is not null;
create index mails_done on mails (created_at) where due_at is null;
create index mails_by_recipient on mails (recipient, kind, created_at) where kind <> 'notice';


-- Webhooks -------------------------------------------------------------------------------------

create table webhooks (
    id              blob primary key check (length(id) = 16),
    channel_id      blob not null references channels (id),
    owner_id        blob not null references users (id),      -- answers for it: it works while they have access
    name            text not null,
    event_name      text not null default '',
    url             text not null default '',                 -- '' = nothing is delivered out
    url_by          blob references users (id),               -- who answers for url: it delivers while they have access, too
    slug_hash       blob not null unique,                     -- SHA-256 of the secret in the feed address
    generation      integer not null default 1,               -- raised by each new slug; part of it. 0 = from before it was counted
    status          text not null default 'active' check (status in ('active', 'inactive', 'paused')),
    secret          blob not null,                            -- encrypted under the server's key
    old_secret      blob,                                     -- still signs until old_secret_until
    old_secret_until integer,
    sender_secret   blob,                                     -- encrypted; a feed is taken only from who proves to know it
    target          text not null default '',                 -- host and port of url: what is delivered there at once is bounded
    events          integer not null default 1,               -- what it delivers: message.created 1, message.updated 2, message.deleted 4, reaction.added 8, reaction.removed 16, member.joined 64, member.left 128, channel.updated 256, channel.archived 512, channel.unarchived 1024, action.clicked 2048, channel.created 4096
    trigger_words   text not null default '[]',               -- JSON: a message that begins with none of them is not delivered; [] = each is
    from_seq        integer not null default 0,               -- the log's last seq when it began to deliver: not what came before
    last_success_at integer,
    created_at      integer not null,
    updated_at      integer not null,
    deleted_at      integer,
    organisation_id blob references organisations (id),       -- whose public channels it delivers from, too; null = none
    is_ordered      integer not null default 0 check (is_ordered in (0, 1)), -- one delivery waits for the one before it
    waits_until     integer,                                  -- of an ordered one: the end of a lease, or the next attempt
    is_proven       integer not null default 0 check (is_proven in (0, 1)), -- its last attempt was answered promptly: its target is proven
    check ((url = '') = (url_by is null))
) strict, without rowid;
create index webhooks_by_channel on webhooks (channel_id, created_at);
create index webhooks_by_owner on webhooks (owner_id, channel_id);
create index webhooks_by_url_by on webhooks (url_by, channel_id) where url_by is not null;
create index webhooks_of_organisations on webhooks (organisation_id) where organisation_id is not null;
create index webhooks_deleted on webhooks (deleted_at) where deleted_at is not null;

-- Programs that members call by a slash and a name.
create table commands (
    id              blob primary key check (length(id) = 16),
    organisation_id blob not null references organisations (id),
    owner_id        blob not null references users (id),      -- answers for it: it works while they may manage it
    name            text not null,                            -- without the slash, in lower case
    description     text not null,
    hint            text not null,                            -- of what follows the name
    url             text not null,
    target          text not null,                            -- host and port of url
    form            text not null check (form in ('json', 'slack')),
    secret          blob not null,                            -- encrypted under the server's key
    created_at      integer not null,
    updated_at      integer not null
) strict, without rowid;
create unique index commands_by_name on commands (organisation_id, name);

-- Calls that their programs may still answer: of commands, and of the actions of messages.
create table calls (
    token_hash blob primary key,                              -- SHA-256 of the secret in the address for answers
    program    text not null,                                 -- JSON: {"command": id}, or of an action {"webhook": id}, {"bot": id}, too
    channel_id blob not null references channels (id) on delete cascade,
    user_id    blob not null references users (id),           -- who has called
    thread_id  blob,                                          -- the post in whose thread; null in the channel itself
    message_id blob,                                          -- the message whose action was clicked; null for a command
    action_id  blob,
    click_id   blob unique,                                   -- what the client has called the click, so that a repeat calls nothing
    reply      text,                                          -- JSON: what the click was answered; null until then
    answers    integer not null default 0,
    expires_at integer not null
) strict, without rowid;
create index calls_by_channel on calls (channel_id);
create index calls_by_program on calls (program);
create index calls_by_end on calls (expires_at);

-- What is delivered: one body for all webhooks of the channel, kept as long as a delivery of it.
create table webhook_events (
    n         integer primary key,
    payload   text not null,                                  -- JSON: type, timestamp, data
    message_n integer                                         -- the message that it tells of; no reference, as in events
) strict;
create index webhook_events_by_message on webhook_events (message_n);

-- An event on its way to one webhook; kept for a while after it is done, to be sent again on demand.
create table deliveries (
    id           blob primary key check (length(id) = 16),    -- the event's id: `webhook-id`, `callback_id`
    webhook_id   blob not null references webhooks (id),
    event_n      integer not null references webhook_events (n),
    attempts     integer not null default 0,                  -- that were recorded, since it was last queued
    first_at     integer,                                     -- when the first since then began
    due_at       integer,                                     -- null once delivered or given up; a lease while being sent
    is_leased    integer not null default 0 check (is_leased in (0, 1)),
    created_at   integer not null
) strict, without rowid;
-- What a webhook has still to deliver; and, where due_at is null, what it can send again, by its time.
create index deliveries_due on deliveries (webhook_id, due_at, created_at);
create index deliveries_leased on deliveries (is_leased) where is_leased = 1;
create unique index deliveries_by_event on deliveries (event_n, webhook_id);

create table webhook_history (
    id          blob primary key check (length(id) = 16),
    webhook_id  blob not null references webhooks (id),
    callback_id blob not null,
    direction   text not null check (direction in ('in', 'out')),
    action_type text not null check (action_type in ('feed', 'delivery', 'paused', 'test')),
    status_code integer not null,                             -- 0 = no answer
    retries     integer not null default 0,
    latency_ms  integer not null default 0,
    error       text not null default '',
    response    text not null default '',
    attempted_at integer not null,
    next_at     integer,                                      -- the next attempt, if there is to be one
    received    text,                                         -- the beginning of a feed's body; null for all but a webhook's newest
    read_as     text not null default ''                      -- what the body was read as: 'Tidings', 'Slack', …
) strict, without rowid;
create index webhook_history_newest on webhook_history (webhook_id, attempted_at desc, id desc);
create index webhook_history_received on webhook_history (webhook_id, attempted_at desc, id desc) where received is not null;


-- Reminders ------------------------------------------------------------------------------------

create table reminders (
    id         blob primary key check (length(id) = 16),
    user_id    blob not null references users (id),
    channel_id blob references channels (id) on delete set null, -- that it was made in
    text       text not null,
    due_at     integer not null,
    is_due     integer not null default 0 check (is_due in (0, 1)), -- the user was told
    created_at integer not null
) strict, without rowid;
create index reminders_by_user on reminders (user_id, due_at, id);
create index reminders_waiting on reminders (due_at) where is_due = 0;
create index reminders_by_channel on reminders (channel_id) where channel_id is not null;


-- Public content -------------------------------------------------------------------------------

create table blog_categories (
    id         blob primary key check (length(id) = 16),
    name       text not null unique,
    created_at integer not null,
    updated_at integer not null
) strict, without rowid;

create table blogs (
    id          blob primary key check (length(id) = 16),
    title       text not null,
    content     text not null,
    category_id blob not null references blog_categories (id),
    image_url   text not null default '',
    folded      text not null,                                -- title and content without case, for the search
    author_id   blob not null references users (id),
    created_at  integer not null,
    updated_at  integer not null
) strict, without rowid;
create index blogs_newest on blogs (created_at desc, id desc);
create index blogs_by_category on blogs (category_id, created_at desc, id desc);

create table blog_feedback (
    id         blob primary key check (length(id) = 16),
    blog_id    blob not null references blogs (id) on delete cascade,
    feedback   integer not null check (feedback in (0, 1)),
    created_at integer not null
) strict, without rowid;
create index blog_feedback_by_blog on blog_feedback (blog_id);

create table testimonials (
    id           blob primary key check (length(id) = 16),
    user_id      blob not null references users (id),
    company_name text not null,
    content      text not null,
    created_at   integer not null
) strict, without rowid;
create index testimonials_newest on testimonials (created_at desc, id desc);

create table contacts (
    id           blob primary key check (length(id) = 16),
    name         text not null,
    email        text not null,
    phone_number text not null default '',
    message      text not null,
    created_at   integer not null
) strict, without rowid;
create index contacts_newest on contacts (created_at desc, id desc);
