//! The streams that the server subscribes a connection to, if its token asks for them, and the account's own stream.

use serde_json::{Value, json};

use crate::{
    harness::{Client, PASSWORD, Server, text},
    socket::Socket,
};

/// Connects with a token for the user's own streams; gives the result of the connect, too.
async fn connect(client: &Client, subs: Value) -> (Socket, Value) {
    let token = client.get("/token/connection?streams=own").await.data(200, "Connection token retrieved successfully");
    let mut socket = Socket::open(client).await;
    let mut reply = socket.command("connect", json!({ "token": token["token"], "subs": subs })).await;
    assert!(reply["connect"]["client"].is_string(), "{reply}");
    (socket, reply["connect"].take())
}

fn names(result: &Value) -> Vec<String> {
    let mut names: Vec<_> = result["subs"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    names.sort();
    names
}

fn sorted(streams: &[&str]) -> Vec<String> {
    let mut streams: Vec<_> = streams.iter().map(|name| (*name).to_owned()).collect();
    streams.sort();
    streams
}

#[tokio::test]
async fn a_connection_with_such_a_token_hears_the_users_own_streams() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let other = server.user("other").await.organisation("Looms").await;
    let (mut socket, result) = connect(&grace, json!({})).await;
    let personal = grace.personal(&organisation);
    assert_eq!(names(&result), sorted(&[&grace.user_id, &organisation, &personal]), "and not {other}");
    for sub in result["subs"].as_object().unwrap().values() {
        assert_eq!([&sub["recoverable"], &sub["positioned"]], [&json!(true), &json!(true)], "{sub}");
        assert!(sub.get("expires").is_none(), "they last as long as the connection: {sub}");
    }
    ada.say(&ada.general(&organisation).await, "hello").await;
    assert_eq!(socket.on(&personal).await["notification_type"], "unread_thread_change");
    let again = socket.subscribe_with(&organisation, json!({})).await;
    assert_eq!(again["error"]["code"], 105, "it is subscribed already: {again}");

    let mut plain = Socket::open(&grace).await;
    let token = grace.connection_token().await;
    let result = plain.command("connect", json!({ "token": token })).await;
    assert!(result["connect"].get("subs").is_none(), "only a token that asks for them: {result}");
    grace.get("/token/connection?streams=all").await.expect(400);
}

#[tokio::test]
async fn joining_an_organisation_reaches_the_users_other_connections() {
    let server = Server::start().await;
    let (ada, grace, _) = server.ada_and_grace().await;
    let (mut socket, _) = connect(&grace, json!({})).await;
    let mut plain = Socket::listening(&grace, &[&grace.user_id]).await;
    let looms = ada.organisation("Looms").await;
    let token = ada.invite(&looms, &grace.email, "member").await;
    grace.post("/invite/verify", json!({ "token": token })).await.expect(200);
    for socket in [&mut socket, &mut plain] {
        let joined = loop {
            let data = socket.on(&grace.user_id).await;
            if data["notification_type"] == "membership_update" {
                break data;
            }
        };
        let expected = json!({ "action": "joined", "organisation_id": looms, "name": "Looms", "organisation_slug": "looms",
            "logo_url": "", "org_role": "member", "role_name": "User" });
        assert_eq!((&joined["data"], &joined["section"]), (&expected, &json!("account_section")));
    }
    let personal = grace.personal(&looms);
    for stream in [&looms, &personal] {
        let push = socket.push(|push| push["channel"] == *stream && push["subscribe"].is_object()).await;
        assert!(push["subscribe"]["offset"].as_u64() > Some(0) && push["subscribe"]["recoverable"] == true, "{push}");
    }
    ada.say(&ada.general(&looms).await, "hello").await;
    assert_eq!(socket.on(&personal).await["notification_type"], "unread_thread_change");

    ada.delete(&format!("/organisations/{looms}/users/{}", grace.user_id)).await.expect(200);
    for stream in [&looms, &personal] {
        assert_eq!(socket.unsubscribed(stream).await, 2000);
    }
    let left = loop {
        let data = socket.on(&grace.user_id).await;
        if data["notification_type"] == "membership_update" {
            break data;
        }
    };
    assert_eq!([&left["data"]["action"], &left["data"]["organisation_id"]], [&json!("left"), &json!(looms)]);
    plain.no_push_but_publications();
}

#[tokio::test]
async fn a_deactivated_member_hears_again_when_reactivated() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let (mut socket, _) = connect(&grace, json!({})).await;
    let member = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&member, json!({ "status": "deactivated" })).await.expect(200);
    assert_eq!(socket.unsubscribed(&organisation).await, 2000);
    ada.put(&member, json!({ "status": "active" })).await.expect(200);
    socket.push(|push| push["channel"] == *organisation && push["subscribe"].is_object()).await;
    ada.put(&format!("/organisations/{organisation}"), json!({ "country": "England" })).await.expect(200);
    assert_eq!(
        socket.push(|push| push["pub"]["data"]["notification_type"] == "organisation_update").await["channel"],
        organisation
    );
}

#[tokio::test]
async fn what_was_missed_on_own_streams_is_recovered_without_tokens_for_them() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let personal = grace.personal(&organisation);
    let (socket, first) = connect(&grace, json!({})).await;
    drop(socket);
    ada.say(&ada.general(&organisation).await, "missed").await;
    grace.patch("/profile", json!({ "phone": "1" })).await.expect(200);
    let since = |stream: &str| {
        let sub = &first["subs"][stream];
        json!({ "recover": true, "epoch": sub["epoch"], "offset": sub["offset"] })
    };
    // A stream of somebody else stays silent.
    let subs = json!({ &organisation: since(&organisation), &personal: since(&personal), &grace.user_id: since(&grace.user_id),
        ada.personal(&organisation): since(&personal), &ada.user_id: since(&personal) });
    let (_, result) = connect(&grace, subs).await;
    assert_eq!(names(&result), sorted(&[&grace.user_id, &organisation, &personal]));
    let missed = |stream: &str| {
        assert_eq!(result["subs"][stream]["recovered"], true, "{result}");
        let publications = result["subs"][stream]["publications"].as_array().cloned().unwrap_or_default();
        publications.iter().map(|one| text(&one["data"]["notification_type"])).collect::<Vec<_>>()
    };
    assert_eq!(missed(&personal), ["unread_thread_change"]);
    assert_eq!(missed(&grace.user_id), ["profile_update"]);
}

#[tokio::test]
async fn an_account_is_told_of_its_sessions_and_its_profile_and_nobody_else_is() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let other = server.log_in("grace", PASSWORD).await;
    let sessions = grace.get(&format!("/users/{}/sessions", grace.user_id)).await.expect(200);
    let newest = sessions["data"][0]["id"].clone();
    let mut socket = Socket::listening(&grace, &[&grace.user_id]).await;
    other.post("/auth/logout", Value::Null).await.expect(200);
    let ended = socket.on(&grace.user_id).await;
    assert_eq!(
        [&ended["notification_type"], &ended["data"]],
        [&json!("session_update"), &json!({ "action": "ended", "session_ids": [newest] })]
    );
    grace.patch("/profile", json!({ "first_name": "Grace" })).await.expect(200);
    let changed = socket.on(&grace.user_id).await;
    let me = grace.get("/users/me").await.expect(200)["data"].take();
    for field in
        "user_id email username first_name last_name fullname phone avatar_url is_verified is_onboarded current_org".split(' ')
    {
        assert_eq!(changed["data"][field], me[field], "{field}: {me}");
    }
    grace.put("/auth/onboard-status", json!({ "status": true })).await.expect(200);
    assert_eq!(socket.on(&grace.user_id).await["data"]["is_onboarded"], true);
    let looms = grace.organisation("Looms").await;
    assert_eq!(
        socket.push(|push| push["pub"]["data"]["notification_type"] == "profile_update").await["pub"]["data"]["data"]["current_org"],
        looms
    );
    grace.put("/users/switch-org", json!({ "current_org": organisation })).await.expect(200);
    let switched = socket.push(|push| push["pub"]["data"]["data"]["current_org"] == *organisation).await;
    assert_eq!(switched["pub"]["data"]["data"]["current_organisation_slug"], "engines");

    for stranger in [&ada, &server.user("outsider").await] {
        stranger.post("/token/subscription", json!({ "channel": grace.user_id })).await.expect(403);
    }
}

#[tokio::test]
async fn a_membership_that_another_process_makes_is_followed_too() {
    let server = Server::start().await;
    let (ada, grace, _) = server.ada_and_grace().await;
    let looms = ada.organisation("Looms").await;
    let (mut socket, _) = connect(&grace, json!({})).await;
    server.sql(&format!(
        "insert into organisation_members (organisation_id, user_id, role_id, joined_seq, created_at, updated_at)
         select organisation_id, {}, role_id, joined_seq, created_at, updated_at from organisation_members
         where organisation_id = {}",
        crate::harness::blob(&grace.user_id),
        crate::harness::blob(&looms)
    ));
    socket.push(|push| push["channel"] == *looms && push["subscribe"].is_object()).await;
}
