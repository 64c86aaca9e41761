use std::future::poll_fn;

use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{
    net::client_socket::{self, Plain},
    push::embedded::{
        encoding::{Encoding, PIECE},
        protocol::replies::Reply,
    },
};

/// An outbox, and the client's side of its socket.
pub async fn pair() -> (Arc<Outbox>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let socket = Socket::new(Plain::Tcp(listener.accept().await.unwrap().0), None).unwrap();
    (Outbox::new(Some(Arc::new(socket))), client)
}

#[tokio::test]
async fn frames_are_sent_by_who_queues_them_and_the_rest_by_the_task() {
    let (outbox, client) = pair().await;
    sends(outbox, client).await;
    let (socket, client) = client_socket::tests::connected().await;
    sends(Outbox::new(Some(Arc::new(socket))), client).await;
}

async fn sends(outbox: Arc<Outbox>, mut client: impl AsyncRead + Unpin + Send + 'static) {
    assert!(outbox.push(Bytes::from_static(b"a")) && !outbox.push(Bytes::from_static(b"b")));
    outbox.flush();
    assert_eq!(outbox.final_byte_count(), None);
    let mut read = [0; 2];
    client.read_exact(&mut read).await.unwrap();
    assert_eq!(&read, b"ab");

    // More than the buffers of both sides take: a frame is sent in part, and frames that follow it come after it.
    let large = Bytes::from(vec![b'x'; 64 << 20]);
    outbox.push(large.clone());
    outbox.flush();
    outbox.wake.notified().await;
    outbox.push_control(Bytes::from_static(b"end"));
    outbox.flush();
    let end = outbox.final_byte_count().unwrap();
    let reading = tokio::spawn(async move {
        let mut all = vec![0; large.len() + 3];
        client.read_exact(&mut all).await.unwrap();
        all
    });
    poll_fn(|cx| outbox.poll_sent(cx, end)).await.unwrap();
    let all = reading.await.unwrap();
    assert!(all.ends_with(b"xend") && all.iter().filter(|byte| **byte == b'x').count() == 64 << 20);
    assert_eq!((outbox.final_byte_count(), outbox.bytes()), (None, 0));
}

#[tokio::test]
async fn an_outbox_past_its_bound_keeps_only_a_frame_that_is_sent_in_part() {
    let (outbox, _client) = pair().await;
    outbox.push(Bytes::from(vec![b'x'; 64 << 20]));
    outbox.flush();
    assert_eq!(outbox.why(), None, "one large frame is no sign of a slow client");
    assert!(outbox.bytes() > MOST_BYTES);
    outbox.push(Bytes::from_static(b"more"));
    outbox.wait_for_overflow().await;
    outbox.push(Bytes::from_static(b"dropped"));
    outbox.push_control(Bytes::from_static(b"bye"));
    let (frames, why) = outbox.take();
    assert_eq!((frames.len(), why), (2, Some(Disconnect::SLOW)));
    assert!(frames[0].len() > MOST_BYTES && frames[1] == "bye");
}

#[tokio::test]
async fn one_pong_waits_for_a_client_that_reads_nothing() {
    let (outbox, _client) = pair().await;
    outbox.push(Bytes::from(vec![b'x'; 64 << 20]));
    outbox.flush();
    let sent = outbox.bytes();
    for n in 0..100 {
        outbox.push_control(Bytes::from(vec![PONG, 1, n]));
    }
    assert_eq!(outbox.bytes() - sent, 3);
    outbox.push_control(Bytes::from_static(b"bye"));
    let (frames, _) = outbox.take();
    assert_eq!(frames.iter().skip(1).collect::<Vec<_>>(), [[PONG, 1, 99].as_slice(), b"bye"]);
}

#[tokio::test]
async fn a_long_answer_is_cut_between_its_pieces_and_a_close_follows() {
    let (outbox, mut client) = pair().await;
    outbox.push_all(Encoding::Json.frames(Reply::publication("c", 0, format!("\"{}\"", "x".repeat(64 << 20)))));
    outbox.flush();
    outbox.cut();
    assert!(outbox.is_cut_short() && outbox.why() == Some(Disconnect::SLOW));
    assert!(outbox.bytes() <= 4 + PIECE, "{} bytes are kept", outbox.bytes());
    outbox.push_control(Bytes::from_static(&[0x88, 0]));
    let end = outbox.final_byte_count().unwrap();
    let reading = tokio::spawn(async move {
        let mut all = vec![0; end as usize];
        client.read_exact(&mut all).await.unwrap();
        all
    });
    poll_fn(|cx| outbox.poll_sent(cx, end)).await.unwrap();
    let all = reading.await.unwrap();
    let mut rest = &all[..];
    while rest.len() > 2 {
        assert_eq!(rest[..4], [if rest.len() == all.len() { 0x01 } else { 0 }, 126, 0x40, 0], "a whole piece, and not the last");
        rest = &rest[4 + PIECE..];
    }
    assert_eq!(rest, [0x88, 0]);
}

#[tokio::test]
async fn a_client_that_is_gone_is_an_error() {
    let (outbox, client) = pair().await;
    drop(client);
    let gone = loop {
        outbox.push_control(Bytes::from_static(b"x"));
        let end = outbox.final_byte_count().unwrap();
        if let Err(err) = poll_fn(|cx| outbox.poll_sent(cx, end)).await {
            break err;
        }
    };
    assert!(matches!(gone.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset), "{gone}");
    outbox.flush();
}
