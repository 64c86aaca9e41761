//! What the step to version 10 makes of threads that were there before: members with read marks.

use rusqlite::Connection;

use crate::database::{Database, select};

/// The identifier of a user of `0.1.0.rows.sql`, or of one that `PEOPLE` adds.
fn user(number: u32) -> String {
    format!("x'0190000000007000800000000000a00{number}'")
}

/// Adds a message of the channel `general`. `root` is 0 for a post.
fn message(conn: &Connection, n: u32, root: u32, author: u32, mentioned: &[u32], is_deleted: bool) {
    let (root, author) = (if root == 0 { "null".into() } else { root.to_string() }, user(author));
    let deleted = if is_deleted { "9" } else { "null" };
    conn.execute_batch(&format!(
        "insert into messages (n, id, channel_id, root, user_id, username, content, active_n, created_at, updated_at, deleted_at)
           select {n}, unhex(printf('e%031x', {n})), id, {root}, {author}, 'x', 'x', {n}, {n}, {n}, {deleted}
           from channels where name = 'general';
         update messages set reply_count = reply_count + ({deleted} is null), active_n = iif({deleted} is null, {n}, active_n)
           where n = {root}"
    ))
    .unwrap();
    for number in mentioned {
        let sql = format!("insert into mentions select channel_id, {}, n from messages where n = {n}", user(*number));
        conn.execute_batch(&sql).unwrap();
    }
}

#[test]
fn the_step_to_version_10_makes_authors_and_mentioned_people_members_of_their_threads_who_have_read_them() {
    let database = Database::of("0.1.0", 1);
    let conn = database.open();
    for number in 3..=6 {
        conn.execute_batch(&format!(
            "insert into users (id, email, username, created_at, updated_at)
               values ({0}, 'p{number}@example.org', 'p{number}', 1, 1);
             insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
               select id, {0}, 4, 1, 1 from organisations where name = 'Engines';
             insert into channel_members (channel_id, user_id, username, read_n, created_at)
               select id, {0}, 'p{number}', 20, 1 from channels where name = 'general'",
            user(number)
        ))
        .unwrap();
    }
    // A thread of 3 that mentions 4. 5 has replied twice, and deleted a reply between; 3 has replied last, and mentioned 6.
    message(&conn, 20, 0, 3, &[4], false);
    for (n, author, mentioned, is_deleted) in
        [(21, 5, &[][..], false), (22, 5, &[], true), (23, 5, &[], false), (24, 3, &[6], false), (25, 4, &[], true)]
    {
        message(&conn, n, 20, author, mentioned, is_deleted);
    }
    // A post without replies that mentions 4, and a deleted one whose reply stays.
    message(&conn, 30, 0, 3, &[4], false);
    message(&conn, 31, 0, 6, &[], true);
    message(&conn, 32, 31, 5, &[], false);
    drop(conn);
    database.migrate();
    database.assert_sound();

    let conn = database.open();
    let text = |sql: &str| select(&conn, sql, |row| row.get::<_, String>(0));
    let members = text(
        "select concat_ws(' ', root, substr(hex(user_id), -1), coalesce(first_n, '-'), replies, read_n, read_reply_count, mention_count)
         from thread_members where root >= 20 order by root, user_id",
    );
    assert_eq!(
        members,
        [
            // thread, user, first reply, replies, read up to, replies read, unread mentions
            "20 3 24 1 24 3 0",
            "20 4 - 0 24 3 0",
            "20 5 21 2 24 3 0",
            "20 6 - 0 24 3 0",
            "31 5 32 1 32 1 0",
        ],
        "authors, those whom post or replies mention, and those with a live reply; all have read everything"
    );
    let participants = text("select concat_ws(' ', n, participant_count) from messages where n in (20, 30, 31) order by n");
    assert_eq!(participants, ["20 2", "30 0", "31 1"]);
    assert_eq!(text("select concat_ws(' ', root, substr(hex(user_id), -1), n) from reply_mentions"), ["20 6 24"]);
    let of_posts = text("select concat_ws(' ', n, substr(hex(user_id), -1)) from mentions where n >= 20 order by n");
    assert_eq!(of_posts, ["20 4", "30 4"], "mentions of posts stay the channel's");
    let read = text(
        "select concat_ws(' ', cm.username, m.n) from channel_members cm join channels c on c.id = cm.channel_id
           left join messages m on m.id = cm.read_id where c.name = 'general' order by 1",
    );
    assert_eq!(read[..2], ["Bob", "ada 1"], "the newest post that each has read, if any");
    assert_eq!(read[2..], ["p3 20", "p4 20", "p5 20", "p6 20"]);
}

#[test]
fn the_thread_of_an_older_release_has_its_author_and_who_replied() {
    let database = Database::of("0.1.0", 1);
    database.migrate();
    let sql = "select concat_ws(' ', root, substr(hex(user_id), -1), coalesce(first_n, '-'), replies, read_n, read_reply_count)
        from thread_members order by user_id";
    let members = select(&database.open(), sql, |row| row.get::<_, String>(0));
    assert_eq!(members, ["1 1 - 0 2 1", "1 2 2 1 2 1"], "ada's post with bob's reply");
}
