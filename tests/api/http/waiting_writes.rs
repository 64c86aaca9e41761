//! What a request may do that was admitted, and then waits for the writer.

use std::time::Duration;

use serde_json::json;

use super::metrics::{Page, TOKEN};
use crate::harness::Server;

/// Whoever goes knows the tokens of their bots. A request that came just before would be done after it, with the rights of whoever
/// has the bots then.
#[tokio::test]
async fn a_bots_request_that_waits_while_its_owner_goes_is_not_done() {
    let server = Server::with(|settings| settings.metrics_token = Some(TOKEN.to_owned())).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let member = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&member, json!({ "role_id": "admin" })).await.expect(200);
    let program = grace.bot(&organisation, "member").await;
    let links = format!("/organisations/{organisation}/join-links");
    program.post(&links, json!({})).await.expect(201);

    let other = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    other.busy_timeout(Duration::from_secs(5)).unwrap();
    other.execute_batch("begin immediate").unwrap(); // whatever the writer does waits for it
    let waiting = async |jobs: i64| while Page::of(&server).await.value("writer_queue_jobs") < jobs {};
    let removal = tokio::spawn(async move { ada.delete(&member).await });
    waiting(1).await;
    let linking = tokio::spawn(async move { program.post(&links, json!({})).await });
    waiting(2).await;
    other.execute_batch("rollback").unwrap();

    removal.await.unwrap().expect(200);
    linking.await.unwrap().expect(401);
    assert_eq!(server.count("join_links"), 0, "and the earlier one has ended");
}
