//! Who creates organisations: `--organisations-by`.

use serde_json::{Value, json};
use tidings::{
    config::{OrganisationsBy, Registration},
    error::Code,
};

use crate::harness::{Client, Reply, Server, text};

async fn found(client: &Client) -> Reply {
    client.post("/organisations", json!({ "name": "Looms" })).await
}

async fn features(server: &Server) -> Value {
    server.anonymous().get("/features").await.expect(200)["data"]["organisations_by"].take()
}

#[tokio::test]
async fn the_setting_says_who_creates_organisations_and_superadmins_always_do() {
    use OrganisationsBy::{Anyone, Members, Superadmins};
    for (by, name, member, outsider) in
        [(Anyone, "anyone", true, true), (Members, "members", true, false), (Superadmins, "superadmins", false, false)]
    {
        let server = Server::with(|settings| settings.organisations_by = Some(by)).await;
        assert_eq!(features(&server).await, name);
        let root = server.superadmin("root").await;
        let engines = root.organisation("Engines").await;
        let (grace, bob) = (server.member(&root, &engines, "grace", "guest").await, server.user("bob").await);
        for (client, may) in [(&root, true), (&grace, member), (&bob, outsider)] {
            let started = client.get("/start").await.expect(200);
            assert_eq!(started["data"]["can_create_organisations"], may, "{name}: {}", client.email);
            match may {
                true => _ = found(client).await.expect(201),
                false => _ = found(client).await.refused(403, Code::FoundingRestricted),
            }
        }
    }
}

#[tokio::test]
async fn by_default_everybody_founds_where_everybody_registers_and_members_elsewhere() {
    use Registration::{Closed, Invited, Open};
    for (registration, by, expected) in [
        (Open, None, "anyone"),
        (Invited, None, "members"),
        (Closed, None, "members"),
        (Invited, Some(OrganisationsBy::Anyone), "anyone"),
        (Open, Some(OrganisationsBy::Superadmins), "superadmins"),
    ] {
        let server = Server::with(|settings| {
            settings.registration = registration;
            settings.organisations_by = by;
        })
        .await;
        assert_eq!(features(&server).await, expected);
    }
}

#[tokio::test]
async fn who_is_an_active_member_of_no_organisation_any_more_founds_none() {
    let server = Server::with(|settings| settings.organisations_by = Some(OrganisationsBy::Members)).await;
    let root = server.superadmin("root").await;
    let (engines, looms) = (root.organisation("Engines").await, root.organisation("Looms").await);
    let grace = server.member(&root, &engines, "grace", "member").await;
    let token = root.invite(&looms, &grace.email, "member").await;
    grace.post("/invite/verify", json!({ "token": token })).await.expect(200);
    let member = |organisation: &str| format!("/organisations/{organisation}/users/{}", grace.user_id);

    root.delete(&member(&engines)).await.expect(200);
    root.put(&member(&looms), json!({ "status": "deactivated" })).await.expect(200);
    found(&grace).await.refused(403, Code::FoundingRestricted);
    root.put(&member(&looms), json!({ "status": "active" })).await.expect(200);
    found(&grace).await.expect(201);
    let own = text(&grace.get("/profile").await.expect(200)["data"]["current_org"]);
    grace.delete(&format!("/organisations/{own}")).await.expect(204);
    root.delete(&member(&looms)).await.expect(200);
    found(&grace).await.refused(403, Code::FoundingRestricted);
}
