//! An office of 1,000 sockets behind one address that comes back all at once after a restart, and recovers what it has missed.

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{
    api::{Api, text},
    attackers::{Target, dial},
    frames::{CLOSE, TEXT, frame},
    office::{HERE, people},
    server::Server,
    sockets,
};

const PEOPLE: usize = 100;
const SOCKETS_OF_EACH: usize = 10;
const MISSED: usize = 20;
const WITHIN: Duration = Duration::from_secs(2);
/// How long those who are back stay.
const STAY: Duration = Duration::from_secs(5);
/// As SDKs wait at the first time; those that are told to wait for a second do.
const AGAIN_AFTER: Duration = Duration::from_millis(750);

/// What the office has noticed.
#[derive(Default)]
struct Noticed {
    begun: OnceLock<Instant>,
    /// Turned away with 503 or a close code.
    told: AtomicUsize,
    /// Hung up on without a word.
    untold: AtomicUsize,
    closed_after_connect: AtomicUsize,
}

pub async fn defend() {
    let mut server = Server::start();
    let mut connects = Vec::new();
    for person in people(&server, PEOPLE).await {
        connects.push(frame(TEXT, missing(&person).await.as_bytes()));
    }
    server.restart();
    let target = Box::leak(Box::new(Target::of(server.api.url.clone())));
    let noticed = Arc::new(Noticed::default());
    let sockets =
        (0..PEOPLE * SOCKETS_OF_EACH).map(|n| tokio::spawn(comes_back(target, connects[n % PEOPLE].clone(), noticed.clone())));
    let mut back: Vec<Duration> = join_all(sockets).await.into_iter().map(Result::unwrap).collect();
    back.sort_unstable();
    let [told, untold, closed] = [&noticed.told, &noticed.untold, &noticed.closed_after_connect].map(|count| count.load(Relaxed));
    let (half, last) = (back[back.len() / 2], back[back.len() - 1]);
    println!(
        "{} sockets: half are back after {half:.2?}, all after {last:.2?}; {told} were turned away and told, {untold} without a word, \
         {closed} closed after their connect; {:.0} MiB resident",
        back.len(),
        server.resident()
    );
    println!("  {}", if last < WITHIN && untold + closed == 0 { "within the bounds" } else { "OVER A BOUND" });
}

/// A connect that recovers what a person has missed in a channel.
async fn missing(person: &Api) -> String {
    let (_, channel) = person.place().await;
    let mut connect: serde_json::Value = serde_json::from_str(&person.connect(&[&channel]).await).unwrap();
    let at = person.http.get(format!("{}/api/v1/channels/{channel}/messages", person.url)).bearer_auth(&person.token);
    let answer = at.send().await.unwrap();
    let (epoch, offset) = answer.headers()["tidings-position"].to_str().unwrap().split_once(':').unwrap();
    let sub = &mut connect["connect"]["subs"][&channel];
    *sub = json!({ "token": text(&sub["token"]), "recover": true, "epoch": epoch, "offset": offset.parse::<u64>().unwrap() });
    for n in 0..MISSED {
        let body = json!({ "content": format!("missed {n}") });
        person.call(Method::POST, &format!("/channels/{channel}/messages"), body).await;
    }
    connect.to_string()
}

/// Comes back until it is there, and stays. Gives how long after the first of all it was back.
async fn comes_back(target: &'static Target, connect: Vec<u8>, noticed: Arc<Noticed>) -> Duration {
    loop {
        let Ok(stream) = dial(target, HERE, None).await else {
            sleep(Duration::from_millis(20)).await;
            continue;
        };
        let begun = *noticed.begun.get_or_init(Instant::now);
        match connects(stream, &connect).await {
            Ok(Some(mut stream)) => {
                let back = begun.elapsed();
                let ended = timeout(STAY, async { while stream.read(&mut [0; 4096]).await.is_ok_and(|read| read > 0) {} }).await;
                noticed.closed_after_connect.fetch_add(usize::from(ended.is_ok()), Relaxed);
                return back;
            }
            Ok(None) => noticed.told.fetch_add(1, Relaxed),
            Err(_) => noticed.untold.fetch_add(1, Relaxed),
        };
        sleep(AGAIN_AFTER).await;
    }
}

/// The socket once its connect is answered; `None` if it was turned away with words.
async fn connects(mut stream: TcpStream, connect: &[u8]) -> io::Result<Option<TcpStream>> {
    if !sockets::shake_hands(&mut stream, "/connection/websocket").await? {
        return Ok(None);
    }
    stream.write_all(connect).await?;
    let first = stream.read_u8().await?;
    Ok((first != CLOSE).then_some(stream))
}
