//! `tidings user …`

use std::path::Path;

use clap::{Subcommand, ValueEnum};

use crate::{
    db,
    domain::{
        PlatformRole,
        accounts::{self, New},
    },
    error::{Error, Result},
    secret,
};

#[derive(Subcommand)]
pub enum Command {
    /// Make an account; its address counts as verified
    Create {
        #[arg(long)]
        email: String,
        /// Made from the address when left out
        #[arg(long)]
        username: Option<String>,
        /// Seen by whoever lists processes: better leave it out and be asked for it
        #[arg(long, conflicts_with = "password_stdin")]
        password: Option<String>,
        /// Read the password from standard input
        #[arg(long)]
        password_stdin: bool,
        /// What the account may do on the whole server
        #[arg(long, default_value = "user")]
        role: Role,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Role {
    User,
    Admin,
    Superadmin,
}

pub fn run(folder: &Path, command: Command) -> Result<()> {
    let Command::Create { email, username, password, password_stdin, role } = command;
    let mut new = New::check(&email, username.as_deref(), "", "").map_err(Error::BadRequest)?;
    new.role = match role {
        Role::User => PlatformRole::User,
        Role::Admin => PlatformRole::Admin,
        Role::Superadmin => PlatformRole::Superadmin,
    };
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
    // Before the transaction: a running server must not wait for a hash.
    let hash = secret::hash_password(&password)?;
    db::make_folder(folder)?;
    let id = db::write_once(folder, |tx| accounts::create_by_administrator(tx, &new, &hash))?;
    super::print(&format!("{id}  {}  {}", new.email, new.role.as_str()))
}
