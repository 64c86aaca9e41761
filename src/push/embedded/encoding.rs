//! Encodes messages of the protocol into frames, and decodes them. Does no I/O.
//!
//! In JSON a frame holds one or more objects, separated by line breaks; fields at their zero value are left out.
//! In Protobuf each message has its length before it.

use std::cell::OnceCell;

use bytes::{Buf, Bytes};
use prost::Message as _;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

use super::protocol::{
    replies::{Answer, Push, PushBody, Reply},
    requests::{Command, ConnectRequest},
};

/// Most messages in one frame.
const JOINED: usize = 16;

/// The encoding of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Protobuf,
    /// For a client that only listens: JSON of bare pushes, without the reply around them.
    Listener,
}

impl Encoding {
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Json | Encoding::Listener => "json",
            Encoding::Protobuf => "protobuf",
        }
    }

    /// Encodes one message as a frame.
    pub fn frame(self, reply: Reply) -> Message {
        match (self, reply.body) {
            (Encoding::Protobuf, body) => Message::Binary(Reply { id: reply.id, body }.encode_length_delimited_to_vec().into()),
            (Encoding::Listener, Some(Answer::Push(push))) => json(&push),
            (Encoding::Listener, Some(Answer::Connect(result))) => {
                json(&Push { channel: String::new(), body: Some(PushBody::Connect(result)) })
            }
            (_, body) => json(&Reply { id: reply.id, body }),
        }
    }

    /// Joins small messages into one frame: fewer frames are less work for both peers.
    pub fn join(self, frames: &mut impl Iterator<Item = Message>) -> Option<Message> {
        let first = frames.next()?;
        if self == Encoding::Listener {
            return Some(first);
        }
        let mut rest = frames.take(JOINED - 1).peekable();
        if rest.peek().is_none() {
            return Some(first); // unchanged, since all its receivers share the buffer
        }
        match first {
            Message::Binary(first) => {
                let mut joined = Vec::from(first);
                rest.for_each(|frame| joined.extend_from_slice(&frame.into_data()));
                Some(Message::Binary(joined.into()))
            }
            first => {
                let mut joined = first.to_text().unwrap_or_default().to_owned();
                for frame in rest {
                    joined.push('\n');
                    joined.push_str(frame.to_text().unwrap_or_default());
                }
                Some(Message::text(joined))
            }
        }
    }
}

fn json(value: &impl serde::Serialize) -> Message {
    let text = serde_json::to_string(value).expect("the bodies of events are JSON");
    Message::Text(Utf8Bytes::from(text))
}

/// A message for many connections, encoded once for each encoding that they use.
pub struct Shared {
    reply: Reply,
    json: OnceCell<Message>,
    protobuf: OnceCell<Message>,
    listener: OnceCell<Message>,
}

impl Shared {
    pub fn new(reply: Reply) -> Shared {
        Shared { reply, json: OnceCell::new(), protobuf: OnceCell::new(), listener: OnceCell::new() }
    }

    pub fn frame(&self, encoding: Encoding) -> &Message {
        let cell = match encoding {
            Encoding::Json => &self.json,
            Encoding::Protobuf => &self.protobuf,
            Encoding::Listener => &self.listener,
        };
        cell.get_or_init(|| encoding.frame(self.reply.clone()))
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
pub fn connect_request(text: &str) -> Result<ConnectRequest, Unreadable> {
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

    fn text(encoding: Encoding, reply: Reply) -> String {
        encoding.frame(reply).into_text().unwrap().to_string()
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
        assert_eq!(Encoding::Protobuf.frame(Reply::PING), Message::binary(vec![0]));
    }

    #[test]
    fn a_publication_is_json_in_json_and_bytes_in_protobuf() {
        let publication = Shared::new(Reply::publication("c", 300, r#"{"a":[1,"b"]}"#));
        let json = r#"{"channel":"c","pub":{"data":{"a":[1,"b"]},"offset":300}}"#;
        assert_eq!(publication.frame(Encoding::Json).to_text().unwrap(), format!("{{\"push\":{json}}}"));
        assert_eq!(publication.frame(Encoding::Listener).to_text().unwrap(), json);
        let mut frame = publication.frame(Encoding::Protobuf).clone().into_data();
        let decoded = Reply::decode_length_delimited(&mut frame).unwrap();
        assert_eq!((decoded, frame.len()), (Reply::publication("c", 300, r#"{"a":[1,"b"]}"#), 0));
    }

    #[test]
    fn small_frames_are_joined_and_a_single_one_is_unchanged() {
        let frames = |n: usize| (0..n).map(|n| Message::text(n.to_string())).collect::<Vec<_>>().into_iter();
        let mut three = frames(3);
        assert_eq!(Encoding::Json.join(&mut three), Some(Message::text("0\n1\n2")));
        assert_eq!(Encoding::Json.join(&mut three), None);
        let mut many = frames(JOINED + 1);
        Encoding::Json.join(&mut many);
        assert_eq!(Encoding::Json.join(&mut many), Some(Message::text("16")));
        let mut pings = [Message::binary(vec![0]), Message::binary(vec![0])].into_iter();
        assert_eq!(Encoding::Protobuf.join(&mut pings), Some(Message::binary(vec![0, 0])));
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
