//! WebSockets without a library, which would not send what an attacker sends.

use std::{io, net::IpAddr};

use reqwest::Method;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy, sink},
    net::TcpStream,
};

use crate::{
    api::{self, Api},
    attackers::{Target, dial},
};

/// The connect command in Protobuf, after its length.
pub async fn connect_in_protobuf(member: &Api) -> Vec<u8> {
    let answer = member.call(Method::GET, "/token/connection", Value::Null).await;
    let token = api::text(&answer["data"]["token"]);
    // Lengths in two bytes, as each is above 127.
    let field = |tag: &[u8], content: &[u8]| {
        let length = content.len();
        [tag, &[0x80 | (length & 0x7f) as u8, (length >> 7) as u8], content].concat()
    };
    let command = [&[0x08, 1], field(&[0x22], &field(&[0x0a], token.as_bytes())).as_slice()].concat();
    field(&[], &command)
}

pub async fn open(target: &Target, from: IpAddr, path: &str, buffer: Option<u32>) -> io::Result<TcpStream> {
    let mut stream = dial(target, from, buffer).await?;
    shake_hands(&mut stream, path).await?;
    Ok(stream)
}

/// Whether the handshake is accepted.
pub async fn shake_hands(stream: &mut TcpStream, path: &str) -> io::Result<bool> {
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(answer.starts_with(b"HTTP/1.1 101"))
}

/// Sends the bytes again and again until the server ends the connection, and reads what it answers.
pub async fn flood(stream: TcpStream, first: &[u8], bytes: &[u8]) -> io::Result<()> {
    let (mut read, mut write) = stream.into_split();
    write.write_all(first).await?;
    let writing = async {
        loop {
            write.write_all(bytes).await?;
        }
    };
    tokio::select! {
        written = writing => written,
        read = async { copy(&mut read, &mut sink()).await } => read.map(drop),
    }
}
