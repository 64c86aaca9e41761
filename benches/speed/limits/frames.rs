//! The limit of push: handshakes by hand, a prepared answer to each connect command, and for each post the same frame,
//! written to one socket after the other.

use std::{
    collections::HashMap,
    io::ErrorKind,
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, tcp::OwnedWriteHalf},
};

use super::{listen, runtime};

#[derive(Serialize, Deserialize)]
pub struct Plan {
    /// The answer to a connect command.
    pub answer: String,
    /// What a post pushes.
    pub push: String,
}

/// The sockets by the numbers in which they came.
type Sockets = Arc<Mutex<HashMap<usize, Arc<OwnedWriteHalf>>>>;

const ACCEPTED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
    sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

pub fn play(plan: &Plan) {
    let (answer, push) = (Arc::new(frame(&plan.answer)), Arc::new(frame(&plan.push)));
    let runtime = runtime();
    let listener = runtime.block_on(listen()).into_std().unwrap();
    listener.set_nonblocking(false).unwrap();
    let sockets = Sockets::default();
    // On a thread of its own, so that a storm of connections does not wait behind those that are served: the kernel drops
    // what its queue does not hold, and the client tries again a second later.
    for number in 0.. {
        let (stream, _) = listener.accept().unwrap();
        let (answer, push, sockets) = (answer.clone(), push.clone(), sockets.clone());
        runtime.spawn(async move { _ = serve(stream, number, &answer, &push, &sockets).await });
    }
}

/// A server's text frame.
fn frame(text: &str) -> Vec<u8> {
    let mut frame = vec![0x81];
    match text.len() {
        length @ 0..126 => frame.push(length as u8),
        length @ 126..65_536 => {
            frame.push(126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(text.as_bytes());
    frame
}

/// One system call, unless the socket's buffer is full.
async fn write(socket: &OwnedWriteHalf, mut frame: &[u8]) -> std::io::Result<()> {
    while !frame.is_empty() {
        match socket.try_write(frame) {
            Ok(written) => frame = &frame[written..],
            Err(err) if err.kind() == ErrorKind::WouldBlock => socket.writable().await?,
            Err(err) => return Err(err),
        }
    }
    Ok(())
}

async fn serve(stream: std::net::TcpStream, number: usize, answer: &[u8], push: &[u8], sockets: &Sockets) -> std::io::Result<()> {
    stream.set_nonblocking(true)?;
    let mut stream = TcpStream::from_std(stream)?;
    stream.set_nodelay(true)?;
    let mut buffer = [0; 4096];
    loop {
        // The clients write a request at once, and it is small enough for one segment.
        let read = stream.read(&mut buffer).await?;
        match &buffer[..read] {
            [] => return Ok(()),
            request if request.starts_with(b"POST") => {
                let all: Vec<_> = sockets.lock().unwrap().values().cloned().collect();
                for socket in all {
                    _ = write(&socket, push).await; // fails for a socket that is gone and not removed yet
                }
                stream.write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 0\r\n\r\n").await?;
            }
            request if request.starts_with(b"GET /connection") => break,
            _ => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await?,
        }
    }
    stream.write_all(ACCEPTED).await?;
    if stream.read(&mut buffer).await? == 0 {
        return Ok(());
    }
    stream.write_all(answer).await?;
    let (mut input, output) = stream.into_split();
    sockets.lock().unwrap().insert(number, Arc::new(output));
    while input.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
    sockets.lock().unwrap().remove(&number);
    Ok(())
}
