//! A bound on the bytes of long requests and answers that are buffered for clients, shared fairly between their addresses.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard},
};

/// Bytes of long requests in transfer and of long answers that were not read, of all addresses. Past that, an address has
/// one of them at a time.
const BUFFERED: usize = 8 << 20;

#[derive(Default)]
pub struct Buffering(Mutex<Bytes>);

#[derive(Default)]
struct Bytes {
    all: usize,
    addresses: HashMap<IpAddr, usize>,
}

impl Buffering {
    /// The client with a network as in [`super::networks::network`].
    pub fn client(self: &Arc<Self>, network: IpAddr) -> Client {
        Client { buffering: self.clone(), network }
    }

    #[cfg(test)]
    pub fn total_bytes(&self) -> usize {
        self.bytes().all
    }

    fn bytes(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().expect("nothing panics while it holds this")
    }
}

/// The sender of a request, by its address; behind a trusted proxy, by the address that the proxy names.
pub struct Client {
    buffering: Arc<Buffering>,
    network: IpAddr,
}

impl Client {
    /// Whether this address must first finish the requests and answers that are buffered for it: all addresses together
    /// are past the bound, and this one has a share of it. An address without a share is never refused.
    pub fn must_wait(&self) -> bool {
        let bytes = self.buffering.bytes();
        bytes.all >= BUFFERED && bytes.addresses.contains_key(&self.network)
    }

    /// Counts bytes until the guard is dropped.
    pub fn buffer(&self, bytes: usize) -> Buffered {
        let mut counted = self.buffering.bytes();
        counted.all += bytes;
        *counted.addresses.entry(self.network).or_default() += bytes;
        drop(counted);
        Buffered { client: self.buffering.client(self.network), bytes }
    }
}

/// Counted bytes of a request in transfer, or of an answer that was not read yet.
pub struct Buffered {
    client: Client,
    bytes: usize,
}

impl Drop for Buffered {
    fn drop(&mut self) {
        let mut counted = self.client.buffering.bytes();
        counted.all -= self.bytes;
        let share = counted.addresses.entry(self.client.network).or_default();
        *share -= self.bytes;
        if *share == 0 {
            counted.addresses.remove(&self.client.network);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_does_not_read_gets_no_more_answers_and_keeps_nobody_out() {
        let buffering = Arc::<Buffering>::default();
        let client = |address: &str| buffering.client(address.parse().unwrap());
        let [slow, beside] = [(); 2].map(|()| client("192.0.2.1"));
        let [other, idle] = ["192.0.2.2", "192.0.2.3"].map(client);
        let first = slow.buffer(BUFFERED - 1);
        assert!(!beside.must_wait());
        let second = slow.buffer(1);
        assert!(slow.must_wait() && beside.must_wait() && !other.must_wait());
        drop(second);
        assert!(!slow.must_wait());
        let third = idle.buffer(BUFFERED);
        let fourth = other.buffer(1);
        assert!(slow.must_wait() && other.must_wait() && idle.must_wait(), "they hold something");
        assert!(!client("192.0.2.4").must_wait());
        drop((first, third, fourth));
        assert!(!other.must_wait() && buffering.total_bytes() == 0 && buffering.bytes().addresses.is_empty());
    }
}
