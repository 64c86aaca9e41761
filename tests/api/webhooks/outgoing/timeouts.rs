//! Targets that hang or dribble end at the timeout.

use std::time::{Duration, Instant};

use tidings::outgoing::Failure;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::mpsc,
    time::interval,
};
use url::Url;

use super::{HASTY, PATIENT, open, post};
use crate::{
    target::{listen, request},
    webhooks::outgoing_addresses::url,
};

#[tokio::test]
async fn a_request_to_a_hanging_target_times_out() {
    let (left, mut leaving) = mpsc::unbounded_channel();
    let treat = move |mut stream: TcpStream| {
        let left = left.clone();
        async move {
            request(&mut stream).await;
            left.send(stream.read(&mut [0]).await.unwrap_or(0)).unwrap();
        }
    };
    let port = listen("127.0.0.1:0", treat).await;
    let began = Instant::now();
    let failure = post(&open(HASTY), &url("127.0.0.1", port)).await.unwrap_err();
    assert_eq!(failure, Failure::TimedOut(HASTY));
    assert_eq!(failure.to_string(), "no answer within 2 s");
    assert!(began.elapsed() >= HASTY && began.elapsed() < PATIENT);
    assert_eq!(leaving.recv().await, Some(0), "the connection is closed");
}

#[tokio::test]
async fn a_hanging_handshake_times_out_earlier() {
    let hang = |mut stream: TcpStream| async move { while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {} };
    let port = listen("127.0.0.1:0", hang).await;
    let began = Instant::now();
    let hook = Url::parse(&format!("https://127.0.0.1:{port}/")).unwrap();
    let failure = post(&open(PATIENT), &hook).await.unwrap_err();
    assert_eq!(failure.to_string(), "no connection: none within 5 s");
    assert!(began.elapsed() < PATIENT);
}

#[tokio::test]
async fn headers_that_dribble_do_not_extend_the_timeout() {
    let treat = |mut stream: TcpStream| async move {
        request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await.unwrap();
        dribble(stream).await;
    };
    let port = listen("127.0.0.1:0", treat).await;
    let began = Instant::now();
    assert_eq!(post(&open(HASTY), &url("127.0.0.1", port)).await, Err(Failure::TimedOut(HASTY)));
    assert!(began.elapsed() < PATIENT);
}

#[tokio::test]
async fn a_body_that_dribbles_is_cut_and_the_status_counts() {
    let treat = |mut stream: TcpStream| async move {
        request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n").await.unwrap();
        dribble(stream).await;
    };
    let port = listen("127.0.0.1:0", treat).await;
    let began = Instant::now();
    let answer = post(&open(HASTY), &url("127.0.0.1", port)).await.unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.excerpt.starts_with("zz") && answer.excerpt.len() < 100, "{answer:?}");
    assert!(began.elapsed() >= HASTY && began.elapsed() < PATIENT);
}

/// A byte now and then, as long as somebody listens.
async fn dribble(mut stream: TcpStream) {
    let mut ticks = interval(Duration::from_millis(50));
    while stream.write_all(b"z").await.is_ok() {
        ticks.tick().await;
    }
}
