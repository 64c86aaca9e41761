//! The same table for the owner's session as a browser keeps it. From a page of this server it is the owner's; without that proof
//! the cookie counts for nothing; and a request that is meant for another user is refused. A GET, which may be a link that somebody
//! has followed, changes nothing by it.

use std::{collections::BTreeSet, path::Path, sync::Arc};

use rusqlite::Connection;

use super::{ANONYMOUS, FEEDS, Row, Stage, table};
use crate::{
    harness::{Client, Server, blob},
    operations::Operation,
    scene::{OWNER, Scene, call},
};

/// The one operation where a cookie counts unless the browser says that another site asks.
const FILE: &str = "GET /files/{file_id}/{file_name}";

/// The callers, each with the status that the row's operation owes it.
fn callers(scene: &Scene, row: &Row) -> [(&'static str, Client, u16); 4] {
    let own = &scene.browser;
    let (anonymous, owner) = (row.expected[ANONYMOUS], row.expected[OWNER]);
    // A picture in a page of the server proves nothing over plain http.
    let unproved = if row.operation == FILE { owner } else { anonymous };
    let (owner, another) = if row.heeds_cookie() { (owner, 409) } else { (anonymous, anonymous) };
    [
        ("cookie", own.clone(), owner),
        ("cookie from another site", own.with("origin", "https://evil.example").with("sec-fetch-site", "cross-site"), anonymous),
        ("cookie without proof", own.without("origin").without("sec-fetch-site"), unproved),
        ("cookie of another user", own.with("tidings-user", scene.named("user")), another),
    ]
}

/// What is wrong with the answers of a row's operation.
async fn wrong(stage: &Stage, row: &Row) -> Vec<String> {
    let callers = callers(&stage.scene, row);
    let answers = stage.answers(row, &callers.each_ref().map(|(_, client, _)| client.clone())).await;
    let compared = callers.iter().zip(&answers).filter(|((_, _, expected), answered)| *expected != answered.status);
    let line = |(name, expected, found)| format!("{}: {name}: {expected} expected, {found} found", row.operation);
    compared.map(|((name, _, expected), answered)| line((name, expected, answered.status))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_heeds_a_cookie_only_from_a_page_of_this_server_and_for_its_user() {
    let look = |stage: Arc<Stage>, row: Row| async move { wrong(&stage, &row).await };
    let wrong = Stage::of(Scene::make().await).each_row(table(), look).await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The database of a folder.
fn open(folder: &Path) -> Connection {
    Connection::open(folder.join("tidings.db")).unwrap()
}

/// All that is stored, but what jobs write without a request: cursors, the search index, and when somebody was last seen.
fn stored(server: &Server) -> BTreeSet<String> {
    let conn = open(server.folder());
    let columns = "select m.name, group_concat('quote(' || c.name || ')', ' || '','' || ')
        from sqlite_schema m join pragma_table_info(m.name) c
        where m.type = 'table' and m.name not like 'message_search%' and m.name not in ('meta', 'unindexed_edits')
          and c.name <> 'last_seen_at'
        group by m.name order by m.name";
    let tables: Vec<(String, String)> = rows(&conn, columns, |row| Ok((row.get(0)?, row.get(1)?)));
    let dump = |(table, columns): (String, String)| {
        rows(&conn, &format!("select '{table}: ' || {columns} from {table}"), |row| row.get::<_, String>(0))
    };
    tables.into_iter().flat_map(dump).collect()
}

fn rows<T>(conn: &Connection, sql: &str, row: impl Fn(&rusqlite::Row) -> rusqlite::Result<T>) -> Vec<T> {
    let mut select = conn.prepare(sql).unwrap();
    select.query_map([], row).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

/// Queries with which an operation may do more than without.
const FURTHER: [&str; 2] =
    ["GET /threads/channels/{channel_id}?page=1&limit=1", "GET /threads/channels/{channel_id}?page=1&limit=20"];

#[tokio::test]
async fn no_get_changes_anything_by_a_cookie() {
    let scene = Scene::make().await;
    // Nothing is left to be sent.
    open(scene.folder.path()).execute_batch("update deliveries set due_at = null; update mails set due_at = null").unwrap();
    let server = scene.server().await;
    let browser = scene.browser.at(&server.origin);
    server.anonymous().get("/features").await; // by now it has noted its address
    let gets = table().into_iter().map(|row| row.operation).filter(|name| name.starts_with("GET ") && *name != FEEDS[0]);
    let mut succeeded = 0;
    for name in gets.chain(FURTHER.map(str::to_owned)) {
        for method in ["GET", "HEAD"] {
            let operation = Operation { method: method.into(), ..Operation::named(&name) };
            let before = stored(&server);
            let reply = call(&browser, &operation, &scene.path("GET", &operation.path), None).await;
            let after = stored(&server);
            let changed: Vec<_> = after.symmetric_difference(&before).collect();
            assert!(changed.is_empty(), "{method} of {name}: {changed:#?}");
            succeeded += usize::from(reply.status == 200);
        }
    }
    assert!(succeeded > 50, "only {succeeded} were answered");
    server.stop().await;
}

/// The address of a feed may be a link in a message, which is shown on a page of this server.
#[tokio::test]
async fn a_feeds_address_that_somebody_follows_posts_nothing_in_their_name() {
    let scene = Scene::make().await;
    let server = scene.server().await;
    let (browser, owner) = (scene.browser.at(&server.origin), scene.callers[OWNER].at(&server.origin));
    let own = format!("messages where user_id = {}", blob(&owner.user_id));
    for name in FEEDS {
        let before = server.count(&own);
        let operation = Operation::named(name);
        let path = scene.path("GET", "/webhooks/feed/{webhook_slug}");
        let body = (operation.method == "POST").then(|| serde_json::json!({ "message": "done" }));
        call(&browser, &operation, &path, body.clone()).await.expect(200);
        assert_eq!(server.count(&own), before, "{name}");
        call(&owner, &operation, &path, body).await.expect(200);
        assert_eq!(server.count(&own), before + 1, "a bearer that is sent names the author");
    }
    server.stop().await;
}
