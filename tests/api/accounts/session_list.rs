//! The list of a user's sessions, and ending one of them.

use serde_json::{Value, json};

use crate::{
    harness::{Client, PASSWORD, Server, text, unknown_id},
    shapes::assert_shape,
};

async fn list(client: &Client, user: &str) -> Value {
    client.get(&format!("/users/{user}/sessions")).await.data(200, "Sessions retrieved successfully")
}

#[tokio::test]
async fn a_user_lists_and_ends_their_own_sessions() {
    let server = Server::start().await;
    let here = server.user("ada").await;
    let there = server.log_in("ada", PASSWORD).await;
    let sessions = list(&here, &here.user_id).await;
    assert_eq!(sessions.as_array().unwrap().len(), 2);
    assert_shape(&sessions[0], "id:uuid is_current:bool user_agent:text address:text created_at:time expires_at:time");
    assert_eq!([&sessions[0]["is_current"], &sessions[1]["is_current"]], [false, true]);
    let body = json!({ "session_id": sessions[0]["id"] });
    here.put("/users/revoke-session", body.clone()).await.done(200, "Session revoked successfully");
    there.get("/profile").await.expect(401);
    here.get("/profile").await.expect(200);
    here.put("/users/revoke-session", body).await.expect(404);
    assert_eq!(list(&here, &here.user_id).await.as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn other_users_neither_list_nor_end_sessions_and_a_superadmin_does() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let grace = server.user("grace").await;
    let session = list(&ada, &ada.user_id).await[0]["id"].clone();
    let unknown = unknown_id();
    let hidden = grace.get(&format!("/users/{}/sessions", ada.user_id)).await.expect(404);
    assert_eq!(hidden, grace.get(&format!("/users/{unknown}/sessions")).await.expect(404));
    let hidden = grace.put("/users/revoke-session", json!({ "session_id": session })).await.expect(404);
    assert_eq!(hidden, grace.put("/users/revoke-session", json!({ "session_id": unknown })).await.expect(404));
    ada.get("/profile").await.expect(200);

    let root = server.superadmin("root").await;
    assert_eq!(list(&root, &ada.user_id).await[0]["id"], session);
    root.get(&format!("/users/{unknown}/sessions")).await.expect(404);
    root.put("/users/revoke-session", json!({ "session_id": session })).await.expect(200);
    ada.get("/profile").await.expect(401);
}

#[tokio::test]
async fn a_session_shows_when_it_was_last_used() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let other = server.log_in("ada", PASSWORD).await;
    let of = async |client: &Client| {
        let listed = list(&ada, &ada.user_id).await;
        let found = listed.as_array().unwrap().iter().find(|one| one["id"] == client.session_id()).unwrap().clone();
        (text(&found["created_at"]), text(&found["last_seen_at"]))
    };
    let (begun, seen) = of(&other).await;
    assert_eq!(begun, seen, "not used yet");
    server.clock.advance(std::time::Duration::from_secs(3600));
    other.get("/profile").await.expect(200);
    let server = server.restart().await; // what is gathered is written at the end
    let ada = server.log_in("ada", PASSWORD).await;
    let listed = list(&ada, &ada.user_id).await;
    let used = listed.as_array().unwrap().iter().find(|one| one["id"] == other.session_id()).unwrap();
    assert!(text(&used["last_seen_at"]) > begun, "{used}");
}
