//! Upgrades: a handler that answers 101 asks for the connection's stream here, and the connection hands it over.

use std::{any::Any, sync::Arc};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
};

use crate::limits::admission::Slot;

pub trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A connection after its upgrade.
pub struct Upgraded {
    pub stream: Box<dyn Io>,
    /// Bytes that were read from the stream and belong to what follows the upgrade.
    pub before: Bytes,
    /// The connection's slot, held until the stream is closed.
    pub slot: Arc<Slot>,
}

/// An extension of the answer, to which the connection hands its stream. If the answer is dropped, or another status replaces
/// 101, the receiver ends without a stream.
#[derive(Clone)]
pub struct Upgrade(Arc<Mutex<Option<oneshot::Sender<Upgraded>>>>);

impl Upgrade {
    pub fn new() -> (Upgrade, oneshot::Receiver<Upgraded>) {
        let (sender, receiver) = oneshot::channel();
        (Upgrade(Arc::new(Mutex::new(Some(sender)))), receiver)
    }

    pub fn hand_over(&self, io: Upgraded) {
        let sender = self.0.lock().take();
        // If the receiver was dropped, the stream is dropped, too, and the connection ends.
        _ = sender.map(|sender| sender.send(io));
    }
}
