//! `tidings contact …`

use std::path::Path;

use clap::Subcommand;

use super::{output::Output, shared_args::Limit};
use crate::{
    db,
    domain::public::contacts::{self, Contact},
    error::Result,
};

#[derive(Subcommand)]
pub enum Command {
    /// Print the messages of the contact form, newest first, without markup
    List {
        #[command(flatten)]
        limit: Limit,
    },
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    let Command::List { limit } = command;
    let listed = db::read_once(folder, |conn| contacts::list(conn, limit.rows()))?;
    let listed: Vec<Contact> = listed.iter().map(Contact::to_plain_text).collect();
    output.blocks(&listed, block)
}

/// Formats a message. Its text is indented, so that no text can pass for the head of another message.
fn block(Contact { name, email, phone_number, message, created_at }: &Contact) -> String {
    let phone = if phone_number.is_empty() { String::new() } else { format!("  {phone_number}") };
    let message: String = message.lines().map(|line| format!("    {line}\n")).collect();
    format!("{created_at}  {name}  {email}{phone}\n{message}")
}
