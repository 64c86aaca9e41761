//! Registration, log-in, log-out.

mod addresses;
mod browser_proofs;
mod browsers;
mod codes;
mod custom_status;
mod expiry;
mod faces;
mod federated;
mod guesses;
pub mod issuer;
mod keys;
mod link_checks;
mod link_limits;
mod links;
mod lookalikes;
mod oidc;
mod passwords;
mod profile;
mod proofs;
mod reclaiming;
mod session_list;
mod sessions;
mod tokens;
mod unfinished;

use crate::{
    harness::{Client, PASSWORD, Server, blob, text},
    shapes::{SESSION, USER, assert_shape},
};
use serde_json::{Value, json};
use tidings::{
    config::{OrganisationsBy, Registration},
    domain::rights::BuiltInRole,
    error::Code,
};

async fn register(client: &Client, body: Value) -> crate::harness::Reply {
    client.post("/auth/register", body).await
}

async fn log_in(client: &Client, email: &str, password: &str) -> crate::harness::Reply {
    client.post("/auth/login", json!({ "email": email, "password": password })).await
}

#[tokio::test]
async fn a_registration_makes_an_account() {
    let server = Server::start().await;
    let body = json!({
        "email": "  Ada@Example.ORG ", "password": PASSWORD, "username": "ada", "first_name": "Ada", "last_name": "Lovelace"
    });
    register(&server.anonymous(), body).await.done(201, "User created successfully");

    let data = log_in(&server.anonymous(), "ADA@example.org", PASSWORD).await.data(200, "Login successful");
    assert_shape(&data, SESSION);
    let user = &data["user"];
    assert_shape(user, USER);
    assert_eq!(user["id"], user["user_id"]);
    assert_eq!(user["email"], "ada@example.org");
    assert_eq!([&user["username"], &user["first_name"], &user["last_name"]], ["ada", "Ada", "Lovelace"]);
    assert_eq!([&user["fullname"], &user["role"], &user["phone"]], ["Ada Lovelace", "user", ""]);
    assert_eq!(user["expires_in"], data["access_token_expires_in"]);
    assert_eq!([&user["is_verified"], &user["is_active"], &user["current_org"]], [&json!(false), &json!(true), &Value::Null]);
    assert_eq!(user["current_organisation_slug"], "client");
    server.anonymous().with_session(&data).get("/users/organisations").await.expect(200);
}

#[tokio::test]
async fn a_registration_mails_a_verification_link() {
    let server = Server::start().await;
    server.register("ada").await;
    let mails = server.mails("ada@example.org", 1).await;
    assert!(mails[0].text.contains(&format!("{}/auth/verify-email?token=", server.origin)), "{}", mails[0].text);
    assert_eq!(mails[0].parameter("token").len(), 43, "32 bytes in base64url");
}

#[tokio::test]
async fn an_address_and_a_username_belong_to_one_account() {
    let server = Server::start().await;
    server.register("ada").await;
    let anonymous = server.anonymous();
    let body = |email: &str, username: &str| json!({ "email": email, "password": PASSWORD, "username": username });
    register(&anonymous, body("ADA@example.org", "other")).await.expect(422);
    register(&anonymous, body("other@example.org", "ADA")).await.expect(422);
    register(&anonymous, body("other@example.org", "other")).await.expect(201);
}

/// The Kelvin sign's lower case is a `k`; but an address with it is another's.
#[tokio::test]
async fn addresses_are_the_same_in_ascii_lower_case_only() {
    let server = Server::start().await;
    register(&server.anonymous(), json!({ "email": "KATE@example.org", "password": PASSWORD })).await.expect(201);
    log_in(&server.anonymous(), "Kate@Example.org", PASSWORD).await.expect(200);
    let other = log_in(&server.anonymous(), "\u{212a}ate@example.org", PASSWORD).await;
    assert!([401, 422].contains(&other.status), "{}", other.status);
}

#[tokio::test]
async fn an_address_has_a_domain_of_two_labels_and_no_ip_address() {
    let server = Server::start().await;
    for email in ["ada@localhost", "ada@[127.0.0.1]", "ada@[IPv6:::1]", "ada@127.0.0.1", "ada@example.org."] {
        register(&server.anonymous(), json!({ "email": email, "password": PASSWORD })).await.expect(400);
    }
}

#[tokio::test]
async fn a_missing_username_is_made_from_the_address() {
    let server = Server::start().await;
    let username = async |email: &str| {
        register(&server.anonymous(), json!({ "email": email, "password": PASSWORD })).await.expect(201);
        text(&log_in(&server.anonymous(), email, PASSWORD).await.expect(200)["data"]["user"]["username"])
    };
    assert_eq!(username("gr+ac'e@example.org").await, "grace");
    let second = username("grace@other.example").await;
    assert!(second.starts_with("grace") && second != "grace", "{second}");
    let reserved = username("channel@example.org").await;
    assert_ne!(reserved, "channel");
}

/// Whoever had them could keep an account from being erased, or pass for an erased one.
#[tokio::test]
async fn the_names_and_addresses_of_erased_accounts_are_reserved() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let name = format!("deleted-{}", ada.user_id.replace('-', ""));
    let body = |email: &str, username: &str| json!({ "email": email, "password": PASSWORD, "username": username });
    for name in [&name, "Deleted-fan", "deleted-"] {
        let refused = register(&server.anonymous(), body("eve@example.org", name)).await.refused(400, Code::Reserved);
        assert_eq!(refused["error"], format!("username {name} is reserved"));
        ada.patch("/profile", json!({ "username": name })).await.expect(400);
        let channel = ada.general(&organisation).await;
        ada.patch(&format!("/channels/{channel}/username"), json!({ "username": name })).await.refused(422, Code::Reserved);
    }
    for email in [format!("{}@deleted.invalid", ada.user_id), "eve@DELETED.invalid".into()] {
        register(&server.anonymous(), body(&email, "eve")).await.expect(400);
    }
    register(&server.anonymous(), body("eve@deleted.invalid.example", "undeleted-eve")).await.expect(201);
    // A name that is made from the address is another one, and is found.
    register(&server.anonymous(), json!({ "email": "deleted-eve@example.org", "password": PASSWORD })).await.expect(201);
    let made = log_in(&server.anonymous(), "deleted-eve@example.org", PASSWORD).await.expect(200);
    assert_eq!(made["data"]["user"]["username"], "eve");

    // Whoever had such a name before keeps it, and can change the rest of the profile.
    server.sql("update users set username = 'deleted-ada' where username = 'ada'");
    let kept = ada.patch("/profile", json!({ "username": "deleted-ada", "first_name": "Ada" })).await.expect(200);
    assert_eq!([&kept["data"]["username"], &kept["data"]["first_name"]], ["deleted-ada", "Ada"]);
}

#[tokio::test]
async fn a_faulty_registration_is_refused() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    let faults = [
        json!({ "password": PASSWORD }),
        json!({ "email": "ada@example.org" }),
        json!({ "email": "", "password": PASSWORD }),
        json!({ "email": "ada", "password": PASSWORD }),
        json!({ "email": "ada@", "password": PASSWORD }),
        json!({ "email": "ada@example.org\r\nBcc: x@example.org", "password": PASSWORD }),
        json!({ "email": 7, "password": PASSWORD }),
        json!({ "email": "ada@example.org", "password": 12345678 }),
        json!({ "email": "ada@example.org", "password": null }),
        json!({ "email": "ada@example.org", "password": PASSWORD, "first_name": ["Ada"] }),
        json!([]),
        json!("ada@example.org"),
    ];
    for body in faults {
        register(&anonymous, body).await.expect(400);
    }
    for text in ["", "{", "{\"email\":\"ada@example.org\",}", "null"] {
        anonymous.call_text("POST", "/auth/register", text).await.expect(400);
    }
    log_in(&anonymous, "ada@example.org", PASSWORD).await.expect(401);
}

#[tokio::test]
async fn a_username_has_1_to_64_plain_characters() {
    let server = Server::start().await;
    let body = |username: &str| json!({ "email": "ada@example.org", "password": PASSWORD, "username": username });
    let too_long = "a".repeat(65);
    for name in ["two words", "ada@home", "adé", &too_long, "channel", "Here", "ALL", "everyone"] {
        register(&server.anonymous(), body(name)).await.expect(400);
    }
    register(&server.anonymous(), body(&"a".repeat(64))).await.expect(201);
    let other = json!({ "email": "b@example.org", "password": PASSWORD, "username": "A-b_c.9" });
    register(&server.anonymous(), other).await.expect(201);
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_get_the_same_answer() {
    let server = Server::start().await;
    server.register("ada").await;
    let wrong = log_in(&server.anonymous(), "ada@example.org", "wrong horse battery").await.expect(401);
    let unknown = log_in(&server.anonymous(), "nobody@example.org", PASSWORD).await.expect(401);
    assert_eq!(wrong, unknown);
}

#[tokio::test]
async fn a_faulty_log_in_body_is_422_and_broken_json_400() {
    let server = Server::start().await;
    let anonymous = server.anonymous();
    let faults = [
        json!({}),
        json!({ "email": "ada@example.org" }),
        json!({ "password": PASSWORD }),
        json!({ "email": 7, "password": PASSWORD }),
        json!({ "email": "ada@example.org", "password": 7 }),
        json!({ "email": "no address", "password": PASSWORD }),
    ];
    for body in faults {
        anonymous.post("/auth/login", body).await.expect(422);
    }
    anonymous.call_text("POST", "/auth/login", "{\"email\":").await.expect(400);
}

#[tokio::test]
async fn a_disabled_account_is_revealed_by_the_right_password_only() {
    let server = Server::start().await;
    server.register("ada").await;
    server.sql("update users set is_active = 0 where username = 'ada'");
    log_in(&server.anonymous(), "ada@example.org", "wrong horse battery").await.expect(401);
    log_in(&server.anonymous(), "ada@example.org", PASSWORD).await.refused(403, Code::AccountDisabled);
}

#[tokio::test]
async fn log_in_can_wait_for_the_address_to_be_verified() {
    let server = Server::with(|settings| settings.require_verified_email = true).await;
    server.register("ada").await;
    log_in(&server.anonymous(), "ada@example.org", PASSWORD).await.refused(403, Code::EmailUnverified);
    server.sql("update users set is_verified = 1");
    log_in(&server.anonymous(), "ada@example.org", PASSWORD).await.expect(200);
}

#[tokio::test]
async fn a_closed_server_registers_nobody() {
    let server = Server::with(|settings| settings.registration = Registration::Closed).await;
    let body = json!({ "email": "ada@example.org", "password": PASSWORD });
    register(&server.anonymous(), body.clone()).await.refused(403, Code::RegistrationClosed);
    log_in(&server.anonymous(), "ada@example.org", PASSWORD).await.expect(401);
}

#[tokio::test]
async fn a_closed_server_makes_no_account_of_an_invitation() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let token = ada.invite(&organisation, "grace@example.org", "member").await;
    let folder = server.end_and_keep().await;
    let accept = async |registration| {
        let server = Server::on_copy_of(folder.path(), |settings| settings.registration = registration).await;
        server.anonymous().post("/invite/verify", json!({ "token": token })).await
    };
    accept(Registration::Closed).await.expect(403);
    accept(Registration::Invited).await.expect(200);
}

#[tokio::test]
async fn log_out_ends_the_callers_session_and_no_other() {
    let server = Server::start().await;
    let here = server.user("ada").await;
    let there = server.log_in("ada", PASSWORD).await;
    here.call("POST", "/auth/logout", None).await.expect(200);

    here.get("/users/organisations").await.expect(401);
    here.call("POST", "/auth/logout", None).await.expect(401);
    there.get("/users/organisations").await.expect(200);
}

#[tokio::test]
async fn log_out_says_that_it_was_successful() {
    let server = Server::start().await;
    server.user("ada").await.call("POST", "/auth/logout", None).await.done(200, "Logout successful");
    server.anonymous().call("POST", "/auth/logout", None).await.expect(401);
}

#[tokio::test]
async fn registration_can_be_limited_to_invited_addresses() {
    // The owner is there before the policy is.
    let server = Server::with(|settings| {
        settings.registration = Registration::Invited;
        settings.organisations_by = Some(OrganisationsBy::Anyone);
    })
    .await;
    let refused = json!({ "email": "ada@example.org", "password": PASSWORD });
    register(&server.anonymous(), refused.clone()).await.expect(403);
    let owner = server.write(|tx| {
        let new = tidings::domain::accounts::New::check("owner@example.org", Some("owner"), "", "").unwrap();
        let hash = tidings::secret::hash_password(PASSWORD)?;
        tidings::domain::accounts::by_operator::create(tx, &new, &hash)
    });
    owner.unwrap();
    let owner = server.log_in("owner", PASSWORD).await;
    let organisation = owner.organisation("Engines").await;
    owner.invite(&organisation, "ada@example.org", "member").await;
    owner.invite(&organisation, "grace@example.org", "guest").await;
    let of_owner = format!("where user_id = {}", blob(&owner.user_id));
    let role = server.number(&format!("select role_id from organisation_members {of_owner}"));
    let change_role = |role: i64| server.sql(&format!("update organisation_members set role_id = {role} {of_owner}"));
    let grace = json!({ "email": "grace@example.org", "password": PASSWORD });
    change_role(BuiltInRole::Guest as i64);
    register(&server.anonymous(), grace.clone()).await.expect(403); // whoever invited her may invite no longer
    change_role(role);
    register(&server.anonymous(), refused).await.expect(201);
    owner.delete(&format!("/organisations/{organisation}")).await.expect(204);
    register(&server.anonymous(), grace).await.expect(403);
}
