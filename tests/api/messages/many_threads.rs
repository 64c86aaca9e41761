//! The list of one's own threads reads those alone, however many there are beside them.

use std::cell::Cell;

use rusqlite::{
    Connection, StatementStatus,
    trace::{TraceEvent, TraceEventCodes},
};
use tidings::{
    domain::{
        access::{Caller, PlatformRole},
        messages::threads,
        page::Page,
        scopes::Grant,
    },
    id::{OrganisationId, SessionId, UserId},
};

use crate::harness::{Client, Server, blob};

thread_local! {
    /// SQLite VM instructions of the statements that have ended.
    static STEPS: Cell<i64> = const { Cell::new(0) };
}

/// Called at the end of each run of a statement.
fn count(event: TraceEvent) {
    if let TraceEvent::Profile(statement, _) = event {
        STEPS.set(STEPS.get() + i64::from(statement.get_status(StatementStatus::VmStep)));
    }
}

/// The rows and VM instructions of a page of somebody's own threads.
fn page(server: &Server, client: &Client, organisation: &str) -> (usize, i64) {
    let conn = Connection::open(server.folder().join("tidings.db")).unwrap();
    let caller = Caller {
        user: UserId(client.user_id.parse().unwrap()),
        session: SessionId::new(),
        role: PlatformRole::User,
        person: UserId(client.user_id.parse().unwrap()),
        grant: Grant::Session,
    };
    let organisation = OrganisationId(organisation.parse().unwrap());
    conn.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(count));
    STEPS.set(0);
    let rows = threads::list_own(&conn, caller, organisation, None, Page { offset: 0, size: 50 }).unwrap().len();
    (rows, STEPS.get())
}

#[tokio::test]
async fn ten_thousand_threads_of_others_cost_a_member_no_step() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[&grace]).await;
    for n in 0..20 {
        let thread = grace.say(&news, &format!("thread {n}")).await;
        ada.reply(&news, &thread, "a reply").await;
    }
    let (rows, few) = page(&server, &grace, &organisation);
    assert_eq!(rows, 20);

    let (channel, author) = (blob(&news), blob(&ada.user_id));
    let insert = |ids: &str, root: &str| {
        format!(
            "insert into messages (id, channel_id, user_id, root, username, content, created_at, updated_at)
               with recursive k (k) as (select 1 union all select k + 1 from k where k < 10000)
               select unhex(printf('{ids}%031x', k)), {channel}, {author}, {root}, 'ada', 'x', 0, 0 from k"
        )
    };
    server.sql(&insert("a", "null"));
    server.sql(&insert("b", "(select r.n from messages r where r.id = unhex(printf('a%031x', k)))"));
    server.sql(
        "update messages set reply_count = 1, active_n = (select r.n from messages r where r.root = messages.n)
         where root is null and hex(id) like 'A0%'",
    );
    server.sql(&format!(
        "insert into thread_members (root, user_id, channel_id, read_n, read_reply_count)
         select n, {author}, {channel}, active_n, 1 from messages where root is null and hex(id) like 'A0%'"
    ));
    let (rows, many) = page(&server, &grace, &organisation);
    assert_eq!(rows, 20);
    println!("{few} instructions, {many} beside 10,000 threads of others");
    assert!(few > 100 && many <= few + few / 10, "{few} instructions, {many} beside 10,000 threads of others");
    let (rows, own) = page(&server, &ada, &organisation);
    assert_eq!(rows, 50, "the premise: ada takes part in all of them");
    assert!(own > 10 * many, "{own} instructions for them");
}
