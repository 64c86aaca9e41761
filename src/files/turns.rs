//! Who goes on with an upload that comes in pieces: the newest request. The one before may be of a connection that is long gone, and
//! whoever was cut off must not wait for it.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch};

use crate::id::FileId;

/// The uploads that somebody goes on with.
#[derive(Clone, Default)]
pub(super) struct Turns(Arc<Mutex<HashMap<FileId, Weak<Upload>>>>);

struct Upload {
    /// The number of the newest request.
    newest: watch::Sender<u64>,
    lock: Arc<AsyncMutex<()>>,
}

/// The turn of a request, until all copies are dropped.
#[derive(Clone)]
pub struct Turn(Arc<Held>);

struct Held {
    upload: Arc<Upload>,
    number: u64,
    _lock: OwnedMutexGuard<()>,
}

impl Turns {
    /// Ends the turn of the request before, and waits until it has stopped to write.
    pub async fn take(&self, id: FileId) -> Turn {
        let upload = self.upload(id);
        let mut number = 0;
        upload.newest.send_modify(|newest| {
            *newest += 1;
            number = *newest;
        });
        let lock = upload.lock.clone().lock_owned().await;
        Turn(Arc::new(Held { upload, number, _lock: lock }))
    }

    fn upload(&self, id: FileId) -> Arc<Upload> {
        let mut uploads = self.0.lock();
        if let Some(upload) = uploads.get(&id).and_then(Weak::upgrade) {
            return upload;
        }
        uploads.retain(|_, upload| upload.strong_count() > 0);
        let upload = Arc::new(Upload { newest: watch::Sender::default(), lock: Arc::default() });
        uploads.insert(id, Arc::downgrade(&upload));
        upload
    }
}

impl Turn {
    /// Waits until a newer request asks for the upload.
    pub async fn end(&self) {
        // The sender is held: it can't be gone.
        _ = self.0.upload.newest.subscribe().wait_for(|newest| *newest != self.0.number).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn a_newer_request_ends_the_turn_and_waits_for_what_is_written() {
        let (turns, id) = (Turns::default(), FileId::new());
        let first = turns.take(id).await;
        assert!(first.end().now_or_never().is_none());
        let (written, mut second) = (first.clone(), Box::pin(turns.take(id)));
        assert!((&mut second).now_or_never().is_none());
        first.end().await;
        drop(first);
        assert!((&mut second).now_or_never().is_none(), "a write is in progress");
        drop(written);
        assert!(second.await.end().now_or_never().is_none());
        assert!(turns.take(id).now_or_never().is_some());
    }

    #[tokio::test]
    async fn uploads_are_apart_and_forgotten() {
        let turns = Turns::default();
        let one = turns.take(FileId::new()).await;
        turns.take(FileId::new()).now_or_never().expect("another upload waits for nobody");
        assert!(one.end().now_or_never().is_none());
        drop(one);
        let last = turns.take(FileId::new()).await;
        assert_eq!(turns.0.lock().len(), 1);
        drop(last);
    }
}
