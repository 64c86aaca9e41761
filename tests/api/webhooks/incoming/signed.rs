//! Webhooks that take only what their program has signed.

use ring::hmac;
use tidings::{secret, time::Time};

use super::*;
use crate::webhooks::scene::Scene;

const SECRET: &str = "a-secret-of-both";

/// The HMAC-SHA256 of a text in hexadecimal digits.
fn hex(secret: &str, body: &str) -> String {
    let signature = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body.as_bytes());
    signature.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn require(scene: &Scene, hook: &Hook, secret: &str) -> Reply {
    scene.ada.put(&format!("/webhooks/{}/{}", scene.channel, hook.id), json!({ "sender_secret": secret })).await
}

#[tokio::test]
async fn a_webhook_with_a_secret_takes_what_each_program_signs_and_nothing_else() {
    let (scene, hook) = fed().await;
    require(&scene, &hook, SECRET).await.expect(200);
    let body = json!({ "text": "done" }).to_string();
    let (signature, other) = (hex(SECRET, &body), hex("another secret of them", &body));
    let prefixed = format!("sha256={signature}");
    let signed: [&[(&str, &str)]; 5] = [
        &[("x-hub-signature-256", &prefixed)],
        &[("x-gitea-signature", &signature), ("x-hub-signature-256", &prefixed)],
        &[("x-gitlab-token", SECRET)],
        &[("sentry-hook-signature", &signature)],
        &[("x-grafana-alerting-signature", &signature)],
    ];
    for headers in signed {
        send(&scene.anybody, &feed(&hook), &[headers, &[("content-type", JSON)]].concat(), body.clone()).await.expect(200);
    }
    send(&scene.anybody, &mattermosts(&hook), signed[0], body.clone()).await.expect(200);
    let unsigned: [&[(&str, &str)]; 5] = [
        &[],
        &[("x-hub-signature-256", &other)],
        &[("x-hub-signature", &prefixed)],
        &[("x-gitlab-token", "another secret of them")],
        &[("sentry-hook-signature", "")],
    ];
    for headers in unsigned {
        let headers = [headers, &[("content-type", JSON)]].concat();
        send(&scene.anybody, &feed(&hook), &headers, body.clone()).await.refused(401, Code::SenderUnproved);
    }
    let changed = body.replace("done", "gone");
    send(&scene.anybody, &feed(&hook), signed[0], changed).await.refused(401, Code::SenderUnproved);
    let queried = format!("{}?message=done&username=ci&event_name=x&status=success", hook.feed);
    scene.anybody.get(&queried).await.refused(401, Code::SenderUnproved);
    let bearer = scene.ada.post(&hook.feed, json!({ "message": "by a member" })).await;
    bearer.refused(401, Code::SenderUnproved);
    assert_eq!(scene.threads(&scene.grace).await.len(), 6, "those that were signed");
}

#[tokio::test]
async fn signatures_of_standard_webhooks_are_taken() {
    let (scene, hook) = fed().await;
    let shared = secret::signing_secret();
    require(&scene, &hook, &shared).await.expect(200);
    let body = json!({ "message": "done" }).to_string();
    let now = Time::now().unix_seconds();
    for (time, status) in [(now, 200), (now - 400, 401)] {
        let signature = secret::webhook_signature(std::slice::from_ref(&shared), "msg_1", time, body.as_bytes()).unwrap();
        let time = time.to_string();
        let headers =
            [("content-type", JSON), ("webhook-id", "msg_1"), ("webhook-timestamp", &time), ("webhook-signature", &signature)];
        send(&scene.anybody, &feed(&hook), &headers, body.clone()).await.expect(status);
    }
}

#[tokio::test]
async fn the_history_shows_what_was_not_signed() {
    let (scene, hook) = fed().await;
    require(&scene, &hook, SECRET).await.expect(200);
    let push = json!({ "zen": "Speak like a human." }).to_string();
    let headers = [("content-type", JSON), ("x-github-event", "ping")];
    send(&scene.anybody, &feed(&hook), &headers, push.clone()).await.refused(401, Code::SenderUnproved);
    let record = &hook.history(1).await[0];
    assert_eq!([&record["received"], &record["read_as"], &record["status_code"]], [&push, "GitHub ping", "401"]);
    assert_eq!(record["error"], "The request is not signed with the webhook's sender_secret");
}

#[tokio::test]
async fn the_secret_has_its_bounds_is_never_shown_and_can_be_taken_away() {
    let (scene, hook) = fed().await;
    let path = format!("/webhooks/{}", scene.channel);
    let new = |secret: &str| json!({ "webhook_name": "signed", "sender_secret": secret });
    for (bad, code) in [
        ("x".repeat(15), Code::InvalidValue),
        ("x".repeat(256), Code::TooLong),
        (format!("{SECRET} "), Code::InvalidValue),
        (format!("{SECRET}\u{e9}"), Code::InvalidValue),
    ] {
        let refused = scene.ada.post(&path, new(&bad)).await;
        assert!(!refused.body.to_string().contains(&bad), "it is a secret: {}", refused.body);
        refused.refused(422, code);
        require(&scene, &hook, &bad).await.refused(422, code);
    }
    for good in ["x".repeat(16), "x".repeat(255), SECRET.to_owned()] {
        let made = scene.ada.post(&path, new(&good)).await.expect(201);
        assert_eq!(made["data"]["has_sender_secret"], true);
        assert!(!made.to_string().contains(&good), "{made}");
    }
    assert_eq!(scene.ada.post(&path, new("")).await.expect(201)["data"]["has_sender_secret"], false);
    let set = require(&scene, &hook, SECRET).await.expect(200);
    assert_eq!(set["data"]["has_sender_secret"], true);
    let renamed = scene.ada.put(&format!("{path}/{}", hook.id), json!({ "webhook_name": "builder" })).await.expect(200);
    assert_eq!(renamed["data"]["has_sender_secret"], true, "what is omitted stays");
    let listed = scene.ada.get(&format!("{path}/all")).await.expect(200).to_string();
    assert!(!listed.contains(SECRET) && listed.contains("has_sender_secret"));
    let stored = scene.server.number("select count(*) from webhooks where instr(sender_secret, 'secret')");
    assert_eq!(stored, 0, "it is encrypted");
    let body = json!({ "message": "done" });
    scene.anybody.post(&hook.feed, body.clone()).await.refused(401, Code::SenderUnproved);
    assert_eq!(require(&scene, &hook, "").await.expect(200)["data"]["has_sender_secret"], false);
    scene.anybody.post(&hook.feed, body).await.expect(200);
}
