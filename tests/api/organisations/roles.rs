//! Roles of an organisation.

use serde_json::{Value, json};
use tidings::domain::rights::BuiltInRole;

use crate::{
    harness::{Client, Server, text, unknown_id},
    shapes::{PUSHED, ROLE, USER_ROLE, assert_shape},
    socket::Socket,
};

fn roles(organisation: &str) -> String {
    format!("/organisations/{organisation}/roles")
}

/// Makes a role with these rights and no others; gives it back.
async fn make(client: &Client, organisation: &str, name: &str, rights: &[&str]) -> Value {
    let list: serde_json::Map<_, _> = rights.iter().map(|right| ((*right).to_owned(), json!(true))).collect();
    let body = json!({ "name": name, "description": "ours", "permission_list": list });
    client.post(&roles(organisation), body).await.data(201, "Role created successfully")
}

async fn give(client: &Client, organisation: &str, user: &Client, role: &str) {
    let path = format!("/organisations/{organisation}/users/{}", user.user_id);
    client.put(&path, json!({ "role_id": role })).await.expect(200);
}

async fn role_of(client: &Client, organisation: &str) -> Value {
    client.get(&format!("/organisations/{organisation}")).await.expect(200)["data"]["org_role"].take()
}

#[tokio::test]
async fn the_built_in_roles_are_listed_for_every_member() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    for client in [&ada, &grace, &guest] {
        let data = client.get(&roles(&organisation)).await.data(200, "Roles retrieved successfully");
        let listed = data.as_array().unwrap();
        listed.iter().for_each(|role| assert_shape(role, ROLE));
        let names: Vec<_> = listed.iter().map(|role| text(&role["name"])).collect();
        assert_eq!(names, ["Administrator", "Manager", "Project Lead", "User", "Guest"]);
        let keys: Vec<_> = listed.iter().map(|role| text(&role["key"])).collect();
        assert_eq!(keys, ["admin", "manager", "project-lead", "member", "guest"]);
        let numbered = |role: &Value| (role["id"].as_i64().unwrap(), text(&role["key"]));
        assert!(listed.iter().map(numbered).eq(BuiltInRole::ALL.map(|role| (role as i64, role.name().to_owned()))));
        let held = |n: usize| listed[n]["permission_list"].as_object().unwrap().values().filter(|held| **held == true).count();
        assert_eq!([held(0), held(1), held(2), held(3), held(4)], [8, 8, 4, 3, 0]);
    }
}

#[tokio::test]
async fn an_organisation_shows_the_callers_role_by_its_title() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let custom = make(&ada, &organisation, "Moderator", &[]).await;
    let listed = ada.get(&roles(&organisation)).await.expect(200)["data"].take();
    let titles = ["Administrator", "Manager", "Project Lead", "User", "Guest", "Moderator"];
    let path = format!("/organisations/{organisation}");
    for (role, title) in listed.as_array().unwrap().iter().zip(titles) {
        give(&ada, &organisation, &grace, &text(&role["name"])).await;
        let shown = grace.get(&path).await.expect(200)["data"].take();
        assert_shape(&shown["user_role"], USER_ROLE);
        assert_eq!(shown["user_role"], json!({ "role_id": role["id"], "role_name": title }));
        assert_eq!([&shown["role"], &shown["role_name"], &shown["org_role"]], [title, title, &text(&role["key"])]);
        assert_eq!(role["name"], title);
        let own = grace.get("/users/organisations").await.expect(200)["data"][0].take();
        assert_eq!([&own["org_role"], &own["role_name"]], [&role["key"], &role["name"]]);
        let members = ada.get(&format!("{path}/users")).await.expect(200)["data"].take();
        let shown = |member: &Value| ["role", "role_name", "role_key"].map(|field| text(&member[field]));
        assert_eq!(shown(&members[0]), [title, title, &text(&role["key"])]);
        assert_eq!(shown(&members[1]), ["Owner", "Owner", "admin"]);
        assert_eq!([&members[1]["entity_type"], &members[1]["user_type"]], ["user", "user"]);
    }
    assert_eq!(listed[5]["id"], custom["id"]);
    give(&ada, &organisation, &grace, "admin").await;
    let passed = ada.put(&format!("{path}/owner"), json!({ "user_id": grace.user_id })).await.expect(200)["data"].take();
    assert_eq!(passed["user_role"], json!({ "role_id": 1, "role_name": "Administrator" }), "the former owner");
    let owned = grace.get(&path).await.expect(200)["data"].take();
    assert_eq!(owned["role"], "Owner");
    let is_listed = |role: &Value| role["id"] == owned["user_role"]["role_id"];
    assert!(!listed.as_array().unwrap().iter().any(is_listed), "the owner's role is none of the list: {owned}");
}

#[tokio::test]
async fn a_custom_role_is_made_read_changed_and_given() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let made = make(&ada, &organisation, "Moderator", &["manage:channels", "post:messages"]).await;
    assert_shape(&made, ROLE);
    assert_eq!([&made["name"], &made["description"], &made["organisation_id"]], ["Moderator", "ours", &organisation]);
    assert_eq!(made["key"], "Moderator");
    assert!(made["id"].as_i64().unwrap() > 5);
    assert_eq!(
        (&made["permission_list"]["manage:channels"], &made["permission_list"]["manage:roles"]),
        (&json!(true), &json!(false))
    );

    let path = roles(&organisation);
    for named in [made["id"].to_string(), text(&made["uuid"]), "moderator".into()] {
        assert_eq!(grace.get(&format!("{path}/{named}")).await.data(200, "Role retrieved successfully"), made);
        give(&ada, &organisation, &grace, &named).await;
        assert_eq!(role_of(&grace, &organisation).await, "Moderator");
    }
    assert_eq!(ada.get(&path).await.expect(200)["data"].as_array().unwrap().len(), 6);

    let edited = ada.put(&format!("{path}/moderator"), json!({ "name": "Keeper", "description": "" })).await;
    let edited = edited.data(200, "Role updated successfully");
    assert_eq!([&edited["name"], &edited["description"]], ["Keeper", ""]);
    assert_eq!(edited["permission_list"], made["permission_list"]);
    assert_eq!(ada.put(&format!("{path}/keeper"), json!({})).await.data(200, "Role updated successfully"), edited);
    ada.put(&format!("{path}/keeper"), json!({ "name": "KEEPER" })).await.expect(200);
}

#[tokio::test]
async fn changed_rights_take_effect_at_once() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    make(&ada, &organisation, "mute", &["create:channels"]).await;
    give(&ada, &organisation, &grace, "mute").await;
    let general = ada.general(&organisation).await;
    let post = async || grace.post(&format!("/channels/{general}/messages"), json!({ "content": "hello" })).await;
    post().await.expect(403);
    let path = format!("{}/mute/permissions", roles(&organisation));
    let body = json!({ "permission_list": { "post:messages": true } });
    let edited = ada.put(&path, body).await.data(200, "Permissions updated successfully");
    assert_shape(&edited, ROLE);
    let held = &edited["permission_list"];
    assert_eq!(
        (&held["post:messages"], &held["create:channels"], &held["manage:roles"]),
        (&json!(true), &json!(true), &json!(false))
    );
    post().await.expect(201);
    ada.put(&path, json!({ "permission_list": { "post:messages": false } })).await.expect(200);
    post().await.expect(403);
}

#[tokio::test]
async fn a_faulty_role_is_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let path = roles(&organisation);
    make(&ada, &organisation, "mine", &[]).await;
    for body in [
        json!({}),
        json!({ "name": 7 }),
        json!({ "name": "x", "permission_list": [] }),
        json!({ "name": "x", "permission_list": { "rule:world": true } }),
        json!({ "name": "x", "permission_list": { "post:messages": "yes" } }),
    ] {
        ada.post(&path, body).await.expect(400);
    }
    ada.call_text("POST", &path, "{").await.expect(400);
    let (longest, too_long) = ("é".repeat(64), "é".repeat(65));
    let id = unknown_id();
    for name in [
        "",
        "  ",
        "mine",
        "MINE",
        "admin",
        "Guest",
        "user",
        "Administrator",
        "Project Lead",
        "owner",
        "6",
        "-1",
        "a\nb",
        &too_long,
        &id,
    ] {
        ada.post(&path, json!({ "name": name })).await.expect(422);
    }
    ada.post(&path, json!({ "name": longest, "description": "x".repeat(255) })).await.expect(201);
    ada.post(&path, json!({ "name": "y", "description": "x".repeat(256) })).await.expect(422);
    for body in [json!({ "name": longest }), json!({ "name": "" }), json!({ "name": "admin" })] {
        ada.put(&format!("{path}/mine"), body).await.expect(422);
    }
    for body in
        [json!({}), json!({ "permission_list": { "rule:world": false } }), json!({ "permission_list": { "post:messages": 1 } })]
    {
        ada.put(&format!("{path}/mine/permissions"), body).await.expect(400);
    }
    let other = ada.organisation("Other").await;
    make(&ada, &other, "mine", &[]).await;
}

#[tokio::test]
async fn an_organisation_has_at_most_100_roles_of_its_own() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    for n in 0..100 {
        make(&ada, &organisation, &format!("role {n}"), &[]).await;
    }
    ada.post(&roles(&organisation), json!({ "name": "one more" })).await.expect(422);
    ada.delete(&format!("{}/role%200", roles(&organisation))).await.expect(200);
    make(&ada, &organisation, "one more", &[]).await;
}

#[tokio::test]
async fn built_in_roles_stay_as_they_are() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    for named in ["1", "member", "user", "PROJECT%20LEAD", "01900000-0000-7000-8000-000000000005"] {
        let path = format!("{}/{named}", roles(&organisation));
        ada.put(&path, json!({ "name": "x" })).await.expect(403);
        ada.put(&format!("{path}/permissions"), json!({ "permission_list": { "post:messages": true } })).await.expect(403);
        ada.delete(&path).await.expect(403);
    }
}

#[tokio::test]
async fn roles_are_changed_only_with_the_right_to_manage_them() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let lead = server.member(&ada, &organisation, "lead", "project-lead").await;
    make(&ada, &organisation, "mine", &[]).await;
    let outsider = server.user("outsider").await;
    let foreign_role = make(&outsider, &outsider.organisation("Elsewhere").await, "theirs", &[]).await;
    let path = roles(&organisation);
    let calls = [
        ("POST", path.clone(), Some(json!({ "name": "x" }))),
        ("PUT", format!("{path}/mine"), Some(json!({ "name": "x" }))),
        ("PUT", format!("{path}/mine/permissions"), Some(json!({ "permission_list": {} }))),
        ("DELETE", format!("{path}/mine"), None),
    ];
    for (method, path, body) in &calls {
        for client in [&grace, &lead] {
            client.call(method, path, body.clone()).await.expect(403);
        }
        outsider.call(method, path, body.clone()).await.expect(404);
        server.anonymous().call(method, path, body.clone()).await.expect(401);
        let nowhere = path.replace(&organisation, &unknown_id());
        let unknown = ada.call(method, &nowhere, body.clone()).await.expect(404);
        assert_eq!(unknown, outsider.call(method, path, body.clone()).await.expect(404));
        ada.call(method, &path.replace(&organisation, "no-uuid"), body.clone()).await.expect(400);
        if path.contains("mine") {
            for named in [&foreign_role["id"].to_string(), &text(&foreign_role["uuid"]), "theirs", "0"] {
                ada.call(method, &path.replace("mine", named), body.clone()).await.expect(404);
            }
        }
    }
    outsider.get(&path).await.expect(404);
    outsider.get(&format!("{path}/admin")).await.expect(404);
    server.anonymous().get(&path).await.expect(401);
}

#[tokio::test]
async fn nobody_makes_or_edits_a_role_above_themselves() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    make(&ada, &organisation, "clerk", &["manage:roles", "post:messages"]).await;
    make(&ada, &organisation, "high", &["manage:webhooks"]).await;
    make(&ada, &organisation, "low", &[]).await;
    give(&ada, &organisation, &grace, "clerk").await;
    let path = roles(&organisation);
    grace.post(&path, json!({ "name": "king", "permission_list": { "manage:channels": true } })).await.expect(403);
    make(&grace, &organisation, "scribe", &["post:messages"]).await;
    let up = json!({ "permission_list": { "manage:channels": true } });
    for named in ["clerk", "low", "high"] {
        grace.put(&format!("{path}/{named}/permissions"), up.clone()).await.expect(403);
    }
    grace.put(&format!("{path}/high"), json!({ "name": "x" })).await.expect(403);
    let down = json!({ "permission_list": { "manage:webhooks": false } });
    grace.put(&format!("{path}/high/permissions"), down).await.expect(403);
    grace.delete(&format!("{path}/high")).await.expect(403);
    // Its holders would become `member`, with rights that she lacks: she among them.
    for named in ["clerk", "low"] {
        grace.delete(&format!("{path}/{named}")).await.expect(403);
    }
    assert_eq!(role_of(&grace, &organisation).await, "clerk");
}

#[tokio::test]
async fn a_deleted_roles_holders_become_members() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.user("bob").await;
    let made = make(&ada, &organisation, "mine", &["manage:webhooks"]).await;
    give(&ada, &organisation, &grace, "mine").await;
    let token = ada.invite(&organisation, &bob.email, "mine").await;
    let mut socket = Socket::listening(&ada, &[&organisation]).await;

    let path = format!("{}/mine", roles(&organisation));
    ada.delete(&path).await.expect(200);

    let told = socket.on(&organisation).await;
    assert_eq!([&told["notification_type"], &told["data"]["role"]], ["member_update", "member"]);
    assert_eq!(told["data"]["user_id"], grace.user_id);
    ada.get(&path).await.expect(404);
    ada.delete(&path).await.expect(404);
    bob.post("/invite/verify", json!({ "token": token })).await.expect(200);
    for client in [&grace, &bob] {
        assert_eq!(role_of(client, &organisation).await, "member");
    }
    let next = make(&ada, &organisation, "mine", &[]).await;
    assert_ne!(next["id"], made["id"], "a number is never used twice");
}

#[tokio::test]
async fn a_made_changed_or_deleted_role_is_pushed_to_the_organisation() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let mut socket = Socket::listening(&grace, &[&organisation]).await;
    let made = make(&ada, &organisation, "editor", &["post:messages"]).await;
    let path = format!("{}/{}", roles(&organisation), made["id"]);
    ada.put(&path, json!({ "name": "writer" })).await.expect(200);
    ada.put(&format!("{path}/permissions"), json!({ "permission_list": { "post:messages": false } })).await.expect(200);
    ada.delete(&path).await.expect(200);
    for (action, name, posts) in
        [("created", "editor", true), ("updated", "writer", true), ("updated", "writer", false), ("deleted", "writer", false)]
    {
        let told = socket.on(&organisation).await;
        assert_shape(&told, PUSHED);
        assert_shape(&told["data"], ROLE);
        assert_eq!([&told["notification_type"], &told["data"]["action"]], ["role_update", action]);
        assert_eq!((&told["data"]["id"], &told["data"]["name"]), (&made["id"], &json!(name)));
        assert_eq!(told["data"]["permission_list"]["post:messages"], posts);
        assert_eq!(told["data"]["permissions"]["permission_list"]["can_post_messages"], posts);
    }
}
