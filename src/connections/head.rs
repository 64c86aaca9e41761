//! A request's head, read before anything is made for it.

use std::{
    future::poll_fn,
    io,
    mem::MaybeUninit,
    pin::Pin,
    task::{Poll, ready},
};

use tokio::io::ReadBuf;

use crate::upgrade::Io;

/// Bytes of a request's head. The longest is a listener's, whose address holds a token for each of its channels; who needs
/// more than some 40 of them sends them in a WebSocket's first message.
pub const HEAD_BYTES: usize = 16 << 10;

/// Reads until there is a whole head, or what can't become one; `false` when the peer has hung up.
pub async fn read_whole(stream: &mut impl Io, head: &mut Vec<u8>) -> io::Result<bool> {
    let (mut start, mut looked_at) = (0, 0_usize);
    loop {
        // Empty lines before a request are none, and no end of one.
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

/// Adds to `bytes` what has come, and waits without a buffer until something has.
pub async fn read(stream: &mut impl Io, bytes: &mut Vec<u8>) -> io::Result<usize> {
    poll_fn(|cx| {
        let mut room = [const { MaybeUninit::uninit() }; 4 << 10];
        let mut room = ReadBuf::uninit(&mut room);
        ready!(Pin::new(&mut *stream).poll_read(cx, &mut room))?;
        bytes.extend_from_slice(room.filled());
        Poll::Ready(Ok(room.filled().len()))
    })
    .await
}
