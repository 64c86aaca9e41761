//! The same table for programs with tokens of the owner, by their scopes and channels.

use std::sync::Arc;

use super::{Row, Stage, documented, table};
use crate::{
    harness::Client,
    operations::Operation,
    scene::{OWNER, Scene},
};

/// Operations of a token for some channels that show its user alone, whatever the channels are.
const PERSONAL: [&str; 5] =
    ["GET /profile", "GET /users/me", "GET /permissions", "GET /token/connection", "POST /files/upload-files"];

/// What is wrong with the answers of a row's operation.
async fn wrong(stage: &Stage, operation: &Operation, row: &Row) -> Vec<String> {
    let programs = &stage.scene.programs;
    let (owner, scope) = (row.expected[OWNER], operation.scope());
    let mut callers: Vec<(&str, &Client)> = vec![("all scopes", &programs.all)];
    if let Some(scope) = scope {
        let (_, but) = programs.but.iter().find(|(of, _)| *of == scope).unwrap();
        callers.extend([
            ("all but its scope", but),
            ("in this channel", &programs.here),
            ("in another channel", &programs.elsewhere),
        ]);
    }
    let answered = stage.answers(row, &callers.iter().map(|(_, client)| (*client).clone()).collect::<Vec<_>>()).await;
    let mut found = Vec::new();
    for ((name, _), answered) in callers.iter().zip(&answered) {
        let (status, code) = (answered.status, answered.answer["code"].as_str().unwrap_or_default());
        let is_right = match (*name, scope) {
            ("all scopes", Some(_)) => status == owner,
            ("all scopes", None) => (status, code) == (403, "session_required"),
            ("all but its scope", Some(scope)) => {
                (status, code) == (403, "scope_missing")
                    && answered.answer["message"] == format!("The token lacks the scope {}", scope.as_str())
            }
            (_, _) if !operation.is_for_some_channels() => (status, code) == (403, "token_limited"),
            ("in this channel", _) => status == owner,
            (_, _) => {
                status >= 400 || PERSONAL.contains(&&*row.operation) || row.operation == "GET /channels/{channel_id}/user-exist"
            }
        };
        if !is_right {
            found.push(format!("{} with {name}: {status} {}", row.operation, answered.answer));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_does_what_its_scopes_and_channels_open_and_nothing_else() {
    let documented = documented().await;
    let look = move |stage: Arc<Stage>, row: Row| {
        let documented = documented.clone();
        async move { wrong(&stage, &documented[&row.operation], &row).await }
    };
    let rows = table().into_iter().filter(Row::heeds_session).collect();
    let wrong = Stage::of(Scene::make().await).each_row(rows, look).await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn an_operation_of_a_channel_that_has_a_scope_admits_tokens_for_channels() {
    let documented = documented().await;
    let of_channels: Vec<_> =
        documented.values().filter(|one| one.path.contains("/{channel_id}") && one.scope().is_some()).collect();
    assert!(of_channels.len() > 40, "only {} operations", of_channels.len());
    let refusing = of_channels.into_iter().filter(|one| !one.is_for_some_channels());
    assert_eq!(refusing.map(Operation::name).collect::<Vec<_>>(), Vec::<String>::new());
}
