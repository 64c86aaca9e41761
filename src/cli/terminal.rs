//! Output of commands.

use crate::error::{Error, Result};

/// Prints a line. A reader that went away (`| head`) is no failure.
pub(super) fn print(text: &str) -> Result<()> {
    use std::io::{ErrorKind, Write};
    match writeln!(std::io::stdout(), "{text}") {
        Err(err) if err.kind() != ErrorKind::BrokenPipe => Err(Error::internal(err)),
        _ => Ok(()),
    }
}
