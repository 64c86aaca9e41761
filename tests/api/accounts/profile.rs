//! Reading and changing one's own profile.

use serde_json::json;

use crate::{
    harness::{Server, blob},
    shapes::{USER, assert_shape},
};

#[tokio::test]
async fn a_profile_is_read_and_changed() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let before = ada.get("/profile").await.data(200, "Profile retrieved successfully");
    assert_shape(&before, USER);
    assert_eq!(before, ada.get("/users/me").await.expect(200)["data"]);
    let edit = json!({ "username": "countess", "first_name": " Ada ", "last_name": "King", "phone": "+44 20", "avatar_url": "https://x.example/a.png" });
    let after = ada.patch("/profile", edit).await.data(200, "Profile updated successfully");
    assert_eq!([&after["username"], &after["fullname"], &after["phone"]], ["countess", "Ada King", "+44 20"]);
    let cleared = ada.patch("/profile", json!({ "phone": "", "avatar_url": "" })).await.expect(200);
    assert_eq!([&cleared["data"]["phone"], &cleared["data"]["avatar_url"], &cleared["data"]["last_name"]], ["", "", "King"]);
    let same = ada.patch("/profile", json!({})).await.expect(200);
    assert_eq!(same["data"], cleared["data"], "an empty body changes nothing");
}

#[tokio::test]
async fn a_changed_profile_is_pushed_to_the_organisations() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let mut socket = crate::socket::Socket::listening(&ada, &[&organisation]).await;
    grace.patch("/profile", json!({ "first_name": "Grace", "last_name": "Hopper" })).await.expect(200);
    let told = socket.on(&organisation).await;
    assert_eq!(told["notification_type"], "member_update");
    let data = &told["data"];
    assert_eq!([&data["action"], &data["name"], &data["role"]], ["updated", "Grace Hopper", "member"]);
    assert_eq!([&data["user_id"], &data["status"]], [&grace.user_id, "active"]);
    grace.patch("/profile", json!({})).await.expect(200);
    grace.patch("/profile", json!({ "last_name": "Hopper", "first_name": "Grace" })).await.expect(200);
    let picture = "https://example.org/grace.png";
    grace.patch("/profile", json!({ "phone": "1", "avatar_url": picture })).await.expect(200);
    let data = socket.on(&organisation).await["data"].take();
    assert_eq!([&data["phone_number"], &data["avatar_url"]], ["1", picture], "the same name tells nothing");
}

#[tokio::test]
async fn a_refused_change_leaves_the_profile_as_it_was() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    server.register("grace").await;
    let before = ada.get("/profile").await.expect(200);
    for refused in [
        json!({ "username": "GRACE" }),
        json!({ "first_name": "x".repeat(101) }),
        json!({ "last_name": "a\nb" }),
        json!({ "last_name": "a\u{202e}b" }),
        json!({ "phone": "0".repeat(31) }),
        json!({ "avatar_url": "javascript:alert(1)" }),
        json!({ "avatar_url": format!("https://x.example/{}", "a".repeat(2000)) }),
    ] {
        ada.patch("/profile", refused).await.expect(422);
    }
    for bad in [json!({ "phone": 5 }), json!({ "username": "" }), json!({ "username": "channel" }), json!({ "username": "a b" })]
    {
        ada.patch("/profile", bad).await.expect(400);
    }
    assert_eq!(ada.get("/profile").await.expect(200), before);
    ada.patch("/profile", json!({ "first_name": "x".repeat(100), "phone": "0".repeat(30) })).await.expect(200);
}

#[tokio::test]
async fn nobody_gives_themselves_a_role() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let edit = json!({ "role": "superadmin", "is_active": false, "is_verified": true, "email": "root@example.org", "id": server.user("grace").await.user_id });
    let after = ada.patch("/profile", edit).await.expect(200)["data"].take();
    assert_eq!([&after["role"], &after["email"]], ["user", "ada@example.org"]);
    assert_eq!([&after["is_verified"], &after["is_active"]], [false, true]);
}

#[tokio::test]
async fn the_current_organisation_must_be_one_of_the_users() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let (first, second) = (ada.organisation("One").await, ada.organisation("Two").await);
    let current = async || ada.get("/profile").await.expect(200)["data"]["current_org"].clone();
    assert_eq!(current().await, second);
    let switched = ada.put("/users/switch-org", json!({ "current_org": first })).await;
    assert_eq!(switched.data(200, "Organisation switched successfully")["current_org"], first);
    let grace = server.user("grace").await;
    let hidden = grace.put("/users/switch-org", json!({ "current_org": first })).await.expect(404);
    let unknown = json!({ "current_org": crate::harness::unknown_id() });
    assert_eq!(hidden, grace.put("/users/switch-org", unknown).await.expect(404));
    grace.put("/users/switch-org", json!({ "current_org": "x" })).await.expect(400);
    server.sql(&format!("update organisation_members set status = 'deactivated' where organisation_id = {}", blob(&second)));
    ada.put("/users/switch-org", json!({ "current_org": second })).await.expect(404);
    assert_eq!(current().await, first);
}

#[tokio::test]
async fn the_onboard_status_is_remembered() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let read = async || ada.get("/auth/onboard-status").await.data(200, "Onboard status retrieved successfully");
    assert_eq!(read().await, json!({ "is_onboarded": false, "status": false }));
    let set = ada.put("/auth/onboard-status", json!({})).await;
    assert_eq!(set.data(200, "Onboard status updated successfully"), json!({ "is_onboarded": true, "status": true }));
    assert_eq!(read().await, json!({ "is_onboarded": true, "status": true }));
    ada.put("/auth/onboard-status", json!({ "is_onboarded": false })).await.expect(200);
    assert_eq!(ada.get("/profile").await.expect(200)["data"]["is_onboarded"], false);
    ada.put("/auth/onboard-status", json!({ "is_onboarded": "yes" })).await.expect(400);
}
