//! `tidings token …`

use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use super::output::Output;
use crate::{config::DAY, db, error::Result, time::Time};

#[derive(Subcommand)]
pub enum Command {
    /// Replace the secret key; what the former one signed is accepted for one more day
    ///
    /// A running server takes the new key within ten seconds. Whoever does not log in again within the day must do so afterwards.
    /// Feed addresses of webhooks and links of invitations stay as they are
    Rotate {
        /// Refuse at once what former keys signed: everybody must log in again
        #[arg(long, conflicts_with = "lost")]
        at_once: bool,
        /// Make a new key in the place of a lost one, which leaves unsent mails and webhooks' secrets unreadable
        #[arg(long)]
        lost: bool,
    },
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    let Command::Rotate { at_once, lost } = command;
    let until = match lost {
        true => db::replace_lost(folder).map(|()| None)?,
        false => db::rotate_key(folder, Time::now(), (!at_once).then_some(DAY))?,
    };
    let accepted = match until {
        Some(until) => format!("what the former one signed is accepted until {until}"),
        None => "everybody must log in again".into(),
    };
    output.done(&format!("made a new secret key; {accepted}"), &json!({ "former_accepted_until": until }))
}
