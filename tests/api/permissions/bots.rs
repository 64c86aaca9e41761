//! The same table for bots in the role `admin`, by what their owners are now: a bot of a member gets what members get.

use std::sync::Arc;

use serde_json::json;
use tidings::domain::scopes::Scope;

use super::{Row, Stage, documented, table};
use crate::{
    harness::{Client, text},
    operations::Operation,
    scene::{ADMIN, GUEST, MEMBER, OWNER, Scene},
};

/// A bot's program with all scopes, and the column of what it gets; none if its owner is gone, and its token with them.
struct Bot {
    name: &'static str,
    program: Client,
    gets: Option<usize>,
}

/// The scene with these bots, each of an owner of its own, who was an administrator when they made it.
async fn with_bots() -> (Scene, Vec<Bot>) {
    let scene = Scene::make().await;
    let server = scene.server().await;
    let (owner, org) = (scene.callers[OWNER].at(&server.origin), scene.named("org"));
    let scopes: Vec<_> = Scope::ALL.into_iter().map(Scope::as_str).collect();
    let mut bots = Vec::new();
    for (name, gets, change) in [
        ("bot of an administrator", Some(ADMIN), None),
        ("bot of a member", Some(MEMBER), Some(json!({ "role_id": "member" }))),
        ("bot of a guest", Some(GUEST), Some(json!({ "role_id": "guest" }))),
        ("bot of a deactivated member", None, Some(json!({ "status": "deactivated" }))),
        ("bot of a removed member", None, None),
    ] {
        let keeper = server.member(&owner, org, &name.replace(' ', "-"), "admin").await;
        let new = json!({ "name": name, "role": "admin" });
        let bot = keeper.post(&format!("/organisations/{org}/bots"), new).await.expect(201);
        let tokens = format!("/users/{}/tokens", text(&bot["data"]["id"]));
        let token = keeper.post(&tokens, json!({ "name": "all", "scopes": scopes })).await.expect(201);
        let member = format!("/organisations/{org}/users/{}", keeper.user_id);
        match change {
            Some(change) => drop(owner.put(&member, change).await.expect(200)),
            None if gets.is_none() => drop(owner.delete(&member).await.expect(200)),
            None => {}
        }
        bots.push(Bot { name, program: keeper.with_token(&text(&token["data"]["token"])), gets });
    }
    (scene.gone_on(server.end_and_keep().await), bots)
}

/// What is wrong with the answers of a row's operation.
async fn wrong(stage: &Stage, bots: &[Bot], operation: &Operation, row: &Row) -> Vec<String> {
    let callers: Vec<_> = bots.iter().map(|bot| bot.program.clone()).collect();
    let answered = stage.answers(row, &callers).await;
    let mut found = Vec::new();
    for (bot, answered) in bots.iter().zip(&answered) {
        let (status, code) = (answered.status, answered.answer["code"].as_str().unwrap_or_default());
        let is_right = match bot.gets {
            None => (status, code) == (401, "token_invalid"),
            Some(_) if operation.scope().is_none() => (status, code) == (403, "session_required"),
            Some(column) => status == row.expected[column],
        };
        if !is_right {
            found.push(format!("{} as {}: {status} {}", row.operation, bot.name, answered.answer));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bot_gets_what_its_owner_would_get_and_nothing_once_they_are_gone() {
    let (scene, bots) = with_bots().await;
    let (bots, documented) = (Arc::new(bots), documented().await);
    let look = move |stage: Arc<Stage>, row: Row| {
        let (bots, documented) = (bots.clone(), documented.clone());
        async move { wrong(&stage, &bots, &documented[&row.operation], &row).await }
    };
    let rows = table().into_iter().filter(Row::heeds_session).collect();
    let wrong = Stage::of(scene).each_row(rows, look).await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
