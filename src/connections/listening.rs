//! The sockets that the server listens on: TCP addresses, Unix sockets, and those that systemd has opened.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::{fs::FileTypeExt, net::UnixStream},
    path::{Path, PathBuf},
    sync::Arc,
    task::{Context, Poll},
};

use listenfd::ListenFd;
use prometheus_client::metrics::gauge::Gauge;
use rustix::{fs::Mode, net::sockopt::set_ipv6_v6only, process::umask};
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::{certificate::Certificate, redirect::PlainHttp};
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
    pub plain_http: PlainHttp,
}

enum Listener {
    Tcp(TcpListener),
    /// For plain HTTP beside HTTPS.
    Http(TcpListener),
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
    /// Whether it is told to come over HTTPS.
    pub is_redirected: bool,
}

impl From<TcpListener> for Listeners {
    fn from(listener: TcpListener) -> Listeners {
        Listeners { all: vec![Listener::Tcp(listener)], first: 0, tls: None, plain_http: PlainHttp::default() }
    }
}

impl Listeners {
    /// Listens on the sockets that systemd has opened for this process, or else on these addresses and those for plain HTTP. A socket
    /// of systemd is for plain HTTP if it has the port of one of the latter.
    pub fn open(addresses: &[Address], tls: Option<Certificate>, plain_http: PlainHttp) -> Result<Listeners> {
        let opened = inherited(ListenFd::from_env(), &plain_http.addresses);
        let mut all = opened.map_err(|err| Error::failed(format!("can't listen on a socket of systemd: {err}")))?;
        if all.is_empty() {
            let failed = |address: &dyn std::fmt::Display, err| Error::failed(format!("can't listen on {address}: {err}"));
            for address in addresses {
                all.push(listen(address).map_err(|err| failed(address, err))?);
            }
            for address in &plain_http.addresses {
                all.push(Listener::Http(listen_tcp(*address).map_err(|err| failed(&format!("{address} (--http-listen)"), err))?));
            }
        }
        Ok(Listeners { all, first: 0, tls, plain_http })
    }

    /// The addresses, with the ports that were found for port 0. Those for plain HTTP beside HTTPS come last.
    pub fn addresses(&self) -> Vec<Address> {
        let address = |listener: &Listener| match listener {
            Listener::Tcp(listener) | Listener::Http(listener) => listener.local_addr().ok().map(Address::Tcp),
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
            let tcp = |listener: &TcpListener, cx: &mut Context<'_>| {
                listener.poll_accept(cx).map_ok(|(stream, peer)| {
                    _ = stream.set_nodelay(true); // a frame or an answer is not held back for the next
                    Accepted { plain: Plain::Tcp(stream), peer, tls: None, is_redirected: false }
                })
            };
            let accepted = match &self.all[n] {
                Listener::Tcp(listener) => tcp(listener, cx)
                    .map_ok(|accepted| Accepted { tls: self.tls.as_ref().map(|tls| tls.config.borrow().clone()), ..accepted }),
                Listener::Http(listener) => tcp(listener, cx).map_ok(|accepted| Accepted { is_redirected: true, ..accepted }),
                Listener::Unix { listener, .. } => listener.poll_accept(cx).map_ok(|(stream, _)| {
                    let peer = SocketAddr::new(IpAddr::V4(client_address::UNIX_PEER), 0);
                    Accepted { plain: Plain::Unix(stream), peer, tls: None, is_redirected: false }
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

fn inherited(mut from: ListenFd, http: &[SocketAddr]) -> io::Result<Vec<Listener>> {
    let mut all = Vec::new();
    for n in 0..from.len() {
        if let Ok(Some(listener)) = from.take_tcp_listener(n) {
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            let port = listener.local_addr()?.port();
            let is_http = http.iter().any(|http| http.port() == port);
            all.push(if is_http { Listener::Http(listener) } else { Listener::Tcp(listener) });
        } else if let Some(listener) = from.take_unix_listener(n)? {
            listener.set_nonblocking(true)?;
            all.push(Listener::Unix { file: None, listener: UnixListener::from_std(listener)? });
        }
    }
    Ok(all)
}

fn listen(address: &Address) -> io::Result<Listener> {
    match address {
        Address::Tcp(address) => listen_tcp(*address).map(Listener::Tcp),
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

fn listen_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = match socket {
        // All addresses of a machine without IPv6 are those of IPv4.
        Err(_) if address.ip() == Ipv6Addr::UNSPECIFIED => return listen_tcp((Ipv4Addr::UNSPECIFIED, address.port()).into()),
        socket => socket?,
    };
    if address.ip() == Ipv6Addr::UNSPECIFIED {
        set_ipv6_v6only(&socket, false)?; // all addresses, whatever the system's default is
    }
    socket.set_reuseaddr(true)?; // the port may be in the state TIME_WAIT, as after a restart
    socket.bind(address)?;
    socket.listen(BACKLOG)
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
