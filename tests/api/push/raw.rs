//! A WebSocket without a library: it sends any frames, many in one write, and sees each frame that comes.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::yield_now,
    time::timeout,
};

use super::frames::{BINARY, CLOSE, PONG, TEXT, frame};
use crate::harness::Client;

const LIMIT: Duration = Duration::from_secs(30);

/// Splits off the first frame, if it is whole.
fn take(unread: &mut Vec<u8>) -> Option<(u8, Vec<u8>)> {
    let (header, length) = match *unread.get(1)? {
        short @ ..126 => (2, usize::from(short)),
        126 => (4, usize::from(u16::from_be_bytes([*unread.get(2)?, *unread.get(3)?]))),
        _ => panic!("a frame of more than 64 KiB"),
    };
    let payload = unread.get(header..header + length)?.to_vec();
    let first = unread[0];
    unread.drain(..header + length);
    Some((first, payload))
}

pub struct Raw {
    stream: TcpStream,
    unread: Vec<u8>,
    /// Pongs that came so far.
    pub pongs: usize,
    /// Bytes of all frames that came so far.
    pub answered: usize,
}

impl Raw {
    /// Opens a socket and says nothing.
    pub async fn open(client: &Client, path: &str) -> Raw {
        let host = client.origin.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).await.unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            answer.push(stream.read_u8().await.unwrap());
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
        Raw { stream, unread: Vec::new(), pongs: 0, answered: 0 }
    }

    /// Sends the first message, and takes its answer.
    pub async fn connect(&mut self, request: Value) {
        self.write(&frame(TEXT, request.to_string().as_bytes())).await;
        let reply = &self.lines(1).await[0];
        assert!(reply["connect"]["client"].is_string(), "{reply}");
    }

    /// [`Raw::connect`] in Protobuf.
    pub async fn connect_in_protobuf(&mut self, token: &str) {
        let field = |tag: u8, content: &[u8]| {
            let length = content.len();
            [&[tag, 0x80 | (length & 0x7f) as u8, (length >> 7) as u8], content].concat()
        };
        let command = [vec![0x08, 1], field(0x22, &field(0x0a, token.as_bytes()))].concat();
        self.write(&frame(BINARY, &field(0, &command)[1..])).await;
        assert_eq!(self.next().await.0, BINARY);
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        timeout(LIMIT, self.stream.write_all(bytes)).await.unwrap().unwrap();
    }

    /// Sends the bytes again and again until the server ends the connection. Gives the number of bytes that it, and the
    /// buffers between, have taken.
    pub async fn write_until_closed(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < 64 << 20 && timeout(LIMIT, self.stream.write_all(bytes)).await.unwrap().is_ok() {
            taken += bytes.len();
        }
        taken
    }

    /// Sends these bytes and no more, and reads all answers, until the server closes.
    pub async fn send_and_hang_up(&mut self, bytes: &[u8]) {
        let (mut read, mut write) = self.stream.split();
        let sending = async {
            // The server may have heard enough.
            if write.write_all(bytes).await.is_ok() {
                _ = write.shutdown().await;
            }
            std::future::pending().await
        };
        let reading = async {
            loop {
                while let Some((first, payload)) = take(&mut self.unread) {
                    self.answered += payload.len() + 2;
                    if first == CLOSE {
                        return;
                    }
                }
                if !read.read_buf(&mut self.unread).await.is_ok_and(|read| read > 0) {
                    return;
                }
            }
        };
        let ended = async {
            tokio::select! { () = sending => {}, () = reading => {} }
        };
        timeout(LIMIT, ended).await.expect("the server keeps the connection");
    }

    /// The next frame: its first byte and its payload.
    pub async fn next(&mut self) -> (u8, Vec<u8>) {
        timeout(LIMIT, async {
            loop {
                if let Some(frame) = self.take() {
                    return frame;
                }
                assert_ne!(self.stream.read_buf(&mut self.unread).await.unwrap(), 0, "the connection has ended");
            }
        })
        .await
        .expect("nothing came within the time limit")
    }

    /// A frame that has arrived.
    fn take(&mut self) -> Option<(u8, Vec<u8>)> {
        let (first, payload) = take(&mut self.unread)?;
        self.answered += payload.len() + 2;
        self.pongs += usize::from(first == PONG);
        Some((first, payload))
    }

    /// The next objects, or those that came before the close and its code.
    pub async fn lines_or_close(&mut self, count: usize) -> Result<Vec<Value>, (Vec<Value>, u16)> {
        let mut lines = Vec::new();
        while lines.len() < count {
            match self.next().await {
                (TEXT, payload) => {
                    lines.extend(payload.split(|byte| *byte == b'\n').map(|line| serde_json::from_slice::<Value>(line).unwrap()));
                }
                (CLOSE, payload) => return Err((lines, u16::from_be_bytes([payload[0], payload[1]]))),
                _ => {}
            }
        }
        Ok(lines)
    }

    /// The next objects.
    pub async fn lines(&mut self, count: usize) -> Vec<Value> {
        self.lines_or_close(count).await.unwrap_or_else(|closed| panic!("{closed:?}"))
    }

    /// Reads to the close; gives its code.
    pub async fn closed(&mut self) -> u16 {
        loop {
            if let (CLOSE, payload) = self.next().await {
                return u16::from_be_bytes([payload[0], payload[1]]);
            }
        }
    }

    /// Lets each other task of the runtime run once; gives the number of frames that have come meanwhile.
    pub async fn come_meanwhile(&mut self) -> usize {
        yield_now().await;
        while self.stream.try_read_buf(&mut self.unread).is_ok_and(|read| read > 0) {}
        std::iter::from_fn(|| self.take()).count()
    }
}
