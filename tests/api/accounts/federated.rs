//! Federated log-in, against an issuer on this machine.

use serde_json::{Value, json};
use tidings::{
    domain::accounts::{identities, sessions::Device},
    error::{Code, Error},
    issuer::Verified,
    time::Time,
};

use super::issuer::{CLIENT, Issuer};
use crate::harness::{PASSWORD, Reply, Server};

async fn log_in(server: &Server, body: Value) -> Reply {
    server.anonymous().post("/auth/google", body).await
}

#[tokio::test]
async fn an_id_token_logs_in_once_also_over_a_restart() {
    let issuer = Issuer::start();
    let server = issuer.server().await;
    let token = issuer.token(json!({ "jti": "a" }));
    let data = log_in(&server, json!({ "id_token": token })).await.data(200, "Login successful");
    assert_eq!([&data["user"]["email"], &data["user"]["is_verified"]], [&json!("ada@example.org"), &json!(true)]);
    log_in(&server, json!({ "id_token": token })).await.expect(401);
    let server = server.restart().await;
    let refused = log_in(&server, json!({ "id_token": token })).await.expect(401);
    assert_eq!(refused["message"], "The id token has already been used");
    log_in(&server, json!({ "id_token": issuer.token(json!({ "jti": "b" })) })).await.expect(200);
    assert_eq!(server.count("used_id_tokens"), 2);
}

#[tokio::test]
async fn a_failed_log_in_does_not_use_up_its_id_token() {
    let issuer = Issuer::start();
    let server = issuer.server().await;
    let token = issuer.token(json!({}));
    server.register("ada").await;
    server.sql("update users set is_active = 0");
    log_in(&server, json!({ "id_token": token })).await.expect(403);
    server.sql("update users set is_active = 1");
    log_in(&server, json!({ "id_token": token })).await.expect(200);
}

#[tokio::test]
async fn an_address_that_the_issuer_has_not_verified_opens_no_account() {
    let issuer = Issuer::start();
    let server = issuer.server().await;
    let token = issuer.token(json!({ "email_verified": false }));
    log_in(&server, json!({ "id_token": token })).await.refused(401, Code::ProviderEmailUnverified);
    assert_eq!(server.count("users"), 0);
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_is_503() {
    let server = Server::with(|settings| {
        settings.federated.oidc_issuer = "https://localhost:9".into();
        settings.federated.google_client_id = vec![CLIENT.into()];
    })
    .await;
    let token = Issuer::start().token(json!({}));
    log_in(&server, json!({ "id_token": token })).await.refused(503, Code::ProviderUnreachable);
}

#[tokio::test]
async fn a_sent_nonce_must_equal_the_id_tokens() {
    let issuer = Issuer::start();
    let server = issuer.server().await;
    let with = issuer.token(json!({ "nonce": "mine", "jti": "with" }));
    for nonce in ["another", "", "mine "] {
        log_in(&server, json!({ "id_token": with, "nonce": nonce })).await.refused(401, Code::IdTokenInvalid);
    }
    log_in(&server, json!({ "id_token": with, "nonce": 7 })).await.expect(400);
    let without = issuer.token(json!({ "jti": "without" }));
    log_in(&server, json!({ "id_token": without, "nonce": "mine" })).await.expect(401);
    log_in(&server, json!({ "id_token": with, "nonce": "mine" })).await.expect(200);
    log_in(&server, json!({ "id_token": without })).await.expect(200);
}

#[tokio::test]
async fn a_federated_log_in_proves_the_mailbox_and_ends_earlier_access() {
    let issuer = Issuer::start();
    let server = issuer.server().await;
    let stranger = server.user("ada").await;
    let token = server.mails("ada@example.org", 1).await[0].parameter("token");
    server.anonymous().post("/auth/email-request/verify", json!({ "token": token })).await.expect(200);
    log_in(&server, json!({ "id_token": issuer.token(json!({})) })).await.expect(200);
    stranger.get("/profile").await.expect(401);
    let body = json!({ "email": "ada@example.org", "password": PASSWORD });
    server.anonymous().post("/auth/login", body).await.expect(401);
}

/// Applies the rules for a token of Google, which no test can obtain.
fn google(server: &Server, subject: &str, email: &str, hosted: Option<&str>) -> Result<String, Error> {
    let claims = json!({
        "iss": "https://accounts.google.com", "aud": CLIENT, "sub": subject, "iat": 0, "exp": 0,
        "email": email, "email_verified": true, "hd": hosted,
    });
    let claims = serde_json::from_value(claims).unwrap();
    let token = Verified { claims, hash: tidings::secret::sha256(uuid::Uuid::now_v7().to_string()), expires_at: Time::now() };
    server.write(|tx| identities::log_in(tx, &token, &Device::default())).map(|started| started.user.email)
}

#[tokio::test]
async fn google_opens_existing_accounts_only_of_addresses_that_it_assigns() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    server.anonymous().post("/auth/register", json!({ "email": "grace@gmail.com", "password": PASSWORD })).await.expect(201);
    for hosted in [None, Some("evil.example"), Some("org")] {
        let refused = google(&server, "1", "ada@example.org", hosted).unwrap_err();
        assert_eq!((refused.status(), refused.code()), (401, Code::AccountExists));
    }
    ada.get("/profile").await.expect(200);
    assert_eq!(google(&server, "1", "Ada@example.org", Some("Example.org")).unwrap(), "ada@example.org");
    assert_eq!(server.count("sessions where ended_at is not null"), 1, "what was before the proof");
    assert_eq!(google(&server, "2", "grace@gmail.com", None).unwrap(), "grace@gmail.com");

    // Of an address that nobody registered it makes an account, which proves nothing where Google has no say.
    google(&server, "3", "new@example.org", None).unwrap();
    google(&server, "4", "new@gmail.com", None).unwrap();
    google(&server, "3", "elsewhere@example.org", None).unwrap();
    assert_eq!(server.count("users where email = 'new@example.org' and is_verified and not mailbox_proved"), 1);
    assert_eq!(server.count("users where email = 'new@gmail.com' and mailbox_proved"), 1);
    assert_eq!(server.count("users"), 4);
}
