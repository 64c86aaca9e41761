//! Quotas of mailed invitations per day, and the sender's name in a mail.

use crate::{
    harness::{Client, Reply, Server, blob},
    organisations::invitations::{invite, resend},
};
use serde_json::json;
use tidings::{
    config::{Settings, Switch},
    error::Code,
};

async fn server(change: impl FnOnce(&mut Settings)) -> Server {
    Server::with(|settings| {
        settings.rate_limit = Switch::On;
        change(settings);
    })
    .await
}

/// Invites so many new addresses.
async fn invite_many(client: &Client, organisation: &str, name: &str, count: usize) -> Reply {
    let emails: Vec<_> = (0..count).map(|n| format!("{name}{n}@example.org")).collect();
    invite(client, organisation, &emails.iter().map(String::as_str).collect::<Vec<_>>()).await
}

/// Opens the mailed link while logged in.
async fn prove_mailbox(server: &Server, client: &Client) {
    let token = server.mails(&client.email, 1).await[0].parameter("token");
    client.post("/auth/email-request/verify", json!({ "token": token })).await.expect(200);
}

async fn count(client: &Client, organisation: &str) -> u64 {
    let list = client.get(&format!("/organisations/{organisation}/invites?page_size=1")).await.expect(200);
    list["pagination"]["total_pages_count"].as_u64().unwrap()
}

#[tokio::test]
async fn an_account_mails_20_invitations_a_day_until_its_mailbox_is_proved_and_then_200() {
    let server = server(|_| {}).await;
    let ada = server.user("ada").await;
    let (one, two) = (ada.organisation("One").await, ada.organisation("Two").await);
    invite_many(&ada, &one, "a", 10).await.expect(201);
    invite_many(&ada, &two, "b", 9).await.expect(201);
    resend(&ada, &one, &["a0@example.org"]).await.expect(200);
    for organisation in [&one, &two] {
        let refused = invite(&ada, organisation, &["more@example.org"]).await;
        let wait: u64 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
        assert!((1..=86_400).contains(&wait), "{wait}");
        refused.expect(429);
    }
    resend(&ada, &one, &["a0@example.org"]).await.expect(429);
    let bot = ada.bot(&one, "member").await;
    invite(&bot, &one, &["more@example.org"]).await.expect(429);
    assert_eq!([count(&ada, &one).await, count(&ada, &two).await], [10, 9], "a refusal changes nothing");

    prove_mailbox(&server, &ada).await;
    for (organisation, name, more) in [(&one, "c", 50), (&one, "d", 50), (&two, "e", 50), (&two, "f", 30)] {
        invite_many(&ada, organisation, name, more).await.expect(201);
    }
    invite(&ada, &one, &["more@example.org"]).await.expect(429);
    server.sql("update invitation_counts set day = day - 1");
    invite(&ada, &one, &["more@example.org"]).await.expect(201);
}

#[tokio::test]
async fn an_organisation_mails_at_most_200_invitations_a_day() {
    let server = server(|settings| settings.invitations.per_account = 1000).await;
    let ada = server.user("ada").await;
    prove_mailbox(&server, &ada).await;
    let organisation = ada.organisation("Engines").await;
    for name in ["a", "b", "c"] {
        assert_eq!(invite_many(&ada, &organisation, name, 50).await.expect(201)["data"]["errors"], json!([]));
    }
    invite_many(&ada, &organisation, "d", 49).await.expect(201);
    // A cancelled invitation was sent all the same.
    let list = ada.get(&format!("/organisations/{organisation}/invites")).await.expect(200);
    let newest = list["data"]["invitations"][0]["id"].as_str().unwrap();
    ada.delete(&format!("/invite/{newest}")).await.expect(200);
    resend(&ada, &organisation, &["a0@example.org"]).await.expect(200);
    resend(&ada, &organisation, &["a1@example.org"]).await.expect(429);
    invite(&ada, &organisation, &["new@example.org"]).await.expect(429);
    // One that waits already is not mailed again.
    invite(&ada, &organisation, &["a0@example.org"]).await.expect(201);
    invite(&ada, &ada.organisation("Other").await, &["new@example.org"]).await.expect(201);
}

#[tokio::test]
async fn the_server_mails_at_most_as_many_invitations_a_day_as_are_set() {
    let server = server(|settings| settings.invitations.per_server = 3).await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    prove_mailbox(&server, &ada).await;
    prove_mailbox(&server, &grace).await;
    let (hers, other) = (ada.organisation("Engines").await, grace.organisation("Ships").await);
    invite_many(&ada, &hers, "a", 2).await.expect(201);
    invite_many(&grace, &other, "b", 2).await.expect(429);
    invite_many(&grace, &other, "b", 1).await.expect(201);
    invite_many(&ada, &hers, "c", 1).await.expect(429);
    assert_eq!(Settings::for_folder(server.folder()).invitations.per_server, 2000);
}

/// Somebody who makes accounts without end uses up the share of unproved accounts, and nobody else's.
#[tokio::test]
async fn all_accounts_without_a_proved_mailbox_share_a_tenth_of_the_servers_invitations() {
    let server = server(|settings| settings.invitations.per_server = 41).await;
    let (eve, mallory, ada) = (server.user("eve").await, server.user("mallory").await, server.user("ada").await);
    let (one, two, hers) = (eve.organisation("One").await, mallory.organisation("Two").await, ada.organisation("Engines").await);
    prove_mailbox(&server, &ada).await;
    invite_many(&eve, &one, "a", 3).await.expect(201);
    invite_many(&mallory, &two, "b", 3).await.expect(429);
    invite_many(&mallory, &two, "b", 2).await.expect(201);
    for (client, organisation) in [(&eve, &one), (&mallory, &two)] {
        let refused = invite(client, organisation, &["more@example.org"]).await;
        assert!(refused.headers.contains_key("retry-after"));
        let refused = refused.refused(429, Code::RateLimitedUnverified);
        assert!(refused["message"].as_str().unwrap().starts_with("Verify your e-mail address"), "{refused}");
    }
    resend(&eve, &one, &["a0@example.org"]).await.expect(429);

    invite_many(&ada, &hers, "c", 35).await.expect(201);
    prove_mailbox(&server, &eve).await;
    invite_many(&eve, &one, "d", 1).await.expect(201);
    invite_many(&eve, &one, "e", 1).await.expect(429);
}

#[tokio::test]
async fn a_name_brings_no_link_into_a_mail() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let name = json!({ "first_name": "PayPal Security: https://evil.example/login", "last_name": "WWW.evil.example" });
    ada.patch("/profile", name).await.expect(200);
    let organisation = ada.organisation("Engines www.evil.example").await;
    // What stands there from before, too.
    let sql =
        format!("update organisations set name = name || char(10) || 'http://evil.example' where id = {}", blob(&organisation));
    server.sql(&sql);
    ada.invite(&organisation, "new@example.org", "member").await;
    let mail = &server.mails("new@example.org", 1).await[0];
    let (head, _) = mail.raw.split_once("\r\n\r\n").unwrap();
    for text in [head, mail.text.lines().next().unwrap()] {
        assert!(text.contains("PayPal Security") && text.contains("Engines"), "{text}");
        assert!(!text.contains("://") && !text.to_lowercase().contains("www."), "{text}");
    }
    assert_eq!(mail.text.matches("://").count(), 1, "its own link: {}", mail.text);
}
