//! How many organisations, channels and direct messages there can be: at the bound, and one past it.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::harness::{Client, Reply, Server, blob, text};

async fn make(client: &Client, organisation: &str, name: &str) -> Reply {
    client.post("/channels", json!({ "organisation_id": organisation, "name": name })).await
}

#[track_caller]
fn refused(reply: Reply, status: u16, message: &str) {
    assert_eq!(reply.expect(status)["message"], message);
}

const CHANNELS: &str = "an organisation has at most 3 channels: archive or delete one first";

#[tokio::test]
async fn an_organisation_has_at_most_as_many_live_channels_as_are_set() {
    let server = Server::with(|settings| settings.channels_per_organisation = 3).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let other = ada.organisation("Looms").await;
    let body = json!({ "user_ids": [grace.user_id] });
    ada.post(&format!("/organisations/{organisation}/dms"), body).await.expect(201); // it does not count
    let one = text(&make(&ada, &organisation, "one").await.expect(201)["data"]["id"]);
    let two = text(&make(&grace, &organisation, "two").await.expect(201)["data"]["id"]);
    refused(make(&grace, &organisation, "three").await, 422, CHANNELS);
    make(&ada, &other, "three").await.expect(201);

    let set = |archived: bool| json!({ "archived": archived });
    ada.put(&format!("/channels/{one}/archive"), set(true)).await.expect(200);
    let three = text(&make(&ada, &organisation, "three").await.expect(201)["data"]["id"]);
    refused(ada.put(&format!("/channels/{one}/archive"), set(false)).await, 422, CHANNELS);
    let body = json!({ "channel_id": one, "archived": false });
    refused(ada.put(&format!("/organisations/{organisation}/archive-channel"), body.clone()).await, 422, CHANNELS);
    // What changes nothing is not refused.
    ada.put(&format!("/channels/{three}/archive"), set(false)).await.expect(200);

    ada.delete(&format!("/channels/{two}")).await.expect(204);
    ada.put(&format!("/organisations/{organisation}/archive-channel"), body).await.expect(200);
    refused(make(&ada, &organisation, "four").await, 422, CHANNELS);
}

#[tokio::test]
async fn a_member_owns_at_most_a_tenth_of_the_channels_and_archiving_one_frees_quota() {
    let server = Server::with(|settings| settings.channels_per_organisation = 20).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let private = |name: &str| json!({ "organisation_id": organisation, "name": name, "is_private": true });
    let mut owned = Vec::new();
    for name in ["one", "two"] {
        owned.push(text(&grace.post("/channels", private(name)).await.expect(201)["data"]["id"]));
    }
    const OWN: &str = "a member owns at most 2 channels: archive or delete one first";
    assert_eq!(make(&grace, &organisation, "three").await.refused(422, Code::OwnLimitReached)["message"], OWN);
    let change_role = async |role: &str| {
        ada.put(&format!("/organisations/{organisation}/users/{}", grace.user_id), json!({ "role_id": role })).await.expect(200)
    };
    change_role("admin").await;
    let bot = grace.bot(&organisation, "member").await;
    change_role("member").await;
    make(&bot, &organisation, "of the bot").await.refused(422, Code::OwnLimitReached);
    let archive =
        async |id: &str, archived: bool| grace.put(&format!("/channels/{id}/archive"), json!({ "archived": archived })).await;
    archive(&owned[0], true).await.expect(200);
    grace.post("/channels", private("three")).await.expect(201);
    refused(archive(&owned[0], false).await, 422, OWN);
    for name in ["four", "five", "six"] {
        make(&ada, &organisation, name).await.expect(201);
    }

    // Nobody else is in hers, and nobody may know of them.
    let live = || server.number("select count(*) from channels where archived_at is null and deleted_at is null and is_dm = 0");
    assert_eq!(live(), 6);
    grace.post(&format!("/channels/{}/leave", owned[1]), json!({})).await.expect(200);
    assert_eq!(live(), 5);
    ada.delete(&format!("/organisations/{organisation}/users/{}", grace.user_id)).await.expect(200);
    assert_eq!(live(), 4);
}

const ORGANISATIONS: &str = "an account is a member of at most 2 organisations: leave one first";

#[tokio::test]
async fn an_account_is_in_at_most_as_many_organisations_as_are_set() {
    let server = Server::with(|settings| settings.organisations_per_user = 2).await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let root = server.superadmin("root").await;
    let first = ada.organisation("First").await;
    let second = ada.organisation("Second").await;
    let third = bob.organisation("Third").await;
    refused(ada.post("/organisations", json!({ "name": "Fourth" })).await, 400, ORGANISATIONS);
    let token = bob.invite(&third, &ada.email, "member").await;
    let accept = || ada.post("/invite/verify", json!({ "token": token }));
    refused(accept().await, 422, ORGANISATIONS);
    let add = json!({ "user_id": ada.user_id });
    let refusal = root.post(&format!("/organisations/{third}/users"), add.clone()).await.expect(400);
    assert_eq!(refusal["errors"], json!([ORGANISATIONS]));

    ada.delete(&format!("/organisations/{second}")).await.expect(204);
    accept().await.expect(200);
    refused(ada.post("/organisations", json!({ "name": "Fourth" })).await, 400, ORGANISATIONS);
    // A deactivated member keeps the place, and comes back.
    let member = format!("/organisations/{third}/users/{}", ada.user_id);
    bob.put(&member, json!({ "status": "deactivated" })).await.expect(200);
    refused(ada.post("/organisations", json!({ "name": "Fourth" })).await, 400, ORGANISATIONS);
    bob.put(&member, json!({ "status": "active" })).await.expect(200);
    ada.delete(&member).await.expect(200);
    root.post(&format!("/organisations/{third}/users"), add).await.expect(200);
    assert_eq!(ada.get("/users/organisations").await.expect(200)["data"].as_array().unwrap().len(), 2);
    ada.get(&format!("/organisations/{first}")).await.expect(200);
}

#[tokio::test]
async fn a_member_opens_at_most_500_direct_messages_in_an_organisation() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    let path = format!("/organisations/{organisation}/dms");
    let open = |client: &Client, others: Value| {
        let (client, path) = (client.clone(), path.clone());
        async move { client.post(&path, json!({ "user_ids": others })).await }
    };
    // 499 with others, who have left; and some that Grace opened.
    for (maker, number) in [(&ada, 499), (&grace, 600)] {
        server.sql(&format!(
            "with recursive k (n) as (select 1 union all select n + 1 from k where n < {number})
             insert into channels (id, organisation_id, name, is_private, is_dm, dm_key, owner_id, created_by, created_at, updated_at)
             select randomblob(16), {}, 'dm', 1, 1, randomblob(32), {ada}, {maker}, 1, 1 from k",
            blob(&organisation),
            ada = blob(&ada.user_id),
            maker = blob(&maker.user_id),
        ));
    }
    open(&ada, json!([grace.user_id])).await.expect(201);
    let refusal = "a member opens at most 500 direct messages in an organisation";
    refused(open(&ada, json!([bob.user_id])).await, 422, refusal);
    refused(open(&grace, json!([bob.user_id])).await, 422, refusal);
    // The one that there is opens again; others open theirs, and in another organisation there is room.
    open(&ada, json!([grace.user_id])).await.expect(200);
    open(&bob, json!([ada.user_id])).await.expect(201);
    open(&ada, json!([bob.user_id])).await.expect(200);
    let other = ada.organisation("Looms").await;
    let token = ada.invite(&other, &bob.email, "member").await;
    bob.post("/invite/verify", json!({ "token": token })).await.expect(200);
    ada.post(&format!("/organisations/{other}/dms"), json!({ "user_ids": [bob.user_id] })).await.expect(201);
}
