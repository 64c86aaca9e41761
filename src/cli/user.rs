//! `tidings user …`

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

use super::{
    folder,
    output::{Output, bar},
    program_tokens,
    shared_args::{Email, Limit},
};
use crate::{
    archive::person,
    config::Links,
    db::{self, Tx},
    domain::{
        access::PlatformRole,
        account_erasure,
        accounts::{self, New, by_operator, mailed_links},
        text::Ruled,
    },
    error::{Error, Result},
    secret,
    time::Time,
};

#[derive(Subcommand)]
pub enum Command {
    /// List accounts, in the order of their addresses
    List {
        /// Only accounts with this text in their address, username or name, in any case
        #[arg(long, default_value = "", value_name = "TEXT", hide_default_value = true)]
        search: String,
        #[command(flatten)]
        limit: Limit,
    },
    /// Show an account with its organisations
    Show(Email),
    /// Create an account with a verified address
    ///
    /// Asks for the password, unless a flag gives it
    Create {
        #[command(flatten)]
        email: Email,
        /// User name [default: made from the address]
        #[arg(long, value_name = "NAME")]
        username: Option<String>,
        #[command(flatten)]
        password: Password,
        /// Role on the whole server
        #[arg(long, default_value = "user", value_name = "user|admin|superadmin")]
        role: Role,
    },
    /// Set the password of an account: its sessions end, and a mail tells its owner
    ///
    /// Asks for the password, unless a flag gives it
    Password {
        #[command(flatten)]
        email: Email,
        #[command(flatten)]
        password: Password,
    },
    /// Print a link that sets a new password, without sending a mail
    ///
    /// It leads to the server of the data folder, unless a flag names another address
    ResetLink {
        #[command(flatten)]
        email: Email,
        #[command(flatten)]
        links: Links,
    },
    /// Change the role of an account on the whole server
    Role {
        #[command(flatten)]
        email: Email,
        /// Role on the whole server
        #[arg(long, value_name = "user|admin|superadmin")]
        role: Role,
    },
    /// List the live sessions of an account, newest first
    Sessions(Email),
    /// Make, list and end the tokens of programs that act as an account
    #[command(subcommand)]
    Token(program_tokens::Command<Email>),
    /// End all sessions and tokens of an account; a running server notices within a second
    Logout(Email),
    /// Disable an account: nobody can log in to it, and a running server ends its sessions within a second
    Disable(Email),
    /// Enable a disabled account
    Enable(Email),
    /// Write what is kept of a person into a folder: account, messages, reactions and files
    ///
    /// What others wrote is not in it, and no secret
    Export {
        #[command(flatten)]
        email: Email,
        /// Folder to make
        #[arg(value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Delete a person: what they wrote stays, under the name "Deleted user"
    ///
    /// Removes the address, names, sessions, links and mails, and takes them out of all organisations. If it is interrupted, run
    /// it again
    Delete(Email),
}

#[derive(Args)]
#[group(skip)]
pub struct Password {
    /// Password; other users of the machine can see it here
    #[arg(long, value_name = "PASSWORD", conflicts_with = "password_stdin")]
    password: Option<String>,
    /// Read the password from standard input
    #[arg(long)]
    password_stdin: bool,
}

/// Bytes of the longest password with the end of its line.
const PIPED_MAX: usize = accounts::Password::RULE.max * char::MAX_LEN_UTF8 + 2;

impl Password {
    fn read(self) -> Result<String> {
        match self.password {
            Some(password) => Ok(password),
            None if self.password_stdin => {
                let mut bytes = Vec::new();
                std::io::stdin().take(PIPED_MAX as u64 + 1).read_to_end(&mut bytes).map_err(Error::internal)?;
                if bytes.len() > PIPED_MAX {
                    let most = accounts::Password::RULE.max;
                    return Err(Error::failed(format!("standard input has more than a password of {most} characters")));
                }
                let text = String::from_utf8(bytes).map_err(|_| Error::failed("the password is not a text in UTF-8"))?;
                Ok(text.trim_end_matches(['\r', '\n']).to_owned())
            }
            None => {
                let unreadable = |err| Error::failed(format!("can't ask for the password ({err}): use --password-stdin"));
                rpassword::prompt_password("Password: ").map_err(unreadable)
            }
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Role {
    User,
    Admin,
    Superadmin,
}

impl From<Role> for PlatformRole {
    fn from(role: Role) -> Self {
        match role {
            Role::User => PlatformRole::User,
            Role::Admin => PlatformRole::Admin,
            Role::Superadmin => PlatformRole::Superadmin,
        }
    }
}

pub fn run(folder: &Path, output: Output, command: Command) -> Result<()> {
    let now = Time::now();
    match command {
        Command::List { search, limit } => {
            output.rows(&db::read_once(folder, |conn| by_operator::list(conn, &search, limit.rows()))?)
        }
        Command::Show(Email { email }) => output.one(&db::read_once(folder, |conn| by_operator::show(conn, &email, now))?),
        Command::Sessions(Email { email }) => {
            output.rows(&db::read_once(folder, |conn| by_operator::sessions(conn, &email, now))?)
        }
        Command::Create { email: Email { email }, username, password, role } => {
            let mut new = New::check(&email, username.as_deref(), "", "").map_err(Error::BadRequest)?;
            new.role = role.into();
            create(folder, output, &new, password)
        }
        Command::Password { email: Email { email }, password } => {
            let user = db::read_once(folder, |conn| accounts::find_by_email(conn, &email))?.ok_or(accounts::NO_ACCOUNT)?;
            let password = password.read()?;
            accounts::check_new_password(&password, "password", &user.email, &user.username).map_err(Error::BadRequest)?;
            let hash = secret::hash_password(&password)?; // before the transaction, as in `create`
            change(folder, output, &email, |tx| by_operator::set_password(tx, &email, &hash))
        }
        Command::ResetLink { email: Email { email }, links } => {
            let link = folder::change_with(folder, &links, |tx| mailed_links::reset_link(tx, &email))?;
            output.done(&link, &json!({ "link": link }))
        }
        Command::Role { email: Email { email }, role } => {
            change(folder, output, &email, |tx| by_operator::set_role(tx, &email, role.into()))
        }
        Command::Token(command) => program_tokens::run(folder, output, command),
        Command::Logout(Email { email }) => change(folder, output, &email, |tx| by_operator::log_out(tx, &email)),
        Command::Disable(Email { email }) => change(folder, output, &email, |tx| by_operator::set_active(tx, &email, false)),
        Command::Enable(Email { email }) => change(folder, output, &email, |tx| by_operator::set_active(tx, &email, true)),
        Command::Export { email: Email { email }, to } => output.one(&person::export(folder, &email, &to, &mut bar())?),
        Command::Delete(Email { email }) => delete(folder, output, &email),
    }
}

fn change(folder: &Path, output: Output, email: &str, change: impl FnOnce(&mut Tx) -> Result<()>) -> Result<()> {
    folder::change(folder, change)?;
    output.done(&format!("changed {email}"), &json!({ "changed": email }))
}

fn create(folder: &Path, output: Output, new: &New, password: Password) -> Result<()> {
    let password = password.read()?;
    new.check_password(&password).map_err(Error::BadRequest)?;
    // Comes before the transaction, because a running server must not wait for a hash.
    let hash = secret::hash_password(&password)?;
    let id = folder::create(folder, Time::now(), |tx| by_operator::create(tx, new, &hash))?;
    let (email, role) = (&new.email, new.role.as_str());
    output.done(&format!("{id}  {email}  {role}"), &json!({ "id": id, "email": email, "role": role }))
}

/// Each step is a transaction of its own, so that a running server goes on meanwhile.
fn delete(folder: &Path, output: Output, email: &str) -> Result<()> {
    let user = folder::change(folder, |tx| account_erasure::revoke(tx, email))?;
    while folder::change(folder, |tx| account_erasure::leave_an_organisation(tx, user))? {}
    let mut done = Some(0);
    while let Some(after) = done {
        done = folder::change(folder, |tx| account_erasure::rename_author(tx, user, after))?;
    }
    folder::change(folder, |tx| account_erasure::finish(tx, user))?;
    output.done(&format!("deleted {email}"), &json!({ "deleted": email }))
}
