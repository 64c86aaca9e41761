//! Rates of feeds, by slug and by address.

use tidings::config::Switch;

use super::*;

/// Clients without an account, each at an address of its own.
fn crowd(anybody: &Client) -> impl Iterator<Item = Client> {
    (2..=254).map(|last| {
        let http = reqwest::Client::builder().local_address(std::net::IpAddr::from([127, 0, 0, last])).build().unwrap();
        Client { http, ..anybody.clone() }
    })
}

#[tokio::test]
async fn a_slug_is_fed_at_most_twenty_times_a_second_by_all_together() {
    let scene = Scene::on(Server::with(|settings| settings.rate_limit = Switch::On).await).await;
    let hook = scene.builder().await;
    let other = text(&scene.ada.webhook(&scene.channel, "other").await["webhook_slug"]);
    let mut crowd = crowd(&scene.anybody);
    let many: Vec<_> = crowd.by_ref().take(20).collect();
    let posts = many.iter().flat_map(|client| (0..15).map(|_| client.post(&hook.feed, body())));
    let (good, refused): (Vec<_>, Vec<_>) =
        futures_util::future::join_all(posts).await.into_iter().partition(|reply| reply.status == 200);
    assert!(good.len() >= 20, "a second's worth is taken: {}", good.len());
    let refused = refused.into_iter().next().expect("more is not");
    assert_eq!(refused.headers["retry-after"], "1");
    refused.expect(429);
    crowd.next().unwrap().post(&format!("/webhooks/feed/{other}"), body()).await.expect(200);
}

#[tokio::test]
async fn an_address_feeds_at_most_twenty_times_a_second_over_all_slugs() {
    let scene = Scene::on(Server::with(|settings| settings.rate_limit = Switch::On).await).await;
    let hook = scene.builder().await;
    let mut crowd = crowd(&scene.anybody);
    let guesser = crowd.next().unwrap();
    let guess = |number: u32| {
        let path = format!("/webhooks/feed/guess-{number}");
        let guesser = &guesser;
        async move { guesser.post(&path, body()).await }
    };
    let replies = futures_util::future::join_all((0..300).map(guess)).await;
    let (unknown, refused): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 404);
    assert!(unknown.len() >= 20, "{}", unknown.len());
    refused.into_iter().next().expect("more is too much").expect(429);
    crowd.next().unwrap().post(&hook.feed, body()).await.expect(200);
}
