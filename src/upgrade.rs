//! A connection that leaves HTTP: whoever answers 101 asks for it here, and the accept loop hands it over.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::oneshot,
};

pub trait Io: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

pub type Upgraded = Box<dyn Io>;

/// Stands among the extensions of the answer. An answer that is given up, or another status than 101, drops it.
#[derive(Clone)]
pub struct Upgrade(Arc<Mutex<Option<oneshot::Sender<Upgraded>>>>);

impl Upgrade {
    pub fn new() -> (Upgrade, oneshot::Receiver<Upgraded>) {
        let (sender, receiver) = oneshot::channel();
        (Upgrade(Arc::new(Mutex::new(Some(sender)))), receiver)
    }

    pub fn hand_over(&self, io: Upgraded) {
        let sender = self.0.lock().expect("nothing panics while it holds this").take();
        // Whoever asked may be gone by now, and the connection ends with them.
        _ = sender.map(|sender| sender.send(io));
    }
}
