//! `/ready`: what makes the server unready, and what doesn't.

use rusqlite::Connection;
use serde_json::{Value, json};
use tidings::error::Code;
use tokio::net::TcpListener;

use crate::harness::Server;

async fn get(server: &Server, path: &str) -> (u16, Value) {
    let reply = server.anonymous().request("GET", path).send().await.unwrap();
    (reply.status().as_u16(), reply.json().await.unwrap())
}

/// The server is not ready, for this reason, and lives.
#[track_caller]
fn assert_unready((status, body): (u16, Value), says: &str) {
    assert_eq!(status, 503, "{body}");
    let said = json!({ "status": "error", "status_code": 503, "message": says, "error": says, "code": Code::NotReady.name(), "retry_after": 1 });
    assert_eq!(body, said);
}

fn database(server: &Server) -> Connection {
    Connection::open(server.folder().join("tidings.db")).unwrap()
}

#[tokio::test]
async fn a_server_is_ready_as_soon_as_it_answers() {
    let server = Server::start().await;
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(get(&server, "/ready").await, (200, json!({ "status": "ready", "version": version })));
    assert_eq!(get(&server, "/health").await, (200, json!({ "status": "ok", "version": version })));
}

#[tokio::test]
async fn a_writer_that_does_not_get_on_makes_the_server_unready() {
    let server = Server::start().await;
    assert_eq!(get(&server, "/ready").await.0, 200, "the writes of the start are over");
    let other = database(&server);
    other.execute_batch("begin immediate").unwrap();
    assert_unready(get(&server, "/ready").await, "the writer does not answer");
    assert_eq!(get(&server, "/health").await.0, 200);
    other.execute_batch("rollback").unwrap();
    assert_eq!(get(&server, "/ready").await.0, 200);
}

#[tokio::test]
async fn a_schema_of_another_version_makes_the_server_unready() {
    let server = Server::start().await;
    let version: u32 = database(&server).pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    database(&server).pragma_update(None, "user_version", version + 1).unwrap();
    assert_unready(get(&server, "/ready").await, "the database has the schema of another version");
    database(&server).pragma_update(None, "user_version", version).unwrap();
    assert_eq!(get(&server, "/ready").await.0, 200);
}

#[tokio::test]
async fn mails_that_nobody_takes_make_the_server_unready() {
    // A mail server that never says anything holds all mails that are being sent.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = Server::with(|settings| {
        settings.mail.mail_url = format!("smtp://{}?tls=none", silent.local_addr().unwrap());
    })
    .await;
    for name in ["ada", "grace", "edith", "mary"] {
        server.register(name).await;
    }
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(silent.accept().await.unwrap());
    }
    let queue = |count: u32| {
        server.sql(&format!(
            "with recursive n(n) as (select 1 union all select n + 1 from n where n < {count})
             insert into mails (id, recipient, kind, sealed, created_at, due_at)
             select randomblob(16), 'a@b.example', 'notice', x'00', 1, 1 from n"
        ));
    };
    queue(9_000);
    assert_eq!(get(&server, "/ready").await.0, 200);
    queue(1_001);
    assert_unready(get(&server, "/ready").await, "too many mails wait to be sent");
    assert_eq!(get(&server, "/health").await.0, 200);
    server.sql("delete from mails where sealed = x'00'");
    assert_eq!(get(&server, "/ready").await.0, 200);
}
