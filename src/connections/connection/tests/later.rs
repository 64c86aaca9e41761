//! Connections between their last answer and the moment when they free their buffers.

use super::*;

#[tokio::test]
async fn buffers_stay_for_a_while_after_the_last_of_several_requests() {
    let (mut stream, served) = serve(ENDLESS, false);
    let (begun, mut since) = (Instant::now(), Instant::now());
    while begun.elapsed() < REST * 3 {
        since = Instant::now();
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
        tokio::time::sleep(REST / 20).await;
    }
    served.rests().await;
    assert!(since.elapsed() >= REST, "{:?}", since.elapsed());
}

#[tokio::test]
async fn past_the_bound_of_kept_buffers_a_connection_frees_its_own_at_once() {
    let (mut stream, served) = serve(Deadlines { rest: LONG, ..ENDLESS }, false);
    let Admission::Slot(beside) = served.slots.admit("192.0.2.1".parse().unwrap()) else { panic!("there is a slot") };
    let mut kept: Vec<_> = std::iter::from_fn(|| beside.keep_buffers()).collect();
    for _ in 0..3 {
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
        served.rests().await;
    }
    kept.pop();
    stream.write_all(GET).await.unwrap();
    answer_of(&mut stream).await;
    assert!(beside.keep_buffers().is_none(), "the connection keeps its own");
    stream.write_all(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while beside.keep_buffers().is_none() {
        tokio::task::yield_now().await;
    }
    answer_of(&mut stream).await;
    assert!(beside.keep_buffers().is_none(), "it keeps them again");
    drop(stream);
    while served.slot.strong_count() > 0 {
        tokio::task::yield_now().await;
    }
    assert!(beside.keep_buffers().is_some());
}

#[tokio::test]
async fn a_head_that_begins_before_the_connection_rests_has_the_same_deadline() {
    for (head, piece) in [("GET / HTTP/1.1\r\n", ""), ("\r\n", ""), ("G", "x"), ("\n", "\n")] {
        let (mut stream, served) = serve(Deadlines { head: REST * 3, ..ENDLESS }, false);
        let since = Instant::now();
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        while served.slot.strong_count() > 0 {
            _ = stream.write_all(piece.as_bytes()).await;
            tokio::time::sleep(REST / 20).await;
        }
        let after = since.elapsed();
        assert!(after >= REST * 3 && after < LONG, "{head:?}: {after:?}");
    }
}

#[tokio::test]
async fn a_head_that_ends_after_its_connection_rests_is_answered() {
    let (mut stream, served) = serve(ENDLESS, false);
    for begins in [0, 1, GET.len() - 1] {
        // Half a head comes with the request before it, or after the answer to that.
        stream.write_all(&[GET, &GET[..begins]].concat()).await.unwrap();
        answer_of(&mut stream).await;
        stream.write_all(&GET[begins..GET.len() - 1]).await.unwrap();
        served.rests().await;
        stream.write_all(&GET[GET.len() - 1..]).await.unwrap();
        answer_of(&mut stream).await;
    }
}

#[tokio::test]
async fn the_time_before_a_connection_rests_is_part_of_its_idle_time() {
    let rest = Duration::from_millis(1600);
    let idle = rest + SHORT;
    let (mut stream, _) = client(Deadlines { idle, rest, ..ENDLESS });
    let since = Instant::now();
    stream.write_all(GET).await.unwrap();
    answer_of(&mut stream).await;
    stream.read_to_end(&mut Vec::new()).await.unwrap();
    assert!(since.elapsed() >= idle && since.elapsed() < idle + rest, "{:?}", since.elapsed());
}

#[tokio::test]
async fn idle_time_begins_when_the_answer_has_left() {
    for rest in [AT_ONCE, REST] {
        let (mut stream, _) = client(Deadlines { idle: SHORT * 2, rest, ..ENDLESS });
        stream.write_all(b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        let mut answer = vec![0; 50_000];
        stream.read_exact(&mut answer).await.unwrap();
        tokio::time::sleep(SHORT * 3).await;
        while !answer.ends_with(&[b'x'; 50_001]) {
            assert!(stream.read_buf(&mut answer).await.unwrap() > 0);
        }
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
    }
}

#[tokio::test]
async fn stopping_ends_a_connection_that_does_not_rest_yet() {
    for head in ["", "GET / HTTP/1.1\r\n"] {
        let (mut stream, served) = serve(Deadlines { rest: LONG, ..ENDLESS }, false);
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
        stream.write_all(head.as_bytes()).await.unwrap();
        assert_eq!(served.slot.strong_count(), 2, "it rests already");
        served.stop.send(true).unwrap();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        served.stop.closed().await;
    }
}

#[tokio::test]
async fn a_connection_may_be_upgraded_after_other_requests() {
    for rest in [AT_ONCE, REST] {
        let (mut stream, served) = serve(Deadlines { head: SHORT, idle: SHORT, rest, ..ENDLESS }, false);
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
        tokio::time::sleep(SHORT * 2).await; // it has left the deadlines of requests
        stream.write_all(GET).await.unwrap();
        stream.read_exact(&mut answer[..GET.len()]).await.unwrap();
        assert_eq!(&answer[..GET.len()], GET);
        assert_eq!(served.slots.all(), 1);
        drop(stream);
        while served.slots.all() > 0 {
            tokio::task::yield_now().await;
        }
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
