//! Targets of webhooks: listeners on loopback that treat each connection as a test wants it, byte by byte.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
};

/// Listens at the address and treats each connection alike; gives the port.
pub async fn listen<F>(address: &str, treat: impl Fn(TcpStream) -> F + Send + 'static) -> u16
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(address).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(treat(stream));
        }
    });
    port
}

/// Takes in each request and answers it with this text, then closes; gives the port.
pub async fn answering(answer: impl Into<Vec<u8>>) -> u16 {
    let answer = answer.into();
    let treat = move |mut stream: TcpStream| {
        let answer = answer.clone();
        async move {
            request(&mut stream).await;
            stream.write_all(&answer).await.unwrap();
        }
    };
    listen("127.0.0.1:0", treat).await
}

/// Answers each request with 200 and a gigabyte, of which it tells how many bytes were taken; gives the port.
pub async fn gigabyte() -> (u16, UnboundedReceiver<usize>) {
    const CHUNK: usize = 1 << 16;
    let (told, taken) = unbounded_channel();
    let treat = move |mut stream: TcpStream| {
        let told = told.clone();
        async move {
            request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n").await.unwrap();
            let mut bytes = 0;
            while bytes < 1 << 30 && stream.write_all(&[b'x'; CHUNK]).await.is_ok() {
                bytes += CHUNK;
            }
            _ = told.send(bytes);
        }
    };
    (listen("127.0.0.1:0", treat).await, taken)
}

/// The next request of the connection, its head and its body.
pub async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text.into_owned();
            }
        }
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0, "the request breaks off");
    }
}

/// A listener that nothing may connect to.
pub struct Untouched(TcpListener);

impl Untouched {
    pub async fn at(address: &str) -> Untouched {
        Untouched(TcpListener::bind(address).await.unwrap())
    }

    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// Connections are taken in the order in which they came: the first one must be the one made here.
    pub async fn assert(self) {
        let own = TcpStream::connect(self.address()).await.unwrap();
        let (_, first) = self.0.accept().await.unwrap();
        assert_eq!(first, own.local_addr().unwrap(), "something connected before");
    }
}
