//! Opens the files that settings and commands name.

use std::{
    fs::File,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

/// Opening a FIFO would otherwise wait for somebody who writes to it. Regular files are read as without it.
const NO_WAIT: i32 = OFlags::NONBLOCK.bits() as i32;

/// Opens a regular file, also behind a link. Anything else, such as a FIFO, could be waited for without end, and is refused.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(NO_WAIT).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// The content of a regular file.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content)?;
    Ok(content)
}
