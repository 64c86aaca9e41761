//! The context of live push: the parts of the server that it works with.

use std::{sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::{
    embedded::{hub::Hub, unsent::Unsent},
    last_active::Activity,
    server_api::memory::ServerApi,
};
use crate::{
    clock::Clock,
    db::Db,
    domain::streams::publication_cache::Recent,
    limits::{Limits, turns::Turns},
    metrics::Metrics,
    net::origins::Origins,
    site::Site,
};

pub struct Push {
    pub db: Db,
    pub site: Arc<Site>,
    pub clock: Clock,
    pub limits: Arc<Limits>,
    pub metrics: Arc<Metrics>,
    pub origins: Arc<Origins>,
    /// Empty if an external Centrifugo serves live push.
    pub hub: Arc<Hub>,
    /// What clients have not read.
    pub unsent: Arc<Unsent>,
    /// Publications that clients have recovered.
    pub recent: Recent,
    /// The state of the server API, which other programs call.
    pub server_api: ServerApi,
    /// The interval between pings of a socket.
    pub ping_every: Duration,
    pub activity: Activity,
    /// Becomes true when the server begins to stop.
    pub stopping: watch::Receiver<bool>,
    pub sockets: Sockets,
    /// For the connect commands of all sockets.
    pub turns: Turns,
}

/// The open sockets, which are closed last when the server stops: once every event of an answered request is pushed.
#[derive(Default)]
pub struct Sockets {
    closing: watch::Sender<bool>,
    /// Each open socket holds a clone; taken when the server stops.
    open: Mutex<Option<mpsc::Sender<()>>>,
}

impl Push {
    /// A token that an open socket holds; `None` if the server is stopping.
    pub fn open_socket_guard(&self) -> Option<mpsc::Sender<()>> {
        if *self.stopping.borrow() {
            return None;
        }
        self.sockets.open.lock().clone()
    }
}

impl Sockets {
    /// Counts open sockets from now on. The receiver ends once the last one is closed.
    pub fn count_from_now(&self) -> mpsc::Receiver<()> {
        let (open, closed) = mpsc::channel(1);
        *self.open.lock() = Some(open);
        closed
    }

    /// Becomes true when open sockets have to close.
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Tells all open sockets to close, and lets no new one open.
    pub fn close_all(&self) {
        self.closing.send_replace(true);
        drop(self.open.lock().take());
    }
}
