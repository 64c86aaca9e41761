//! Actions of messages, as programs post them.

use poem_openapi::Object;

use crate::{
    api::http::body::{List, Text, into_string},
    domain::messages::action_buttons::{self, Label, New, Style, Value},
};

/// What can be clicked in a message.
pub type Actions = List<NewAction, 0, { action_buttons::MOST }>;

/// An action to be shown.
#[derive(Object)]
pub struct NewAction {
    /// What stands on the button.
    label: Text<Label>,
    /// `primary` for what is mostly wanted, `danger` for what can't be undone; `default` if omitted.
    style: Option<Text<Style>>,
    /// What the program gets with a click. Clients don't see it.
    value: Option<Text<Value>>,
}

pub fn to_new_actions(actions: Option<Actions>) -> Vec<New> {
    let new = |NewAction { label, style, value }: NewAction| New {
        label: label.0,
        style: into_string(style),
        value: into_string(value).unwrap_or_default(),
    };
    actions.map(|actions| actions.0.into_iter().map(new).collect()).unwrap_or_default()
}
