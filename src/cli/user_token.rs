//! `tidings user token …`

use std::path::Path;

use clap::Subcommand;
use serde_json::json;
use uuid::Uuid;

use super::{
    args::{Email, identifier},
    folder,
    terminal::Output,
};
use crate::{
    db,
    domain::{
        access::Caller,
        accounts::{self, NO_ACCOUNT, tokens},
        scopes::Scope,
    },
    error::Result,
    id::{ChannelId, SessionId},
    time::Time,
};

#[derive(Subcommand)]
pub enum Command {
    /// Make a token, and print it: it is never shown again
    ///
    /// A mail tells the account's owner
    Create {
        #[command(flatten)]
        email: Email,
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
    List(Email),
    /// End a token; a running server notices within a second
    Revoke {
        #[command(flatten)]
        email: Email,
        /// Identifier of the token, as `list` shows it
        #[arg(value_parser = identifier)]
        id: Uuid,
    },
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::Create { email: Email { email }, name, scopes, days, channels } => {
            let end = |days| Time::now() + std::time::Duration::from_secs(u64::from(days) * 24 * 3600);
            let channels = Some(channels).filter(|channels| !channels.is_empty());
            let channels = channels.map(|ids| ids.into_iter().map(ChannelId).collect());
            let new = tokens::New { name, scopes, expires_at: days.map(end), channels };
            let (made, token) = folder::change(folder, |tx| {
                let user = accounts::find_by_email(tx, &email)?.ok_or(NO_ACCOUNT)?.id;
                tokens::make(tx, Caller::acting_as(user), user, &new)
            })?;
            output.done(&token, &json!({ "id": made.id, "token": token }))
        }
        Command::List(Email { email }) => {
            output.rows(&db::read_once(folder, |conn| tokens::list_by_email(conn, &email, Time::now()))?)
        }
        Command::Revoke { email: Email { email }, id } => {
            folder::change(folder, |tx| {
                let user = accounts::find_by_email(tx, &email)?.ok_or(NO_ACCOUNT)?.id;
                tokens::revoke(tx, Caller::acting_as(user), user, SessionId(id))
            })?;
            output.done(&format!("ended {id}"), &json!({ "revoked": id }))
        }
    }
}
