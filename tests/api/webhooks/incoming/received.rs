//! What the history keeps of what came in.

use super::*;

#[tokio::test]
async fn the_history_shows_what_came_and_as_what_it_was_read() {
    let (scene, hook) = fed().await;
    let own = json!({ "message": "done" }).to_string();
    send(&scene.anybody, &feed(&hook), &[("content-type", JSON)], own.clone()).await.expect(200);
    let record = &hook.history(1).await[0];
    assert_eq!([&record["received"], &record["read_as"]], [&own, "Tidings"]);
    assert_eq!(
        [&record["direction"], &record["action_type"], &record["status_code"], &record["error"]],
        ["in", "feed", "200", ""]
    );
    let event = json!({ "action": "labeled", "pull_request": { "title": "x" } }).to_string();
    let headers = [("content-type", JSON), ("x-github-event", "pull_request")];
    let reply = send(&scene.anybody, &feed(&hook), &headers, event.clone()).await.expect(200);
    assert_eq!(reply["message_id"], Value::Null, "there is nothing to tell");
    let record = &hook.history(2).await[0];
    assert_eq!([&record["received"], &record["read_as"], &record["action_type"]], [&event, "GitHub pull_request", "feed"]);
    let refused = json!({ "message": "done", "status": "green" }).to_string();
    send(&scene.anybody, &feed(&hook), &[("content-type", JSON)], refused.clone()).await.expect(422);
    let record = &hook.history(3).await[0];
    assert_eq!([&record["received"], &record["read_as"], &record["status_code"]], [&refused, "Tidings", "422"]);
    assert!(record["error"].as_str().unwrap().starts_with("status must be one of"), "{record}");
    scene.anybody.get(&format!("{}?message=done&username=ci&event_name=x&status=success", hook.feed)).await.expect(200);
    let record = &hook.history(4).await[0];
    assert_eq!((&record["received"], &record["read_as"]), (&Value::Null, &json!("Tidings")), "a query has no body");
    send(&scene.anybody, &feed(&hook), &[("content-type", JSON)], "").await.expect(400);
    assert_eq!(hook.history(5).await[0]["received"], "");
}

#[tokio::test]
async fn only_those_who_manage_the_webhook_read_what_came() {
    let (scene, hook) = fed().await;
    answer(&scene.anybody, &feed(&hook), &json!({ "text": "a secret of the program" })).await;
    let path = format!("/webhooks/{}/history/{}", scene.channel, hook.id);
    scene.grace.get(&path).await.expect(403);
    scene.anybody.get(&path).await.expect(401);
    assert!(scene.ada.get(&path).await.expect(200).to_string().contains("a secret of the program"));
}

#[tokio::test]
async fn a_body_is_kept_up_to_8_kibibytes_without_what_is_no_text() {
    let (scene, hook) = fed().await;
    let body = |bytes: usize| json!({ "message": "x".repeat(bytes - r#"{"message":""}"#.len()) }).to_string();
    for (bytes, end) in [(8192, "\"}"), (8193, "\"\u{2026} (8193 bytes)")] {
        send(&scene.anybody, &feed(&hook), &[("content-type", JSON)], body(bytes)).await.expect(200);
        let kept = text(&hook.history(1).await[0]["received"]);
        assert!(kept.ends_with(end) && kept.len() < 8192 + 40, "{bytes}: {}", &kept[8100..]);
    }
    send(&scene.anybody, &feed(&hook), &[("content-type", JSON)], &b"{\"a\": \"\xff\0\"}"[..]).await.expect(400);
    assert_eq!(hook.history(3).await[0]["received"], "{\"a\": \"\u{fffd}\u{fffd}\"}");
}

#[tokio::test]
async fn bodies_are_kept_of_the_last_20_feeds_of_each_webhook() {
    let (scene, hook) = fed().await;
    let other = scene.builder().await;
    answer(&scene.anybody, &feed(&other), &json!({ "text": "of another" })).await;
    for number in 1..=21 {
        answer(&scene.anybody, &feed(&hook), &json!({ "text": number.to_string() })).await;
    }
    let history = hook.history(21).await;
    let is_kept = |record: &&Value| !record["received"].is_null();
    assert_eq!((history.len(), history.iter().filter(is_kept).count()), (21, 20));
    assert_eq!((&history[20]["received"], &history[20]["read_as"]), (&Value::Null, &json!("Slack")), "the first");
    // Refused feeds are among the 20, and no more of them are recorded.
    for _ in 0..25 {
        answer(&scene.anybody, &feed(&hook), &json!({ "text": "" })).await;
    }
    let history = hook.history(0).await;
    let refused = history.iter().filter(|record| record["status_code"] == "400").count();
    assert_eq!((history.len(), refused, history.iter().filter(is_kept).count()), (41, 20, 20));
    assert!(!other.history(1).await[0]["received"].is_null());
    let unknown = scene.server.count("webhook_history");
    send(&scene.anybody, "/hooks/unknown", &[("content-type", JSON)], "{}").await.expect(400);
    assert_eq!(scene.server.count("webhook_history"), unknown, "of no webhook");
}
