//! Who opens a file: at each request, whoever reads the message that shows it.

use serde_json::json;
use tidings::error::Code;

use crate::harness::{Client, Server};

async fn opens(client: &Client, file: &str) -> u16 {
    client.open(file, &[]).await.status().as_u16()
}

#[tokio::test]
async fn a_file_is_its_uploaders_until_a_message_takes_it_and_then_the_channels() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let eve = server.user("eve").await;
    let channel = ada.private_channel(&organisation, "plans", &[]).await;
    let file = ada.upload_one("plan.txt", b"The plan").await;
    assert_eq!([opens(&ada, &file).await, opens(&grace, &file).await, opens(&eve, &file).await], [200, 404, 404]);
    assert_eq!(opens(&server.anonymous(), &file).await, 401);
    let body = json!({ "content": "", "files": [file] });
    let message = ada.post(&format!("/channels/{channel}/messages"), body).await.expect(201)["data"]["id"].take();
    assert_eq!([opens(&ada, &file).await, opens(&grace, &file).await, opens(&eve, &file).await], [200, 404, 404]);
    let members = format!("/channels/{channel}/users");
    ada.post(&members, json!({ "user_ids": [grace.user_id] })).await.expect(200);
    assert_eq!(opens(&grace, &file).await, 200);
    ada.delete(&format!("{members}/{}", grace.user_id)).await.expect(200);
    assert_eq!(opens(&grace, &file).await, 404);
    grace.open("none", &[]).await;
    ada.delete(&format!("/channels/{channel}/messages/{}", message.as_str().unwrap())).await.expect(200);
    assert_eq!(opens(&ada, &file).await, 404);
}

#[tokio::test]
async fn a_public_channels_file_is_for_those_who_are_in_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "open", &[]).await;
    let file = ada.upload_one("plan.txt", b"The plan").await;
    ada.post(&format!("/channels/{channel}/messages"), json!({ "content": "It", "files": [file] })).await.expect(201);
    assert_eq!(opens(&grace, &file).await, 404);
    grace.post(&format!("/channels/{channel}/join"), json!({})).await.expect(200);
    assert_eq!(opens(&grace, &file).await, 200);
    ada.delete(&format!("/organisations/{organisation}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(opens(&grace, &file).await, 404);
}

#[tokio::test]
async fn the_cookie_of_a_browser_opens_files_unless_another_site_asks() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let file = ada.upload_one("plan.txt", b"The plan").await;
    let browser = server.anonymous().with("cookie", &server.log_in_by_cookie("ada").await.kept_cookies());
    assert_eq!(opens(&browser, &file).await, 200, "over plain http a picture proves nothing");
    for (site, mode, status) in [
        ("same-origin", "no-cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 401),
        ("same-site", "cors", 401),
    ] {
        let browser = browser.with("sec-fetch-site", site).with("sec-fetch-mode", mode);
        assert_eq!(opens(&browser, &file).await, status, "{site} {mode}");
    }
    // Nothing else is opened so.
    browser.get("/profile").await.refused(401, Code::TokenMissing);
}

#[tokio::test]
async fn programs_open_files_with_the_scope_and_the_channels_of_their_tokens() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let [here, elsewhere] = [ada.channel(&organisation, "here", &[]).await, ada.channel(&organisation, "elsewhere", &[]).await];
    let untaken = ada.upload_one("untaken.txt", b"x").await;
    let taken = ada.upload_one("taken.txt", b"x").await;
    ada.post(&format!("/channels/{here}/messages"), json!({ "content": "It", "files": [taken] })).await.expect(201);
    let with = async |scopes: &[&str], channels: Option<&str>| {
        let channels = channels.map(|channel| vec![channel]);
        ada.program(json!({ "name": "program", "scopes": scopes, "channels": channels })).await
    };
    for (program, of_taken, of_untaken) in [
        (with(&["read"], None).await, 200, 200),
        (with(&["read"], Some(&here)).await, 200, 404),
        (with(&["read"], Some(&elsewhere)).await, 404, 404),
        (with(&["post"], None).await, 403, 403),
    ] {
        assert_eq!([opens(&program, &taken).await, opens(&program, &untaken).await], [of_taken, of_untaken]);
    }
    with(&["read"], None).await.upload(&[("notes.txt", b"x")]).await.refused(403, Code::ScopeMissing);
    with(&["post"], None).await.upload(&[("notes.txt", b"x")]).await.expect(200);
}

#[tokio::test]
async fn a_link_opens_one_file_for_whoever_has_it_as_long_as_its_maker_may_read_it() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.private_channel(&organisation, "plans", &[&grace]).await;
    let [file, other] = [ada.upload_one("link", b"The plan").await, ada.upload_one("other.txt", b"x").await];
    let posted =
        ada.post(&format!("/channels/{channel}/messages"), json!({ "content": "It", "files": [file] })).await.expect(201);
    let plain = posted["data"]["media"][0]["file_link"].as_str().unwrap().to_owned();
    assert!(plain.ends_with("/file"), "{plain}");
    let make = async |client: &Client| {
        let made = client.post(&format!("/files/{file}/link"), json!({})).await.data(200, "Link created successfully");
        made["link"].as_str().unwrap().to_owned()
    };
    let status = async |link: &str| server.anonymous().http.get(link).send().await.unwrap().status().as_u16();
    let link = make(&grace).await;
    let opened = server.anonymous().http.get(&link).send().await.unwrap();
    assert_eq!(
        (opened.status().as_u16(), &opened.headers()["cross-origin-resource-policy"]),
        (200, &"cross-origin".parse().unwrap())
    );
    assert_eq!(opened.bytes().await.unwrap(), &b"The plan"[..]);
    assert_eq!(status(&plain).await, 401);
    assert_eq!(status(&link.replace(&file, &other)).await, 401, "it is for one file");
    assert_eq!(status(&format!("{link}x")).await, 401);
    assert_eq!(status(&format!("{plain}?link={}", ada.token.as_ref().unwrap())).await, 401, "no access token");
    let token = link.split('=').nth(1).unwrap();
    grace.with_token(token).get("/profile").await.refused(401, Code::TokenInvalid);

    ada.delete(&format!("/channels/{channel}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(status(&link).await, 404);
    let link = make(&ada).await;
    server.clock.advance(std::time::Duration::from_secs(23 * 3600));
    assert_eq!(status(&link).await, 200);
    server.clock.advance(std::time::Duration::from_secs(3600));
    assert_eq!(status(&link).await, 401, "a day has passed");
    let link = make(&ada).await;
    ada.post("/auth/logout", json!({})).await.expect(200);
    assert_eq!(status(&link).await, 401, "its session has ended");
}

#[tokio::test]
async fn a_link_of_a_program_ends_with_its_token() {
    let server = Server::start().await;
    let (ada, ..) = server.ada_and_grace().await;
    let file = ada.upload_one("plan.txt", b"The plan").await;
    let made =
        ada.post(&format!("/users/{}/tokens", ada.user_id), json!({ "name": "player", "scopes": ["read"] })).await.expect(201);
    let program = ada.with_token(made["data"]["token"].as_str().unwrap());
    let link = program.post(&format!("/files/{file}/link"), json!({})).await.data(200, "Link created successfully");
    let link = link["link"].as_str().unwrap();
    let status = async || server.anonymous().http.get(link).send().await.unwrap().status().as_u16();
    assert_eq!(status().await, 200);
    ada.delete(&format!("/users/{}/tokens/{}", ada.user_id, made["data"]["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(status().await, 401);
}
