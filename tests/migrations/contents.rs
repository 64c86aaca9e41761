//! What single steps fill.

use crate::database::{Database, select};

/// As `domain/organisations/slugs.rs` makes them, except for the numbers.
#[test]
fn the_step_to_version_4_gives_each_organisation_a_slug() {
    let database = Database::of("0.1.0", 1);
    let long = "x".repeat(60);
    let names =
        ["Engines", "Ada's  (2nd) \u{2014} Caf\u{e9}!", "ENGINES", "-client-", "\u{65e5}\u{672c}", "gone", "A_b/c", &long];
    for (number, name) in (0_i64..).zip(names) {
        let sql = "insert into organisations (id, name, owner_id, created_at, updated_at)
                   select unhex(printf('f%031x', ?1)), ?2, owner_id, 1, 2 from organisations limit 1";
        database.open().execute(sql, (number, name)).unwrap();
    }
    database.migrate();
    let sql = "select slug from organisations where name <> 'Gone' order by id";
    let slugs = select(&database.open(), sql, |row| row.get::<_, String>(0));
    let numbered = |slug: &str, base: &str| {
        let number = slug.strip_prefix(base).unwrap_or_else(|| panic!("{slug} begins with {base}"));
        assert!((1..=10).contains(&number.len()) && number.parse::<u64>().is_ok(), "{slug}");
    };
    assert_eq!(slugs[0], "engines", "the oldest has the slug without a number");
    numbered(&slugs[1], "engines");
    assert_eq!(slugs[2], "ada-s-2nd-caf");
    numbered(&slugs[3], "engines");
    numbered(&slugs[4], "client");
    assert_eq!(slugs[5], "organisation");
    assert_eq!(slugs[6], "gone", "a deleted organisation's slug is free");
    assert_eq!(slugs[7..], ["a-b-c".to_owned(), "x".repeat(50)]);
}

#[test]
fn an_older_database_gets_its_former_members_and_the_times_of_its_channels() {
    let database = Database::of("0.1.0", 1);
    let conn = database.open();
    conn.execute_batch(
        "insert into users (id, email, username, created_at, updated_at)
           values (x'0190000000007000800000000000a003', 'eve@example.org', 'eve', 1, 1);
         update messages set user_id = x'0190000000007000800000000000a003', content = '会議は日本で' where n = 2;
         update messages set content = 'Ĥello, ½ €' where n = 1;
         update meta set value = '3' where key = 'search_cursor';
         delete from unindexed_edits",
    )
    .unwrap();
    drop(conn);
    database.migrate();
    database.assert_sound();
    let conn = database.open();
    let text = |sql: &str| select(&conn, sql, |row| row.get::<_, String>(0)).join(" ");
    assert_eq!(
        text("select hex(organisation_id) || ' ' || hex(user_id) from former_members"),
        "0190000000007000800000000000C001 0190000000007000800000000000A003",
        "an author who is no member, and none who is"
    );
    let times = text(
        "select group_concat(c.last_message_at is m.created_at) from channels c left join messages m on m.n = c.last_n order by c.id",
    );
    assert_eq!(times, "1,1,1");
    assert_eq!(text("select cast(n as text) from unindexed_edits where n < 3"), "2", "the text with ideographs");
}
