//! The same table for the owner's session as a browser keeps it. From a page of this server it is the owner's; without that proof
//! the cookie counts for nothing; and a request that is meant for another user is refused.

use std::sync::Arc;

use super::{ANONYMOUS, Row, answers, each_row, table};
use crate::{
    harness::Client,
    scene::{OWNER, Scene},
};

/// The callers, each with the status that the row's operation owes it.
fn callers(scene: &Scene, row: &Row) -> [(&'static str, Client, u16); 4] {
    let own = &scene.browser;
    let (anonymous, owner) = (row.expected[ANONYMOUS], row.expected[OWNER]);
    let (owner, another) = if row.heeds_session() { (owner, 409) } else { (anonymous, anonymous) };
    [
        ("cookie", own.clone(), owner),
        ("cookie from another site", own.with("origin", "https://evil.example").with("sec-fetch-site", "cross-site"), anonymous),
        ("cookie without proof", own.without("origin").without("sec-fetch-site"), anonymous),
        ("cookie of another user", own.with("tidings-user", scene.named("user")), another),
    ]
}

/// What is wrong with the answers of a row's operation.
async fn wrong(scene: &Scene, row: &Row) -> Vec<String> {
    let callers = callers(scene, row);
    let answers = answers(scene, row, &callers.each_ref().map(|(_, client, _)| client.clone())).await;
    let compared = callers.iter().zip(&answers).filter(|((_, _, expected), answered)| *expected != answered.status);
    let line = |(name, expected, found)| format!("{}: {name}: {expected} expected, {found} found", row.operation);
    compared.map(|((name, _, expected), answered)| line((name, expected, answered.status))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_heeds_a_cookie_only_from_a_page_of_this_server_and_for_its_user() {
    let scene = Arc::new(Scene::make().await);
    let wrong = each_row(&scene, table(), |scene, row| async move { wrong(&scene, &row).await }).await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
