//! The sockets that the server listens on: TCP addresses, Unix sockets, and those that systemd has opened.

use std::{
    fs, io,
    net::{IpAddr, SocketAddr},
    os::unix::{fs::FileTypeExt, net::UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
    task::{Context, Poll},
};

use listenfd::ListenFd;
use prometheus_client::metrics::gauge::Gauge;
use rustix::{fs::Mode, process::umask};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::certificate::Certificate;
use crate::{
    config::Address,
    error::{Error, Result},
    net::{client_address, client_socket::Plain},
};

/// Connections that the kernel holds until they are accepted. With the usual 128, clients that come back all at once wait
/// for the retransmission of what the kernel dropped. The kernel cuts it to `net.core.somaxconn`.
const BACKLOG: u32 = 8192;
/// The umask of a new Unix socket: its owner and its group may connect, others may not (mode 0660).
const MASK: Mode = Mode::from_raw_mode(0o117);

pub struct Listeners {
    all: Vec<Listener>,
    /// The listener that is asked first, so that a busy one doesn't keep out the others.
    first: usize,
    /// The certificate of TCP connections, which are not encrypted without one.
    tls: Option<Certificate>,
}

enum Listener {
    Tcp(TcpListener),
    Unix {
        #[expect(dead_code, reason = "removes the file, before the listener is closed: nobody takes the socket for a stale one")]
        file: Option<SocketFile>,
        listener: UnixListener,
    },
}

/// A connection that was accepted.
pub struct Accepted {
    pub plain: Plain,
    pub peer: SocketAddr,
    pub tls: Option<Arc<ServerConfig>>,
}

impl From<TcpListener> for Listeners {
    fn from(listener: TcpListener) -> Listeners {
        Listeners { all: vec![Listener::Tcp(listener)], first: 0, tls: None }
    }
}

impl Listeners {
    /// Listens on the sockets that systemd has opened for this process, or else on these addresses.
    pub fn open(addresses: &[Address], tls: Option<Certificate>) -> Result<Listeners> {
        let opened = inherited(ListenFd::from_env());
        let mut all = opened.map_err(|err| Error::failed(format!("can't listen on a socket of systemd: {err}")))?;
        if all.is_empty() {
            let listen = |address| listen(address).map_err(|err| Error::failed(format!("can't listen on {address}: {err}")));
            all = addresses.iter().map(listen).collect::<Result<_>>()?;
        }
        Ok(Listeners { all, first: 0, tls })
    }

    /// The addresses, with the ports that were found for port 0.
    pub fn addresses(&self) -> Vec<Address> {
        let address = |listener: &Listener| match listener {
            Listener::Tcp(listener) => listener.local_addr().ok().map(Address::Tcp),
            Listener::Unix { listener, .. } => {
                let address = listener.local_addr().ok()?;
                Some(Address::Unix(address.as_pathname().map_or_else(PathBuf::new, Path::to_owned)))
            }
        };
        self.all.iter().filter_map(address).collect()
    }

    /// When the certificate ends, in Unix seconds.
    pub fn certificate_end(&self) -> Option<Gauge> {
        self.tls.as_ref().map(|tls| tls.end.clone())
    }

    /// Ready with the next connection, of any listener.
    pub fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Accepted>> {
        let count = self.all.len();
        for n in (self.first..count).chain(0..self.first) {
            let accepted = match &self.all[n] {
                Listener::Tcp(listener) => listener.poll_accept(cx).map_ok(|(stream, peer)| {
                    _ = stream.set_nodelay(true); // a frame or an answer is not held back for the next
                    Accepted { plain: Plain::Tcp(stream), peer, tls: self.tls.as_ref().map(|tls| tls.config.borrow().clone()) }
                }),
                Listener::Unix { listener, .. } => listener.poll_accept(cx).map_ok(|(stream, _)| {
                    let peer = SocketAddr::new(IpAddr::V4(client_address::UNIX_PEER), 0);
                    Accepted { plain: Plain::Unix(stream), peer, tls: None }
                }),
            };
            if accepted.is_ready() {
                self.first = (n + 1) % count;
                return accepted;
            }
        }
        Poll::Pending
    }
}

fn inherited(mut from: ListenFd) -> io::Result<Vec<Listener>> {
    let mut all = Vec::new();
    for n in 0..from.len() {
        if let Ok(Some(listener)) = from.take_tcp_listener(n) {
            listener.set_nonblocking(true)?;
            all.push(Listener::Tcp(TcpListener::from_std(listener)?));
        } else if let Some(listener) = from.take_unix_listener(n)? {
            listener.set_nonblocking(true)?;
            all.push(Listener::Unix { file: None, listener: UnixListener::from_std(listener)? });
        }
    }
    Ok(all)
}

fn listen(address: &Address) -> io::Result<Listener> {
    match address {
        Address::Tcp(address) => {
            let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
            socket.set_reuseaddr(true)?; // the port may be in the state TIME_WAIT, as after a restart
            socket.bind(*address)?;
            Ok(Listener::Tcp(socket.listen(BACKLOG)?))
        }
        Address::Unix(path) => {
            remove_stale(path)?;
            let before = umask(MASK); // the server makes no other files while it opens its sockets
            let listener = UnixListener::bind(path);
            umask(before);
            let listener = listener?;
            Ok(Listener::Unix { file: Some(SocketFile(path.clone())), listener })
        }
    }
}

/// Removes a socket that no process listens on any more, as after a crash.
fn remove_stale(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket()) {
        return Ok(()); // another kind of file is left alone: to bind the address fails
    }
    match UnixStream::connect(path) {
        Err(err) if err.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        _ => Ok(()),
    }
}

/// The file of a Unix socket, removed when the server stops listening.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}
