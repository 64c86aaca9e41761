//! `tidings bot …`

use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use super::{
    folder,
    output::Output,
    program_tokens,
    shared_args::{Bot, Organisation, email_address},
};
use crate::{
    db,
    domain::organisations::{
        bots::{self, NO_BOT, New},
        by_operator,
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
                let id = by_operator::find(tx, &organisation)?;
                let caller = match &owner {
                    Some(email) => by_operator::member_as_caller(tx, id, email)?,
                    None => by_operator::owner_as_caller(tx, id)?,
                };
                bots::make(tx, caller, id, &new)
            })?;
            output.done(&format!("{}  {}", made.id, made.username), &made)
        }
        Command::List(Organisation { organisation }) => {
            let list = |conn: &_| bots::all(conn, by_operator::find(conn, &organisation)?);
            output.rows(&db::read_once(folder, list)?)
        }
        Command::Delete(Bot { bot }) => {
            folder::change(folder, |tx| {
                let found = bots::named(tx, &bot)?.ok_or(NO_BOT)?;
                bots::remove(tx, by_operator::owner_as_caller(tx, found.organisation)?, found.organisation, found.id)
            })?;
            output.done(&format!("deleted {bot}"), &json!({ "deleted": bot }))
        }
        Command::Token(command) => program_tokens::run(folder, output, command),
    }
}
