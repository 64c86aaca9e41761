//! Arguments that several commands have.

use clap::Args;
use uuid::Uuid;

use crate::domain::{accounts::ERASED, text};

/// How much a command lists.
#[derive(Args, Clone, Copy)]
pub struct Limit {
    /// Largest number of rows [default: all]
    #[arg(long, value_name = "NUMBER")]
    limit: Option<u32>,
}

impl Limit {
    pub fn rows(self) -> u32 {
        self.limit.unwrap_or(u32::MAX)
    }
}

/// The account that a command is about.
#[derive(Args)]
#[group(skip)]
pub struct Email {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS", value_parser = email_address)]
    pub email: String,
}

/// The bot that a command is about.
#[derive(Args)]
#[group(skip)]
pub struct Bot {
    /// Username of the bot
    #[arg(long, value_name = "USERNAME")]
    pub bot: String,
}

/// The organisation in which a command works.
#[derive(Args)]
pub struct Organisation {
    /// Identifier or slug of the organisation
    #[arg(long, value_name = "ID|SLUG")]
    pub organisation: String,
}

/// Parses an identifier of a channel or webhook. Names are not taken: organisations share them, and so do deleted channels.
pub fn identifier(text: &str) -> Result<Uuid, &'static str> {
    text.parse().map_err(|_| "expected an identifier, as the command `list` shows it, and not a name")
}

/// Parses an e-mail address as accounts have it. Refuses that of an erased account, which must not come back to life.
pub fn email_address(text: &str) -> Result<String, &'static str> {
    match text::existing_account_address(text).ok_or("this is not an e-mail address")? {
        erased if erased.ends_with(ERASED) => Err("the account was erased"),
        address => Ok(address),
    }
}
