//! Webhooks that deliver one by one, in order.

use std::time::Duration;

use poem::{IntoResponse, Response, http::StatusCode};
use serde_json::json;

use super::scene::{Scene, scene};
use crate::{
    harness::{PASSWORD, Server},
    receiver::{Hook, Receiver},
};

const LONG: Duration = Duration::from_secs(3600);

async fn ordered(scene: &Scene, receiver: &Receiver) -> Hook {
    let body = json!({ "webhook_name": "mirror", "webhook_url": receiver.url, "ordered": true });
    scene.ada.hook_with(&scene.channel, body).await
}

async fn say_three(scene: &Scene) {
    for text in ["first", "second", "third"] {
        scene.say(text).await;
    }
}

#[tokio::test]
async fn what_has_failed_is_delivered_before_what_came_after_it() {
    let scene = scene().await;
    let mut receiver = Receiver::start(&[500, 500, 200]).await;
    let hook = ordered(&scene, &receiver).await;
    say_three(&scene).await;
    for attempts in [1, 2] {
        assert_eq!(receiver.next().await.content(), "first");
        hook.history(attempts).await;
        scene.server.followed().await;
        assert!(receiver.is_empty(), "the others wait");
        scene.server.clock.advance(LONG);
    }
    for text in ["first", "second", "third"] {
        assert_eq!(receiver.next().await.content(), text);
    }
    hook.history(5).await;
    assert!(receiver.is_empty());
    scene.say("fourth").await;
    assert_eq!(receiver.next().await.content(), "fourth");
}

#[tokio::test]
async fn one_is_under_way_at_a_time() {
    let scene = scene().await;
    let (mut receiver, answer) = Receiver::holding(&[200], |n| n == 0).await;
    ordered(&scene, &receiver).await;
    say_three(&scene).await;
    assert_eq!(receiver.next().await.content(), "first");
    scene.server.followed().await;
    assert!(receiver.is_empty());
    answer.notify_one();
    for text in ["second", "third"] {
        assert_eq!(receiver.next().await.content(), text);
    }
}

#[tokio::test]
async fn without_order_the_others_go_on() {
    let scene = scene().await;
    let mut receiver = Receiver::start(&[500, 200]).await;
    let hook = ordered(&scene, &receiver).await;
    say_three(&scene).await;
    assert_eq!(receiver.next().await.content(), "first");
    hook.history(1).await;
    let changed = scene.ada.put(&hook.path(""), json!({ "ordered": false })).await.expect(200);
    assert_eq!(changed["data"]["ordered"], false);
    assert_eq!(receiver.contents(3).await, ["first", "second", "third"]);
}

#[tokio::test]
async fn a_server_that_ends_goes_on_with_what_it_was_sending() {
    let scene = scene().await;
    let mut receiver = Receiver::answering(|n| async move {
        if n == 0 { std::future::pending::<Response>().await } else { StatusCode::OK.into_response() }
    })
    .await;
    ordered(&scene, &receiver).await;
    say_three(&scene).await;
    assert_eq!(receiver.next().await.content(), "first");
    let Scene { server, channel, .. } = scene;
    let folder = server.end_and_keep().await;
    let server =
        Server::on_copy_of(folder.path(), |settings| settings.allow_private_webhooks = vec!["127.0.0.0/8".parse().unwrap()])
            .await;
    let ada = server.log_in("ada", PASSWORD).await;
    ada.say(&channel, "fourth").await;
    for text in ["first", "second", "third", "fourth"] {
        assert_eq!(receiver.next().await.content(), text);
    }
}
