//! Connections after their first answer.

use super::*;

#[tokio::test]
async fn a_head_that_begins_right_after_an_answer_has_its_deadline() {
    for (head, piece) in [("GET / HTTP/1.1\r\n", ""), ("\r\n", ""), ("G", "x"), ("\n", "\n")] {
        let (mut stream, served) = serve(Deadlines { head: SHORT, ..ENDLESS }, false);
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
        let since = Instant::now();
        stream.write_all(head.as_bytes()).await.unwrap();
        while served.slot.strong_count() > 0 {
            _ = stream.write_all(piece.as_bytes()).await;
            tokio::time::sleep(SHORT / 20).await; // bytes that come now and then
        }
        assert!(since.elapsed() >= SHORT, "{head:?}: {:?}", since.elapsed());
    }
}

#[tokio::test]
async fn idle_time_begins_when_the_answer_has_left() {
    let (mut stream, _) = client(Deadlines { idle: SHORT * 2, ..ENDLESS });
    stream.write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut answer = vec![0; 50_000];
    stream.read_exact(&mut answer).await.unwrap();
    tokio::time::sleep(SHORT * 3).await; // longer than a connection may be idle
    while !answer.ends_with(&[b'x'; 50_001]) {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
    }
    stream.write_all(GET).await.unwrap();
    answer_of(&mut stream).await;
}

#[tokio::test]
async fn stopping_ends_a_connection_without_a_request() {
    for head in ["", "GET / HTTP/1.1\r\n"] {
        let (mut stream, served) = serve(ENDLESS, false);
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        served.stop.send(true).unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        served.stop.closed().await;
    }
}

#[tokio::test]
async fn a_connection_may_be_upgraded_after_other_requests() {
    let (mut stream, served) = serve(Deadlines { head: SHORT, idle: SHORT, ..ENDLESS }, false);
    for _ in 0..3 {
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
    }
    let head = "GET /up HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
    stream.write_all([head, "first"].concat().as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\nfirst") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "{}", String::from_utf8_lossy(&answer));
    }
    assert!(answer.starts_with(b"HTTP/1.1 101"));
    tokio::time::sleep(SHORT * 2).await; // longer than a connection without an upgrade may wait
    stream.write_all(GET).await.unwrap();
    stream.read_exact(&mut answer[..GET.len()]).await.unwrap();
    assert_eq!(&answer[..GET.len()], GET);
    assert_eq!(served.slots.total_open(), 1);
    drop(stream);
    while served.slots.total_open() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_connection_of_the_reserve_has_one_answer() {
    let (mut stream, served) = serve(ENDLESS, true);
    stream.write_all(&GET.repeat(2)).await.unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).await.unwrap();
    assert_eq!(answers.matches("HTTP/1.").count(), 1, "{answers}");
    assert!(answers.contains("connection: close"), "{answers}");
    served.stop.closed().await;
}
