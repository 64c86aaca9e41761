//! `tidings mail …`

use std::path::Path;

use clap::Subcommand;
use serde_json::json;

use super::{
    folder,
    output::Output,
    shared_args::{Limit, email_address},
};
use crate::{
    config::MailServer,
    db,
    domain::mail_queue,
    error::{Error, Result},
    id::MailId,
    mail::{self, transport::Mailer},
    net::trusted_authorities::Authorities,
};

#[derive(Subcommand)]
pub enum Command {
    /// Send a mail to an address now, and say what the mail server answers
    Test {
        /// Address to send to
        #[arg(value_name = "ADDRESS", value_parser = email_address)]
        to: String,
        #[command(flatten)]
        server: MailServer,
    },
    /// List mails that are not sent: those that wait, and those of the last month that were given up, the newest first
    List {
        #[command(flatten)]
        limit: Limit,
    },
    /// Try all mails that wait again now
    Retry,
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::Test { to, server } => {
            let authorities = Authorities::read(server.ca_file.as_deref())?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::internal)?;
            let send = async {
                let mailer = Mailer::new(&server.mail_url, &server.mail_from, &authorities)?;
                if mailer.writes_to_log() {
                    return Err(Error::failed("no mail server is set: name the server's with --mail-url"));
                }
                mailer.create_folder()?;
                mailer.send(MailId::new(), &mail::test(&to)).await
            };
            runtime
                .block_on(send)
                .map_err(|err| Error::failed(format!("the mail to {to} could not be sent: {}", err.admin_detail())))?;
            output.done(&format!("sent a mail to {to}"), &json!({ "sent": to }))
        }
        Command::List { limit } => output.rows(&db::read_once(folder, |conn| mail_queue::list_unsent(conn, limit.rows()))?),
        Command::Retry => {
            let due = folder::change(folder, mail_queue::retry_all_now)?;
            output.done(&format!("{due} mails are tried again"), &json!({ "mails": due }))
        }
    }
}
