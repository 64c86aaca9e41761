//! Sends what was queued for many connections. Most of a fan-out's time is the system calls that write to its sockets, so all cores
//! share them.

use std::{
    sync::mpsc::{SyncSender, TrySendError, sync_channel},
    thread::{self, available_parallelism},
};

use super::hub::{Touched, flush};
use crate::error::{Error, Result};

/// Fewer connections are not shared: waking a thread takes as long as some writes.
const SHARE: usize = 32;

/// Threads that send beside the one that calls [`Flushers::flush`]. They end when this is dropped.
pub struct Flushers(Vec<SyncSender<Touched>>);

impl Flushers {
    /// Starts one for each core but the caller's.
    pub fn start() -> Result<Flushers> {
        let count = available_parallelism().map_or(1, usize::from) - 1;
        let start = |_| {
            // Without a queue: a thread that is not waiting for work gets none.
            let (share, shares) = sync_channel::<Touched>(0);
            let run = move || shares.into_iter().for_each(flush);
            thread::Builder::new().name("flusher".into()).spawn(run).map_err(Error::internal)?;
            Ok(share)
        };
        Ok(Flushers((0..count).map(start).collect::<Result<_>>()?))
    }

    /// Sends what was queued for these connections; a share of them may still be under way when it returns. Their frames stay in
    /// order, because each connection is locked while it is sent to.
    pub fn flush(&self, mut touched: Touched) {
        let share = (touched.len() / (self.0.len() + 1)).max(SHARE);
        for thread in &self.0 {
            if touched.len() < 2 * SHARE {
                break;
            }
            let Err(TrySendError::Full(back) | TrySendError::Disconnected(back)) =
                thread.try_send(touched.split_off(touched.len() - share))
            else {
                continue;
            };
            touched.extend(back);
        }
        flush(touched);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::{
        id::{SessionId, Share, UserId},
        push::embedded::{connection::Connection, encoding::Encoding, outbox::tests::pair},
    };

    #[tokio::test]
    async fn shares_of_a_fan_out_are_sent_once_and_in_order() {
        const CONNECTIONS: usize = 200;
        const FRAMES: u8 = 100;
        let flushers = Flushers::start().unwrap();
        let (mut connections, mut clients) = (Vec::new(), Vec::new());
        for _ in 0..CONNECTIONS {
            let (outbox, client) = pair().await;
            connections.push(Arc::new(Connection::new(
                UserId::new(),
                Share::Person(UserId::new()),
                SessionId::new(),
                "websocket",
                Encoding::Json,
                0,
                outbox,
            )));
            clients.push(client);
        }
        for frame in 0..FRAMES {
            connections.iter().for_each(|connection| _ = connection.outbox.push(Bytes::copy_from_slice(&[frame])));
            flushers.flush(connections.clone());
        }
        for mut client in clients {
            let mut read = [0; FRAMES as usize];
            client.read_exact(&mut read).await.unwrap();
            assert!(read.into_iter().eq(0..FRAMES));
        }
    }
}
