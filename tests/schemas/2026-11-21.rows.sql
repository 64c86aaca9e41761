-- Rows in every table of the schema of 2026-11-21: ada and bob in one organisation, a server that has been in use for a while.

insert into users (id, email, username, password_hash, phone, role, is_verified, last_seen_at, created_at, updated_at) values
    (x'0190000000007000800000000000a001', 'ada@example.org', 'ada', '$argon2id$', '+44 20', 'superadmin', 1, 50, 1, 2),
    (x'0190000000007000800000000000a002', 'bob@example.org', 'Bob', '', '', 'user', 0, null, 3, 4);
insert into identities values ('https://issuer.example', 'subject', x'0190000000007000800000000000a002');
insert into sessions (id, user_id, notification_hash, user_agent, address, created_at, expires_at, ended_at) values
    (x'0190000000007000800000000000b001', x'0190000000007000800000000000a001', x'02', 'curl', '203.0.113.1', 1, 99, null),
    (x'0190000000007000800000000000b002', x'0190000000007000800000000000a002', x'03', '', '', 1, 99, 50);
insert into one_time_tokens values
    (x'04', 'magic_link', x'0190000000007000800000000000a001', 1, 99, null),
    (x'05', 'password_reset', x'0190000000007000800000000000a001', 1, 99, 2),
    (x'06', 'email_verification', x'0190000000007000800000000000a002', 1, 99, null);

insert into organisations (id, name, description, owner_id, last_seq, invited_on, invited_count, created_at,
        updated_at, deleted_at) values
    (x'0190000000007000800000000000c001', 'Engines', 'Analytical', x'0190000000007000800000000000a001', 4, 20000, 2, 1, 2, null),
    (x'0190000000007000800000000000c002', 'Gone', '', x'0190000000007000800000000000a002', 0, 0, 0, 1, 2, 3);
update users set current_org = x'0190000000007000800000000000c001' where username = 'ada';
-- Number 7 was given to a role that has been purged since.
insert into roles (id, uuid, organisation_id, name, rights, created_at, updated_at) values
    (6, x'0190000000007000800000000000d001', x'0190000000007000800000000000c001', 'Engineer', 192, 1, 2),
    (7, x'0190000000007000800000000000d002', x'0190000000007000800000000000c001', 'Purged', 128, 1, 2);
delete from roles where id = 7;
insert into organisation_members (organisation_id, user_id, role_id, status, last_seq, joined_seq, created_at, updated_at) values
    (x'0190000000007000800000000000c001', x'0190000000007000800000000000a001', 1, 'active', 3, 0, 1, 2),
    (x'0190000000007000800000000000c001', x'0190000000007000800000000000a002', 6, 'deactivated', 0, 1, 1, 2);
insert into invitations (id, organisation_id, email, role_id, invited_by, generation, token_hash, created_at, sent_at, expires_at, accepted_at) values
    (x'0190000000007000800000000000e001', x'0190000000007000800000000000c001', 'eve@example.org', 6, x'0190000000007000800000000000a001', 2, x'07', 1, 2, 99, null),
    (x'0190000000007000800000000000e002', x'0190000000007000800000000000c001', 'bob@example.org', 4, x'0190000000007000800000000000a001', 1, x'09', 1, 2, 99, 3);

insert into channels (id, organisation_id, name, topic, is_private, is_dm, is_default, dm_key, owner_id, created_by,
        user_count, message_count, thread_count, mention_count, last_thread, last_n, last_seq, message_seq, edit_seq, created_at, updated_at, archived_at) values
    (x'0190000000007000800000000000f001', x'0190000000007000800000000000c001', 'general', 'Gears', 0, 0, 1, null,
     x'0190000000007000800000000000a001', x'0190000000007000800000000000a001', 2, 3, 2, 1, 3, 3, 3, 3, 2, 1, 2, null),
    (x'0190000000007000800000000000f002', x'0190000000007000800000000000c001', 'old', '', 1, 0, 0, null,
     x'0190000000007000800000000000a002', x'0190000000007000800000000000a001', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3),
    (x'0190000000007000800000000000f003', x'0190000000007000800000000000c001', 'ada, Bob', '', 1, 1, 0, x'0b',
     x'0190000000007000800000000000a001', x'0190000000007000800000000000a001', 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, null);
insert into channel_members (channel_id, user_id, username, joined_seq, read_n, read_thread_count, read_mention_count, created_at) values
    (x'0190000000007000800000000000f001', x'0190000000007000800000000000a001', 'ada', 0, 2, 1, 1, 1),
    (x'0190000000007000800000000000f001', x'0190000000007000800000000000a002', 'Bob', 1, 0, 0, 0, 2);

-- A post with a reply, what a feed without a bearer posted, and a deleted one, the highest number of all, that has been purged.
insert into messages (n, id, channel_id, root, user_id, username, avatar_url, content, mentions, type, event_name, action_type, status,
        current_status, reply_count, active_n, last_reply_at, last_seq, pinned_at, created_at, updated_at, edited_at) values
    (1, x'01900000000070008000000000001001', x'0190000000007000800000000000f001', null, x'0190000000007000800000000000a001', 'ada', '',
     'Hello @Bob and @channel', '[{"type":"channel"}]', 'message', '', '', 'success', 'completed', 1, 2, 2, 2, 5, 1, 2, 3),
    (2, x'01900000000070008000000000001002', x'0190000000007000800000000000f001', 1, x'0190000000007000800000000000a002', 'Bob', '',
     'Hello', '[]', 'thread', '', '', 'success', 'pending', 0, 0, null, 0, null, 2, 2, null),
    (3, x'01900000000070008000000000001003', x'0190000000007000800000000000f001', null, null, 'ci', 'https://ci.example/a.png',
     'Build broken', '[]', 'message', 'build', 'feed', 'error', 'pending', 0, 3, null, 0, null, 3, 3, null),
    (4, x'01900000000070008000000000001004', x'0190000000007000800000000000f001', null, null, 'ci', '',
     'Purged', '[]', 'message', '', '', 'success', 'pending', 0, 4, null, 0, null, 3, 3, null);
delete from messages where n = 4;
insert into mentions values (x'0190000000007000800000000000f001', x'0190000000007000800000000000a002', 1);
insert into channel_mentions values (x'0190000000007000800000000000f001', 1);
insert into reactions values
    (1, '👍', x'0190000000007000800000000000a001', 6),
    (1, '👍', x'0190000000007000800000000000a002', 4);
insert into message_search (rowid, content) values (1, 'Hello @Bob and @channel');
update meta set value = '2' where key = 'search_cursor';

-- What came before seq 2 is pruned, and the newest, seq 6, too.
insert into events (seq, stream, audience, type, channel_id, message_n, actor_id, body, created_at) values
    (2, '01900000-0000-7000-8000-00000000f001', 'both', '', x'0190000000007000800000000000f001', 1, x'0190000000007000800000000000a001', '{}', 1),
    (3, '01900000-0000-7000-8000-00000000f001', 'members', 'message', x'0190000000007000800000000000f001', 2, null, '{}', 2),
    (4, '01900000-0000-7000-8000-00000000c001', 'subscribers', 'organisation', null, null, null, '{}', 3),
    (5, '01900000-0000-7000-8000-00000000c001', 'nobody', '', null, null, null, '{}', 4),
    (6, '01900000-0000-7000-8000-00000000c001', 'nobody', '', null, null, null, '{}', 4);
delete from events where seq = 6;
update meta set value = '1' where key = 'events_floor';
insert into meta values ('forwarded_seq', '4');

insert into mails (id, recipient, is_notice, sealed, created_at, due_at, attempts, sent_at, error) values
    (x'01900000000070008000000000002001', 'eve@example.org', 0, x'0d', 1, 5, 2, null, 'refused'),
    (x'01900000000070008000000000002002', 'ada@example.org', 1, null, 1, null, 1, 3, '');

-- The address of the second one's feed ends in Owzz3bXmFRA8U8OV3F6JkytKrjVPiuJk2sdlslL4LNM, which is derived from the key that the tests give.
insert into webhooks (id, channel_id, owner_id, name, event_name, url, slug_hash, status, secret, old_secret, old_secret_until, target,
        is_prompt, next_due, last_success_at, created_at, updated_at, deleted_at) values
    (x'01900000000070008000000000003001', x'0190000000007000800000000000f001', x'0190000000007000800000000000a001', 'out', '', 'https://hooks.example/in',
     x'0e', 'active', x'0f', x'10', 99, 'hooks.example:443', 1, 7, 6, 1, 2, null),
    (x'01900000000070008000000000003002', x'0190000000007000800000000000f001', x'0190000000007000800000000000a001', 'ci', 'build', '',
     x'e84aef4a0e84fd3c9691362a02c007eee419df609ea01936448b3931eb040324', 'active', x'12', null, null, '', 0, null, null, 1, 2, null),
    (x'01900000000070008000000000003003', x'0190000000007000800000000000f001', x'0190000000007000800000000000a002', 'gone', '', '',
     x'13', 'inactive', x'14', null, null, '', 0, null, null, 1, 2, 3);
insert into webhook_events values (1, '{"type":"message.created"}'), (3, '{"type":"message.created"}');
insert into deliveries (id, webhook_id, message_n, attempts, first_at, due_at, is_leased, created_at) values
    (x'01900000000070008000000000004001', x'01900000000070008000000000003001', 1, 1, 4, null, 0, 3),
    (x'01900000000070008000000000004002', x'01900000000070008000000000003001', 3, 2, 4, 7, 1, 3);
insert into webhook_history values
    (x'01900000000070008000000000005001', x'01900000000070008000000000003001', x'01900000000070008000000000004002', 'out', 'delivery', 503, 1, 12, 'busy', '', 5, 7),
    (x'01900000000070008000000000005002', x'01900000000070008000000000003002', x'01900000000070008000000000005002', 'in', 'feed', 200, 0, 1, '', '', 3, null);

insert into blog_categories values (x'01900000000070008000000000006001', 'News', 1, 2);
insert into blogs values (x'01900000000070008000000000006002', 'Title', 'Text', x'01900000000070008000000000006001', '', 'title text',
    x'0190000000007000800000000000a001', 1, 2);
insert into blog_feedback values (x'01900000000070008000000000006003', x'01900000000070008000000000006002', 1, 3);
insert into testimonials values (x'01900000000070008000000000006004', x'0190000000007000800000000000a001', 'Engines', 'It works', 1);
insert into contacts values (x'01900000000070008000000000006005', 'Eve', 'eve@example.org', '', 'Hello', 1);
