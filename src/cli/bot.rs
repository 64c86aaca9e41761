//! `tidings bot …`

use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use super::{
    args::{Bot, Organisation, email_address},
    folder,
    output::Output,
    program_tokens,
};
use crate::{
    db,
    domain::organisations::{
        administration,
        bots::{self, NO_BOT, New},
    },
    error::Result,
};

#[derive(Subcommand)]
pub enum Command {
    /// Make a bot: a member of an organisation that is a program
    ///
    /// It is used with tokens: see `tidings bot token create`
    Create {
        #[command(flatten)]
        organisation: Organisation,
        /// Name that its messages show as their author
        #[arg(long, value_name = "NAME")]
        name: String,
        /// What mentions it [default: made from the name]
        #[arg(long, value_name = "USERNAME")]
        username: Option<String>,
        /// What it is for
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        description: String,
        /// Its role [default: member]
        #[arg(long, value_name = "ROLE")]
        role: Option<String>,
        /// Address of the member who owns it [default: the organisation's owner]
        #[arg(long, value_name = "ADDRESS", value_parser = email_address)]
        owner: Option<String>,
    },
    /// List the bots of an organisation
    List(Organisation),
    /// Remove a bot for good: its tokens end, and what it wrote stays
    Delete(Bot),
    /// Make, list and end tokens of a bot
    #[command(subcommand)]
    Token(program_tokens::Command<Bot>),
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::Create { organisation: Organisation { organisation }, name, username, description, role, owner } => {
            let new = New { name, username, description, avatar_url: String::new(), url: String::new(), role };
            let (made, _) = folder::change(folder, |tx| {
                let id = administration::find(tx, &organisation)?;
                let caller = match &owner {
                    Some(email) => administration::caller_for_member(tx, id, email)?,
                    None => administration::caller_for_owner(tx, id)?,
                };
                bots::make(tx, caller, id, &new)
            })?;
            output.done(&format!("made {}", made.username), &made)
        }
        Command::List(Organisation { organisation }) => {
            let list = |conn: &_| bots::all(conn, administration::find(conn, &organisation)?);
            output.rows(&db::read_once(folder, list)?)
        }
        Command::Delete(Bot { bot }) => {
            folder::change(folder, |tx| {
                let found = bots::named(tx, &bot)?.ok_or(NO_BOT)?;
                bots::remove(tx, administration::caller_for_owner(tx, found.organisation)?, found.organisation, found.id)
            })?;
            output.done(&format!("deleted {bot}"), &json!({ "deleted": bot }))
        }
        Command::Token(command) => program_tokens::run(folder, output, command),
    }
}
