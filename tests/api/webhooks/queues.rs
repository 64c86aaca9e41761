//! A long queue is not read to find what is delivered next.

use tidings::domain::webhooks::{deliveries, replay, schedule};

use crate::receiver;

/// Each lookup for a webhook uses an index, however long the queues are. Finding the events to send again does not read
/// queued deliveries.
#[tokio::test]
async fn claiming_a_delivery_does_not_scan_a_long_queue() {
    let server = receiver::server().await;
    server.user("ada").await;
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let plan = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Vec<String> {
        let mut explain = database.prepare(&format!("explain query plan {sql}")).unwrap();
        explain.query_map(values, |row| row.get(3)).unwrap().map(Result::unwrap).collect()
    };
    let due = plan(schedule::DUE, &[&[0_u8; 16].as_slice()]);
    assert_eq!(due[0], "SEARCH w USING PRIMARY KEY (id=?)");
    let first = "SEARCH d USING COVERING INDEX deliveries_due (webhook_id=? AND due_at>?)";
    assert!(due.iter().any(|step| step == first), "{due:?}");
    let claim = plan(deliveries::CLAIM, &[&[0_u8; 16].as_slice(), &0]);
    assert_eq!(claim[0], "SEARCH w USING PRIMARY KEY (id=?)");
    assert_eq!(claim[1], "SEARCH d USING INDEX deliveries_due (webhook_id=? AND due_at<?)");
    let span = plan(replay::SPAN, &[&[0_u8; 16].as_slice(), &0, &1, &1001]);
    let search =
        "SEARCH deliveries USING COVERING INDEX deliveries_due (webhook_id=? AND due_at=? AND created_at>? AND created_at<?)";
    assert_eq!(span, [search]);
    let all = due.iter().chain(&claim);
    assert!(!all.clone().any(|step| step.contains("TEMP B-TREE") || step.starts_with("SCAN")), "{due:?} {claim:?}");
}
