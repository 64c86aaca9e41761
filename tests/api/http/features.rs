//! What the server offers, told to everybody.

use serde_json::json;

use crate::harness::Server;

#[tokio::test]
async fn strangers_learn_how_to_log_in_and_keep_it_for_a_minute() {
    let server = Server::start().await;
    let reply = server.anonymous().get("/features").await;
    assert_eq!(reply.headers["cache-control"], "max-age=60");
    let features = reply.data(200, "Features retrieved successfully");
    assert_eq!([&features["registration"], &features["version"]], ["open", env!("CARGO_PKG_VERSION")]);
    assert_eq!(
        features["login"],
        json!({ "password": true, "magic_link": true, "openid_connect": false, "openid_connect_start": null })
    );
    assert_eq!([&features["bounds"]["message"], &features["bounds"]["file_bytes"]], [40_000, 0]);

    let server = Server::with(|settings| {
        settings.registration = tidings::config::Registration::Closed;
        settings.mail.mail_url = "log:".into();
    })
    .await;
    let features = server.anonymous().get("/features").await.data(200, "Features retrieved successfully");
    assert_eq!([&features["registration"], &features["has_mail"]], [&json!("closed"), &json!(false)]);
    assert_eq!(features["login"]["magic_link"], false);
}

#[tokio::test]
async fn the_names_of_emoji_are_a_file_that_clients_keep() {
    let server = Server::start().await;
    let reply = server.anonymous().get("/emoji.json").await;
    let etag = reply.headers["etag"].clone();
    let names = reply.expect(200);
    let tada = names["emoji"].as_array().unwrap().iter().find(|one| one["emoji"] == "🎉").expect("a common one");
    assert_eq!(tada["names"], json!(["tada"]));
    let again = server.anonymous().request("GET", "/api/v1/emoji.json").header("if-none-match", etag).send().await.unwrap();
    assert_eq!(again.status(), 304);
}
