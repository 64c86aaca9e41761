//! Accepting an invitation with a name and a password of one's own.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, PASSWORD, Reply, Server},
    shapes::{SESSION, USER, assert_shape},
};

const OWN: &str = "quiet harbour at dawn";

async fn accept(client: &Client, token: &str, chosen: Value) -> Reply {
    let mut body = json!({ "token": token });
    body.as_object_mut().unwrap().extend(chosen.as_object().unwrap().clone());
    client.post("/invite/verify", body).await
}

#[tokio::test]
async fn a_new_person_chooses_their_names_and_their_password() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, "new@example.org", "member").await;
    let chosen = json!({ "first_name": " Mary ", "last_name": "Somerville", "username": "mary", "password": OWN });
    let data = accept(&server.anonymous(), &token, chosen).await.data(200, "User invited successfully");
    assert_shape(&data, SESSION);
    assert_shape(&data["user"], USER);
    let user = &data["user"];
    assert_eq!([&user["fullname"], &user["username"], &user["password"]], ["Mary Somerville", "mary", ""]);
    assert_eq!(user["is_verified"], false, "the inviter knows this token, too");
    let body = json!({ "email": "new@example.org", "password": OWN });
    server.anonymous().post("/auth/login", body).await.expect(200);
}

#[tokio::test]
async fn what_a_new_person_leaves_out_is_made_for_them() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, "new@example.org", "member").await;
    let chosen = json!({ "first_name": "Mary", "last_name": null, "username": "" });
    let user = accept(&server.anonymous(), &token, chosen).await.expect(200)["data"]["user"].take();
    assert_eq!([&user["fullname"], &user["username"]], ["Mary", "new"]);
    let body = json!({ "email": "new@example.org", "password": user["password"] });
    server.anonymous().post("/auth/login", body).await.expect(200);
}

#[tokio::test]
async fn a_refused_name_or_password_does_not_use_the_invitation_up() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, "new@example.org", "member").await;
    let anonymous = server.anonymous();
    for refused in [
        json!({ "password": "short" }),
        json!({ "password": "" }),
        json!({ "password": "password1" }),
        json!({ "password": "new@example.org" }),
        json!({ "password": "x".repeat(129) }),
        json!({ "username": "spinning-mary", "password": "spinning-mary" }),
        json!({ "username": "ada" }),
        json!({ "username": "everyone" }),
        json!({ "username": "no name" }),
        json!({ "username": "x".repeat(65) }),
        json!({ "first_name": "x".repeat(101) }),
        json!({ "last_name": "two\nlines" }),
    ] {
        accept(&anonymous, &token, refused).await.expect(422);
    }
    for unreadable in [json!({ "password": 5 }), json!({ "username": [] }), json!({ "first_name": {} })] {
        accept(&anonymous, &token, unreadable).await.expect(400);
    }
    assert_eq!(server.count("users"), 1, "nothing is half done");
    let longest = json!({ "username": "x".repeat(64), "first_name": "x".repeat(100), "password": "y".repeat(128) });
    accept(&anonymous, &token, longest).await.expect(200);
}

#[tokio::test]
async fn a_bad_token_tells_nothing_of_the_names_and_passwords_beside_it() {
    let server = Server::start().await;
    let bad = json!({ "password": "short", "username": "no name" });
    let refused = accept(&server.anonymous(), "unknown", bad).await.expect(400);
    assert_eq!(refused["message"], "The invitation token is invalid");
}

/// Whoever believes to have set a password, and has not, would be locked out; and nobody sets that of another's account.
#[tokio::test]
async fn an_account_that_exists_gets_no_new_name_or_password() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, &grace.email, "member").await;
    for chosen in [json!({ "password": OWN }), json!({ "username": "hopper" }), json!({ "last_name": "Hopper" })] {
        accept(&server.anonymous(), &token, chosen.clone()).await.refused(401, Code::LoginRequired);
        accept(&grace, &token, chosen).await.expect(422);
    }
    assert_eq!(server.count("organisation_members"), 1);
    accept(&grace, &token, json!({ "first_name": "", "username": "", "password": null })).await.expect(200);
    server.log_in("grace", PASSWORD).await;
}
