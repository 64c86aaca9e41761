//! The same table for programs with tokens of the owner, by their scopes and channels.

use std::{collections::BTreeSet, sync::Arc};

use tidings::domain::scopes::{self, Scope};

use super::{Row, Stage, table};
use crate::{
    harness::Client,
    scene::{OWNER, Scene},
};

/// Operations of a token for some channels that show its user alone, whatever the channels are.
const PERSONAL: [&str; 4] = ["GET /profile", "GET /users/me", "GET /permissions", "GET /token/connection"];

fn scope_of(operation: &str) -> Option<Scope> {
    Scope::ALL.into_iter().find(|scope| scope.operations().contains(&operation))
}

/// What is wrong with the answers of a row's operation.
async fn wrong(stage: &Stage, row: &Row) -> Vec<String> {
    let programs = &stage.scene.programs;
    let (owner, is_for_one_channel) = (row.expected[OWNER], scopes::admits_channel_limited_tokens(&row.operation));
    let scope = scope_of(&row.operation);
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
            (_, _) if !is_for_one_channel => (status, code) == (403, "token_limited"),
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
    let look = |stage: Arc<Stage>, row: Row| async move { wrong(&stage, &row).await };
    let rows = table().into_iter().filter(Row::heeds_session).collect();
    let wrong = Stage::of(Scene::make().await).each_row(rows, look).await.concat();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_operation_of_a_scope_is_one_of_the_server() {
    let known: BTreeSet<_> = table().into_iter().map(|row| row.operation).collect();
    let listed = Scope::ALL.into_iter().flat_map(Scope::operations);
    assert_eq!(listed.filter(|operation| !known.contains(**operation)).collect::<Vec<_>>(), Vec::<&&str>::new());
}
