//! Publications of a stream, and those that many clients recover at once: when a proxy or a network comes back, all clients of
//! a channel ask for the same ones.

use std::sync::Arc;

use bytes::Bytes;
use quick_cache::{Weighter, sync::Cache};

use crate::event::Stream;

/// Bytes that the protocol adds to a publication, at most.
const AROUND: usize = 100;
/// Bytes of all kept publications together.
const MOST_BYTES: usize = 8 << 20;
/// Estimate of the kept streams. For so few the cache has one shard, with room for the longest recovery.
const STREAMS: usize = 32;

#[derive(Clone)]
pub struct Publication {
    pub seq: i64,
    /// JSON.
    pub body: Bytes,
}

impl Publication {
    /// Its bytes, with those that the protocol adds.
    pub(super) fn cost(&self) -> usize {
        self.body.len() + AROUND
    }
}

/// For each stream, all its publications after some seq. They are good until the stream has a further one, because a change to
/// a message is a publication, too; only the author's name and picture may be older. Not for personal streams, whose state
/// changes without a publication.
pub struct Recent(Cache<Stream, Tail, Bytewise>);

#[derive(Clone)]
struct Tail {
    /// The seq after which the publications begin.
    after: i64,
    /// The last seq of the stream.
    last: i64,
    publications: Arc<[Publication]>,
}

#[derive(Clone)]
struct Bytewise;

impl Weighter<Stream, Tail> for Bytewise {
    fn weight(&self, _: &Stream, tail: &Tail) -> u64 {
        // Also an empty tail weighs something: what weighs nothing is never dropped.
        tail.publications.iter().fold(AROUND, |bytes, publication| bytes + publication.cost()) as u64
    }
}

impl Default for Recent {
    fn default() -> Recent {
        Recent(Cache::with_weighter(STREAMS, MOST_BYTES as u64, Bytewise))
    }
}

impl Recent {
    /// The publications of the stream after `offset`, if they are known. `last` is the last seq of the stream.
    pub(super) fn find(&self, stream: Stream, offset: i64, last: i64) -> Option<Vec<Publication>> {
        let tail = self.0.get(&stream).filter(|tail| tail.last == last && tail.after <= offset)?;
        let first = tail.publications.partition_point(|publication| publication.seq <= offset);
        Some(tail.publications[first..].to_vec())
    }

    /// Keeps all publications of the stream after `offset`, which were read with its `last` seq in one transaction.
    pub(super) fn keep(&self, stream: Stream, offset: i64, last: i64, publications: &[Publication]) {
        self.0.insert(stream, Tail { after: offset, last, publications: publications.into() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ChannelId;

    fn publications(seqs: &[i64], length: usize) -> Vec<Publication> {
        seqs.iter().map(|seq| Publication { seq: *seq, body: vec![b'x'; length].into() }).collect()
    }

    #[test]
    fn a_tail_serves_later_offsets_until_the_stream_moves() {
        let (recent, stream) = (Recent::default(), Stream::Channel(ChannelId::new()));
        let found = |offset, last| {
            let found = recent.find(stream, offset, last)?;
            Some(found.iter().map(|publication| publication.seq).collect::<Vec<_>>())
        };
        assert_eq!(found(3, 9), None);
        recent.keep(stream, 3, 9, &publications(&[5, 7, 9], 1));
        assert_eq!([found(3, 9), found(7, 9)], [Some(vec![5, 7, 9]), Some(vec![9])]);
        assert_eq!([found(2, 9), found(3, 11)], [None, None], "one may be missing before, or after");
        recent.keep(stream, 9, 11, &publications(&[11], 1));
        assert_eq!([found(9, 11), found(3, 9)], [Some(vec![11]), None]);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let recent = Recent::default();
        for length in [512 << 10, 0] {
            for _ in 0..1_000 {
                let stream = Stream::Channel(ChannelId::new());
                recent.keep(stream, 0, 1, &publications(&[1], length));
                assert!(recent.find(stream, 0, 1).is_some(), "the latest has room");
            }
        }
        for _ in 0..2 * MOST_BYTES / AROUND {
            recent.keep(Stream::Channel(ChannelId::new()), 0, 1, &[]);
        }
        assert!(recent.0.len() <= MOST_BYTES / AROUND, "of those that missed nothing, too");
        assert!(((MOST_BYTES / 2) as u64..=MOST_BYTES as u64).contains(&recent.0.weight()));
    }
}
