use std::pin::Pin;

use futures_util::FutureExt;

use super::*;
use crate::error::Code;

const ADA: &str = "ada@x.example";
const SECOND: Duration = Duration::from_secs(1);

/// Networks of neighbourhoods of their own.
fn nth(n: u32) -> IpAddr {
    IpAddr::V4((0x0a00_0000 + (n << 16)).into())
}

/// Guesses at an account with so many failures.
fn after(failures: u32) -> (Guesses, Clock) {
    let clock = Clock::default();
    let guesses = Guesses::new(clock.clone());
    let key = guesses.accounts.key(ADA);
    (0..failures).for_each(|n| guesses.accounts.add(key, nth(n % 200), clock.since_start()));
    (guesses, clock)
}

fn waiting(guesses: &Guesses, n: u32) -> Pin<Box<dyn Future<Output = Result<()>> + '_>> {
    let mut attempt = guesses.begin(nth(n), ADA, None).unwrap();
    assert!(attempt.must_queue());
    Box::pin(async move { attempt.wait_for_turn().await })
}

#[test]
fn after_100_failures_from_all_networks_attempts_at_an_account_must_wait() {
    let (guesses, clock) = after(99);
    let begin = |n, email| guesses.begin(nth(n), email, None).unwrap();
    let right = begin(1, ADA);
    assert!(!right.must_queue(), "a hundredth attempt, with the right password");
    right.end(&Ok(true));
    let wrong = begin(2, ADA);
    assert!(!wrong.must_queue(), "the hundredth failure");
    wrong.end(&Ok(false));
    assert!(begin(3, ADA).must_queue() && begin(4, " ADA@x.example").must_queue());
    assert!(!begin(5, "grace@x.example").must_queue());
    clock.advance(FORGOTTEN_AFTER);
    assert!(!begin(6, ADA).must_queue(), "one is forgotten");
    assert!(begin(7, ADA).must_queue());
}

#[test]
fn the_pace_falls_after_100_200_and_1000_failures() {
    let seconds = [0, 99, 100, 199, 200, 999, 1000, u32::MAX].map(|failures| pace(failures).as_secs());
    assert_eq!(seconds, [0, 0, 1, 1, 6, 6, 60, 60]);
}

/// The failure that is checked counts: after the 199th a check takes place each second, after the 200th each six seconds.
#[tokio::test]
async fn one_attempt_is_checked_each_second_then_in_six_then_in_a_minute() {
    for (failures, seconds) in [(100, 1), (198, 1), (199, 6), (998, 6), (999, 60)] {
        let (guesses, clock) = after(failures);
        assert!(waiting(&guesses, 1).now_or_never().is_some(), "the first needs not to wait");
        let mut next = waiting(&guesses, 2);
        assert!(next.as_mut().now_or_never().is_none());
        clock.advance(seconds * SECOND - Duration::from_millis(900));
        drop(next); // It would have waited too long for the slowest pace.
        let mut next = waiting(&guesses, 3);
        assert!(next.as_mut().now_or_never().is_none(), "{failures}");
        clock.advance(Duration::from_millis(900));
        assert!(next.as_mut().now_or_never().is_some_and(|checked| checked.is_ok()), "{failures}");
    }
}

#[tokio::test]
async fn guesses_that_never_pause_come_down_to_a_hundred_an_hour() {
    let (guesses, clock) = after(100);
    let guess = |hours: u32| {
        let until = clock.since_start() + hours * 3600 * SECOND;
        let mut checked = 0;
        while clock.since_start() < until {
            let key = guesses.accounts.key(ADA);
            guesses.accounts.add(key, nth(1), clock.since_start());
            checked += 1;
            clock.advance(pace(guesses.accounts.count(key, clock.since_start())).max(SECOND));
        }
        checked
    };
    let (first_day, second_day) = (guess(24), guess(24));
    assert!((2400..3600).contains(&first_day) && (2300..=2460).contains(&second_day), "{first_day} and {second_day}");
}

#[tokio::test]
async fn an_attempt_waits_for_thirty_seconds() {
    let (guesses, clock) = after(1100);
    assert!(waiting(&guesses, 1).now_or_never().is_some());
    let mut late = waiting(&guesses, 2);
    assert!(late.as_mut().now_or_never().is_none());
    clock.advance(WAIT_WITHIN - SECOND);
    assert!(late.as_mut().now_or_never().is_none());
    clock.advance(SECOND);
    assert!(matches!(late.now_or_never(), Some(Err(Error::Guessed(60)))));
}

#[tokio::test]
async fn a_refused_attempt_is_told_when_the_next_is_checked() {
    for (failures, seconds) in [(100, 5), (300, 6), (1100, 60)] {
        let (guesses, _) = after(failures);
        let refusal = guesses.begin(nth(1), ADA, None).unwrap().refusal();
        assert!(matches!(refusal, Error::Guessed(after) if after == seconds), "{failures}: {refusal:?}");
        let text = refusal.to_string();
        assert!(text.contains(&format!("in {seconds} seconds")) && text.contains("link by mail"), "{text}");
    }
}

#[test]
fn a_known_device_does_not_wait_until_ten_of_its_attempts_have_failed() {
    let (guesses, clock) = after(500);
    let begin = |device| guesses.begin(nth(1), ADA, Some(device)).unwrap();
    for n in 0..20 {
        let attempt = begin("device");
        assert!(!attempt.must_queue());
        attempt.end(if n % 2 == 0 { &Ok(true) } else { &Ok(false) });
    }
    assert!(begin("device").must_queue());
    assert!(!begin("another").must_queue());
    clock.advance(DEVICE_FORGOTTEN_AFTER);
    assert!(!begin("device").must_queue() && begin("device").must_queue(), "one is forgotten");
}

#[test]
fn a_known_device_is_not_refused_for_what_its_neighbours_have_failed() {
    let guesses = Guesses::new(Clock::default());
    while let Ok(attempt) = guesses.begin(nth(1), ADA, None) {
        attempt.end(&Ok(false));
    }
    assert!(guesses.begin(nth(1), ADA, Some("device")).is_ok_and(|attempt| !attempt.must_queue()));
    guesses.begin(nth(1), ADA, Some("device")).unwrap().end(&Ok(true));
    assert!(matches!(guesses.begin(nth(1), ADA, None), Err(Error::Guessed(_))), "a right one takes nothing of theirs back");
}

/// Each attempt reads the clock before it waits for the lock.
#[test]
fn attempts_come_in_another_order_than_their_times() {
    let networks = ByNetwork::default();
    networks.begin(nth(1), ADA, 5 * SECOND).unwrap();
    networks.begin(nth(1), ADA, 4 * SECOND).unwrap();
    networks.tidy(3 * SECOND);
    for _ in 0..8 {
        networks.begin(nth(1), ADA, 4 * SECOND).unwrap();
    }
    assert!(matches!(networks.begin(nth(1), ADA, 4 * SECOND), Err(Error::Guessed(61))));
}

#[test]
fn an_attempt_that_was_not_answered_counts_for_its_network_only() {
    for unanswered in [|| Error::Unavailable(Code::Overloaded, "overload"), || Error::Guessed(RETRY_SECONDS)] {
        let guesses = Guesses::new(Clock::default());
        for n in 0..200 {
            let attempt = guesses.begin(nth(n / 10), ADA, None).unwrap();
            assert!(!attempt.must_queue(), "not for the account");
            attempt.end(&Err(unanswered()));
        }
        assert!(matches!(guesses.begin(nth(0), ADA, None), Err(Error::Guessed(_))), "an eleventh of the same network");
        assert!(!guesses.begin(nth(20), ADA, None).unwrap().must_queue());
    }
    let (guesses, _) = after(500);
    for n in 0..15 {
        let attempt = guesses.begin(nth(n), ADA, Some("device")).unwrap();
        assert!(!attempt.must_queue(), "nor for the device");
        attempt.end(&Err(Error::Unavailable(Code::Overloaded, "overload")));
    }
}

#[test]
fn a_mail_to_the_owner_is_queued_once_an_hour() {
    let (guesses, clock) = after(100);
    let news = || guesses.begin(nth(1), ADA, None).unwrap().estimated_networks_to_report();
    assert!(news().is_some_and(|networks| (50..=200).contains(&networks)));
    clock.advance(NEWS_EVERY - SECOND);
    guesses.tidy();
    assert_eq!(news(), None);
    clock.advance(SECOND);
    assert!(news().is_some());
}
