//! Bots: how they are made and shown, who makes their tokens, and how they end.

use serde_json::{Value, json};
use tidings::error::Code;

use crate::{
    harness::{Client, Server, text},
    messages::search::indexed,
    shapes::assert_shape,
    socket::Socket,
};

struct Bot {
    id: String,
    path: String,
    tokens: String,
    /// The program that uses it, with the scopes read and post.
    program: Client,
}

async fn make(owner: &Client, organisation: &str, name: &str) -> Bot {
    let bots = format!("/organisations/{organisation}/bots");
    let id = text(&owner.post(&bots, json!({ "name": name })).await.data(201, "Bot created successfully")["id"]);
    let (path, tokens) = (format!("{bots}/{id}"), format!("/users/{id}/tokens"));
    let program = token(owner, &tokens).await;
    Bot { id, path, tokens, program }
}

async fn token(owner: &Client, tokens: &str) -> Client {
    let made = owner.post(tokens, json!({ "name": "ci", "scopes": ["read", "post", "channels"] })).await.expect(201);
    owner.with_token(&text(&made["data"]["token"]))
}

/// The rows of a list that are of this user.
fn rows_of(list: &Value, id: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().filter(|row| row["id"] == id || row["user_id"] == id).cloned().collect()
}

#[tokio::test]
async fn a_bot_is_a_member_that_is_shown_as_a_bot_wherever_people_are() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let body = json!({
        "name": "Build server", "username": "builds", "description": "Says what was built",
        "avatar_url": "https://example.org/builds.png",
    });
    let made = ada.post(&format!("/organisations/{organisation}/bots"), body).await.data(201, "Bot created successfully");
    assert_shape(
        &made,
        "secret:text? id:uuid organisation_id:uuid owner_id:uuid username:text name:text description:text avatar_url:text url:text role:text role_id:int \
         status:text created_at:time last_used_at:time?",
    );
    assert_eq!((&made["owner_id"], &made["role"]), (&json!(ada.user_id), &json!("member")));
    let (id, news) = (text(&made["id"]), ada.channel(&organisation, "news", &[&grace]).await);
    let mut socket = Socket::listening(&grace, &[&news]).await;
    ada.post(&format!("/channels/{news}/users"), json!({ "user_ids": [id] })).await.expect(200);
    let program = token(&ada, &format!("/users/{id}/tokens")).await;
    let post = program.say(&news, "Build 7 passed").await;
    let heard = socket.push(|push| push["pub"]["data"]["content"] == "Build 7 passed").await;
    assert_eq!(heard["pub"]["data"]["user_type"], "bot");
    for (reacting, user_type) in [(&program, "bot"), (&grace, "user")] {
        reacting.call("PUT", &format!("/channels/{news}/messages/{post}/reactions/tada"), None).await.expect(200);
        let heard = socket.push(|push| push["pub"]["data"]["notification_type"] == "reaction_event").await;
        assert_eq!(heard["pub"]["data"]["data"]["user_type"], user_type);
    }
    program.reply(&news, &post, "in 4 minutes").await;
    let thread = grace.reply(&news, &post, "@builds thanks").await;

    let messages = grace.get(&format!("/channels/{news}/messages")).await.expect(200);
    let message = messages["messages"].as_array().unwrap().iter().find(|message| message["id"] == post).unwrap().clone();
    assert_eq!([&message["user_type"], &message["full_name"], &message["username"]], ["bot", "Build server", "builds"]);
    assert_eq!([&message["participants"][0]["user_type"], &message["participants"][1]["user_type"]], ["bot", "user"]);
    let mentioned = grace.get(&format!("/messages/{thread}")).await.expect(200);
    assert_eq!(mentioned["data"]["mentions"][0]["id"], id);
    indexed(&ada, &organisation).await;
    let found = grace.get(&format!("/organisations/{organisation}/search?q=passed")).await.expect(200);
    assert_eq!(found["data"][0]["user_type"], "bot", "{}", found);
    for list in [
        format!("/organisations/{organisation}/users"),
        format!("/organisations/{organisation}/users?q=build"),
        format!("/organisations/{organisation}/users?ids={id}"),
    ] {
        let listed = grace.get(&list).await.expect(200);
        let [row] = &rows_of(&listed["data"], &id)[..] else { panic!("{list}: {}", listed) };
        assert_eq!([&row["user_type"], &row["username"]], ["bot", "builds"]);
    }
    let local = server.number("select count(*) from organisation_members where names like '%invalid%'");
    assert_eq!(local, 0, "nobody finds a bot by its address");
    let members = grace.get(&format!("/channels/{news}/users")).await.expect(200);
    assert_eq!(rows_of(&members["users"], &id)[0]["user_type"], "bot");
    let listed = grace.get(&format!("/organisations/{organisation}/bots")).await.data(200, "Bots retrieved successfully");
    assert_eq!((&listed[0]["description"], listed.as_array().unwrap().len()), (&json!("Says what was built"), 1));
}

#[tokio::test]
async fn a_change_is_told_and_a_taken_name_changes_nothing() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bot = make(&ada, &organisation, "Build server").await;
    let mut socket = Socket::listening(&grace, &[&organisation]).await;
    let change = json!({ "name": "Builds", "username": "builds2", "description": "", "avatar_url": "" });
    let edited = ada.patch(&bot.path, change).await.data(200, "Bot updated successfully");
    assert_eq!([&edited["name"], &edited["username"]], ["Builds", "builds2"]);
    let told = socket.push(|push| push["pub"]["data"]["data"]["username"] == "builds2").await["pub"]["data"]["data"].take();
    assert_eq!([&told["name"], &told["user_type"]], ["Builds", "bot"]);
    ada.patch(&bot.path, json!({ "description": "new", "username": "GRACE" })).await.refused(422, Code::UsernameTaken);
    ada.patch(&bot.path, json!({ "name": "\u{200b}" })).await.expect(422);
    ada.patch(&bot.path, json!({ "name": "x".repeat(101) })).await.refused(422, Code::TooLong);
    ada.patch(&bot.path, json!({ "name": "x".repeat(100), "description": "d".repeat(500) })).await.expect(200);
    ada.patch(&bot.path, json!({ "description": "d".repeat(501) })).await.refused(422, Code::TooLong);
    let listed = ada.get(&format!("/organisations/{organisation}/bots")).await.expect(200);
    assert_eq!(listed["data"][0]["description"], "d".repeat(500));
}

#[tokio::test]
async fn only_its_owner_makes_tokens_of_a_bot_and_managers_end_them() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bob = server.member(&ada, &organisation, "bob", "admin").await;
    let outsider = server.user("outsider").await;
    outsider.organisation("Looms").await;
    let bot = make(&bob, &organisation, "Build server").await;
    let new = json!({ "name": "ci", "scopes": ["read"] });
    ada.post(&bot.tokens, new.clone()).await.refused(403, Code::OwnerOnly);
    for other in [&grace, &outsider, &bot.program] {
        assert!([403, 404].contains(&other.post(&bot.tokens, new.clone()).await.status));
        assert!([403, 404].contains(&other.get(&bot.tokens).await.status));
    }
    // A role with more rights than its owner has.
    let member = |who: &str| format!("/organisations/{organisation}/users/{who}");
    ada.put(&member(&bot.id), json!({ "role_id": "admin" })).await.expect(200);
    let role = json!({ "name": "wirer", "permission_list": { "manage:webhooks": true } });
    ada.post(&format!("/organisations/{organisation}/roles"), role).await.expect(201);
    ada.put(&member(&bob.user_id), json!({ "role_id": "wirer" })).await.expect(200);
    bob.post(&bot.tokens, new.clone()).await.refused(403, Code::RightsExceeded);
    bob.delete(&bot.path).await.refused(403, Code::RightsExceeded);

    let listed = ada.get(&bot.tokens).await.data(200, "Tokens retrieved successfully");
    let id = text(&listed[0]["id"]);
    grace.delete(&format!("{}/{id}", bot.tokens)).await.refused(404, Code::UserNotFound);
    let socket = Socket::listening(&bot.program, &[]).await;
    ada.delete(&format!("{}/{id}", bot.tokens)).await.done(200, "Token revoked successfully");
    assert_eq!(socket.closed().await, 3503);
    bot.program.get("/profile").await.expect(401);
}

#[tokio::test]
async fn a_limited_token_of_a_bot_is_for_channels_that_the_bot_is_in() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let bot = make(&ada, &organisation, "Build server").await;
    let secret = ada.private_channel(&organisation, "secret", &[]).await;
    let new = json!({ "name": "ci", "scopes": ["read"], "channels": [secret] });
    ada.post(&bot.tokens, new.clone()).await.refused(404, Code::ChannelNotFound);
    ada.post(&format!("/channels/{secret}/users"), json!({ "user_ids": [bot.id] })).await.expect(200);
    ada.post(&bot.tokens, new).await.expect(201);
}

#[tokio::test]
async fn nobody_logs_in_as_a_bot_and_it_owns_nothing() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bot = make(&grace_as_admin(&ada, &grace, &organisation).await, &organisation, "Build server").await;
    let email = text(&bot.program.get("/profile").await.expect(200)["data"]["email"]);
    assert!(email.ends_with("@bot.invalid"), "{email}");
    let anonymous = server.anonymous();
    anonymous.post("/auth/login", json!({ "email": email, "password": "" })).await.expect(401);
    // What is mailed to an address is written for the account that is found by it.
    assert!(server.write(|tx| tidings::domain::accounts::find_by_email(tx, &email)).unwrap().is_none());
    let taken = json!({ "email": "me@bot.invalid", "password": "quiet harbour at dawn" });
    anonymous.post("/auth/register", taken).await.refused(400, Code::Reserved);
    let owner = format!("/organisations/{organisation}/owner");
    ada.put(&owner, json!({ "user_id": bot.id })).await.refused(422, Code::MemberIsBot);
    // A channel whose owner leaves passes to a person.
    let shared = grace.channel(&organisation, "shared", &[]).await;
    grace.post(&format!("/channels/{shared}/users"), json!({ "user_ids": [bot.id] })).await.expect(200);
    grace.post(&format!("/channels/{shared}/users"), json!({ "user_ids": [ada.user_id] })).await.expect(200);
    grace.call("POST", &format!("/channels/{shared}/leave"), None).await.expect(200);
    assert_eq!(ada.get(&format!("/channels/{shared}")).await.expect(200)["data"]["owner_id"], ada.user_id);
    // Another organisation does not get it.
    let root = server.superadmin("root").await;
    let other = root.organisation("Looms").await;
    let add = json!({ "user_id": bot.id });
    root.post(&format!("/organisations/{other}/users"), add).await.refused(404, Code::UserNotFound);
}

async fn grace_as_admin(ada: &Client, grace: &Client, organisation: &str) -> Client {
    let path = format!("/organisations/{organisation}/users/{}", grace.user_id);
    ada.put(&path, json!({ "role_id": "admin" })).await.expect(200);
    grace.clone()
}

#[tokio::test]
async fn a_removed_bot_is_gone_for_good_and_what_it_wrote_stays() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let news = ada.channel(&organisation, "news", &[]).await;
    for by_member in [false, true] {
        let bot = make(&ada, &organisation, "Build server").await;
        ada.post(&format!("/channels/{news}/users"), json!({ "user_ids": [bot.id] })).await.expect(200);
        let post = bot.program.say(&news, "Build 7 passed").await;
        let socket = Socket::listening(&bot.program, &[&news]).await;
        let member = format!("/organisations/{organisation}/users/{}", bot.id);
        ada.delete(if by_member { &member } else { &bot.path }).await.expect(200);
        assert_eq!(socket.closed().await, 3503);
        bot.program.get("/profile").await.expect(401);
        ada.post(&bot.tokens, json!({ "name": "ci", "scopes": ["read"] })).await.refused(404, Code::UserNotFound);
        ada.patch(&bot.path, json!({})).await.refused(404, Code::BotNotFound);
        let written = ada.get(&format!("/messages/{post}")).await.expect(200);
        assert_eq!([&written["data"]["user_type"], &written["data"]["full_name"]], ["bot", "Build server"]);
        server.deferred_work_done().await;
        let listed = ada.get(&format!("/organisations/{organisation}/bots")).await.expect(200);
        assert_eq!(listed["data"], json!([]));
    }
}

#[tokio::test]
async fn bots_of_somebody_who_loses_access_are_the_owners_and_their_tokens_end() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let grace = grace_as_admin(&ada, &grace, &organisation).await;
    let (member, mine) =
        (format!("/organisations/{organisation}/users/{}", grace.user_id), make(&ada, &organisation, "Mine").await);
    let owner = async |bot: &Bot| {
        let listed = ada.get(&format!("/organisations/{organisation}/bots")).await.expect(200);
        rows_of(&listed["data"], &bot.id)[0]["owner_id"].clone()
    };
    let mails = "select count(*) from mails where recipient = 'ada@example.org' and kind = 'notice'";
    for status in [Some("deactivated"), None] {
        let (bot, before) = (make(&grace, &organisation, "Build server").await, server.number(mails));
        assert_eq!(owner(&bot).await, grace.user_id);
        match status {
            Some(status) => drop(ada.put(&member, json!({ "status": status })).await.expect(200)),
            None => drop(ada.delete(&member).await.expect(200)),
        }
        bot.program.get("/profile").await.expect(401);
        assert_eq!(owner(&bot).await, ada.user_id);
        assert_eq!(server.number(mails), before + 1, "she is told");
        token(&ada, &bot.tokens).await.get("/profile").await.expect(200);
        if status.is_some() {
            ada.put(&member, json!({ "status": "active" })).await.expect(200);
        }
    }
    mine.program.get("/profile").await.expect(200);
}

#[tokio::test]
async fn a_reset_password_ends_the_tokens_of_the_users_bots() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let bot = make(&grace_as_admin(&ada, &grace, &organisation).await, &organisation, "Build server").await;
    server.write(|tx| tidings::domain::accounts::by_operator::log_out(tx, "grace@example.org")).unwrap();
    bot.program.get("/profile").await.expect(401);
}

#[tokio::test]
async fn an_organisation_has_a_hundred_bots_and_not_one_more() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let bots = format!("/organisations/{organisation}/bots");
    let first = text(&ada.post(&bots, json!({ "name": "Bot" })).await.expect(201)["data"]["id"]);
    for _ in 1..100 {
        ada.post(&bots, json!({ "name": "Bot" })).await.expect(201);
    }
    let refused = ada.post(&bots, json!({ "name": "Bot" })).await;
    assert_eq!(refused.refused(422, Code::LimitReached)["limit"], 100);
    ada.delete(&format!("{bots}/{first}")).await.done(200, "Bot deleted successfully");
    ada.post(&bots, json!({ "name": "Bot" })).await.expect(201);
}
