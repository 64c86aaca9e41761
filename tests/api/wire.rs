//! A connection to the server that can lose everything without telling either side.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpSocket,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

use crate::harness::{Client, plain_http};

/// Bytes from the server that the wire buffers while it is cut; the kernel buffers twice as many.
pub const BUFFER: u32 = 64 << 10;

pub struct Wire {
    /// The server's, as it looks from this end.
    origin: String,
    is_cut: watch::Sender<bool>,
}

impl Wire {
    pub async fn to(origin: &str) -> Wire {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let here = format!("http://{}", listener.local_addr().unwrap());
        let there = origin.strip_prefix("http://").unwrap().parse().unwrap();
        let (is_cut, cut) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpSocket::new_v4().unwrap();
                far.set_recv_buffer_size(BUFFER).unwrap();
                let far = far.connect(there).await.unwrap();
                let ((near_in, near_out), (far_in, far_out)) = (near.into_split(), far.into_split());
                tokio::spawn(carry(near_in, far_out, cut.clone()));
                tokio::spawn(carry(far_in, near_out, cut.clone()));
            }
        });
        Wire { origin: here, is_cut }
    }

    /// The client, by this way.
    pub fn carrying(&self, client: &Client) -> Client {
        Client { origin: self.origin.clone(), http: plain_http(), ..client.clone() }
    }

    /// Cuts the wire: neither side receives anything more from the other, nor that it closed.
    pub fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Mends the wire: everything that was sent meanwhile arrives.
    pub fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut is_cut: watch::Receiver<bool>) {
    let mut buffer = [0; 4096];
    loop {
        let read = from.read(&mut buffer).await.unwrap_or(0);
        let is_open = is_cut.wait_for(|is_cut| !is_cut).await.is_ok();
        if read == 0 || !is_open || to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
