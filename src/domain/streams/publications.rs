//! Publications of a stream, and those that many clients recover at once: when a proxy or a network comes back, all clients of
//! a channel ask for the same ones.

use std::{collections::HashMap, sync::Mutex};

use bytes::Bytes;

use crate::event::Stream;

/// Bytes that the protocol adds to a publication, at most.
const AROUND: usize = 100;
/// Bytes of all kept publications together; past that, all are dropped.
const MOST_BYTES: usize = 8 << 20;

#[derive(Clone)]
pub struct Publication {
    pub seq: i64,
    /// JSON.
    pub body: Bytes,
}

impl Publication {
    pub(super) fn bytes(&self) -> usize {
        self.body.len() + AROUND
    }
}

/// For each stream, all its publications after some seq. They are good until the stream has a further one, because a change to
/// a message is a publication, too; only the author's name and picture may be older. Not for personal streams, whose state
/// changes without a publication.
#[derive(Default)]
pub struct Recent(Mutex<Tails>);

#[derive(Default)]
struct Tails {
    tails: HashMap<Stream, Tail>,
    bytes: usize,
}

struct Tail {
    /// The seq after which the publications begin.
    after: i64,
    /// The last seq of the stream.
    last: i64,
    publications: Vec<Publication>,
}

impl Recent {
    /// The publications of the stream after `offset`, if they are known. `last` is the last seq of the stream.
    pub(super) fn find(&self, stream: Stream, offset: i64, last: i64) -> Option<Vec<Publication>> {
        let known = self.0.lock().expect("nothing panics while it holds this");
        let tail = known.tails.get(&stream).filter(|tail| tail.last == last && tail.after <= offset)?;
        let first = tail.publications.partition_point(|publication| publication.seq <= offset);
        Some(tail.publications[first..].to_vec())
    }

    /// Keeps all publications of the stream after `offset`, which were read with its `last` seq in one transaction.
    pub(super) fn keep(&self, stream: Stream, offset: i64, last: i64, publications: &[Publication]) {
        let bytes = |publications: &[Publication]| publications.iter().map(Publication::bytes).sum::<usize>();
        let mut known = self.0.lock().expect("nothing panics while it holds this");
        known.bytes += bytes(publications);
        let tail = Tail { after: offset, last, publications: publications.to_vec() };
        if let Some(old) = known.tails.insert(stream, tail) {
            known.bytes -= bytes(&old.publications);
        }
        if known.bytes > MOST_BYTES {
            *known = Tails::default();
        }
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
        for n in 0..100 {
            let stream = Stream::Channel(ChannelId::new());
            recent.keep(stream, 0, 1, &publications(&[1], MOST_BYTES / 4));
            assert_eq!(recent.find(stream, 0, 1).is_some(), n % 4 != 3);
            assert!(recent.0.lock().unwrap().bytes <= MOST_BYTES);
        }
    }
}
