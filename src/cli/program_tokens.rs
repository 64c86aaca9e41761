//! `tidings user token …` and `tidings bot token …`

use std::path::Path;

use clap::{Args, Subcommand};
use rusqlite::Connection;
use serde_json::json;
use uuid::Uuid;

use super::{
    folder,
    output::Output,
    shared_args::{Bot, Email, identifier},
};
use crate::{
    db,
    domain::{
        access::Caller,
        accounts::{self, NO_ACCOUNT, tokens},
        organisations::bots::{self, NO_BOT},
        page::Page,
        scopes::Scope,
    },
    error::Result,
    id::{ChannelId, SessionId, UserId},
    time::Time,
};

/// What names the account that the command is about.
pub trait Account: Args {
    /// The account. Fails if there is none.
    fn find(&self, conn: &Connection) -> Result<UserId>;
}

impl Account for Email {
    fn find(&self, conn: &Connection) -> Result<UserId> {
        Ok(accounts::find_by_email(conn, &self.email)?.ok_or(NO_ACCOUNT)?.id)
    }
}

impl Account for Bot {
    fn find(&self, conn: &Connection) -> Result<UserId> {
        Ok(bots::named(conn, &self.bot)?.ok_or(NO_BOT)?.id)
    }
}

#[derive(Subcommand)]
pub enum Command<A: Account> {
    /// Make a token, and print it: it is never shown again
    ///
    /// A mail tells the account's owner, or the bot's
    Create {
        #[command(flatten)]
        account: A,
        /// Name of the program that it is for
        #[arg(long, value_name = "NAME")]
        name: String,
        /// What it may be used for; the flag may be given several times
        #[arg(long = "scope", required = true, value_name = "SCOPE", value_parser = clap::builder::PossibleValuesParser::new(Scope::NAMES))]
        scopes: Vec<String>,
        /// Days until it ends [default: it has no end]
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
        days: Option<u32>,
        /// Identifier of a channel that it is for; the flag may be given several times [default: all of the account's]
        #[arg(long = "channel", value_name = "ID", value_parser = identifier)]
        channels: Vec<Uuid>,
    },
    /// List the live tokens of an account, newest first
    List(A),
    /// End a token; a running server notices within a second
    Revoke {
        #[command(flatten)]
        account: A,
        /// Identifier of the token, as `list` shows it
        #[arg(value_parser = identifier)]
        id: Uuid,
    },
}

pub fn run<A: Account>(folder: &Path, output: Output, command: Command<A>) -> Result<()> {
    match command {
        Command::Create { account, name, scopes, days, channels } => {
            let end = |days| Time::now() + std::time::Duration::from_secs(u64::from(days) * 24 * 3600);
            let channels = Some(channels).filter(|channels| !channels.is_empty());
            let channels = channels.map(|ids| ids.into_iter().map(ChannelId).collect());
            let new = tokens::New { name, scopes, expires_at: days.map(end), channels };
            let (made, token) = folder::change(folder, |tx| {
                let user = account.find(tx)?;
                tokens::make_by_operator(tx, user, &new)
            })?;
            output.done(&token, &json!({ "id": made.id, "token": token }))
        }
        Command::List(account) => output.rows(&db::read_once(folder, |conn| {
            tokens::live(conn, account.find(conn)?, Time::now(), Page::new(1, tokens::MOST))
        })?),
        Command::Revoke { account, id } => {
            folder::change(folder, |tx| {
                let user = account.find(tx)?;
                tokens::revoke(tx, Caller::operator_as(user), user, SessionId(id))
            })?;
            output.done(&format!("ended {id}"), &json!({ "revoked": id }))
        }
    }
}
