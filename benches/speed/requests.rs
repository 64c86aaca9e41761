//! A client process that keeps connections busy: each sends its prepared request as soon as the former is answered.

use std::{
    cell::RefCell,
    io::BufRead,
    net::{IpAddr, SocketAddr},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    sync::Notify,
    task::LocalSet,
};

use super::{clients::say, http::Head};

#[derive(Serialize, Deserialize)]
pub struct Plan {
    pub address: SocketAddr,
    pub connections: usize,
    /// They are dealt out to the connections, and each connection sends its own again and again.
    pub requests: Vec<String>,
    /// Milliseconds between an answer and the next request.
    pub pause: u64,
    /// Each connection sends one request and no more.
    pub once: bool,
}

#[derive(Serialize, Deserialize, Default)]
pub struct Done {
    pub answers: usize,
    /// Since the beginning, also those that were not counted.
    pub all: usize,
    /// Answers with another status than 2xx.
    pub refused: usize,
    /// Bytes of all answers, with their heads.
    received: usize,
    /// Milliseconds.
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
}

impl Done {
    pub fn bytes_each(&self) -> f64 {
        self.received as f64 / self.all as f64
    }
}

// The words that the bench says, in their order.
const GO: u8 = 1;
const COUNT: u8 = 2;
const STOP: u8 = 3;

#[derive(Default)]
struct Seen {
    took: Vec<Duration>,
    all: usize,
    refused: usize,
    received: usize,
}

impl Seen {
    fn add(&mut self, status: u16, bytes: usize, took: Option<Duration>) {
        self.all += 1;
        self.received += bytes;
        self.refused += usize::from(!(200..300).contains(&status));
        self.took.extend(took);
    }
}

pub fn play(plan: &Plan) {
    let (phase, woken) = (Arc::new(AtomicU8::new(0)), Arc::new(Notify::new()));
    let (listening, waking) = (phase.clone(), woken.clone());
    std::thread::spawn(move || {
        for word in std::io::stdin().lock().lines() {
            match word.unwrap().as_str() {
                "go" => listening.store(GO, Relaxed),
                "count" => listening.store(COUNT, Relaxed),
                _ => listening.store(STOP, Relaxed),
            }
            waking.notify_one();
        }
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(async {
        let mut streams = Vec::new();
        for _ in 0..plan.connections {
            streams.push(connect(plan.address, None).await.unwrap());
        }
        say("ready");
        loop {
            while phase.load(Relaxed) != GO && phase.load(Relaxed) != COUNT {
                woken.notified().await;
            }
            streams = round(plan, streams, &phase).await;
        }
    }));
}

pub async fn connect(address: SocketAddr, from: Option<IpAddr>) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    if let Some(from) = from {
        socket.bind(SocketAddr::new(from, 0))?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

async fn round(plan: &Plan, streams: Vec<TcpStream>, phase: &Arc<AtomicU8>) -> Vec<TcpStream> {
    let (seen, requests) = (Rc::new(RefCell::new(Seen::default())), Rc::new(plan.requests.clone()));
    let mut tasks = Vec::new();
    for (n, mut stream) in streams.into_iter().enumerate() {
        let (phase, seen) = (phase.clone(), seen.clone());
        let Plan { pause, once, connections, .. } = *plan;
        let requests = requests.clone();
        tasks.push(tokio::task::spawn_local(async move {
            let mut buffer = Vec::with_capacity(64 << 10);
            for turn in 0.. {
                if phase.load(Relaxed) == STOP {
                    break;
                }
                let request = &requests[(n + turn * connections) % requests.len()];
                let (counts, began) = (phase.load(Relaxed) == COUNT, Instant::now());
                stream.write_all(request.as_bytes()).await.unwrap();
                let (status, bytes) = answer(&mut stream, &mut buffer).await;
                let took = (counts && phase.load(Relaxed) == COUNT).then(|| began.elapsed());
                seen.borrow_mut().add(status, bytes, took);
                if once {
                    break;
                }
                if pause > 0 {
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
            }
            stream
        }));
    }
    let mut streams = Vec::new();
    for task in tasks {
        streams.push(task.await.unwrap());
    }
    phase.store(0, Relaxed);
    report(&mut seen.borrow_mut());
    streams
}

async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> (u16, usize) {
    buffer.clear();
    let mut head: Option<Head> = None;
    loop {
        assert!(stream.read_buf(buffer).await.unwrap() > 0, "the server closed: {}", String::from_utf8_lossy(buffer));
        head = head.or_else(|| Head::parse(buffer));
        if let Some(head) = &head
            && let Some(total) = head.total(buffer)
        {
            return (head.status, total);
        }
    }
}

fn report(seen: &mut Seen) {
    seen.took.sort_unstable();
    let at = |share: f64| {
        let place = (seen.took.len() as f64 * share) as usize;
        seen.took.get(place).map_or(0.0, |took| took.as_secs_f64() * 1000.0)
    };
    let done = Done {
        answers: seen.took.len(),
        all: seen.all,
        refused: seen.refused,
        received: seen.received,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
    };
    say(&serde_json::to_string(&done).unwrap());
}
