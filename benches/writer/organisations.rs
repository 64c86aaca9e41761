//! Organisations: members, roles, invitations.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    api::text,
    bench::{Bench, blob, made},
    world::{World, id_of},
};

pub async fn walk(bench: &mut Bench, world: &World) {
    invitations(bench, world).await;
    roles(bench, world).await;
    let World { ada, organisation, .. } = world;
    let path = format!("/organisations/{organisation}");
    let details = json!({ "name": "x".repeat(255), "description": "x".repeat(1000) });
    bench.call("organisation made", ada, Method::POST, "/organisations", details.clone()).await;
    bench.call("organisation changed", ada, Method::PUT, &path, details).await;
    let added = json!({ "user_id": id_of(&bench.api.person("alan").await).await });
    bench.call("member added to 2,000 others", &world.root, Method::POST, &format!("{path}/users"), added).await;

    let member = format!("{path}/users/{}", world.grace_id);
    let status = |status: &str| json!({ "status": status });
    bench.call("deactivation of who owns 20,000 webhooks", ada, Method::PUT, &member, status("deactivated")).await;
    bench.call("reactivation of who owns 20,000 webhooks", ada, Method::PUT, &member, status("active")).await;
    bench.call("member with 2,000 channels and 20,000 webhooks removed", ada, Method::DELETE, &member, Value::Null).await;
    let heir = json!({ "user_id": made(0, 1) });
    bench.call("organisation passed on", ada, Method::PUT, &format!("{path}/owner"), heir).await;
    bench.sql(&format!("update organisations set owner_id = {} where id = {}", blob(&world.ada_id), blob(organisation)));
    bench.call("organisation with 2,000 members deleted", ada, Method::DELETE, &path, Value::Null).await;
}

async fn invitations(bench: &mut Bench, world: &World) {
    let World { ada, organisation, .. } = world;
    let emails: Vec<String> = (0..50).map(|k| format!("new{k}@x.example")).collect();
    let invite = json!({ "emails": emails, "role": "member", "org_id": organisation });
    let made = bench.call("50 invitations", ada, Method::POST, "/invite", invite).await["data"]["invitations"].take();
    assert_eq!(made.as_array().unwrap().len(), 50);
    let again = json!({ "emails": emails, "org_id": organisation });
    bench.call("50 invitations sent again", ada, Method::POST, "/invite/resend", again).await;
    let path = format!("/invite/{}", text(&made[0]["id"]));
    bench.call("invitation cancelled", ada, Method::DELETE, &path, Value::Null).await;

    let body = json!({ "emails": ["linus@x.example"], "org_id": organisation });
    let token = ada.call(Method::POST, "/invite", body).await["data"]["invitations"][0]["invite_token"].take();
    let linus = bench.api.person("linus").await;
    let body = json!({ "token": token });
    bench.call("invitation accepted, beside 2,000 members", &linus, Method::POST, "/invite/verify", body).await;
}

async fn roles(bench: &mut Bench, world: &World) {
    let World { ada, organisation, role, .. } = world;
    let path = format!("/organisations/{organisation}/roles");
    let new = json!({ "name": "x".repeat(64), "description": "x".repeat(255) });
    bench.call("role", ada, Method::POST, &path, new).await;
    let path = format!("{path}/{role}");
    bench.call("role with 2,000 holders renamed", ada, Method::PUT, &path, json!({ "name": "writer" })).await;
    let rights = json!({ "permission_list": { "post:messages": true, "create:channels": true, "remove:members": true } });
    bench.call("rights of 2,000 holders", ada, Method::PUT, &format!("{path}/permissions"), rights).await;
    bench.call("role with 2,000 holders deleted", ada, Method::DELETE, &path, Value::Null).await;
}
