//! Bytes of files that arrive, whichever way: their bounds, and how long nothing may come.

use std::time::Duration;

use poem::Request;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::timeout,
};

use crate::{
    api::http::visitor,
    db,
    domain::{access::Caller, files::uploading::New},
    error::{Code, Error, Result},
    files::{BUFFER, Incoming, Stored},
    id::FileId,
    limits::{Transfer, buffering::Buffered},
    state::App,
};

/// How long a transfer goes on without a byte.
const SILENCE: Duration = Duration::from_secs(30);

/// Takes all bytes that arrive, as long as the file has no more than `most` with them, the disk has room, and `counted` takes each
/// piece. 413, 507 and 400 otherwise; what came before stays with `incoming`.
pub async fn receive(
    bytes: impl AsyncRead,
    app: &App,
    incoming: &mut Incoming,
    most: u64,
    counted: impl Fn(usize) -> Result<()>,
) -> Result<()> {
    let mut bytes = std::pin::pin!(bytes);
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = in_time(bytes.read(&mut buffer)).await?;
        if read == 0 {
            return Ok(());
        }
        if incoming.size() + read as u64 > most {
            return Err(Error::TooLarge(most as usize));
        }
        counted(read)?;
        require_disk(app, read as u64)?;
        incoming.write(&buffer[..read]).await?;
    }
}

/// Waits until the caller may send a file, and counts what is in memory of it, until what is returned is dropped.
pub async fn begin_transfer(req: &Request, app: &App, caller: Caller) -> Result<(Transfer, Option<Buffered>)> {
    let transfer = app.limits.transfer(caller.share(), visitor::address(req)).await?;
    Ok((transfer, visitor::buffering_client(req).map(|client| client.buffer(BUFFER))))
}

/// Checks that the disk has room for so many bytes besides what uploads leave free. Many uploads at once may each have fitted when they
/// began, so that it is asked for each piece.
pub fn require_disk(app: &App, bytes: u64) -> Result<()> {
    let free = db::free_bytes(app.files.folder());
    let needed = app.site.files.left_free.saturating_add(bytes);
    if free.is_some_and(|free| free < needed) { Err(Error::NoRoomForFiles) } else { Ok(()) }
}

/// What arrives next. 400 if the body is broken off or faulty, and after half a minute without a byte.
pub async fn in_time<T, E: std::fmt::Display>(arriving: impl Future<Output = Result<T, E>>) -> Result<T> {
    let says = match timeout(SILENCE, arriving).await {
        Ok(Ok(arrived)) => return Ok(arrived),
        Ok(Err(err)) => format!("The request body could not be read: {err}"),
        Err(_) => "The request body did not arrive in time".into(),
    };
    Err(Error::BadRequest(Code::BodyIncomplete.says(says)))
}

/// The file that the bytes are.
pub fn new_file(id: FileId, name: String, sent_size: u64, kept: &Stored) -> New {
    New { id, name, mime_type: kept.mime_type, picture: kept.picture, size: kept.size, sent_size, sha256: kept.sha256 }
}
