//! What members choose to be notified of.

use serde_json::{Value, json};

use crate::harness::{Client, Server};

/// What the caller has chosen in a channel: in short, its own choice, that of the organisation, `at_channel`, `at_mentions`, `muted`.
async fn chosen(client: &Client, channel: &str) -> Value {
    let found = client.get(&of(channel)).await.expect(200)["data"].take();
    assert_eq!(found["device_type"], "web");
    ["notify_about", "in_organisation", "at_channel", "at_mentions", "muted"].iter().map(|field| found[*field].clone()).collect()
}

fn of(channel: &str) -> String {
    format!("/channels/{channel}/notification-preference")
}

#[tokio::test]
async fn the_nearer_choice_counts() {
    let server = Server::start().await;
    let (ada, grace, org) = server.ada_and_grace().await;
    let channel = ada.channel(&org, "dev", &[&grace]).await;
    let of_org = format!("/organisations/{org}/notification-preference");
    let of_channel = of(&channel);

    let found = grace.get(&of_org).await.data(200, "Notification preference retrieved successfully");
    assert_eq!(found, json!({ "device_type": "web", "notify_about": "mentions" }));
    assert_eq!(chosen(&grace, &channel).await, json!(["default", "mentions", true, true, false]));
    let answer = grace.post(&of_org, json!({ "notify_about": "nothing" })).await;
    let answer = answer.data(200, "Notification preference changed successfully");
    assert_eq!(answer, json!({ "device_type": "web", "notify_about": "nothing" }));
    assert_eq!(chosen(&grace, &channel).await, json!(["default", "nothing", true, false, false]));
    for (change, found) in [
        (
            json!({ "notify_about": "all_new_messages", "at_channel": false }),
            json!(["all_new_messages", "nothing", false, true, false]),
        ),
        (json!({ "at_mentions": false }), json!(["nothing", "nothing", false, false, false])),
        (json!({ "at_mentions": true, "muted": true }), json!(["mentions", "nothing", false, true, true])),
        (json!({ "notify_about": "default", "at_channel": true }), json!(["default", "nothing", true, false, true])),
        // As the forms of other clients send it: nothing contradicts.
        (
            json!({ "device_type": "web", "at_channel": true, "at_mentions": false, "muted": false }),
            json!(["nothing", "nothing", true, false, false]),
        ),
        (json!({}), json!(["nothing", "nothing", true, false, false])),
    ] {
        grace.post(&of_channel, change.clone()).await.data(200, "Notification preference changed successfully");
        assert_eq!(chosen(&grace, &channel).await, found, "after {change}");
    }
    // It is hers alone, and ends with her membership.
    assert_eq!(chosen(&ada, &channel).await, json!(["default", "mentions", true, true, false]));
    grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
    ada.post(&format!("/channels/{channel}/users"), json!({ "user_ids": [grace.user_id] })).await.expect(200);
    assert_eq!(chosen(&grace, &channel).await, json!(["default", "nothing", true, false, false]));
    ada.delete(&format!("/organisations/{org}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(server.count("organisation_notifications") + server.count("channel_notifications"), 0);
}
