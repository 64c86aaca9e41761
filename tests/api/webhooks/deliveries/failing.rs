//! Webhooks whose deliveries fail for good, and who is told.

use serde_json::{Value, json};

use super::fields;
use crate::{
    harness::Server,
    receiver::Receiver,
    shapes::{PUSHED, assert_shape},
    socket::Socket,
    webhooks::{Scene, scene},
};

/// Has the webhook's queued event fail for the last time.
async fn fail_for_good(server: &Server) {
    server.sql("update deliveries set attempts = 9 where due_at is not null");
    server.hurry();
}

#[tokio::test]
async fn a_webhook_that_fails_for_days_becomes_inactive_and_its_owner_is_told() {
    let scene = scene().await;
    let (_receiver, hook) = scene.receiver(&[200, 500]).await;
    let personal = scene.ada.personal(&scene.organisation);
    let mut socket = Socket::listening(&scene.ada, &[&personal]).await;
    scene.say("arrives, but before").await;
    hook.history(1).await;
    scene.say("The engine has arrived").await;
    hook.history(2).await;
    fail_for_good(&scene.server).await;
    let records = hook.history(3).await;
    assert_eq!(fields(&records[0], &["retries", "next_attempt"]), [&json!("9"), &Value::Null]);
    assert_eq!(hook.status().await, "inactive");
    for _ in 0..2 {
        assert_eq!(socket.on(&personal).await["notification_type"], "unread_thread_change", "of her own posts");
    }
    let told = socket.on(&personal).await;
    assert_shape(&told, PUSHED);
    assert_eq!(told["notification_type"], "webhook_update");
    let data = &told["data"];
    assert_eq!(fields(data, &["id", "channel_id", "status", "webhook_name"]), [&hook.id, &scene.channel, "inactive", "out"]);
    let mails = scene.server.mails(&scene.ada.email, 2).await;
    let mail = &mails[1];
    assert_eq!(mail.subject, "Your webhook out is inactive now");
    assert!(mail.text.contains("the channel engines") && mail.text.contains("answered 500"), "{}", mail.text);
}

#[tokio::test]
async fn a_webhook_that_delivers_other_events_stays_active() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[500, 200, 500]).await;
    scene.say("never arrives").await;
    receiver.next().await;
    hook.history(1).await;
    scene.say("arrives").await;
    hook.history(2).await;
    fail_for_good(&scene.server).await;
    let records = hook.history(3).await;
    assert_eq!(fields(&records[0], &["status_code", "next_attempt"]), [&json!("500"), &Value::Null]);
    assert_eq!(hook.status().await, "active");
}

#[tokio::test]
async fn a_webhook_whose_target_is_gone_becomes_inactive_at_once_and_keeps_its_queue() {
    let scene = scene().await;
    let (mut receiver, hook) = scene.receiver(&[500, 410, 200]).await;
    scene.say("first").await;
    hook.history(1).await;
    scene.say("second").await;
    let records = hook.history(2).await;
    assert_eq!(fields(&records[0], &["status_code", "next_attempt"]), [&json!("410"), &Value::Null]);
    assert_eq!(hook.status().await, "inactive");
    scene.server.mails(&scene.ada.email, 2).await;
    receiver.contents(2).await;
    hook.set("active").await;
    scene.server.hurry();
    assert_eq!(receiver.next().await.content(), "first");
}

/// Alone, with its channel, or with its organisation.
#[tokio::test]
async fn nobody_is_told_that_a_deleted_webhook_failed() {
    let Scene { server, ada, .. } = scene().await;
    let (mut receiver, answer) = Receiver::holding(&[410], |_| true).await;
    for n in 0..3 {
        let organisation = ada.organisation("Engines").await;
        let channel = ada.channel(&organisation, "engines", &[]).await;
        let hook = ada.hook(&channel, &receiver.url).await;
        ada.say(&channel, "The engine has arrived").await;
        receiver.next().await;
        let deleted = [hook.path(""), format!("/channels/{channel}"), format!("/organisations/{organisation}")];
        assert!((200..300).contains(&ada.delete(&deleted[n]).await.status));
        answer.notify_one();
        let mut look = tokio::time::interval(std::time::Duration::from_millis(5));
        while server.count("webhook_history") == n as i64 {
            look.tick().await;
        }
        assert_eq!(server.count("mails where recipient = 'ada@example.org'"), 1, "the welcome alone: {}", deleted[n]);
        assert_eq!(server.count("webhooks where status = 'inactive'"), 0, "{}", deleted[n]);
    }
}
