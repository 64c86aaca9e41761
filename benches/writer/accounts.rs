//! Accounts and sessions. Mary has as many organisations as a person may, which are told of what becomes of her, and as many
//! sessions.

use reqwest::Method;
use serde_json::{Value, json};
use tidings::{
    domain::accounts::{identities, sessions::Device},
    issuer::Verified,
    secret,
    time::Time,
};

use super::{
    api::{Api, PASSWORD, text},
    bench::{Bench, blob, made},
    world::World,
};

const EMAIL: &str = "mary@x.example";
const SESSIONS: u32 = 50;
const NEW_PASSWORD: &str = "quiet harbour at dawn";

pub async fn walk(bench: &mut Bench, world: &World) {
    let stranger = bench.api.clone();
    let name = "x".repeat(100);
    let new = json!({ "email": "new@x.example", "password": PASSWORD, "first_name": name, "last_name": name });
    bench.call("registration", &stranger, Method::POST, "/auth/register", new).await;
    log_in(bench, PASSWORD, SESSIONS).await;
    let body = json!({ "email": EMAIL, "password": PASSWORD });
    let data = bench.call("log-in, which ends the oldest of 50 sessions", &stranger, Method::POST, "/auth/login", body).await;
    let mary = Api { token: text(&data["data"]["access_token"]), ..stranger.clone() };

    bench.call("onboarded", &mary, Method::PUT, "/auth/onboard-status", json!({ "is_onboarded": true })).await;
    let profile =
        json!({ "first_name": name, "last_name": name, "avatar_url": format!("https://x.example/{}", "x".repeat(1900)) });
    bench.call("profile, told to 200 organisations", &mary, Method::PATCH, "/profile", profile).await;
    let choice = json!({ "current_org": made(7, 1) });
    bench.call("organisation chosen", &mary, Method::PUT, "/users/switch-org", choice).await;
    verification(bench, world, &stranger, &mary).await;
    links(bench, world, &stranger).await;
    federated(bench, world).await;

    let body = json!({ "email": EMAIL, "password": NEW_PASSWORD });
    reset(bench, world, &stranger).await;
    log_in(bench, NEW_PASSWORD, SESSIONS - 1).await;
    let data = stranger.call(Method::POST, "/auth/login", body).await;
    let mary = Api { token: text(&data["data"]["access_token"]), ..stranger.clone() };
    let body = json!({ "old_password": NEW_PASSWORD, "new_password": PASSWORD });
    bench.call("password, which ends 49 sessions", &mary, Method::PUT, "/auth/change-password", body).await;
    log_in(bench, PASSWORD, 1).await;
    let listed = world.root.call(Method::GET, &format!("/users/{}/sessions", world.mary_id), Value::Null).await;
    let mut sessions = listed["data"].as_array().unwrap().iter().map(|session| text(&session["id"]));
    let other = sessions.next_back().unwrap();
    bench.call("session revoked", &world.root, Method::PUT, "/users/revoke-session", json!({ "session_id": other })).await;
    log_in(bench, PASSWORD, 1).await;
    let data = stranger.call(Method::POST, "/auth/login", json!({ "email": EMAIL, "password": PASSWORD })).await;
    let mary = Api { token: text(&data["data"]["access_token"]), ..stranger };
    bench.call("log-out", &mary, Method::POST, "/auth/logout", Value::Null).await;
}

async fn verification(bench: &mut Bench, world: &World, stranger: &Api, mary: &Api) {
    unprove(bench, world);
    bench.call("verification asked for", stranger, Method::POST, "/auth/email-request", json!({ "email": EMAIL })).await;
    let body = json!({ "token": token(bench, world, "email_verification") });
    bench.call("verification, told to 200 organisations", mary, Method::POST, "/auth/email-request/verify", body).await;
}

async fn links(bench: &mut Bench, world: &World, stranger: &Api) {
    bench.call("magic link asked for", stranger, Method::POST, "/auth/magic-link", json!({ "email": EMAIL })).await;
    unprove(bench, world);
    let body = json!({ "token": token(bench, world, "magic_link") });
    let what = "magic link, which ends 50 sessions and is told to 200 organisations";
    bench.call(what, stranger, Method::POST, "/auth/magic-link/verify", body).await;
}

async fn reset(bench: &mut Bench, world: &World, stranger: &Api) {
    bench.call("password reset asked for", stranger, Method::POST, "/auth/password-reset", json!({ "email": EMAIL })).await;
    unprove(bench, world);
    let body = json!({ "token": token(bench, world, "password_reset"), "new_password": NEW_PASSWORD });
    let what = "password reset, which is told to 200 organisations";
    bench.call(what, stranger, Method::POST, "/auth/password-reset/verify", body).await;
}

/// The issuer is left out: what it signs is verified before the write.
async fn federated(bench: &mut Bench, world: &World) {
    unprove(bench, world);
    let claims = json!({
        "iss": "https://issuer.example", "aud": "bench", "sub": "1", "iat": 0, "exp": 0, "email": EMAIL, "email_verified": true,
    });
    let token =
        Verified { claims: serde_json::from_value(claims).unwrap(), hash: secret::sha256("token"), expires_at: Time::now() };
    let write = move |tx: &mut tidings::db::Tx| identities::log_in(tx, &token, &Device::default());
    bench.write(("federated log-in, told to 200 organisations", "POST /auth/google"), write).await;
}

async fn log_in(bench: &Bench, password: &str, times: u32) {
    for _ in 0..times {
        bench.api.call(Method::POST, "/auth/login", json!({ "email": EMAIL, "password": password })).await;
    }
}

fn unprove(bench: &Bench, world: &World) {
    bench.sql(&format!("update users set is_verified = 0, mailbox_proved = 0 where id = {}", blob(&world.mary_id)));
}

/// One that was never mailed.
fn token(bench: &Bench, world: &World, purpose: &str) -> String {
    let hash: String = secret::sha256(purpose).iter().map(|byte| format!("{byte:02x}")).collect();
    bench.sql(&format!(
        "insert into one_time_tokens (hash, purpose, user_id, created_at, expires_at)
         values (x'{hash}', '{purpose}', {}, 0, {})",
        blob(&world.mary_id),
        i64::MAX
    ));
    purpose.into()
}
