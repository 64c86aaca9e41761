//! Whom a connection counts for, and when it closes for a newcomer.

use super::*;
use crate::{id::Share, limits::connection_counts::COMING_FOR_EACH};

const OFFICE: &str = "192.0.2.1";

/// A client at an address with so many places for strangers.
fn stranger_of(most: usize, deadlines: Deadlines) -> (DuplexStream, Served) {
    let (here, there) = duplex(1024);
    (here, serve_in(ConnectionSlots::new(most, &[]), there, deadlines, false))
}

/// Newcomers of an address with one place: one that was answered, and as many as may be on their way in.
fn newcomers(served: &Served) -> Vec<Arc<Slot>> {
    let newcomers: Vec<_> = (0..=COMING_FOR_EACH).map(|_| admit(&served.slots, OFFICE.parse().unwrap())).collect();
    for (n, newcomer) in newcomers.iter().enumerate() {
        newcomer.begin();
        if n == 0 {
            newcomer.set_busy(true);
            newcomer.set_busy(false);
        }
    }
    newcomers
}

/// Waits for what the connection's task notes after its answer.
async fn counts(served: &Served, users: usize, strangers: usize) {
    let counted = |served: &Served| {
        let open = served.slots.open_counts();
        (open.users, open.strangers)
    };
    while counted(served) != (users, strangers) {
        assert!(served.slot.strong_count() > 0, "the connection has ended with {:?}", served.slots.open_counts());
        tokio::time::sleep(AT_ONCE).await;
    }
}

#[tokio::test]
async fn a_stranger_whom_the_server_waits_for_is_closed_for_a_newcomer_at_once() {
    let long: &[u8] = b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n";
    let half_body: &[u8] = b"POST /take HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf";
    let second_head = b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET";
    for (says, is_first) in
        [(&b""[..], true), (b"GET / HT", true), (GET, false), (second_head, false), (half_body, false), (long, false)]
    {
        let (mut stream, served) = stranger_of(1, ENDLESS);
        stream.write_all(says).await.unwrap();
        if says.starts_with(GET) {
            answer_of(&mut stream).await;
        }
        while served.slot.strong_count() > 0 {
            newcomers(&served);
            tokio::time::sleep(AT_ONCE).await;
        }
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).await.unwrap();
        served.stop.closed().await;
        let is_told = String::from_utf8_lossy(&heard).contains("503 Service Unavailable\r\nretry-after: 1\r\n");
        assert_eq!(is_told, is_first, "{}", String::from_utf8_lossy(says));
    }
}

#[tokio::test]
async fn a_stranger_whose_request_is_in_progress_is_answered() {
    let (mut stream, served) = stranger_of(1, ENDLESS);
    stream.write_all(b"POST /slow HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    while served.slot.strong_count() < 3 {
        tokio::time::sleep(AT_ONCE).await; // until the handler has the request
    }
    newcomers(&served);
    answer_of(&mut stream).await;
}

#[tokio::test]
async fn an_upgraded_connection_counts_for_its_address_until_a_user_holds_it() {
    let (mut stream, served) = stranger_of(1, ENDLESS);
    stream.write_all(b"GET /up HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n").await.unwrap();
    stream.read_exact(&mut [0; 12]).await.unwrap();
    counts(&served, 0, 1).await;
    served.slot.upgrade().unwrap().attribute_to_user(Share::Person(UserId::new()));
    counts(&served, 1, 0).await;
}

#[tokio::test]
async fn above_half_of_its_address_an_idle_stranger_is_closed_earlier() {
    let deadlines = Deadlines { crowded: SHORT, ..ENDLESS };
    for (most, is_closed) in [(2, false), (1, true)] {
        let (mut stream, served) = stranger_of(most, deadlines);
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
        let since = Instant::now();
        match timeout(SHORT * 4, stream.read_to_end(&mut Vec::new())).await {
            Ok(_) => assert!(is_closed && since.elapsed() >= SHORT, "{most}: {:?}", since.elapsed()),
            Err(_) => assert!(!is_closed, "{most}"),
        }
        drop(served);
    }
}

#[tokio::test]
async fn an_idle_stranger_is_closed_soon_after_its_address_becomes_crowded() {
    let (mut stream, served) = stranger_of(2, Deadlines { crowded: SHORT, ..ENDLESS });
    stream.write_all(GET).await.unwrap();
    answer_of(&mut stream).await;
    assert!(timeout(SHORT * 2, stream.read(&mut [0])).await.is_err(), "half of two is not crowded");
    let _beside = newcomers(&served);
    stream.read_to_end(&mut Vec::new()).await.unwrap();
    served.stop.closed().await;
}

#[tokio::test]
async fn a_users_idle_connection_stays_in_the_crowd_and_is_a_strangers_after_a_while() {
    let (mut stream, served) = stranger_of(1, Deadlines { crowded: SHORT, held: SHORT * 4, ..ENDLESS });
    let _crowd = {
        stream.write_all(b"GET /user HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        answer_of(&mut stream).await;
        counts(&served, 1, 0).await;
        newcomers(&served)
    };
    let since = Instant::now();
    assert_eq!(served.slots.open_counts().users, 1);
    stream.read_to_end(&mut Vec::new()).await.unwrap();
    assert!(since.elapsed() >= SHORT * 3, "it was the user's: {:?}", since.elapsed());
    served.stop.closed().await;
    assert_eq!(served.slots.turned_away(), [1, 0], "it came back as the newcomer, and left with the crowd's rule");
}

#[tokio::test]
async fn requests_without_a_session_do_not_keep_a_connection_the_users() {
    let (mut stream, served) = stranger_of(9, Deadlines { held: SHORT, ..ENDLESS });
    stream.write_all(b"GET /user HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    answer_of(&mut stream).await;
    let since = Instant::now();
    while served.slots.open_counts().users == 1 {
        stream.write_all(GET).await.unwrap();
        answer_of(&mut stream).await;
    }
    assert!(since.elapsed() >= SHORT / 2, "{:?}", since.elapsed());
    counts(&served, 0, 1).await;
}
