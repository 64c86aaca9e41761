-- Rows in every table of 0.2.0: those of 0.1.0 after the steps, a bot, a command, links, reminders and what else came since.

begin;
pragma defer_foreign_keys = on;
insert or replace into meta (key, value) values
    ('events_floor', '1'),
    ('forwarded_seq', '4'),
    ('search_cursor', '2');
insert into users (id, email, username, password_hash, phone, role, is_verified, mailbox_proved, current_org, last_seen_at, created_at, updated_at, is_bot, status_emoji, status_text, status_until) values
    (x'0190000000007000800000000000a001', 'ada@example.org', 'ada', '$argon2id$', '+44 20', 'superadmin', 1, 1, x'0190000000007000800000000000c001', 50, 1, 2, 0, '', '', null),
    (x'0190000000007000800000000000a002', 'bob@example.org', 'Bob', '', '', 'user', 0, 0, null, null, 3, 4, 0, '', '', null),
    (x'0190000000007000800000000000a003', 'builds@bots.invalid', 'builds', '', '', 'user', 0, 0, null, null, 5, 6, 1, '🔧', 'Building', 99),
    (x'0190000000007000800000000000a004', 'gone@example.org', 'gone', '', '', 'user', 0, 0, null, null, 7, 8, 0, '', '', null);
insert into unfinished_accounts (user_id, due_at) values
    (x'0190000000007000800000000000a004', 99);
insert into identities (issuer, subject, user_id) values
    ('https://issuer.example', 'subject', x'0190000000007000800000000000a002');
insert into used_id_tokens (hash, expires_at) values
    (x'01', 99);
insert into sessions (id, user_id, notification_hash, user_agent, address, created_at, expires_at, ended_at) values
    (x'0190000000007000800000000000b001', x'0190000000007000800000000000a001', x'02', 'curl', '203.0.113.1', 1, 99, null),
    (x'0190000000007000800000000000b002', x'0190000000007000800000000000a002', x'03', '', '', 1, 99, 50);
insert into token_channels (session_id, channel_id) values
    (x'0190000000007000800000000000b001', x'0190000000007000800000000000f001');
insert into one_time_tokens (hash, purpose, user_id, created_at, expires_at, used_at) values
    (x'04', 'magic_link', x'0190000000007000800000000000a001', 1, 99, null),
    (x'05', 'password_reset', x'0190000000007000800000000000a001', 1, 99, 2),
    (x'06', 'email_verification', x'0190000000007000800000000000a002', 1, 99, null);
insert into code_requests (hash, tries, expires_at, user_id) values
    (x'24', 1, 99, x'0190000000007000800000000000a001');
insert into organisations (id, name, slug, description, owner_id, last_seq, created_at, updated_at, deleted_at, channels_count) values
    (x'0190000000007000800000000000c001', 'Engines', 'engines', 'Analytical', x'0190000000007000800000000000a001', 4, 1, 2, null, 1),
    (x'0190000000007000800000000000c002', 'Gone', 'gone', '', x'0190000000007000800000000000a002', 0, 1, 2, 3, 0);
insert into roles (id, uuid, organisation_id, name, rights, created_at, updated_at) values
    (6, x'0190000000007000800000000000d001', x'0190000000007000800000000000c001', 'Engineer', 192, 1, 2);
-- Number 7 was given to a role that has been purged since.
insert into roles (id, uuid, organisation_id, name, rights, created_at, updated_at) values
    (7, x'0190000000007000800000000000d002', x'0190000000007000800000000000c001', 'Purged', 128, 1, 2);
delete from roles where id = 7;
insert into organisation_members (organisation_id, user_id, role_id, status, last_seq, joined_seq, created_at, updated_at) values
    (x'0190000000007000800000000000c001', x'0190000000007000800000000000a001', 1, 'active', 3, 0, 1, 2),
    (x'0190000000007000800000000000c001', x'0190000000007000800000000000a002', 6, 'deactivated', 0, 1, 1, 2),
    (x'0190000000007000800000000000c001', x'0190000000007000800000000000a003', 3, 'active', 0, 0, 5, 6);
insert into former_members (organisation_id, user_id) values
    (x'0190000000007000800000000000c001', x'0190000000007000800000000000a004');
insert into bots (user_id, organisation_id, owner_id, description, url, url_by, target, secret) values
    (x'0190000000007000800000000000a003', x'0190000000007000800000000000c001', x'0190000000007000800000000000a001', 'Tells of builds', 'https://ci.example/click', x'0190000000007000800000000000a001', 'ci.example:443', x'21');
insert into invitations (id, organisation_id, email, role_id, invited_by, generation, token_hash, mailed_hash, created_at, sent_at, expires_at, accepted_at) values
    (x'0190000000007000800000000000e001', x'0190000000007000800000000000c001', 'eve@example.org', 6, x'0190000000007000800000000000a001', 2, x'07', x'08', 1, 2, 99, null),
    (x'0190000000007000800000000000e002', x'0190000000007000800000000000c001', 'bob@example.org', 4, x'0190000000007000800000000000a001', 1, x'09', x'0a', 1, 2, 99, 3);
insert into join_links (id, organisation_id, token_hash, role_id, created_by, domain, uses, used, created_at, expires_at) values
    (x'01900000000070008000000000001501', x'0190000000007000800000000000c001', x'25', 4, x'0190000000007000800000000000a001', 'example.org', 5, 1, 5, 99);
insert into join_places (user_id, link_id) values
    (x'0190000000007000800000000000a004', x'01900000000070008000000000001501');
insert into invitation_counts (counted, day, mailed) values
    (x'', 20000, 2),
    (x'0190000000007000800000000000c001', 20000, 2);
insert into channels (id, organisation_id, name, topic, is_private, is_dm, is_default, dm_key, owner_id, created_by, user_count, message_count, thread_count, mention_count, last_thread, last_n, last_seq, message_seq, edit_seq, created_at, updated_at, archived_at, last_message_at) values
    (x'0190000000007000800000000000f001', x'0190000000007000800000000000c001', 'general', 'Gears', 0, 0, 1, null, x'0190000000007000800000000000a001', x'0190000000007000800000000000a001', 2, 3, 2, 1, 3, 3, 3, 3, 2, 1, 2, null, 3),
    (x'0190000000007000800000000000f002', x'0190000000007000800000000000c001', 'old', '', 1, 0, 0, null, x'0190000000007000800000000000a002', x'0190000000007000800000000000a001', 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, null),
    (x'0190000000007000800000000000f003', x'0190000000007000800000000000c001', 'ada, Bob', '', 1, 1, 0, x'0b', x'0190000000007000800000000000a001', x'0190000000007000800000000000a001', 2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, null, null);
insert into channel_members (channel_id, user_id, username, joined_seq, read_n, read_thread_count, read_mention_count, created_at, read_id) values
    (x'0190000000007000800000000000f001', x'0190000000007000800000000000a001', 'ada', 0, 2, 1, 1, 1, x'01900000000070008000000000001001'),
    (x'0190000000007000800000000000f001', x'0190000000007000800000000000a002', 'Bob', 1, 0, 0, 0, 2, null);
insert into messages (n, id, channel_id, root, user_id, username, avatar_url, content, mentions, type, event_name, action_type, status, current_status, reply_count, active_n, last_reply_at, last_seq, pinned_at, created_at, updated_at, edited_at, participant_count) values
    (1, x'01900000000070008000000000001001', x'0190000000007000800000000000f001', null, x'0190000000007000800000000000a001', 'ada', '', 'Hello @Bob and @channel', '[{"type":"channel"}]', 'message', '', '', 'success', 'completed', 1, 2, 2, 2, 5, 1, 2, 3, 1),
    (2, x'01900000000070008000000000001002', x'0190000000007000800000000000f001', 1, x'0190000000007000800000000000a002', 'Bob', '', 'Hello', '[]', 'thread', '', '', 'success', 'pending', 0, 0, null, 0, null, 2, 2, null, 0),
    (3, x'01900000000070008000000000001003', x'0190000000007000800000000000f001', null, null, 'ci', 'https://ci.example/a.png', 'Build broken', '[]', 'message', 'build', 'feed', 'error', 'pending', 0, 3, null, 0, null, 3, 3, null, 0);
insert into thread_members (root, user_id, channel_id, first_n, replies, read_n, read_reply_count) values
    (1, x'0190000000007000800000000000a001', x'0190000000007000800000000000f001', null, 0, 2, 1),
    (1, x'0190000000007000800000000000a002', x'0190000000007000800000000000f001', 2, 1, 2, 1);
insert into reply_mentions (root, user_id, n) values
    (1, x'0190000000007000800000000000a002', 2);
insert into mentions (channel_id, user_id, n) values
    (x'0190000000007000800000000000f001', x'0190000000007000800000000000a002', 1);
insert into channel_mentions (channel_id, n) values
    (x'0190000000007000800000000000f001', 1);
insert into reactions (n, emoji, user_id, created_at) values
    (1, '👍', x'0190000000007000800000000000a002', 4);
insert into reaction_counts (n, emoji, count, first_at) values
    (1, '👍', 1, 4);
insert into unindexed_edits (n) values
    (1);
insert into events (seq, stream, audience, type, channel_id, message_n, actor_id, body, created_at) values
    (2, '01900000-0000-7000-8000-00000000f001', 'both', '', x'0190000000007000800000000000f001', 1, x'0190000000007000800000000000a001', '', 1),
    (3, '01900000-0000-7000-8000-00000000f001', 'members', 'message', x'0190000000007000800000000000f001', 2, null, '{}', 2),
    (4, '01900000-0000-7000-8000-00000000c001', 'subscribers', 'organisation', null, null, null, '{}', 3),
    (5, '01900000-0000-7000-8000-00000000c001', 'nobody', '', null, null, null, '{}', 4);
insert into deferred_work (id, kind, organisation_id, user_id, number, cursor) values
    (1, 'departure', x'0190000000007000800000000000c001', x'0190000000007000800000000000a002', null, x''),
    (3, 'message', null, null, 1, x'');
insert into mails (id, recipient, kind, webhook_id, sealed, created_at, due_at, attempts, sent_at, error) values
    (x'01900000000070008000000000002001', 'eve@example.org', 'invitation', null, x'0d', 1, 5, 2, null, 'refused'),
    (x'01900000000070008000000000002002', 'ada@example.org', 'webhook', x'01900000000070008000000000003001', null, 1, null, 1, 3, '');
insert into webhooks (id, channel_id, owner_id, name, event_name, url, url_by, slug_hash, status, secret, old_secret, old_secret_until, target, last_success_at, created_at, updated_at, deleted_at) values
    (x'01900000000070008000000000003001', x'0190000000007000800000000000f001', x'0190000000007000800000000000a001', 'out', '', 'https://hooks.example/in', x'0190000000007000800000000000a001', x'0e', 'active', x'0f', x'10', 99, 'hooks.example:443', 6, 1, 2, null),
    (x'01900000000070008000000000003002', x'0190000000007000800000000000f001', x'0190000000007000800000000000a002', 'ci', 'build', '', null, x'11', 'paused', x'12', null, null, '', null, 1, 2, null),
    (x'01900000000070008000000000003003', x'0190000000007000800000000000f001', x'0190000000007000800000000000a002', 'gone', '', '', null, x'13', 'inactive', x'14', null, null, '', null, 1, 2, 3);
insert into commands (id, organisation_id, owner_id, name, description, hint, url, target, form, secret, created_at, updated_at) values
    (x'01900000000070008000000000001401', x'0190000000007000800000000000c001', x'0190000000007000800000000000a001', 'deploy', 'Deploys', 'environment', 'https://ci.example/deploy', 'ci.example:443', 'json', x'22', 5, 6);
insert into calls (token_hash, program, channel_id, user_id, answers, expires_at) values
    (x'23', '{"command":"01900000-0000-7000-8000-000000001401"}', x'0190000000007000800000000000f001', x'0190000000007000800000000000a001', 1, 99);
insert into webhook_events (n, payload, message_n) values
    (1, '{"type":"message.created"}', 1),
    (3, '{"type":"message.created"}', 3);
insert into deliveries (id, webhook_id, event_n, attempts, first_at, due_at, is_leased, created_at) values
    (x'01900000000070008000000000004001', x'01900000000070008000000000003001', 1, 1, 4, null, 0, 3),
    (x'01900000000070008000000000004002', x'01900000000070008000000000003001', 3, 2, 4, 7, 1, 3);
insert into webhook_history (id, webhook_id, callback_id, direction, action_type, status_code, retries, latency_ms, error, attempted_at, next_at) values
    (x'01900000000070008000000000005001', x'01900000000070008000000000003001', x'01900000000070008000000000004002', 'out', 'delivery', 503, 1, 12, 'busy', 5, 7),
    (x'01900000000070008000000000005002', x'01900000000070008000000000003002', x'01900000000070008000000000005002', 'in', 'feed', 200, 0, 1, '', 3, null);
insert into reminders (id, user_id, channel_id, text, due_at, is_due, created_at) values
    (x'01900000000070008000000000001601', x'0190000000007000800000000000a001', x'0190000000007000800000000000f001', 'Tea', 99, 1, 5);
insert into blog_categories (id, name, created_at, updated_at) values
    (x'01900000000070008000000000006001', 'News', 1, 2);
insert into blogs (id, title, content, category_id, folded, author_id, created_at, updated_at) values
    (x'01900000000070008000000000006002', 'Title', 'Text', x'01900000000070008000000000006001', 'title text', x'0190000000007000800000000000a001', 1, 2);
insert into blog_feedback (id, blog_id, feedback, created_at) values
    (x'01900000000070008000000000006003', x'01900000000070008000000000006002', 1, 3);
insert into testimonials (id, user_id, company_name, content, created_at) values
    (x'01900000000070008000000000006004', x'0190000000007000800000000000a001', 'Engines', 'It works', 1);
insert into contacts (id, name, email, message, created_at) values
    (x'01900000000070008000000000006005', 'Eve', 'eve@example.org', 'Hello', 1);
insert into message_search (rowid, content) values (1, 'aaahel' || char(10) || 'aaaell');
commit;
