//! Changing a member's role and status, and the organisation's owner.

use serde_json::{Value, json};

use crate::{
    harness::{Client, PASSWORD, Server, text, unknown_id},
    shapes::{MEMBERSHIP, MODIFICATION_IDS, ORGANISATION, PUSHED, assert_shape},
    socket::Socket,
};

fn member(organisation: &str, user: &Client) -> String {
    format!("/organisations/{organisation}/users/{}", user.user_id)
}

async fn role_of(client: &Client, organisation: &str) -> Value {
    client.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["org_role"].take()
}

/// A role of the organisation's own with these rights and no others.
async fn role(owner: &Client, organisation: &str, name: &str, rights: &[&str]) {
    let list: serde_json::Map<_, _> = rights.iter().map(|right| ((*right).to_owned(), json!(true))).collect();
    let body = json!({ "name": name, "permission_list": list });
    owner.post(&format!("/organisations/{organisation}/roles"), body).await.expect(201);
}

#[tokio::test]
async fn a_members_role_and_status_are_changed() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let path = member(&organisation, &grace);
    let data = ada.put(&path, json!({ "role_id": 2, "status": "active" })).await.data(200, "success");
    assert_shape(&data, MEMBERSHIP);
    assert_eq!([&data["user_id"], &data["organisation_id"]], [&grace.user_id, &organisation]);
    assert_eq!((&data["role_id"], &data["status"], &data["deleted_at"]), (&json!(2), &json!("active"), &Value::Null));
    assert_eq!(role_of(&grace, &organisation).await, "manager");

    for (role, id) in [(json!("guest"), 5), (json!("01900000-0000-7000-8000-000000000003"), 3), (json!("user"), 4)] {
        assert_eq!(ada.put(&path, json!({ "role_id": role })).await.data(200, "success")["role_id"], id);
    }
    let inactive = ada.put(&path, json!({ "status": "inactive" })).await.data(200, "success");
    assert_eq!([&inactive["status"], &inactive["role_id"]], [&json!("inactive"), &json!(4)]);
    assert_eq!(role_of(&grace, &organisation).await, "member", "an inactive member keeps access");
    assert_eq!(ada.put(&path, json!({})).await.data(200, "success"), inactive, "an empty body changes nothing");
}

#[tokio::test]
async fn a_changed_membership_is_pushed_to_the_organisation() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let mut socket = Socket::listening(&ada, &[&organisation]).await;
    let path = member(&organisation, &grace);
    for body in [json!({ "role_id": "guest" }), json!({ "role_id": 5 }), json!({ "status": "deactivated" })] {
        ada.put(&path, body).await.expect(200);
    }
    for (role, status) in [("guest", "active"), ("guest", "deactivated")] {
        let update = socket.on(&organisation).await;
        assert_shape(&update, PUSHED);
        assert_eq!([&update["notification_type"], &update["data"]["action"]], ["member_update", "updated"]);
        assert_eq!([&update["data"]["role"], &update["data"]["status"]], [role, status]);
        assert_eq!(update["data"]["user_id"], grace.user_id);
        let ids = MODIFICATION_IDS.split_whitespace().filter(|id| id.starts_with("user_id") || id.starts_with("org_id"));
        ids.for_each(|id| assert_shape(&update["modification_ids"], id));
    }
}

#[tokio::test]
async fn a_faulty_change_of_a_membership_is_refused() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let path = member(&organisation, &grace);
    for body in [
        json!({ "role_id": 99 }),
        json!({ "role_id": "king" }),
        json!({ "role_id": "" }),
        json!({ "role_id": true }),
        json!({ "role_id": 1.5 }),
        json!({ "role_id": unknown_id() }),
        json!({ "status": "asleep" }),
        json!({ "status": "" }),
        json!({ "status": "Active" }),
        json!({ "status": 1 }),
        json!({ "role_id": 1, "status": "asleep" }),
    ] {
        ada.put(&path, body).await.expect(400);
    }
    ada.call_text("PUT", &path, "{").await.expect(400);
    ada.put(&format!("/organisations/no-uuid/users/{}", grace.user_id), json!({})).await.expect(400);
    ada.put(&format!("/organisations/{organisation}/users/no-uuid"), json!({})).await.expect(400);
    ada.put(&format!("/organisations/{organisation}/users/{}", unknown_id()), json!({ "role_id": 4 })).await.expect(404);
    assert_eq!(role_of(&grace, &organisation).await, "member");
}

#[tokio::test]
async fn an_outsider_changes_no_membership() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let outsider = server.user("outsider").await;
    outsider.organisation("Elsewhere").await;
    let body = json!({ "role_id": 1 });
    let foreign = outsider.put(&member(&organisation, &grace), body.clone()).await.expect(403);
    assert_eq!(foreign, ada.put(&member(&unknown_id(), &grace), body.clone()).await.expect(403));
    assert_eq!(foreign, outsider.put(&member(&organisation, &outsider), body.clone()).await.expect(403));
    server.anonymous().put(&member(&organisation, &grace), body).await.expect(401);
}

#[tokio::test]
async fn nobody_gives_themselves_or_others_rights_that_they_lack() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let admin = server.member(&ada, &organisation, "admin", "admin").await;
    let lead = server.member(&ada, &organisation, "lead", "project-lead").await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    role(&ada, &organisation, "clerk", &["manage:roles", "post:messages"]).await;
    let clerk = server.member(&ada, &organisation, "clerk", "clerk").await;
    for target in [&grace, &guest, &admin] {
        for caller in [&grace, &guest] {
            caller.put(&member(&organisation, target), json!({ "role_id": 5, "status": "active" })).await.expect(403);
        }
    }
    // `remove:members` goes for statuses, `manage:roles` for roles.
    lead.put(&member(&organisation, &grace), json!({ "role_id": 4, "status": "inactive" })).await.expect(200);
    lead.put(&member(&organisation, &grace), json!({ "role_id": 5 })).await.expect(403);
    lead.put(&member(&organisation, &lead), json!({ "role_id": 1 })).await.expect(403);
    lead.put(&member(&organisation, &admin), json!({ "status": "deactivated" })).await.expect(403);
    clerk.put(&member(&organisation, &guest), json!({ "status": "inactive" })).await.expect(403);
    clerk.put(&member(&organisation, &guest), json!({ "role_id": "clerk" })).await.expect(200);
    clerk.put(&member(&organisation, &guest), json!({ "role_id": "guest" })).await.expect(200);
    clerk.put(&member(&organisation, &guest), json!({ "role_id": "member" })).await.expect(403);
    clerk.put(&member(&organisation, &grace), json!({ "role_id": "guest" })).await.expect(403);
    clerk.put(&member(&organisation, &clerk), json!({ "role_id": "admin" })).await.expect(403);
    assert_eq!(role_of(&grace, &organisation).await, "member");
    assert_eq!(role_of(&guest, &organisation).await, "guest");
}

#[tokio::test]
async fn the_owner_stays_an_active_admin() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let admin = server.member(&ada, &organisation, "admin", "admin").await;
    let path = member(&organisation, &ada);
    for client in [&ada, &admin] {
        for body in [json!({ "role_id": 4 }), json!({ "role_id": 2 }), json!({ "status": "deactivated" })] {
            client.put(&path, body).await.expect(403);
        }
    }
    admin.put(&path, json!({ "status": "inactive" })).await.expect(403);
    ada.put(&path, json!({ "role_id": 1, "status": "active" })).await.expect(200);
    assert_eq!(role_of(&ada, &organisation).await, "admin");
}

#[tokio::test]
async fn deactivation_ends_access_at_once_and_reactivation_gives_it_back() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let streams = [channel.clone(), organisation.clone(), grace.personal(&organisation)];
    let mut hers = Socket::listening(&grace, &[&streams[0], &streams[1], &streams[2]]).await;

    ada.put(&member(&organisation, &grace), json!({ "status": "deactivated" })).await.expect(200);

    for stream in &streams {
        assert_eq!(hers.unsubscribed(stream).await, 2000);
    }
    ada.say(&channel, "not for her").await;
    grace.get(&format!("/organisations/{organisation}")).await.expect(404);
    grace.get(&format!("/organisations/{organisation}/users")).await.expect(403);
    grace.get(&format!("/channels/{channel}/messages")).await.expect(404);
    grace.post(&format!("/channels/{channel}/messages"), json!({ "content": "x" })).await.expect(403);
    grace.put(&member(&organisation, &grace), json!({ "status": "active" })).await.expect(403);
    grace.delete(&member(&organisation, &grace)).await.expect(403);
    grace.post("/token/subscription", json!({ "channel": organisation })).await.expect(403);
    let body = json!({ "email": grace.email, "password": PASSWORD });
    assert_eq!(grace.post("/auth/login", body).await.expect(200)["data"]["user"]["current_org"], Value::Null);

    ada.put(&member(&organisation, &grace), json!({ "status": "active" })).await.expect(200);
    hers.subscribe(&channel).await;
    ada.say(&channel, "for her").await;
    loop {
        let (stream, data) = hers.next().await;
        assert_ne!(data["content"], "not for her");
        if stream == channel {
            break assert_eq!(data["content"], "for her");
        }
    }
}

#[tokio::test]
async fn an_owner_passes_the_organisation_on() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let path = format!("/organisations/{organisation}/owner");
    let mut socket = Socket::listening(&ada, &[&organisation]).await;
    let passed = ada.put(&path, json!({ "user_id": grace.user_id })).await.data(200, "Organization updated successfully");
    assert_shape(&passed, ORGANISATION);
    assert_eq!(text(&passed["owner_id"]), grace.user_id);
    assert_eq!([role_of(&ada, &organisation).await, role_of(&grace, &organisation).await], ["admin", "admin"]);
    assert_eq!(socket.on(&organisation).await["data"]["role"], "admin");

    ada.put(&path, json!({ "user_id": ada.user_id })).await.expect(403);
    ada.delete(&format!("/organisations/{organisation}")).await.expect(403);
    grace.put(&member(&organisation, &ada), json!({ "role_id": "guest" })).await.expect(200);
    grace.put(&path, json!({ "user_id": grace.user_id })).await.expect(200);
}

#[tokio::test]
async fn an_organisation_is_passed_to_a_live_member_by_its_owner_only() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let admin = server.member(&ada, &organisation, "admin", "admin").await;
    let outsider = server.user("outsider").await;
    let path = format!("/organisations/{organisation}/owner");
    let to = |user: &Client| json!({ "user_id": user.user_id });
    server.anonymous().put(&path, to(&grace)).await.expect(401);
    let foreign = outsider.put(&path, to(&grace)).await.expect(404);
    assert_eq!(foreign, ada.put(&format!("/organisations/{}/owner", unknown_id()), to(&grace)).await.expect(404));
    for client in [&grace, &admin] {
        client.put(&path, to(client)).await.expect(403);
    }
    ada.put(&path, to(&outsider)).await.expect(404);
    ada.put(&path, json!({ "user_id": unknown_id() })).await.expect(404);
    for body in [json!({}), json!({ "user_id": "no-uuid" }), json!({ "user_id": 7 })] {
        ada.put(&path, body).await.expect(400);
    }
    ada.put(&member(&organisation, &grace), json!({ "status": "deactivated" })).await.expect(200);
    ada.put(&path, to(&grace)).await.expect(422);
    server.sql("update users set is_active = 0 where username = 'admin'");
    ada.put(&path, to(&admin)).await.expect(422);
    assert_eq!(ada.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["owner_id"], ada.user_id);
}
