//! HTTP/1.1 by hand: requests as prepared bytes, and answers as a status and a length.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

/// The bytes of a request.
pub fn request(method: &str, path: &str, token: &str, body: &str) -> String {
    let bearer = if token.is_empty() { String::new() } else { format!("authorization: Bearer {token}\r\n") };
    let length = if body.is_empty() {
        String::new()
    } else {
        format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len())
    };
    format!("{method} {path} HTTP/1.1\r\nhost: bench\r\n{bearer}{length}\r\n{body}")
}

/// The head of an answer or of a request, once it is complete.
pub struct Head {
    pub status: u16,
    body: usize,
    /// Bytes of the body; none for one in chunks.
    length: Option<usize>,
}

impl Head {
    pub fn parse(bytes: &[u8]) -> Option<Head> {
        let head = Head::of_request(bytes)?;
        Some(Head { status: std::str::from_utf8(&bytes[9..12]).ok()?.parse().ok()?, ..head })
    }

    /// The head of a request, which has no status.
    pub fn of_request(bytes: &[u8]) -> Option<Head> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let text = std::str::from_utf8(&bytes[..end]).ok()?;
        let header = |wanted: &str| {
            let fields = text.lines().filter_map(|line| line.split_once(':'));
            fields.filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim()).next()
        };
        let length = match header("content-length") {
            Some(length) => Some(length.parse().ok()?),
            None if header("transfer-encoding") == Some("chunked") => None,
            None => Some(0),
        };
        Some(Head { status: 0, body: end, length })
    }

    /// Bytes of the whole answer or request, once it is there.
    pub fn total(&self, bytes: &[u8]) -> Option<usize> {
        let end = match self.length {
            Some(length) => self.body + length,
            None => {
                let mut end = self.body;
                loop {
                    let (data, length) = chunk(bytes, end)?;
                    end = data + length + 2;
                    if length == 0 {
                        break end;
                    }
                }
            }
        };
        (bytes.len() >= end).then_some(end)
    }

    fn body(&self, bytes: &[u8]) -> Vec<u8> {
        if let Some(length) = self.length {
            return bytes[self.body..self.body + length].to_vec();
        }
        let (mut body, mut end) = (Vec::new(), self.body);
        while let Some((data, length)) = chunk(bytes, end).filter(|(_, length)| *length > 0) {
            body.extend_from_slice(&bytes[data..data + length]);
            end = data + length + 2;
        }
        body
    }
}

/// Where the data of the chunk at `begin` begins, and its length.
fn chunk(bytes: &[u8], begin: usize) -> Option<(usize, usize)> {
    let rest = bytes.get(begin..)?;
    let line = rest.windows(2).position(|two| two == b"\r\n")?;
    let length = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
    Some((begin + line + 2, length))
}

/// Sends a request on a connection that is kept, and reads the whole answer.
pub fn exchange(stream: &mut TcpStream, request: &[u8]) -> (u16, Vec<u8>) {
    stream.write_all(request).unwrap();
    read_answer(stream)
}

pub fn read_answer(stream: &mut TcpStream) -> (u16, Vec<u8>) {
    let (mut bytes, mut part) = (Vec::new(), [0; 16 << 10]);
    loop {
        if let Some(head) = Head::parse(&bytes)
            && head.total(&bytes).is_some()
        {
            return (head.status, head.body(&bytes));
        }
        match stream.read(&mut part).unwrap() {
            0 => panic!("the answer ends early: {}", String::from_utf8_lossy(&bytes)),
            read => bytes.extend_from_slice(&part[..read]),
        }
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// One call of the API on a connection of its own, which must succeed. Null for an answer without a body.
#[track_caller]
pub fn call(address: SocketAddr, token: &str, method: &str, path: &str, body: &Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = request(method, &format!("/api/v1{path}"), token, &body);
    let (status, answer) = exchange(&mut connect(address), request.as_bytes());
    assert!((200..300).contains(&status), "{method} {path}: {status}: {}", String::from_utf8_lossy(&answer));
    serde_json::from_slice(&answer).unwrap_or_default()
}
