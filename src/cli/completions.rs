//! `tidings completions` and `tidings man`: what the installer puts beside the binary.

use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

use super::output::print;
use crate::error::{Error, Result};

#[derive(Args)]
pub struct Completions {
    /// Shell that reads them
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

#[derive(Args)]
pub struct Man {
    /// Folder into which a page is written for each command; without it, the first page is printed
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn completions(Completions { shell }: Completions, mut command: Command) -> Result<()> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "tidings", &mut text);
    print(String::from_utf8_lossy(&text).trim_end())
}

pub fn man(Man { dir }: Man, command: Command) -> Result<()> {
    match dir.as_deref() {
        Some(dir) => clap_mangen::generate_to(command, dir).map_err(|err| unwritable(dir, &err)),
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(command).render(&mut text).map_err(Error::internal)?;
            print(String::from_utf8_lossy(&text).trim_end())
        }
    }
}

fn unwritable(dir: &Path, err: &std::io::Error) -> Error {
    Error::failed(format!("can't write to {}: {err}", dir.display()))
}
