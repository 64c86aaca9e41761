//! `X-Request-Id`: each answer names its request.

use std::collections::HashSet;

use reqwest::Response;
use uuid::Uuid;

use crate::harness::Server;

async fn get(server: &Server, path: &str, given: Option<&str>) -> Response {
    let request = server.anonymous().request("GET", path);
    given
        .map_or_else(|| request.try_clone().unwrap(), |id| request.try_clone().unwrap().header("x-request-id", id))
        .send()
        .await
        .unwrap()
}

fn id(reply: &Response) -> String {
    let ids: Vec<_> = reply.headers().get_all("x-request-id").iter().collect();
    assert_eq!(ids.len(), 1, "{reply:?}");
    ids[0].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn each_answer_has_an_identifier_of_its_own() {
    let server = Server::start().await;
    let mut ids = HashSet::new();
    let paths = [("/health", 200), ("/api/v1/blogs", 200), ("/api/v1/nowhere", 404), ("/nowhere", 404)];
    let more = [("/api/v1/users/organisations", 401), ("/connection/websocket", 400), ("/docs", 200), ("/health", 200)];
    for (path, status) in paths.into_iter().chain(more) {
        let reply = get(&server, path, Some("of-nobody-who-is-trusted")).await;
        assert_eq!(reply.status(), status, "{path}");
        assert!(ids.insert(Uuid::parse_str(&id(&reply)).unwrap()), "{path}");
    }
}

#[tokio::test]
async fn a_trusted_proxy_gives_the_identifier() {
    let server = Server::with(|settings| settings.trusted_proxy = vec!["127.0.0.1/32".parse().unwrap()]).await;
    let longest = "x".repeat(128);
    for good in ["7b2f0c1e9a3d4b5c8e6f", "01a2e6d1-0000-7000-8000-000000000001", "Root=1-67:891_2/3.4+5", &longest] {
        assert_eq!(id(&get(&server, "/api/v1/blogs", Some(good)).await), good);
    }
    let too_long = "x".repeat(129);
    for bad in ["", "a b", "a\"b", "a,b", "a;b", "<b>", "a\tb", "$(id)", "é", &too_long] {
        let made = id(&get(&server, "/api/v1/blogs", Some(bad)).await);
        assert!(Uuid::parse_str(&made).is_ok(), "{bad:?}: {made}");
    }
    assert!(Uuid::parse_str(&id(&get(&server, "/health", None).await)).is_ok());
}
