//! `tidings user …`

use std::path::Path;

use clap::{Subcommand, ValueEnum};

use super::{folder, terminal};
use crate::{
    config::Links,
    db::{self, Tx},
    domain::{
        access::PlatformRole,
        accounts::{New, administration, mailbox},
        text,
    },
    error::{Error, Result},
    secret,
};

#[derive(Subcommand)]
pub enum Command {
    /// Create an account with a verified address
    ///
    /// Asks for the password, unless a flag gives it
    Create {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
        /// User name [default: made from the address]
        #[arg(long, value_name = "NAME")]
        username: Option<String>,
        /// Password; other users of the machine can see it here
        #[arg(long, value_name = "PASSWORD", conflicts_with = "password_stdin")]
        password: Option<String>,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
        /// Role on the whole server
        #[arg(long, default_value = "user", value_name = "user|admin|superadmin")]
        role: Role,
    },
    /// Print a link that sets a new password, without sending a mail
    ResetLink {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
        #[command(flatten)]
        links: Links,
    },
    /// Change the role of an account on the whole server
    Role {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
        /// Role on the whole server
        #[arg(long, value_name = "user|admin|superadmin")]
        role: Role,
    },
    /// Disable an account: its sessions end at once, and nobody can log in to it
    Disable {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
    },
    /// Enable a disabled account
    Enable {
        /// Address of the account
        #[arg(long, value_name = "ADDRESS")]
        email: String,
    },
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

pub fn run(folder: &Path, command: Command) -> Result<()> {
    match command {
        Command::Create { email, username, password, password_stdin, role } => {
            let mut new = New::check(&email, username.as_deref(), "", "").map_err(Error::BadRequest)?;
            new.role = role.into();
            create(folder, &new, password, password_stdin)
        }
        Command::ResetLink { email, links } => {
            db::require(folder)?;
            let email = address(&email)?;
            terminal::print(&folder::write(folder, &links, |tx| mailbox::reset_link(tx, &email))?)
        }
        Command::Role { email, role } => change(folder, &email, |tx, email| administration::set_role(tx, email, role.into())),
        Command::Disable { email } => change(folder, &email, |tx, email| administration::set_active(tx, email, false)),
        Command::Enable { email } => change(folder, &email, |tx, email| administration::set_active(tx, email, true)),
    }
}

fn address(email: &str) -> Result<String> {
    text::email_address(email).ok_or_else(|| Error::bad_request(format!("{email} is not an e-mail address")))
}

fn change(folder: &Path, email: &str, change: impl FnOnce(&mut Tx, &str) -> Result<()>) -> Result<()> {
    db::require(folder)?;
    let email = address(email)?;
    folder::write(folder, &Links::default(), |tx| change(tx, &email))?;
    terminal::print(&format!("changed {email}"))
}

fn create(folder: &Path, new: &New, password: Option<String>, password_stdin: bool) -> Result<()> {
    let password = match password {
        Some(password) => password,
        None if password_stdin => {
            let text = std::io::read_to_string(std::io::stdin()).map_err(Error::internal)?;
            text.trim_end_matches(['\r', '\n']).to_owned()
        }
        None => {
            let unreadable = |err| Error::bad_request(format!("can't ask for the password ({err}): use --password-stdin"));
            rpassword::prompt_password("Password: ").map_err(unreadable)?
        }
    };
    new.check_password(&password).map_err(Error::BadRequest)?;
    // Comes before the transaction, because a running server must not wait for a hash.
    let hash = secret::hash_password(&password)?;
    db::make_folder(folder)?;
    let id = folder::write(folder, &Links::default(), |tx| administration::create(tx, new, &hash))?;
    terminal::print(&format!("{id}  {}  {}", new.email, new.role.as_str()))
}
