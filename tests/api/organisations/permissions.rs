//! The rights that roles are made of, and roles changed by the keys of rights.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::{
    harness::{Client, Server, text},
    shapes::{PERMISSION, ROLE, assert_shape},
};

/// Further keys, each with the one that it stands beside.
const OTHERS: [(&str, &str); 4] = [
    ("can_manage_organization", "can_manage_organisation"),
    ("can_remove_people", "can_remove_members"),
    ("can_comment_threads", "can_post_messages"),
    ("can_change_user_org_role", "can_manage_roles"),
];

/// The keys that a role holds, without the further ones.
fn held(role: &Value) -> BTreeSet<&str> {
    let list = role["permissions"]["permission_list"].as_object().unwrap();
    assert_eq!(list.len(), 12);
    for (other, key) in OTHERS {
        assert_eq!(list[other], list[key], "{other}");
    }
    let held = list.iter().filter(|(_, held)| **held == true).map(|(key, _)| key.as_str());
    held.filter(|key| !OTHERS.iter().any(|(other, _)| other == key)).collect()
}

async fn set(client: &Client, organisation: &str, role: &str, body: Value) -> Value {
    let path = format!("/organisations/{organisation}/roles/{role}/permissions");
    client.put(&path, body).await.data(200, "Permissions updated successfully")
}

#[tokio::test]
async fn everybody_with_a_session_lists_the_rights() {
    let server = Server::start().await;
    let (ada, outsider) = (server.user("ada").await, server.user("outsider").await);
    let organisation = ada.organisation("Engines").await;
    let list = ada.get("/permissions").await.data(200, "Permissions retrieved successfully");
    assert_eq!(outsider.get("/permissions").await.expect(200)["data"], list);
    server.anonymous().get("/permissions").await.expect(401);
    server.anonymous().with_token("not a token").get("/permissions").await.expect(401);

    let listed = list.as_array().unwrap();
    listed.iter().for_each(|right| assert_shape(right, PERMISSION));
    let admin = ada.get(&format!("/organisations/{organisation}/roles/admin")).await.expect(200)["data"].take();
    let of = |field: &str| listed.iter().map(|right| (text(&right[field]), json!(true))).collect::<Map<_, _>>();
    let others = listed.iter().flat_map(|right| right["other_keys"].as_array().unwrap());
    let keys = of("key").into_iter().chain(others.map(|key| (text(key), json!(true)))).collect();
    assert_eq!(admin["permissions"]["permission_list"], Value::Object(keys));
    assert_eq!(admin["permission_list"], Value::Object(of("right")));
    for (key, right) in [
        ("can_create_channels", "create:channels"),
        ("can_invite_members", "invite:members"),
        ("can_create_webhooks", "manage:webhooks"),
    ] {
        assert!(listed.iter().any(|listed| [&listed["key"], &listed["right"]] == [key, right]), "{key}");
    }
}

#[tokio::test]
async fn rights_by_key_are_the_whole_list() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let path = format!("/organisations/{organisation}/roles");
    let lists = [
        json!({ "permission_list": { "can_post_messages": true, "can_create_channels": true, "can_manage_roles": false } }),
        json!({ "permissions": { "permission_list": { "can_post_messages": true, "can_create_channels": true } } }),
        json!({ "permissions": { "permission_list": { "can_comment_threads": true, "can_create_channels": true } } }),
    ];
    for (n, list) in lists.into_iter().enumerate() {
        let mut body = list;
        body["name"] = json!(format!("role {n}"));
        let made = ada.post(&path, body).await.data(201, "Role created successfully");
        assert_shape(&made, ROLE);
        assert_eq!(held(&made), BTreeSet::from(["can_create_channels", "can_post_messages"]));
    }
    ada.put(&format!("/organisations/{organisation}/users/{}", grace.user_id), json!({ "role_id": "role 0" })).await.expect(200);
    let general = ada.general(&organisation).await;
    let post = async || grace.post(&format!("/channels/{general}/messages"), json!({ "content": "hello" })).await;
    post().await.expect(201);

    let set = async |body| set(&ada, &organisation, "role%200", body).await;
    let by_key = set(json!({ "permission_list": { "can_create_channels": true, "can_invite_members": true } })).await;
    assert_eq!(held(&by_key), BTreeSet::from(["can_create_channels", "can_invite_members"]));
    post().await.expect(403);
    let by_name = set(json!({ "permission_list": { "post:messages": true, "invite:members": false } })).await;
    assert_eq!(held(&by_name), BTreeSet::from(["can_create_channels", "can_post_messages"]));
    post().await.expect(201);
    assert_eq!(set(json!({ "permission_list": {} })).await, by_name, "an empty list changes nothing");
    let only = json!({ "permissions": { "permission_list": { "can_post_messages": true } } });
    let edited = ada.put(&format!("{path}/role%200"), only).await.data(200, "Role updated successfully");
    assert_eq!(held(&edited), BTreeSet::from(["can_post_messages"]));
}

#[tokio::test]
async fn the_rights_of_a_role_are_set_in_the_form_that_answers_show() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let path = format!("/organisations/{organisation}/roles");
    ada.post(&path, json!({ "name": "clerk" })).await.expect(201);
    let shown =
        set(&ada, &organisation, "clerk", json!({ "permissions": { "permission_list": { "can_post_messages": true } } })).await;
    assert_eq!(held(&shown), BTreeSet::from(["can_post_messages"]));
    // A client that knows other keys changes one of them in the list that it got.
    for (key, is_on, expected) in [
        ("can_remove_people", true, vec!["can_post_messages", "can_remove_members"]),
        ("can_comment_threads", false, vec!["can_remove_members"]),
    ] {
        let mut list = ada.get(&format!("{path}/clerk")).await.expect(200)["data"]["permissions"].take();
        list["permission_list"][key] = json!(is_on);
        let shown = set(&ada, &organisation, "clerk", json!({ "permissions": list })).await;
        assert_eq!(held(&shown), BTreeSet::from_iter(expected), "{key}");
    }
    let reply = ada.put(&format!("{path}/clerk/permissions"), json!({})).await.expect(400);
    assert_eq!(reply["message"], "permission_list is required");
}

#[tokio::test]
async fn two_lists_and_mixed_lists_of_rights_are_refused() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let path = format!("/organisations/{organisation}/roles");
    let before = ada.post(&path, json!({ "name": "mine", "permission_list": { "post:messages": true } })).await.expect(201);
    for list in [
        json!({ "can_post_messages": true, "create:channels": true }),
        json!({ "post:messages": true, "can_post_messages": true }),
        json!({ "can_rule_the_world": true }),
        json!({ "can_post_messages": true, "rule:world": true }),
        json!({ "can_post_messages": "yes" }),
    ] {
        let body = json!({ "permission_list": list });
        ada.put(&format!("{path}/mine/permissions"), body.clone()).await.expect(400);
        for mut body in [json!({ "permissions": body }), body] {
            ada.put(&format!("{path}/mine"), body.clone()).await.expect(400);
            body["name"] = json!("next");
            ada.post(&path, body).await.expect(400);
        }
    }
    for mut body in [
        json!({ "permission_list": {}, "permissions": { "permission_list": {} } }),
        json!({ "permissions": {} }),
        json!({ "permissions": { "can_post_messages": true } }),
    ] {
        ada.put(&format!("{path}/mine/permissions"), body.clone()).await.expect(400);
        ada.put(&format!("{path}/mine"), body.clone()).await.expect(400);
        body["name"] = json!("next");
        ada.post(&path, body).await.expect(400);
    }
    assert_eq!(ada.get(&format!("{path}/mine")).await.expect(200)["data"], before["data"]);
    ada.get(&format!("{path}/next")).await.expect(404);
}

#[tokio::test]
async fn nobody_gives_a_right_by_key_that_they_lack() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let path = format!("/organisations/{organisation}/roles");
    let clerk = json!({ "can_manage_roles": true, "can_post_messages": true });
    ada.post(&path, json!({ "name": "clerk", "permission_list": clerk })).await.expect(201);
    ada.post(&path, json!({ "name": "low" })).await.expect(201);
    ada.put(&format!("/organisations/{organisation}/users/{}", grace.user_id), json!({ "role_id": "clerk" })).await.expect(200);
    let up = json!({ "permission_list": { "can_manage_channels": true } });
    grace.put(&format!("{path}/low/permissions"), up.clone()).await.expect(403);
    grace.put(&format!("{path}/low"), up.clone()).await.expect(403);
    grace.post(&path, json!({ "name": "king", "permissions": up })).await.expect(403);
    let given = set(&grace, &organisation, "low", json!({ "permission_list": { "can_post_messages": true } })).await;
    assert_eq!(held(&given), BTreeSet::from(["can_post_messages"]));
}
