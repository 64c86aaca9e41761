//! A client's connection, with TLS or without, which throws away what it reads.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, pki_types::ServerName};

use crate::certificate::Certificate;

const BUFFER: usize = 256 << 10;

trait Both: Read + Write + Send {}
impl<T: Read + Write + Send> Both for T {}

pub struct Line(BufReader<Box<dyn Both>>);

/// How a client trusts the server: none without TLS.
#[derive(Clone)]
pub struct Trust(Option<Arc<ClientConfig>>);

impl Trust {
    pub fn none() -> Trust {
        Trust(None)
    }

    pub fn of(certificate: &Certificate) -> Trust {
        _ = rustls::crypto::ring::default_provider().install_default();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der.clone().into()).unwrap();
        Trust(Some(Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())))
    }
}

/// The head of an answer.
#[derive(Default)]
struct Answer {
    status: u16,
    length: usize,
    location: String,
}

impl Line {
    pub fn open(address: SocketAddr, trust: &Trust) -> Line {
        let stream = TcpStream::connect(address).unwrap();
        let both: Box<dyn Both> = match &trust.0 {
            None => Box::new(stream),
            Some(config) => {
                let name = ServerName::IpAddress(address.ip().into());
                Box::new(StreamOwned::new(ClientConnection::new(config.clone(), name).unwrap(), stream))
            }
        };
        Line(BufReader::with_capacity(BUFFER, both))
    }

    /// Sends a request; gives the status and the length of the answer's body, which it reads.
    pub fn ask(&mut self, head: &str, body: &[u8]) -> (u16, usize) {
        let Answer { status, length, .. } = self.exchange(head, body);
        (status, length)
    }

    /// Begins an upload; gives its path.
    pub fn begin(&mut self, head: &str) -> String {
        let Answer { status, location, .. } = self.exchange(head, b"");
        assert_eq!(status, 201);
        location
    }

    fn exchange(&mut self, head: &str, body: &[u8]) -> Answer {
        let stream = self.0.get_mut();
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream.flush().unwrap();
        let mut answer = Answer::default();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                answer.status = rest[..3].parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("content-length:") {
                answer.length = rest.trim().parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("location:") {
                rest.trim().clone_into(&mut answer.location);
            } else if line.is_empty() {
                break;
            }
        }
        let read = std::io::copy(&mut self.0.by_ref().take(answer.length as u64), &mut std::io::sink()).unwrap();
        assert_eq!(read as usize, answer.length);
        answer
    }
}

/// Divides so many turns among so many connections at once; each knows its number.
pub fn in_turns(times: usize, connections: usize, address: SocketAddr, trust: &Trust, turn: impl Fn(usize, &mut Line) + Sync) {
    let left = AtomicUsize::new(times);
    std::thread::scope(|scope| {
        for number in 0..connections {
            let (left, turn) = (&left, &turn);
            scope.spawn(move || {
                let mut line = Line::open(address, trust);
                while left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
                    turn(number, &mut line);
                }
            });
        }
    });
}
