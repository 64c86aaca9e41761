//! Encodes messages of the protocol into frames, and decodes them. Does no I/O.
//!
//! In JSON a frame holds one or more objects, separated by line breaks; fields at their zero value are left out.
//! In Protobuf each message has its length before it.

use std::cell::OnceCell;

use bytes::{Buf, Bytes};
use prost::Message as _;
use tokio_tungstenite::tungstenite::protocol::frame::{
    Frame,
    coding::{Data, OpCode},
};

use super::protocol::{
    replies::{Answer, Push, PushBody, Reply},
    requests::{Command, ConnectRequest},
};

/// Bytes of a message in one frame, if it is for one connection.
pub const PIECE: usize = 16 << 10;

/// The encoding of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Protobuf,
    /// For a client that only listens: JSON of bare pushes, without the reply around them.
    Listener,
    /// The same as server-sent events, and not as frames of a WebSocket.
    Events,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Json | Encoding::Listener | Encoding::Events => "json",
            Encoding::Protobuf => "protobuf",
        }
    }

    /// Encodes one message for one connection. A long one is in pieces (RFC 6455, section 5.4): after any of them, the connection can be
    /// closed with a code, and the others need not be kept for that.
    pub fn frames(self, reply: Reply) -> Vec<Bytes> {
        let (kind, payload) = match self {
            Encoding::Json => (Data::Text, json(&reply)),
            Encoding::Protobuf => (Data::Binary, reply.encode_length_delimited_to_vec()),
            Encoding::Listener => (Data::Text, bare(reply)),
            Encoding::Events => return vec![self.frame(reply)],
        };
        if payload.len() <= PIECE {
            return vec![websocket(kind, payload)];
        }
        let payload = Bytes::from(payload);
        let piece = |start: usize| {
            let (kind, end) = (if start == 0 { kind } else { Data::Continue }, payload.len().min(start + PIECE));
            bytes_of(Frame::message(payload.slice(start..end), OpCode::Data(kind), end == payload.len()))
        };
        (0..payload.len()).step_by(PIECE).map(piece).collect()
    }

    /// Encodes one message as a frame, in the bytes of the transport.
    pub fn frame(self, reply: Reply) -> Bytes {
        match self {
            Encoding::Json => websocket(Data::Text, json(&reply)),
            Encoding::Protobuf => websocket(Data::Binary, reply.encode_length_delimited_to_vec()),
            Encoding::Listener => websocket(Data::Text, bare(reply)),
            Encoding::Events => [b"data: ".as_slice(), &bare(reply), b"\n\n"].concat().into(),
        }
    }
}

fn json(message: &(impl serde::Serialize + prost::Message)) -> Vec<u8> {
    // Protobuf's length is that of JSON but for the names of fields: what a client recovers is long, and would be moved as it grows.
    let length = message.encoded_len();
    let mut json = Vec::with_capacity(64 + length + length / 8);
    serde_json::to_writer(&mut json, message).expect("the bodies of events are JSON");
    json
}

/// A push as JSON, without the reply around it.
fn bare(reply: Reply) -> Vec<u8> {
    match reply.body {
        Some(Answer::Push(push)) => json(&push),
        Some(Answer::Connect(result)) => json(&Push { channel: String::new(), body: Some(PushBody::Connect(result)) }),
        body => json(&Reply { id: reply.id, body }),
    }
}

fn websocket(kind: Data, payload: Vec<u8>) -> Bytes {
    bytes_of(Frame::message(payload, OpCode::Data(kind), true))
}

/// Whether a frame continues the message of the one before it.
pub fn is_continuation(frame: &[u8]) -> bool {
    frame[0] & 0x0f == 0
}

fn bytes_of(frame: Frame) -> Bytes {
    let mut bytes = Vec::with_capacity(frame.len());
    frame.format(&mut bytes).expect("a vector takes all bytes");
    bytes.into()
}

/// A message for many connections, encoded once for each encoding that they use.
pub struct Shared {
    reply: Reply,
    receivers: usize,
    frames: [OnceCell<Bytes>; 4],
}

impl Shared {
    pub fn new(reply: Reply, receivers: usize) -> Shared {
        Shared { reply, receivers, frames: Default::default() }
    }

    /// The memory that a frame costs for each of the receivers.
    pub fn cost(&self, frame: &Bytes) -> usize {
        frame.len().div_ceil(self.receivers)
    }

    pub fn frame(&self, encoding: Encoding) -> &Bytes {
        self.frames[encoding as usize].get_or_init(|| encoding.frame(self.reply.clone()))
    }
}

/// The error of bytes that are no message of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Decodes the commands of a JSON frame one by one, so that a frame of many small ones takes little memory.
pub fn json_commands(frame: &str) -> impl Iterator<Item = Result<Command, Unreadable>> {
    let frame = frame.strip_suffix('\n').unwrap_or(frame);
    // serde would also read a structure from an array, which is no command.
    let one = |line: &str| if line.trim_start().starts_with('{') { serde_json::from_str(line).ok() } else { None };
    frame.split('\n').map(move |line| one(line).ok_or(Unreadable))
}

/// Decodes the commands of a Protobuf frame one by one. An empty frame is unreadable, as is an empty line of JSON.
pub fn protobuf_commands(mut frame: Bytes) -> impl Iterator<Item = Result<Command, Unreadable>> {
    let mut begun = false;
    std::iter::from_fn(move || {
        if std::mem::replace(&mut begun, true) && frame.is_empty() {
            return None;
        }
        let command = Command::decode_length_delimited(&mut frame).map_err(|_| Unreadable);
        if command.is_err() {
            frame.advance(frame.remaining()); // after it, no command's beginning is known
        }
        Some(command)
    })
}

/// Decodes the one message that a listener sends.
pub fn decode_connect_request(text: &str) -> Result<ConnectRequest, Unreadable> {
    serde_json::from_str(text).map_err(|_| Unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::push::embedded::{
        codes::Failure,
        protocol::{
            replies::{ConnectResult, Empty, Subscribed},
            requests::Request,
        },
    };
    use proptest::prelude::*;

    /// The payload of a short frame.
    fn payload(frame: &Bytes) -> &[u8] {
        let header = if frame[1] < 126 { 2 } else { 4 };
        &frame[header..]
    }

    fn text(encoding: Encoding, reply: Reply) -> String {
        let frame = encoding.frame(reply);
        assert_eq!(frame[0], 0x81, "a whole text (RFC 6455, section 5.2)");
        String::from_utf8(payload(&frame).to_vec()).unwrap()
    }

    #[test]
    fn a_frame_may_hold_several_commands() {
        let frame =
            "{\"id\":1,\"connect\":{\"token\":\"t\",\"new\":1}}\n{\"id\":2,\"subscribe\":{\"channel\":\"c\",\"flag\":1}}\n";
        let commands: Vec<_> = json_commands(frame).map(|command| command.unwrap().request().unwrap()).collect();
        assert!(matches!(&commands[..], [Request::Connect(connect), Request::Subscribe(_)] if connect.token == "t"));
        let first = |frame: &str| json_commands(frame).next().unwrap();
        assert_eq!(first(""), Err(Unreadable));
        assert_eq!(json_commands("{}\n\n{}").nth(1), Some(Err(Unreadable)));
        assert_eq!((first("[]x"), first("[]"), first("null")), (Err(Unreadable), Err(Unreadable), Err(Unreadable)));
        assert!(matches!(first("{}").unwrap().request(), Some(Request::Pong)));
        assert!(first("{\"id\":3}").unwrap().request().is_none());
    }

    #[test]
    fn null_is_read_as_the_zero_value() {
        let same = |with: &str, without: &str| {
            let command = |text: &str| json_commands(text).next().unwrap().unwrap();
            assert_eq!(command(with), command(without));
        };
        same(r#"{"id":1,"connect":{"token":"t","subs":null,"data":null},"rpc":null}"#, r#"{"id":1,"connect":{"token":"t"}}"#);
        let nulls = r#""token":null,"recover":null,"epoch":null,"offset":null,"join_leave":null,"flag":null,"type":null"#;
        same(&format!(r#"{{"id":1,"subscribe":{{"channel":"c",{nulls}}}}}"#), r#"{"id":1,"subscribe":{"channel":"c"}}"#);
        let nulls = r#""limit":null,"reverse":null,"since":{"offset":7,"epoch":null}"#;
        same(&format!(r#"{{"id":1,"history":{{{nulls}}}}}"#), r#"{"id":1,"history":{"since":{"offset":7}}}"#);
        same(r#"{"id":null,"send":{"data":null}}"#, r#"{"send":{}}"#);
        assert_eq!(json_commands(r#"{"id":1,"connect":{"token":7}}"#).next(), Some(Err(Unreadable)));
    }

    #[test]
    fn protobuf_commands_have_their_length_before_them() {
        // Two commands: id 7 with unsubscribe {channel: "c"}, and the empty one, a pong.
        let frame = Bytes::from_static(&[7, 0x08, 7, 0x32, 3, 0x0a, 1, b'c', 0]);
        let commands: Vec<_> = protobuf_commands(frame).map(|command| command.unwrap()).collect();
        assert_eq!(commands.iter().map(|command| command.id).collect::<Vec<_>>(), [7, 0]);
        let requests: Vec<_> = commands.into_iter().map(|command| command.request().unwrap()).collect();
        assert!(matches!(&requests[..], [Request::Unsubscribe(of), Request::Pong] if of.channel == "c"));
        assert_eq!(protobuf_commands(Bytes::new()).collect::<Vec<_>>(), [Err(Unreadable)]);
        assert_eq!(protobuf_commands(Bytes::from_static(&[200, 1])).collect::<Vec<_>>(), [Err(Unreadable)]);
    }

    #[test]
    fn zero_values_are_left_out() {
        let error = Reply::new(5, Answer::Error(Failure::PERMISSION_DENIED.into()));
        assert_eq!(text(Encoding::Json, Reply::new(5, Answer::Unsubscribe(Empty {}))), r#"{"id":5,"unsubscribe":{}}"#);
        assert_eq!(text(Encoding::Json, error), r#"{"id":5,"error":{"code":103,"message":"permission denied"}}"#);
        let result = ConnectResult { client: "c".into(), version: "1".into(), ping: 25, ..Default::default() };
        let connected = || Reply::new(0, Answer::Connect(result.clone()));
        assert_eq!(text(Encoding::Json, connected()), r#"{"connect":{"client":"c","version":"1","ping":25}}"#);
        assert_eq!(text(Encoding::Listener, connected()), r#"{"connect":{"client":"c","version":"1","ping":25}}"#);
        let begun = Subscribed { recoverable: true, epoch: "e".into(), offset: 0, positioned: false };
        let push = r#"{"push":{"channel":"c","subscribe":{"recoverable":true,"epoch":"e"}}}"#;
        assert_eq!(text(Encoding::Json, Reply::push("c", PushBody::Subscribe(begun))), push);
        assert_eq!(text(Encoding::Json, Reply::PING), "{}");
        assert_eq!(Encoding::Protobuf.frame(Reply::PING), [0x82, 1, 0].as_slice());
        assert_eq!(Encoding::Events.frame(Reply::PING), "data: {}\n\n");
    }

    #[test]
    fn a_publication_is_json_in_json_and_bytes_in_protobuf() {
        let publication = Shared::new(Reply::publication("c", 300, r#"{"a":[1,"b"]}"#), 1);
        let json = r#"{"channel":"c","pub":{"data":{"a":[1,"b"]},"offset":300}}"#;
        assert_eq!(payload(publication.frame(Encoding::Json)), format!("{{\"push\":{json}}}").as_bytes());
        assert_eq!(payload(publication.frame(Encoding::Listener)), json.as_bytes());
        assert_eq!(publication.frame(Encoding::Events), format!("data: {json}\n\n").as_bytes());
        let mut frame = payload(publication.frame(Encoding::Protobuf));
        let decoded = Reply::decode_length_delimited(&mut frame).unwrap();
        assert_eq!((decoded, frame.len()), (Reply::publication("c", 300, r#"{"a":[1,"b"]}"#), 0));
    }

    #[test]
    fn a_long_answer_is_in_pieces_of_one_message() {
        let long = |length: usize| Reply::publication("c", 0, format!("\"{}\"", "x".repeat(length)));
        assert_eq!(Encoding::Json.frames(long(1000)), [Encoding::Json.frame(long(1000))]);
        for (encoding, first) in [(Encoding::Json, 0x01), (Encoding::Protobuf, 0x02), (Encoding::Listener, 0x01)] {
            let frames = encoding.frames(long(3 * PIECE));
            assert_eq!(frames.iter().map(|frame| frame[0]).collect::<Vec<_>>(), [first, 0, 0, 0x80], "RFC 6455, section 5.4");
            assert_eq!(frames.iter().map(|frame| is_continuation(frame)).collect::<Vec<_>>(), [false, true, true, true]);
            let whole = encoding.frame(long(3 * PIECE));
            assert_eq!(frames.iter().flat_map(payload).collect::<Vec<_>>(), payload(&whole).iter().collect::<Vec<_>>());
        }
        assert_eq!(Encoding::Events.frames(long(3 * PIECE)).len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(frame in ".*") {
            json_commands(&frame).for_each(|command| _ = command.map(Command::request));
        }

        #[test]
        fn no_bytes_make_the_parser_panic(frame in prop::collection::vec(any::<u8>(), 0..200)) {
            let most = frame.len().max(1);
            let commands: Vec<_> = protobuf_commands(frame.into()).map(|command| command.map(Command::request)).collect();
            prop_assert!(commands.len() <= most);
        }
    }
}
