//! `tidings invite …`

use std::{
    io::{self, Read, stdin},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::json;

use super::{
    folder,
    output::Output,
    shared_args::{Limit, Organisation, email_address},
};
use crate::{
    config::Links,
    db,
    domain::organisations::{by_operator, invitations::send},
    error::{Error, Result},
    regular_file,
    time::Time,
};

/// Bytes of a file with addresses, at most: some 30,000 of them.
const FILE_MAX: u64 = 1 << 20;

#[derive(Subcommand)]
pub enum Command {
    /// Invite people by mail, which a running server sends within seconds
    ///
    /// Prints what became of each address, and exits with 1 if one was not invited. Daily bounds of invitations don't apply
    Send {
        #[command(flatten)]
        organisation: Organisation,
        #[command(flatten)]
        people: People,
        /// Role in the organisation: a key, a name, a number or a UUID
        #[arg(long, default_value = "member")]
        role: String,
        /// Address of the member who invites, and whom the mail names [default: the organisation's owner]
        #[arg(long = "as", value_name = "ADDRESS", value_parser = email_address)]
        inviter: Option<String>,
    },
    /// Print the link of an invitation, without sending a mail
    ///
    /// Creates the invitation in the name of the organisation's owner if there is none. Accepting with this link verifies the
    /// address, so give it only to the address's owner. It leads to the server of the data folder, unless a flag names another
    /// address
    Link {
        #[command(flatten)]
        organisation: Organisation,
        /// Address to invite
        #[arg(long, value_name = "ADDRESS", value_parser = email_address)]
        email: String,
        /// Role in the organisation: a key, a name, a number or a UUID
        #[arg(long, default_value = "member")]
        role: String,
        #[command(flatten)]
        links: Links,
    },
    /// List an organisation's invitations that are not accepted, newest first
    List {
        #[command(flatten)]
        organisation: Organisation,
        #[command(flatten)]
        limit: Limit,
    },
}

#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct People {
    /// Addresses to invite; several, with commas between them
    #[arg(long, value_name = "ADDRESS", value_delimiter = ',')]
    email: Vec<String>,
    /// File with the addresses to invite, one a line; - for standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
}

impl People {
    fn read(self) -> Result<Vec<String>> {
        let Some(file) = self.file else { return without_blank(self.email.iter().map(String::as_str), "--email") };
        let shown = file.display();
        let text = if file == Path::new("-") { text(stdin()) } else { regular_file::open(&file).and_then(text) };
        let text = text.map_err(|err| Error::failed(format!("can't read the addresses in {shown}: {err}")))?;
        // Some programs put a byte order mark before the first address.
        without_blank(text.trim_start_matches('\u{feff}').lines(), &shown.to_string())
    }
}

/// The given text, if it is no longer than a list of addresses may be.
fn text(given: impl Read) -> io::Result<String> {
    let mut text = String::new();
    given.take(FILE_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 <= FILE_MAX { Ok(text) } else { Err(io::Error::other("it has more than 1 MiB")) }
}

/// The addresses without blank ones. An error if none is left.
fn without_blank<'a>(addresses: impl Iterator<Item = &'a str>, from: &str) -> Result<Vec<String>> {
    let addresses: Vec<String> = addresses.map(str::trim).filter(|address| !address.is_empty()).map(str::to_owned).collect();
    if addresses.is_empty() { Err(Error::failed(format!("{from} names no address to invite"))) } else { Ok(addresses) }
}

/// The outcome for an address.
#[derive(Serialize)]
struct Answer {
    email: String,
    invited: bool,
    reason: String,
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    match command {
        Command::Send { organisation: Organisation { organisation }, people, role, inviter } => {
            let addresses = people.read()?;
            require_mail_server(folder)?;
            let answers = invite(folder, &organisation, &addresses, &role, inviter.as_deref())?;
            output.rows(&answers)?;
            match answers.iter().filter(|answer| !answer.invited).count() {
                0 => Ok(()),
                left => Err(Error::failed(format!("not invited: {left} of {} addresses", answers.len()))),
            }
        }
        Command::Link { organisation: Organisation { organisation }, email, role, links } => {
            let link = folder::change_with(folder, &links, |tx| {
                let id = by_operator::find(tx, &organisation)?;
                send::link_without_mail(tx, id, &email, &role)
            })?;
            output.done(&link, &json!({ "link": link }))
        }
        Command::List { organisation: Organisation { organisation }, limit } => {
            let list =
                |conn: &_| by_operator::invitations(conn, by_operator::find(conn, &organisation)?, limit.rows(), Time::now());
            output.rows(&db::read_once(folder, list)?)
        }
    }
}

/// Fails unless the folder's server mails. Otherwise the command would say that people are invited who never hear of it.
fn require_mail_server(folder: &Path) -> Result<()> {
    db::require_database(folder)?;
    match folder::served(folder) {
        Some(served) if served.has_mail_server => Ok(()),
        Some(_) => Err(Error::failed(
            "the server has no mail server: name one with its setting mail_url, or pass on links that `tidings invite link` prints",
        )),
        None => Err(Error::failed(format!(
            "no server has run on {}, and it is the server that sends mails: start it first",
            folder.display()
        ))),
    }
}

/// Invites in slices, each a transaction of its own, so that a running server goes on meanwhile.
fn invite(folder: &Path, organisation: &str, addresses: &[String], role: &str, inviter: Option<&str>) -> Result<Vec<Answer>> {
    let mut answers = Vec::new();
    for slice in addresses.chunks(send::MOST) {
        let invited = folder::change(folder, |tx| {
            let id = by_operator::find(tx, organisation)?;
            let caller = inviter
                .map_or_else(|| by_operator::owner_as_caller(tx, id), |email| by_operator::member_as_caller(tx, id, email))?;
            send::create_for_operator(tx, caller, id, slice, role)
        })?;
        answers.extend(slice.iter().zip(invited).map(|(email, answer)| Answer {
            email: email.clone(),
            invited: answer.is_ok(),
            reason: answer.err().unwrap_or_default(),
        }));
    }
    Ok(answers)
}
