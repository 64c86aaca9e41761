//! A part of a file on its way out.

use std::{
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    path::PathBuf,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

use super::{
    content,
    store::{BUFFER, Store, blocking},
};
use crate::{
    error::{Code, Error, Result},
    id::{FileId, OrganisationId},
};

/// Marks an answer whose body is a [`Reading`]: in memory is a part of it.
#[derive(Clone, Copy)]
pub struct Transferred;

/// The bytes of a range of a file, as the body of an answer. The next of them are read when the former were taken, on a
/// thread that waits for nobody but the disk.
pub struct Reading<P> {
    file: Arc<File>,
    left: Range<u64>,
    next: Option<JoinHandle<io::Result<Bytes>>>,
    /// What is held while the file goes out.
    _permit: P,
}

impl Store {
    /// Opens a file to read a range of it, which holds `permit` until its end. 404 if its bytes are missing, as after a backup
    /// without files was restored.
    pub async fn read<P>(&self, organisation: OrganisationId, id: FileId, range: Range<u64>, permit: P) -> Result<Reading<P>> {
        let Some(file) = open(self.path(organisation, id)).await? else {
            tracing::warn!(%id, "the bytes of a file are missing: `tidings doctor` names all such files");
            return Err(Error::NotFound(Code::FileNotFound));
        };
        Ok(Reading::new(file, range, permit))
    }
}

/// Opens a file; none if there is none.
pub(super) async fn open(path: PathBuf) -> Result<Option<File>> {
    let open = move || match File::open(path) {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    };
    blocking(open).await
}

impl<P> Reading<P> {
    pub(super) fn new(file: File, range: Range<u64>, permit: P) -> Reading<P> {
        Reading { file: Arc::new(file), left: range, next: None, _permit: permit }
    }

    /// Bytes that are left.
    pub fn length(&self) -> u64 {
        self.left.end - self.left.start
    }

    /// What the file is.
    pub async fn mime_type(&self) -> Result<&'static str> {
        let file = self.file.clone();
        blocking(move || content::of_file(&file)).await
    }
}

impl<P: Unpin> Body for Reading<P> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let (file, from) = (self.file.clone(), self.left.start);
        let length = (self.left.end - from).min(BUFFER as u64) as usize;
        let next = self.next.get_or_insert_with(|| {
            spawn_blocking(move || {
                let mut bytes = vec![0; length];
                file.read_exact_at(&mut bytes, from).map(|()| bytes.into())
            })
        });
        let read = ready!(Pin::new(next).poll(cx));
        self.next = None;
        let bytes = read.map_err(io::Error::other).flatten()?;
        self.left.start += bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length())
    }
}
