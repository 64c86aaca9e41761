//! A process that takes deliveries and answers each with an empty 200.

use std::{
    io::BufRead,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::LocalSet,
};

use super::{clients::say, http::Head, sockets::times};

#[derive(Serialize, Deserialize)]
pub struct Plan {}

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

#[derive(Default)]
struct Taken {
    count: AtomicUsize,
    /// How long those were under way that have the time when they were sent.
    microseconds: Mutex<Vec<u32>>,
}

/// Says its address; and when it is asked, how many deliveries it has taken, or how long they were under way.
pub fn play() {
    let taken = Arc::new(Taken::default());
    let counted = taken.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        say(&listener.local_addr().unwrap().to_string());
        std::thread::spawn(move || {
            for word in std::io::stdin().lock().lines() {
                if word.unwrap() == "times" {
                    let took = std::mem::take(&mut *counted.microseconds.lock().unwrap());
                    say(&serde_json::to_string(&took).unwrap());
                } else {
                    say(&counted.count.load(Relaxed).to_string());
                }
            }
            std::process::exit(0);
        });
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::task::spawn_local(take(stream, taken.clone()));
        }
    }));
}

async fn take(mut stream: TcpStream, taken: Arc<Taken>) {
    let mut buffer = Vec::with_capacity(4096);
    while stream.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
        while let Some(end) = Head::of_request(&buffer).and_then(|head| head.total(&buffer)) {
            if let Some(took) = times(&buffer[..end]).next() {
                taken.microseconds.lock().unwrap().push(took);
            }
            buffer.drain(..end);
            taken.count.fetch_add(1, Relaxed);
            if stream.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}
