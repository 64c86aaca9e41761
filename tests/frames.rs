//! Frames from strangers: neither parser panics, and neither takes much more memory than the frame.
//!
//! More cases than usual: `PROPTEST_CASES=10000000 cargo test --release --test frames`.

#![allow(unsafe_code)] // for the allocator, which every implementation of it needs

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use bytes::Bytes;
use proptest::{prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};
use prost::Message;
use tidings::push::embedded::{
    abuse_bounds::IN_FRAME,
    encoding::{Unreadable, decode_connect_request, json_commands, protobuf_commands},
    protocol::{
        replies::Reply,
        requests::{Command, Position, Request},
    },
};

/// Notes each thread's largest use of memory.
struct Counting;

thread_local! {
    static USED: Cell<isize> = const { Cell::new(0) };
    static MOST: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // Gone when the thread ends; what it frees then counts no more.
    _ = USED.try_with(|used| {
        used.set(used.get() + bytes);
        _ = MOST.try_with(|most| most.set(most.get().max(used.get())));
    });
}

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller promised of the layout what the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the pointer is one that the system's allocator gave for this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `f` needs at its worst, in bytes.
fn memory(f: impl FnOnce()) -> usize {
    let before = USED.get();
    MOST.set(before);
    f();
    (MOST.get() - before) as usize
}

/// Bytes of memory per byte of a frame. The most expensive input is an entry of `subs` in four bytes.
const TIMES: usize = 120;
/// Bytes of memory beside those for the frame, as for error messages.
const BESIDES: usize = 4096;

const LINES: &[&str] = &[
    "{}",
    "\n",
    r#"{"id":1,"connect":{"token":"t","subs":{"a":{"token":"x"},"b":{"recover":true,"offset":7,"epoch":"e"}}}}"#,
    r#"{"id":2,"subscribe":{"channel":"c","token":"t","flag":1,"recover":true,"offset":18446744073709551615}}"#,
    r#"{"id":3,"history":{"channel":"c","limit":-1,"since":{"offset":1,"epoch":"e"},"reverse":true}}"#,
    r#"{"id":4,"sub_refresh":{"channel":"c","token":"t"}}"#,
    r#"{"send":{"data":{"a":[1,2,{"b":null}]}}}"#,
    r#"{"id":4294967295,"rpc":{"method":"m","data":"\ud83d\ude00"}}"#,
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    r#"{"id":1,"connect":{"subs":{"#,
    r#""a":{},"b":{},"c":{},"d":{},"#,
];

fn message(id: u8, fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut body = vec![0x08, id];
    for (field, content) in fields {
        body.push(field << 3 | 2);
        body.push(content.len() as u8);
        body.extend_from_slice(content);
    }
    let mut framed = vec![body.len() as u8];
    framed.extend(body);
    framed
}

/// Commands in Protobuf: empty, connect with an entry of `subs`, subscribe, history, several empty entries.
fn messages() -> Vec<Vec<u8>> {
    let since = Position { offset: 9, epoch: "e".into() }.encode_to_vec();
    let history = [&[0x0a, 1, b'c', 0x42, since.len() as u8][..], &since].concat();
    vec![
        vec![0],
        message(1, &[(4, &[0x0a, 1, b't', 0x1a, 7, 0x0a, 1, b'a', 0x12, 2, 0x18, 1])]),
        message(2, &[(5, &[0x0a, 1, b'c', 0x12, 1, b't', 0x38, 0xff, 1, 0x18, 1])]),
        message(3, &[(10, &history)]),
        message(4, &[(4, &[0x1a, 0, 0x1a, 0, 0x1a, 0, 0x1a, 0])]),
        vec![0xff; 12],
    ]
}

/// Good pieces and noise in any mixture, some bytes of them changed.
fn frame(pieces: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let noise = prop::collection::vec(any::<u8>(), 0..24);
    let many = (select(pieces.clone()), 0_usize..200).prop_map(|(piece, times)| piece.repeat(times));
    let piece = prop_oneof![8 => select(pieces), 2 => noise, 1 => many];
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (prop::collection::vec(piece, 0..6), changes).prop_map(|(pieces, changes)| {
        let mut frame = pieces.concat();
        for (at, byte) in changes {
            if !frame.is_empty() {
                let at = at.index(frame.len());
                frame[at] = byte;
            }
        }
        frame
    })
}

/// Reads as the socket does: one by one, to the first that is none.
fn read(commands: impl Iterator<Item = Result<Command, Unreadable>>) {
    commands.map_while(Result::ok).for_each(|command| _ = command.request());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(frame in frame(LINES.iter().map(|line| line.as_bytes().to_vec()).collect())) {
        let text = String::from_utf8_lossy(&frame); // other frames do not get past the WebSocket library
        let needed = memory(|| {
            read(json_commands(&text));
            _ = decode_connect_request(&text);
        });
        prop_assert!(needed <= text.len() * TIMES + BESIDES, "{needed} bytes for {}", text.len());
    }

    #[test]
    fn any_bytes_are_read_or_refused(frame in frame(messages())) {
        let (length, frame) = (frame.len(), Bytes::from(frame));
        let needed = memory(|| read(protobuf_commands(frame)));
        prop_assert!(needed <= length * TIMES + BESIDES, "{needed} bytes for {length}");
    }
}

#[test]
fn each_valid_piece_is_read() {
    let ids: Vec<u32> = messages()[..5]
        .iter()
        .map(|piece| {
            let mut commands = protobuf_commands(Bytes::from(piece.clone()));
            let command = commands.next().unwrap().unwrap();
            assert!(commands.next().is_none());
            let id = command.id;
            match (id, command.request().unwrap()) {
                (1, Request::Connect(connect)) => assert!(connect.subs["a"].recover),
                (2, Request::Subscribe(subscribe)) => assert_eq!((subscribe.offset, subscribe.recover), (255, true)),
                (3, Request::History(history)) => assert_eq!(history.since.unwrap().offset, 9),
                (4, Request::Connect(_)) | (0, Request::Pong) => {}
                (id, other) => panic!("{id}: {other:?}"),
            }
            id
        })
        .collect();
    assert_eq!(ids, [0, 1, 2, 3, 4]);
    assert_eq!(Reply::PING.encoded_len(), 0);
}

/// Frames as attackers send them, as large as a message may be: thousands of commands, and what never ends.
fn attacks() -> Vec<Vec<u8>> {
    let full = |piece: &[u8]| piece.repeat((64 << 10) / piece.len());
    let nested = |open: &str| [&b"{\"id\":1,\"rpc\":{\"data\":"[..], &full(open.as_bytes())].concat();
    vec![
        full(&[4, 0x08, 1, 0x6a, 0]), // the command `rpc`, with nothing in it
        full(&[0]),                   // pongs
        full(&[0xff]),                // a length without end
        full(&message(2, &[(5, &[0x0a, 1, b'c'])])),
        full(&message(4, &[(4, &[0x1a, 0, 0x1a, 0, 0x1a, 0, 0x1a, 0])])),
        full(b"{}\n"),
        full(b"\n"),
        full(b"{"),
        full(b"{\"id\":1,\"rpc\":{}}\n"),
        full(b"{\"id\":1,\"presence\":{\"channel\":\"c\"}}\n"),
        full(b"{\"id\":1,\"id\":1,"),
        full("\u{1d11e}".as_bytes()),
        nested("["),
        nested("{\"a\":"),
        nested("\\ud83d"),
    ]
}

/// The attacks, and each with some of its bytes changed, moved or cut off: the same ones in each run.
#[test]
fn attacks_take_no_more_memory_than_other_frames() {
    let mut runner = TestRunner::deterministic();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8);
    let pieces = (changes, any::<prop::sample::Index>(), any::<prop::sample::Index>());
    for attack in attacks() {
        for round in 0..32 {
            let mut frame = attack.clone();
            if round > 0 {
                let (changes, turn, end) = pieces.new_tree(&mut runner).unwrap().current();
                changes.into_iter().for_each(|(at, byte)| *at.get_mut(&mut frame) = byte);
                let (turn, end) = (turn.index(frame.len()), end.index(frame.len()));
                frame.rotate_left(turn);
                frame.truncate(end + 1);
            }
            let text = String::from_utf8_lossy(&frame).into_owned();
            let most = memory(|| {
                read(json_commands(&text).take(IN_FRAME));
                _ = decode_connect_request(&text);
            });
            assert!(most <= text.len() * TIMES + BESIDES, "{most} bytes for {} of text", text.len());
            let (length, frame) = (frame.len(), Bytes::from(frame));
            let most = memory(|| read(protobuf_commands(frame).take(IN_FRAME)));
            assert!(most <= length * TIMES + BESIDES, "{most} bytes for {length}");
        }
    }
}

#[test]
fn the_most_expensive_frame_stays_within_its_memory() {
    let text = format!(r#"{{"id":1,"connect":{{"subs":{{{}"x":{{}}}}}}}}"#, r#""a":{},"#.repeat(9000));
    assert!(text.len() < 64 << 10);
    let entries: String = (0..5000).map(|n| format!(r#""{n}":{{}},"#)).collect();
    let distinct = format!(r#"{{"id":1,"connect":{{"subs":{{{entries}"x":{{}}}}}}}}"#);
    for text in [text, distinct] {
        let needed =
            memory(|| assert!(matches!(json_commands(&text).next().unwrap().unwrap().request(), Some(Request::Connect(_)))));
        assert!(needed < 4 << 20, "{needed}");
    }
}
