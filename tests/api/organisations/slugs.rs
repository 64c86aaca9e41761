//! Slugs: how organisations are named in clients' addresses; switching to an organisation by its slug, and pins.

use serde_json::{Value, json};

use crate::{
    harness::{Client, PASSWORD, Server, blob, text, unknown_id},
    shapes::{ORGANISATION, SWITCHED, USER, assert_shape},
};

async fn slug(client: &Client, organisation: &str) -> String {
    text(&client.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["organisation_slug"])
}

async fn log_in(server: &Server, client: &Client) -> Value {
    let body = json!({ "email": client.email, "password": PASSWORD });
    server.anonymous().post("/auth/login", body).await.expect(200)["data"]["user"].take()
}

#[tokio::test]
async fn a_slug_is_made_from_the_name_and_kept_when_that_changes() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let made = ada.post("/organisations", json!({ "name": "Ada's Engines" })).await.expect(201)["data"].take();
    assert_eq!(made["organisation_slug"], "ada-s-engines");
    let path = format!("/organisations/{}", text(&made["id"]));
    let edited = ada.put(&path, json!({ "name": "Looms" })).await.expect(200);
    assert_eq!([&edited["data"]["name"], &edited["data"]["organisation_slug"]], ["Looms", "ada-s-engines"]);

    let found = ada.get("/organisations/slug/ada-s-engines").await.data(200, "Organization retrieved successfully");
    assert_shape(&found, ORGANISATION);
    assert_eq!(found, ada.get(&path).await.expect(200)["data"]);
    ada.get("/organisations/slug/looms").await.expect(404);
    let listed = ada.get("/users/organisations").await.expect(200)["data"].take();
    assert_eq!(listed[0]["organisation_slug"], "ada-s-engines");
    ada.invite(&text(&made["id"]), "new@example.org", "member").await;
    let invites = ada.get(&format!("{path}/invites")).await.expect(200)["data"]["invitations"].take();
    assert_eq!(invites[0]["Organisation"]["organisation_slug"], "ada-s-engines");
}

#[tokio::test]
async fn no_two_organisations_have_one_slug_and_none_has_a_reserved_one() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let (hers, other) = (ada.organisation("Engines").await, grace.organisation("ENGINES!").await);
    assert_eq!([slug(&ada, &hers).await, slug(&grace, &other).await], ["engines", "engines2"]);
    assert_eq!(ada.get("/organisations/slug/engines").await.expect(200)["data"]["id"], hers);
    assert_eq!(grace.get("/organisations/slug/engines2").await.expect(200)["data"]["id"], other);
    assert_eq!(slug(&ada, &ada.organisation("Client").await).await, "client2");
    assert_eq!(slug(&ada, &ada.organisation("日本").await).await, "organisation");
    let long = slug(&ada, &ada.organisation(&"x".repeat(255)).await).await;
    assert!((1..=60).contains(&long.len()), "{long}");
}

#[tokio::test]
async fn a_slug_names_nothing_to_those_who_are_no_members() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    outsider.organisation("Looms").await;
    for path in ["/organisations/slug", "/users/switch-org"] {
        let known = format!("{path}/engines");
        grace.get(&known).await.expect(200);
        let unknown = outsider.get(&format!("{path}/no-such-slug")).await.expect(404);
        assert_eq!(outsider.get(&known).await.expect(404), unknown);
        server.anonymous().get(&known).await.expect(401);
        for other in ["ENGINES", "client", "%27", organisation.as_str()] {
            assert_eq!(ada.get(&format!("{path}/{other}")).await.expect(404), unknown);
        }
    }
    let member = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&member, json!({ "status": "deactivated" })).await.expect(200);
    grace.get("/organisations/slug/engines").await.expect(404);
    grace.get("/users/switch-org/engines").await.expect(404);
    assert_eq!(log_in(&server, &grace).await["current_organisation_slug"], "client");
}

#[tokio::test]
async fn the_slug_of_a_deleted_organisation_is_unknown_and_free_again() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    ada.delete(&format!("/organisations/{organisation}")).await.expect(204);
    let unknown = ada.get("/organisations/slug/no-such-slug").await.expect(404);
    assert_eq!(ada.get("/organisations/slug/engines").await.expect(404), unknown);
    assert_eq!(ada.get("/profile").await.expect(200)["data"]["current_organisation_slug"], "client");
    let outsider = server.user("outsider").await;
    let new = outsider.organisation("Engines").await;
    assert_eq!(slug(&outsider, &new).await, "engines", "the name does not tell that there was another one");
    grace.get("/organisations/slug/engines").await.expect(404);
    assert_eq!(grace.get("/users/me").await.expect(200)["data"]["current_organisation_slug"], "client");
}

#[tokio::test]
async fn switching_answers_the_callers_token_and_the_organisation() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let (first, second) = (ada.organisation("One").await, ada.organisation("Two").await);
    let token = ada.token.clone().unwrap();
    let current = async || {
        let user = ada.get("/profile").await.expect(200)["data"].take();
        [text(&user["current_org"]), text(&user["current_organisation_slug"])]
    };
    let is_first = |data: &Value| {
        assert_shape(data, USER);
        assert_shape(data, SWITCHED);
        assert_eq!(data["organisation"], json!({ "id": first, "name": "One" }));
        assert_eq!([&data["current_org"], &data["current_organisation_slug"]], [first.as_str(), "one"]);
        assert_eq!([&data["access_token"], &data["id"]], [&token, &ada.user_id]);
    };
    assert_eq!(current().await, [second.as_str(), "two"]);
    is_first(&ada.get("/users/switch-org/one").await.data(200, "Organisation retrieved successfully"));
    assert_eq!(current().await, [second.as_str(), "two"], "reading changes nothing");
    let switch = ada.put("/users/switch-org", json!({ "current_org": first })).await;
    is_first(&switch.data(200, "Organisation switched successfully"));
    assert_eq!(current().await, [first.as_str(), "one"]);
    assert_eq!(log_in(&server, &ada).await["current_organisation_slug"], "one");
}

#[tokio::test]
async fn a_pin_is_a_members_own_and_ends_with_the_membership() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let gus = server.member(&ada, &organisation, "gus", "guest").await;
    let path = format!("/organisations/{organisation}/pin");
    let shown = async |client: &Client| {
        let data = client.get("/users/organisations").await.expect(200)["data"].take();
        data[0]["pinned"].as_bool().unwrap()
    };
    assert!(!shown(&grace).await);
    for client in [&grace, &gus] {
        for (pinned, message) in [
            (true, "Organisation pinned successfully"),
            (true, "Organisation pinned successfully"),
            (false, "Organisation unpinned successfully"),
            (false, "Organisation unpinned successfully"),
            (true, "Organisation pinned successfully"),
        ] {
            let data = client.put(&path, json!({ "pinned": pinned })).await.data(200, message);
            assert_eq!(data, json!({ "id": organisation, "pinned": pinned }));
            assert_eq!(shown(client).await, pinned);
        }
    }
    assert!(!shown(&ada).await, "each member for themselves");

    grace.delete(&format!("/organisations/{organisation}/users/{}", grace.user_id)).await.expect(200);
    let token = ada.invite(&organisation, &grace.email, "member").await;
    grace.post("/invite/verify", json!({ "token": token })).await.expect(200);
    assert!(!shown(&grace).await);
}

#[tokio::test]
async fn pinning_fails_as_documented() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    let path = format!("/organisations/{organisation}/pin");
    let body = json!({ "pinned": true });
    server.anonymous().put(&path, body.clone()).await.expect(401);
    let unknown = ada.put(&format!("/organisations/{}/pin", unknown_id()), body.clone()).await.expect(404);
    assert_eq!(outsider.put(&path, body.clone()).await.expect(404), unknown);
    ada.put("/organisations/no-uuid/pin", body.clone()).await.expect(400);
    for faulty in [json!({}), json!({ "pinned": "yes" }), json!({ "pinned": null })] {
        ada.put(&path, faulty).await.expect(400);
    }
    server.sql(&format!("update organisation_members set status = 'deactivated' where user_id = {}", blob(&grace.user_id)));
    assert_eq!(grace.put(&path, body).await.expect(404), unknown);
    assert_eq!(server.number("select count(*) from organisation_members where is_pinned"), 0);
}
