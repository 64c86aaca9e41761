//! A bound on the bytes of long requests and answers that are buffered for clients, shared fairly between their addresses.

use std::{collections::HashMap, net::IpAddr, sync::Arc};

use parking_lot::Mutex;

/// Bytes of long requests in transfer and of long answers that were not read, of all addresses. Past that, an address that
/// holds its share gets no more.
const BUFFERED: usize = 8 << 20;
/// The least share of an address: some pages of an office. With many addresses, an equal part would be less than one.
const LEAST_SHARE: usize = 512 << 10;

#[derive(Default)]
pub struct Buffering(Mutex<Bytes>);

#[derive(Default)]
struct Bytes {
    all: usize,
    /// Of each address with some.
    addresses: HashMap<IpAddr, usize>,
}

impl Buffering {
    /// The client with a network as in [`super::networks::network`].
    pub fn client(self: &Arc<Self>, network: IpAddr) -> Client {
        Client { buffering: self.clone(), network }
    }

    #[cfg(test)]
    pub fn total_bytes(&self) -> usize {
        self.0.lock().all
    }
}

/// The sender of a request, by its address; behind a trusted proxy, by the address that the proxy names.
pub struct Client {
    buffering: Arc<Buffering>,
    network: IpAddr,
}

impl Client {
    /// Whether this address must first finish the requests and answers that are buffered for it: all addresses together
    /// are past the bound, and this one holds its share, an equal part of the bound. Those that hold more keep nobody else out.
    pub fn must_wait(&self) -> bool {
        let bytes = self.buffering.0.lock();
        let own = bytes.addresses.get(&self.network);
        bytes.all >= BUFFERED && own.is_some_and(|own| *own >= (BUFFERED / bytes.addresses.len()).max(LEAST_SHARE))
    }

    /// Counts bytes until the guard is dropped.
    pub fn buffer(&self, bytes: usize) -> Buffered {
        let mut counted = self.buffering.0.lock();
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
        let mut counted = self.client.buffering.0.lock();
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
    fn past_the_bound_only_addresses_that_hold_their_share_wait() {
        let buffering = Arc::<Buffering>::default();
        let client = |address: &str| buffering.client(address.parse().unwrap());
        let [slow, beside] = [(); 2].map(|()| client("192.0.2.1"));
        let [office, other] = ["192.0.2.2", "192.0.2.3"].map(client);
        let first = slow.buffer(BUFFERED - 1);
        assert!(!beside.must_wait(), "within the bound");
        let second = slow.buffer(1);
        assert!(slow.must_wait() && beside.must_wait() && !office.must_wait());
        let half = office.buffer(BUFFERED / 2 - 1);
        assert!(slow.must_wait() && !office.must_wait(), "it holds less than its share");
        let one_more = office.buffer(1);
        assert!(office.must_wait() && !other.must_wait(), "it holds its share");
        drop((half, second, one_more));
        assert!(!slow.must_wait() && !office.must_wait(), "within the bound");
        drop(first);
        assert!(buffering.total_bytes() == 0 && buffering.0.lock().addresses.is_empty());
    }

    #[test]
    fn among_many_addresses_each_may_hold_a_long_answer() {
        let buffering = Arc::<Buffering>::default();
        let client = |n: u8| buffering.client([192, 0, 2, n].into());
        let _attack: Vec<_> = (0..100).map(|n| client(n).buffer(LEAST_SHARE)).collect();
        let office = client(100);
        let _answer = office.buffer(LEAST_SHARE - 1);
        assert!(!office.must_wait() && (0..100).all(|n| client(n).must_wait()));
        let _one_more = office.buffer(1);
        assert!(office.must_wait());
    }
}
