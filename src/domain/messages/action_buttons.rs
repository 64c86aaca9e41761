//! Actions of messages: buttons below what a program has posted. A click is a call of that program, which
//! [`commands::clicking`](crate::domain::commands::clicking) makes.

use rusqlite::Connection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    db::Tx,
    domain::text::{self, Rule},
    error::{Code, Error, Result},
    id::{ActionId, CommandId, UserId, WebhookId},
};

/// At most ten actions of a message.
pub const MOST: usize = 10;

text::rules! {
    /// What stands on the button.
    pub Label: Rule::line(75).at_least(1).visible();
    pub Style: Rule::one_of(&["default", "primary", "danger"]);
    /// What the program gets with a click.
    pub Value: Rule::text(2000);
}

/// An action to be shown.
#[derive(Clone)]
pub struct New {
    pub label: String,
    /// `default` if it is none.
    pub style: Option<String>,
    pub value: String,
}

/// The program that a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    Bot(UserId),
    Webhook(WebhookId),
    Command(CommandId),
}

/// Ends the calls of a program that are under way. Required where its address changes: whoever had the former one must not answer
/// for the new.
pub(in crate::domain) fn end_calls(tx: &Tx, program: Program) -> Result<()> {
    let program = serde_json::to_string(&program).map_err(Error::internal)?;
    tx.prepare_cached("delete from calls where program = ?1")?.execute([program])?;
    Ok(())
}

/// Whether a user is a bot that has an address for clicks.
pub(in crate::domain) fn takes_clicks(conn: &Connection, user: UserId) -> Result<bool> {
    Ok(conn.prepare_cached("select 1 from bots where user_id = ?1 and url <> ''")?.exists([user])?)
}

/// What the actions of a message are, in the order in which they are shown. Stored with the message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Actions {
    /// The program that posted the message.
    pub program: Program,
    pub list: Vec<Action>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Action {
    pub id: ActionId,
    pub label: String,
    pub style: String,
    pub value: String,
}

impl Actions {
    /// The actions of a message that the program posts; none for an empty list. 422 for a bad field, for more than [`MOST`],
    /// and for a program that takes no clicks.
    pub fn check(program: Program, list: &[New], takes_clicks: impl FnOnce() -> Result<bool>) -> Result<Option<Actions>> {
        if list.is_empty() {
            return Ok(None);
        }
        if list.len() > MOST {
            let says = format!("a message has at most {MOST} actions");
            return Err(Error::Invalid(Code::TooManyItems.says(says).at("actions").with_limit(MOST)));
        }
        if !takes_clicks()? {
            let says =
                "actions: only bots with an address (url) for clicks post them, and webhooks whose events have action.clicked";
            return Err(Error::Invalid(Code::ProgramUnavailable.says(says).at("actions")));
        }
        let list = list.iter().map(Action::check).collect::<Result<_>>()?;
        Ok(Some(Actions { program, list }))
    }

    /// [`Actions::check`] of a message that a bot posts; people post none.
    pub(super) fn check_of_bot(conn: &Connection, bot: UserId, list: &[New]) -> Result<Option<Actions>> {
        Actions::check(Program::Bot(bot), list, || takes_clicks(conn, bot))
    }

    pub(super) fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(Error::internal)
    }

    pub(super) fn of(stored: Option<&str>) -> Option<Actions> {
        stored.and_then(|stored| serde_json::from_str(stored).ok())
    }

    pub(super) fn shown(&self) -> Vec<ActionObject<'_>> {
        self.list.iter().map(|Action { id, label, style, .. }| ActionObject { id: *id, label, style }).collect()
    }
}

impl Action {
    fn check(New { label, style, value }: &New) -> Result<Action> {
        let invalid = |refusal: crate::error::Refusal| Error::Invalid(refusal.at("actions"));
        Ok(Action {
            id: ActionId::new(),
            label: Label::check(label, "actions: each label").map_err(invalid)?.into(),
            style: Style::check(style.as_deref().unwrap_or("default"), "actions: each style").map_err(invalid)?.into(),
            value: Value::check(value, "actions: each value").map_err(invalid)?.into(),
        })
    }
}

/// What can be clicked. Its value is between the program and the server.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Action")]
pub(super) struct ActionObject<'a> {
    /// The id in the address of a click.
    id: ActionId,
    /// What stands on the button.
    label: &'a str,
    /// How the button looks: `primary` for what is mostly wanted, `danger` for what can't be undone.
    #[schemars(extend("enum" = ["default", "primary", "danger"]))]
    style: &'a str,
}
