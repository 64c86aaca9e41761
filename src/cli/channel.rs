//! `tidings channel …`

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::json;
use uuid::Uuid;

use super::{
    folder,
    output::Output,
    shared_args::{Limit, Organisation, identifier},
};
use crate::{
    db,
    domain::{channels::by_operator, organisations},
    error::Result,
    id::ChannelId,
};

#[derive(Subcommand)]
pub enum Command {
    /// List an organisation's channels by name, with archived and deleted ones
    List {
        #[command(flatten)]
        organisation: Organisation,
        #[command(flatten)]
        limit: Limit,
    },
    /// Delete a channel: it disappears for its members, and is erased after `--purge-days` of the server
    Delete(ChannelArg),
    /// Restore a deleted channel that is not erased yet
    Restore(ChannelArg),
}

#[derive(Args)]
pub struct ChannelArg {
    /// Identifier of the channel
    #[arg(long, value_name = "ID", value_parser = identifier)]
    channel: Uuid,
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::List { organisation: Organisation { organisation }, limit } => {
            let list = |conn: &_| {
                let id = organisations::by_operator::find(conn, &organisation)?;
                by_operator::list(conn, id, limit.rows())
            };
            output.rows(&db::read_once(folder, list)?)
        }
        Command::Delete(ChannelArg { channel }) => {
            folder::change(folder, |tx| by_operator::delete(tx, ChannelId(channel)))?;
            output.done(&format!("deleted {channel}"), &json!({ "deleted": channel }))
        }
        Command::Restore(ChannelArg { channel }) => {
            folder::change(folder, |tx| by_operator::undelete(tx, ChannelId(channel)))?;
            output.done(&format!("restored {channel}"), &json!({ "restored": channel }))
        }
    }
}
