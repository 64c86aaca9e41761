//! Reads the head of a request before anything is allocated for the request.

use std::{
    future::poll_fn,
    io,
    mem::MaybeUninit,
    pin::Pin,
    task::{Poll, ready},
};

use tokio::io::ReadBuf;

use crate::push::embedded::upgrade::Io;

/// Most bytes of a request's head. The longest heads are those of listeners, whose addresses hold a token for each channel.
/// A client with more than some 40 channels sends its tokens in the first message of a WebSocket.
pub const HEAD_BYTES: usize = 16 << 10;

/// Reads until `head` holds a whole head, or bytes that can't become one. `false` if the peer has closed the connection.
pub async fn read_whole(stream: &mut impl Io, head: &mut Vec<u8>) -> io::Result<bool> {
    let (mut start, mut looked_at) = (0, 0_usize);
    loop {
        // Empty lines before a request are not part of it, and don't end it.
        start += head[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let unseen = &head[looked_at.saturating_sub(3).max(start)..];
        let ends = unseen.windows(2).any(|end| end == b"\n\n") || unseen.windows(3).any(|end| end == b"\n\r\n");
        let is_http = head.first().is_none_or(|first| first.is_ascii_graphic() || first.is_ascii_whitespace());
        if ends || !is_http || head.len() >= HEAD_BYTES {
            return Ok(true);
        }
        looked_at = head.len();
        if read(stream, head).await? == 0 {
            return Ok(false);
        }
    }
}

/// Appends the bytes that have arrived, and returns their number. While it waits for some, it holds no buffer.
pub async fn read(stream: &mut impl Io, bytes: &mut Vec<u8>) -> io::Result<usize> {
    poll_fn(|cx| {
        let mut buffer = [const { MaybeUninit::uninit() }; 4 << 10];
        let mut buffer = ReadBuf::uninit(&mut buffer);
        ready!(Pin::new(&mut *stream).poll_read(cx, &mut buffer))?;
        bytes.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    })
    .await
}
