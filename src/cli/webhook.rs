//! `tidings webhook …`

use std::path::Path;

use clap::{Args, Subcommand};
use serde_json::json;
use uuid::Uuid;

use super::{
    folder,
    output::Output,
    shared_args::{Limit, identifier},
};
use crate::{
    db,
    domain::{organisations, webhooks::by_operator},
    error::Result,
    id::WebhookId,
};

#[derive(Subcommand)]
pub enum Command {
    /// List webhooks, the oldest first
    List {
        /// Only those of this organisation: its identifier or slug
        #[arg(long, value_name = "ID|SLUG")]
        organisation: Option<String>,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show a webhook, without its secrets
    Show(Webhook),
    /// Make a webhook inactive, and tell its owner; its queue is kept
    Disable(Webhook),
    /// Try all queued deliveries of a webhook again now
    Retry(Webhook),
}

#[derive(Args)]
pub struct Webhook {
    /// Identifier of the webhook
    #[arg(long, value_name = "ID", value_parser = identifier)]
    webhook: Uuid,
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::List { organisation, limit } => {
            let list = |conn: &_| {
                let of = organisation.map(|name| organisations::by_operator::find(conn, &name)).transpose()?;
                by_operator::list(conn, of, limit.rows())
            };
            output.rows(&db::read_once(folder, list)?)
        }
        Command::Show(Webhook { webhook }) => {
            output.one(&db::read_once(folder, |conn| by_operator::show(conn, WebhookId(webhook)))?)
        }
        Command::Disable(Webhook { webhook }) => {
            folder::change(folder, |tx| by_operator::disable(tx, WebhookId(webhook)))?;
            output.done(&format!("disabled {webhook}"), &json!({ "disabled": webhook }))
        }
        Command::Retry(Webhook { webhook }) => {
            let due = folder::change(folder, |tx| by_operator::retry_queued(tx, WebhookId(webhook)))?;
            output.done(&format!("{due} deliveries are tried again"), &json!({ "deliveries": due }))
        }
    }
}
