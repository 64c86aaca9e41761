//! A client's socket: TCP or Unix, with TLS or without. Its connection reads it, and any thread may write to it: frames of live
//! push are sent by the thread that queues them.
//!
//! The TLS session belongs to the socket, and not to an asynchronous stream around it, because such a stream has one owner.

use std::{
    io::{self, ErrorKind, IoSlice, Read, Write},
    os::fd::{AsFd, BorrowedFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use parking_lot::{Mutex, MutexGuard};
use rustix::net::{RecvFlags, recv};
use rustls::{ServerConfig, ServerConnection};
use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf},
    net::{TcpStream, UnixStream},
};

/// Most bytes that a session encrypts before the network has taken them: one record of TLS, so that a slow reader shows soon.
const ENCRYPTED: usize = 16 << 10;
/// The ALPN protocol of sessions that carry requests. One that agreed on another (`acme-tls/1`) ends after its handshake.
pub const HTTP_1_1: &[u8] = b"http/1.1";

/// A socket as the kernel has it.
pub enum Plain {
    Tcp(TcpStream),
    Unix(UnixStream),
}

pub struct Socket {
    plain: Plain,
    session: Option<Box<Mutex<ServerConnection>>>,
}

impl Plain {
    /// Writes what the kernel takes at once, and closes the socket.
    pub fn end_with(self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Plain::Tcp(stream) => stream.into_std()?.write(bytes),
            Plain::Unix(stream) => stream.into_std()?.write(bytes),
        }
        .map(drop)
    }

    fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => stream.try_read(buf),
            Plain::Unix(stream) => stream.try_read(buf),
        }
    }

    fn try_read_buf(&self, buf: &mut ReadBuf<'_>) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => stream.try_read_buf(buf),
            Plain::Unix(stream) => stream.try_read_buf(buf),
        }
    }

    fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => stream.try_write_vectored(bufs),
            Plain::Unix(stream) => stream.try_write_vectored(bufs),
        }
    }

    /// Waits for bytes, or the end. It looks at them, because the runtime takes a new socket for readable.
    async fn readable(&self) -> io::Result<()> {
        match self {
            Plain::Tcp(stream) => stream.async_io(Interest::READABLE, || peek(stream.as_fd())).await,
            Plain::Unix(stream) => stream.async_io(Interest::READABLE, || peek(stream.as_fd())).await,
        }
    }

    fn is_readable(&self) -> bool {
        match self {
            Plain::Tcp(stream) => peek(stream.as_fd()).is_ok(),
            Plain::Unix(stream) => peek(stream.as_fd()).is_ok(),
        }
    }

    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Plain::Tcp(stream) => stream.poll_read_ready(cx),
            Plain::Unix(stream) => stream.poll_read_ready(cx),
        }
    }

    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Plain::Tcp(stream) => stream.poll_write_ready(cx),
            Plain::Unix(stream) => stream.poll_write_ready(cx),
        }
    }
}

/// Looks at what has arrived. [`ErrorKind::WouldBlock`] if that is nothing.
fn peek(socket: BorrowedFd) -> io::Result<()> {
    Ok(recv(socket, &mut [0; 1], RecvFlags::PEEK).map(drop)?)
}

/// The session's reader and writer: as much as the kernel has and takes now.
struct Now<'a>(&'a Plain);

impl Read for Now<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buf)
    }
}

impl Write for Now<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buf)])
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(bufs)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    /// With a configuration of TLS, the first reads make the handshake.
    pub fn new(plain: Plain, tls: Option<Arc<ServerConfig>>) -> Result<Socket, rustls::Error> {
        let session = tls.map(|config| {
            let mut session = ServerConnection::new(config)?;
            session.set_buffer_limit(Some(ENCRYPTED));
            Ok::<_, rustls::Error>(Box::new(Mutex::new(session)))
        });
        Ok(Socket { plain, session: session.transpose()? })
    }

    /// Writes what the kernel takes at once, if that needs no encryption, and closes the socket.
    pub fn end_with(self, bytes: &[u8]) -> io::Result<()> {
        if self.session.is_some() { Ok(()) } else { self.plain.end_with(bytes) }
    }

    /// Whether bytes of the peer, or its end, have arrived.
    pub fn is_readable(&self) -> bool {
        self.plain.is_readable()
    }

    /// Waits for the first bytes of the peer, or its end.
    pub async fn readable(&self) -> io::Result<()> {
        self.plain.readable().await
    }

    /// Reads what has arrived. Only one task may wait for more.
    pub fn poll_read_shared(&self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Some(session) = &self.session {
            return poll_decrypted(session, &self.plain, cx, buf);
        }
        loop {
            ready!(self.plain.poll_read_ready(cx))?;
            match self.plain.try_read_buf(buf) {
                Err(err) if err.kind() == ErrorKind::WouldBlock => {}
                read => return Poll::Ready(read.map(drop)),
            }
        }
    }

    /// Writes what is taken at once; [`ErrorKind::WouldBlock`] if that is nothing. [`Socket::try_flush`] must follow.
    pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let Some(session) = &self.session else { return self.plain.try_write_vectored(bufs) };
        let mut session = lock(session);
        flush(&mut session, &self.plain)?;
        session.writer().write_vectored(bufs)
    }

    /// Sends what is written and encrypted. [`ErrorKind::WouldBlock`] while the peer has to read first.
    pub fn try_flush(&self) -> io::Result<()> {
        self.session.as_ref().map_or(Ok(()), |session| flush(&mut lock(session), &self.plain))
    }

    /// Ready when another write may be tried. Only one task may wait for it.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.plain.poll_write_ready(cx)
    }
}

fn lock(session: &Mutex<ServerConnection>) -> MutexGuard<'_, ServerConnection> {
    session.lock()
}

fn flush(session: &mut ServerConnection, plain: &Plain) -> io::Result<()> {
    while session.wants_write() {
        session.write_tls(&mut Now(plain))?;
    }
    Ok(())
}

/// Reads what has arrived and can be decrypted. What the session has to say itself, as in the handshake, is sent meanwhile.
fn poll_decrypted(
    session: &Mutex<ServerConnection>,
    plain: &Plain,
    cx: &mut Context<'_>,
    buf: &mut ReadBuf<'_>,
) -> Poll<io::Result<()>> {
    loop {
        let mut session = lock(session);
        match flush(&mut session, plain) {
            Err(err) if err.kind() == ErrorKind::WouldBlock => {
                if plain.poll_write_ready(cx)?.is_ready() {
                    continue;
                }
            }
            flushed => flushed?,
        }
        if !session.is_handshaking() && session.alpn_protocol().is_some_and(|protocol| protocol != HTTP_1_1) {
            return Poll::Ready(Ok(())); // the end (RFC 8737, section 3)
        }
        match session.reader().read(buf.initialize_unfilled()) {
            Err(err) if err.kind() == ErrorKind::WouldBlock => {}
            read => return Poll::Ready(read.map(|read| buf.advance(read))),
        }
        ready!(plain.poll_read_ready(cx))?;
        match session.read_tls(&mut Now(plain)) {
            Err(err) if err.kind() == ErrorKind::WouldBlock => continue,
            read => _ = read?,
        }
        if let Err(err) = session.process_new_packets() {
            _ = flush(&mut session, plain); // the alert that tells the peer
            return Poll::Ready(Err(io::Error::new(ErrorKind::InvalidData, err)));
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            // It knows from a short read that there is no more, which saves a system call.
            Socket { plain: Plain::Tcp(stream), session: None } => Pin::new(stream).poll_read(cx, buf),
            shared => shared.poll_read_shared(cx, buf),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if let Socket { plain: Plain::Tcp(stream), session: None } = &mut *self {
            return Pin::new(stream).poll_write_vectored(cx, bufs);
        }
        loop {
            ready!(self.poll_write_ready(cx))?;
            match self.try_write_vectored(bufs) {
                Err(err) if err.kind() == ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.try_flush() {
                Err(err) if err.kind() == ErrorKind::WouldBlock => ready!(self.poll_write_ready(cx))?,
                flushed => return Poll::Ready(flushed),
            }
        }
    }

    /// Ends both the session and the connection. A peer that doesn't read misses the end of the session only.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(session) = &self.session {
            let mut session = lock(session);
            session.send_close_notify();
            _ = flush(&mut session, &self.plain);
        }
        match &mut self.plain {
            Plain::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Plain::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}

#[cfg(test)]
pub mod tests;
