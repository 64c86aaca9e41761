//! A WebSocket client by hand: it sends prepared bytes, and reads of a frame no more than it must.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::requests::connect;

/// The text of each message that is counted begins so.
const MARK: u8 = b'~';
/// A masked text frame with an empty object, under a key of zeros: the answer to a ping.
const PONG: [u8; 8] = [0x81, 0x82, 0, 0, 0, 0, b'{', b'}'];
const TEXT_FRAME: u8 = 0x81;
const CONTINUATION: u8 = 0;
const HANDSHAKE: &[u8] = b"GET /connection/websocket HTTP/1.1\r\nhost: bench\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
    sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

pub struct Socket {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// Bytes of the buffer that belong to frames that were read.
    taken: usize,
    /// The pieces of a message that came in several frames.
    pieces: Vec<u8>,
}

impl Socket {
    /// Connects, and sends the first command together with the handshake.
    pub async fn open(address: SocketAddr, from: IpAddr, command: &str) -> io::Result<Socket> {
        let mut stream = connect(address, Some(from)).await?;
        stream.write_all(HANDSHAKE).await?;
        let mut socket = Socket { stream, buffer: Vec::with_capacity(1024), taken: 0, pieces: Vec::new() };
        let end = loop {
            socket.more().await?;
            if let Some(end) = socket.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        if !socket.buffer.starts_with(b"HTTP/1.1 101") {
            return Err(io::Error::other(String::from_utf8_lossy(&socket.buffer[..end]).into_owned()));
        }
        socket.taken = end;
        socket.stream.write_all(&masked(command)).await?;
        Ok(socket)
    }

    async fn more(&mut self) -> io::Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// The next message with anything but pings, and how many publications it pushes. The pings are answered.
    pub async fn message(&mut self) -> io::Result<(&[u8], usize)> {
        self.pieces.clear();
        loop {
            let Some((begin, end)) = frame_in(&self.buffer[self.taken..]) else {
                self.buffer.drain(..self.taken);
                self.taken = 0;
                self.more().await?;
                continue;
            };
            let (first, begin, end) = (self.buffer[self.taken], self.taken + begin, self.taken + end);
            let (is_last, opcode) = (first & 0x80 != 0, first & 0x0f);
            self.taken = end;
            if opcode == 8 {
                return Err(io::Error::other(format!("closed: {}", String::from_utf8_lossy(&self.buffer[begin..end]))));
            }
            if !is_last || opcode == CONTINUATION {
                self.pieces.extend_from_slice(&self.buffer[begin..end]);
            }
            if !is_last {
                continue;
            }
            let is_in_pieces = opcode == CONTINUATION;
            let lines = Lines::of(if is_in_pieces { &self.pieces } else { &self.buffer[begin..end] });
            if lines.pings > 0 {
                self.stream.write_all(&PONG).await?;
            }
            if lines.all > lines.pings {
                return Ok((if is_in_pieces { &self.pieces } else { &self.buffer[begin..end] }, lines.pushes));
            }
        }
    }
}

/// What the lines of a frame are.
#[derive(Default)]
struct Lines {
    all: usize,
    pings: usize,
    pushes: usize,
}

impl Lines {
    fn of(frame: &[u8]) -> Lines {
        let mut lines = Lines::default();
        if frame.contains(&b'\n') {
            frame.split(|byte| *byte == b'\n').for_each(|line| lines.add(line));
        } else {
            lines.add(frame); // most frames, without a look at each byte
        }
        lines
    }

    fn add(&mut self, line: &[u8]) {
        self.all += 1;
        self.pings += usize::from(line == b"{}");
        self.pushes += usize::from(line.starts_with(br#"{"push":{"#));
    }
}

/// Where the payload of the first frame begins and ends, once all of it is there.
fn frame_in(bytes: &[u8]) -> Option<(usize, usize)> {
    let (short, rest) = (usize::from(bytes.get(1)? & 0x7f), bytes.get(2..)?);
    let (begin, length) = match short {
        126 => (4, usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?))),
        127 => (10, usize::try_from(u64::from_be_bytes(rest.get(..8)?.try_into().ok()?)).ok()?),
        length => (2, length),
    };
    (bytes.len() >= begin + length).then_some((begin, begin + length))
}

/// A client's text frame, under a key of zeros, which changes no byte.
pub fn masked(text: &str) -> Vec<u8> {
    let mut frame = vec![TEXT_FRAME];
    match text.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(length).expect("a command of less than 64 KiB").to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(text.as_bytes());
    frame
}

/// How many messages an answer brings that recovers them.
pub fn recovered(answer: &[u8]) -> usize {
    const BEFORE: &[u8] = br#""content":""#;
    let marks = answer.iter().enumerate().filter(|(_, byte)| **byte == MARK);
    marks.filter(|(place, _)| answer[..*place].ends_with(BEFORE)).count()
}
