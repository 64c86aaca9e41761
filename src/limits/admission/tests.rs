use futures_util::FutureExt;
use poem::http::HeaderValue;

use super::*;
use crate::id::UserId;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn slot(admission: Admission) -> Slot {
    match admission {
        Admission::Slot(slot) => slot,
        Admission::Reserve(_) => panic!("only from the reserve"),
    }
}

fn user() -> Share {
    Share::Person(UserId::new())
}

/// Whether the connection was told to close.
fn is_closed(slot: &Slot) -> bool {
    slot.asked_to_close().now_or_never().is_some()
}

const OFFICE: &str = "192.0.2.1";
const AFTER: Duration = Duration::from_secs(30);

/// A connection on its way in.
fn coming(slots: &Arc<ConnectionSlots>, from: &str) -> Slot {
    let slot = slot(slots.admit(address(from)));
    assert!(slot.begin(), "refused");
    slot
}

/// A connection that was answered once.
fn stranger_from(slots: &Arc<ConnectionSlots>, from: &str) -> Slot {
    let slot = coming(slots, from);
    slot.set_busy(true);
    slot.set_busy(false);
    slot
}

fn stranger(slots: &Arc<ConnectionSlots>) -> Slot {
    stranger_from(slots, OFFICE)
}

fn open(users: usize, strangers: usize, others: usize) -> Open {
    Open { users, strangers, others }
}

#[test]
fn a_full_address_closes_its_oldest_idle_stranger_for_a_newcomer() {
    let slots = ConnectionSlots::with_bounds(1000, 3, &[]);
    let mut held: Vec<_> = (0..3).map(|n| stranger_from(&slots, &format!("2001:db8::{n}"))).collect();
    let elsewhere = stranger_from(&slots, "2001:db8:0:1::9");
    assert!(held.iter().all(|slot| !is_closed(slot)), "three may be open");
    held[0].set_busy(true);
    held.push(stranger_from(&slots, "2001:db8::9"));
    assert_eq!([0, 1, 2, 3].map(|n| is_closed(&held[n])), [false, true, false, false], "the first is being answered");
    held[0].set_busy(false);
    held.push(stranger_from(&slots, "2001:db8::10"));
    assert_eq!([0, 2, 3, 4].map(|n| is_closed(&held[n])), [true, false, false, false], "an answer makes nobody younger");
    assert_eq!(slots.open_counts(), open(0, 4, 2));
    assert_eq!(slots.turned_away(), [2, 0]);
    assert!(!is_closed(&elsewhere));
    drop((held, elsewhere));
    assert_eq!(slots.open_counts(), open(0, 0, 0));
    assert!(slots.counts.lock().is_empty());
}

#[test]
fn four_times_as_many_may_be_on_their_way_in_and_the_oldest_goes_for_one_more() {
    let slots = ConnectionSlots::with_bounds(1000, 2, &[]);
    let answered = [stranger(&slots), stranger(&slots)];
    let on_their_way: Vec<_> = (0..8).map(|_| coming(&slots, OFFICE)).collect();
    assert!(answered.iter().chain(&on_their_way).all(|slot| !is_closed(slot)));
    let one_more = coming(&slots, OFFICE);
    assert!(is_closed(&on_their_way[0]) && !is_closed(&on_their_way[1]) && !is_closed(&one_more));
    assert_eq!((slots.open_counts(), slots.turned_away()), (open(0, 10, 1), [1, 0]));
    on_their_way[1].set_busy(true);
    on_their_way[1].set_busy(false);
    assert_eq!([0, 1].map(|n| is_closed(&answered[n])), [true, false], "two that were answered may stay");
    assert!(!is_closed(&on_their_way[1]));
}

#[test]
fn a_socket_is_on_its_way_in_until_its_connect_is_taken_and_then_closed_for_nobody() {
    let slots = ConnectionSlots::with_bounds(1000, 1, &[]);
    let socket = coming(&slots, OFFICE);
    socket.set_busy(true);
    socket.expect_connect();
    socket.set_busy(false); // its handshake is answered
    let mut beside: Vec<_> = (0..3).map(|_| coming(&slots, OFFICE)).collect();
    beside.push(stranger_from(&slots, "198.51.100.1"));
    assert!(!is_closed(&socket), "four may be on their way in");
    assert!(socket.take_connect());
    beside.extend((0..9).map(|_| coming(&slots, OFFICE)));
    assert!(!is_closed(&socket), "its connect is being answered");
    let ada = user();
    let hers: Vec<_> = (0..200).map(|n| stranger_from(&slots, &format!("198.51.100.{n}"))).collect();
    hers.iter().for_each(|slot| _ = slot.attribute_to_user(ada));
    socket.attribute_socket(ada);
    let more: Vec<_> = (0..9).map(|_| coming(&slots, OFFICE)).collect();
    assert!(!is_closed(&socket), "its user has as many connections as they may have");
    drop((socket, beside, hers, more));
    assert!(slots.counts.lock().is_empty());
}

#[test]
fn a_socket_that_was_closed_for_a_newcomer_connects_no_more() {
    let slots = ConnectionSlots::with_bounds(1000, 1, &[]);
    let socket = coming(&slots, OFFICE);
    socket.expect_connect();
    let newcomers: Vec<_> = (0..4).map(|_| coming(&slots, OFFICE)).collect();
    assert!(!socket.take_connect() && is_closed(&socket));
    assert!(newcomers[3].take_connect() && !is_closed(&newcomers[3]));
}

#[test]
fn an_address_whose_newcomers_are_all_being_answered_refuses_one_more() {
    let slots = ConnectionSlots::with_bounds(1000, 2, &[]);
    let held: Vec<_> = (0..8).map(|_| coming(&slots, OFFICE)).collect();
    held.iter().for_each(|slot| slot.set_busy(true));
    assert!(!slot(slots.admit(address(OFFICE))).begin());
    assert_eq!((slots.open_counts(), slots.turned_away()), (open(0, 8, 0), [0, 1]));
    held[1].set_busy(false);
    let newcomer = coming(&slots, OFFICE);
    assert!(!held.iter().any(is_closed) && !is_closed(&newcomer));
}

#[test]
fn an_answered_connection_is_closed_if_all_others_are_answered_again() {
    let slots = ConnectionSlots::with_bounds(1000, 2, &[]);
    let held = [stranger(&slots), stranger(&slots)];
    held.iter().for_each(|slot| slot.set_busy(true));
    let third = stranger(&slots);
    assert!(is_closed(&third) && !held.iter().any(is_closed));
    assert_eq!((slots.open_counts(), slots.turned_away()), (open(0, 2, 1), [0, 1]));
}

#[test]
fn a_closed_stranger_counts_for_nobody_whatever_it_does_until_it_has_ended() {
    for act in [|slot: &Slot| slot.set_busy(true), |slot: &Slot| _ = slot.attribute_to_user(user()), |_: &Slot| {}] {
        let slots = ConnectionSlots::with_bounds(1000, 1, &[]);
        let (old, new) = (stranger(&slots), stranger(&slots));
        act(&old);
        old.set_busy(false);
        old.recount_as_stranger(Instant::now() + AFTER, Duration::ZERO);
        assert_eq!(slots.open_counts(), open(0, 1, 1));
        drop(old);
        assert_eq!(slots.open_counts(), open(0, 1, 0));
        drop(new);
        assert!(slots.counts.lock().is_empty());
    }
}

#[test]
fn a_users_connection_leaves_its_address_and_is_closed_for_nobody() {
    let slots = ConnectionSlots::with_bounds(1000, 1, &[]);
    let ada = user();
    let hers: Vec<_> = (0..10)
        .map(|_| {
            let slot = stranger(&slots);
            slot.attribute_to_user(ada);
            slot
        })
        .collect();
    let newcomers = [stranger(&slots), stranger(&slots)];
    assert!(hers.iter().all(|slot| !is_closed(slot)));
    assert!(is_closed(&newcomers[0]) && !is_closed(&newcomers[1]));
    assert_eq!(slots.open_counts(), open(10, 1, 1));
    drop((hers, newcomers));
    assert!(slots.counts.lock().is_empty());
}

#[test]
fn a_users_129th_connection_counts_for_its_address() {
    let slots = ConnectionSlots::with_bounds(1000, 2, &[]);
    let ada = user();
    let hers: Vec<_> = (0..128)
        .map(|n| {
            let slot = stranger_from(&slots, &format!("192.0.2.{n}"));
            slot.attribute_to_user(ada);
            slot
        })
        .collect();
    assert_eq!(slots.open_counts(), open(128, 0, 0));
    let one_more = stranger(&slots);
    one_more.attribute_to_user(ada);
    assert_eq!(slots.open_counts(), open(128, 1, 0));
    hers[0].attribute_to_user(ada);
    assert_eq!(slots.open_counts(), open(128, 1, 0), "a further request on one of them changes nothing");
    let graces = stranger(&slots);
    graces.attribute_to_user(user());
    assert_eq!(slots.open_counts(), open(129, 1, 0));
    graces.attribute_to_user(ada);
    assert_eq!(slots.open_counts(), open(129, 1, 0), "it stays with its holder");
    drop(hers);
    one_more.attribute_to_user(ada);
    assert_eq!(slots.open_counts(), open(2, 0, 0));
    drop((one_more, graces));
    assert!(slots.counts.lock().is_empty());
}

#[test]
fn a_connection_that_two_users_share_counts_for_the_last() {
    let slots = ConnectionSlots::with_bounds(1000, 2, &[]);
    let (ada, grace, shared) = (user(), user(), stranger(&slots));
    shared.attribute_to_user(ada);
    shared.attribute_to_user(grace);
    assert_eq!(slots.open_counts(), open(1, 0, 0));
    let places = slots.counts.lock();
    assert_eq!([places.count_of_user(ada), places.count_of_user(grace)], [0, 1]);
    drop(places);
}

#[test]
fn after_30_seconds_without_a_session_a_connection_is_a_strangers_again() {
    let slots = ConnectionSlots::with_bounds(1000, 1, &[]);
    let slot = stranger(&slots);
    slot.attribute_to_user(user());
    let ended = Instant::now();
    slot.recount_as_stranger(ended + AFTER * 10, AFTER);
    assert_eq!(slots.open_counts(), open(1, 0, 0), "a request is in progress, or a socket is connected");
    slot.note_request_end(ended, AFTER);
    slot.note_request_end(ended + AFTER - Duration::from_millis(1), AFTER);
    assert_eq!(slots.open_counts(), open(1, 0, 0), "a request without a session came just before");
    slot.note_request_end(ended + AFTER, AFTER);
    assert_eq!(slots.open_counts(), open(0, 1, 0));
    let newcomer = stranger(&slots);
    assert!(is_closed(&slot) && !is_closed(&newcomer));
}

#[test]
fn a_connection_that_comes_back_to_a_full_address_closes_the_oldest_idle_one_or_itself() {
    let slots = ConnectionSlots::with_bounds(1000, 1, &[]);
    let back = || {
        let slot = stranger(&slots);
        slot.attribute_to_user(user());
        slot.note_request_end(Instant::now(), AFTER);
        slot
    };
    let (first, second, stranger) = (back(), back(), stranger(&slots));
    first.recount_as_stranger(Instant::now() + AFTER, AFTER);
    assert!(is_closed(&stranger) && !is_closed(&first));
    first.set_busy(true);
    second.recount_as_stranger(Instant::now() + AFTER, AFTER);
    assert!(is_closed(&second) && !is_closed(&first));
    assert_eq!(slots.open_counts(), open(0, 1, 2));
    drop((first, second, stranger));
    assert!(slots.counts.lock().is_empty());
}

#[test]
fn an_address_is_crowded_with_more_than_half_of_its_strangers() {
    let slots = ConnectionSlots::with_bounds(1000, 4, &[]);
    let (ada, half) = (stranger(&slots), [stranger(&slots), stranger(&slots)]);
    ada.attribute_to_user(user());
    assert!(!half[0].is_crowding_stranger());
    let one_more = stranger(&slots);
    assert!(half[0].is_crowding_stranger() && one_more.is_crowding_stranger());
    assert!(!ada.is_crowding_stranger(), "a user's connection is not a stranger's");
    drop(one_more);
    assert!(!half[0].is_crowding_stranger());
}

#[test]
fn connections_of_a_proxy_count_for_neither_address_nor_user() {
    let slots = ConnectionSlots::with_bounds(1000, 3, &["10.0.0.0/8".parse().unwrap()]);
    let held: Vec<_> = (0..50).map(|_| slot(slots.admit(address("::ffff:10.1.2.3")))).collect();
    assert!(held.iter().all(|slot| slot.attribute_to_user(user())));
    held.iter().for_each(|slot| slot.recount_as_stranger(Instant::now() + AFTER, AFTER));
    assert_eq!(slots.open_counts(), open(0, 0, 50));
    assert!(!held.iter().any(|slot| slot.is_crowding_stranger() || is_closed(slot)));
}

/// Moves, closings and ends meet in every order on several threads; afterwards nothing is counted.
#[test]
fn places_that_move_while_others_take_them_are_counted_once() {
    let slots = ConnectionSlots::with_bounds(100_000, 8, &[]);
    let users: Vec<_> = (0..3).map(|_| user()).collect();
    std::thread::scope(|scope| {
        for seed in 0..4_usize {
            let (slots, users) = (&slots, &users);
            scope.spawn(move || {
                let mut held: Vec<Slot> = Vec::new();
                for n in 0..20_000_usize {
                    let chance = (n + seed).wrapping_mul(0x9e37_79b9) >> 7;
                    match (chance % 7, held.get(chance / 7 % held.len().max(1))) {
                        (0 | 1, _) => held.extend(Some(slot(slots.admit(address(OFFICE)))).filter(Slot::begin)),
                        (2, Some(slot)) => _ = slot.attribute_to_user(users[chance / 7 % 3]),
                        (3, Some(slot)) => slot.set_busy(chance % 2 == 0),
                        (4, Some(slot)) => slot.note_request_end(Instant::now(), Duration::ZERO),
                        (5, Some(slot)) => drop(slot.is_crowding_stranger()),
                        (6, Some(_)) => drop(held.swap_remove(chance / 7 % held.len())),
                        _ => {}
                    }
                    assert!(slots.open_counts().strangers <= 8 + 4 * 8);
                }
            });
        }
    });
    assert!(slots.counts.lock().is_empty(), "{:?}", slots.open_counts());
}

#[test]
fn connections_past_the_bound_are_in_the_reserve() {
    let slots = ConnectionSlots::with_bounds(2, 100, &[]);
    let mut held: Vec<_> = (0..2).map(|_| slot(slots.admit(address("192.0.2.1")))).collect();
    assert!(matches!(slots.admit(address("192.0.2.2")), Admission::Reserve(_)));
    held.pop();
    slot(slots.admit(address("192.0.2.2")));
}

#[test]
fn what_is_buffered_counts_by_the_clients_address() {
    let slots = ConnectionSlots::with_bounds(100, 100, &["10.0.0.0/8".parse().unwrap()]);
    let client = |peer: &str, forwarded: &'static str| {
        let headers = HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), HeaderValue::from_static(forwarded))]);
        slot(slots.admit(address(peer))).buffering_client(address(peer), &headers)
    };
    let [slow, beside] = ["203.0.113.9", "invented"].map(|forwarded| client("192.0.2.1", forwarded));
    let [behind_proxy, beside_it] = ["203.0.113.1", "203.0.113.2"].map(|forwarded| client("10.0.0.1", forwarded));
    let _buffered = [slow.buffer(8 << 20), behind_proxy.buffer(4 << 20)];
    assert!(slow.must_wait() && beside.must_wait() && behind_proxy.must_wait());
    assert!(!beside_it.must_wait() && !client("192.0.2.3", "192.0.2.1").must_wait());
}

#[test]
fn each_reason_is_logged_once_per_minute() {
    let mut places = ConnectionCounts::new(1);
    let reasons = [Reason::Closed, Reason::Closed, Reason::Files, Reason::Accept, Reason::Files, Reason::Refused];
    assert_eq!(reasons.map(|reason| places.may_warn(reason)), [true, false, true, true, false, true]);
}

#[test]
fn some_open_files_are_reserved_for_other_uses() {
    for (files, connections) in [(150, 59), (1024, 496), (65_536, 65_008)] {
        assert_eq!(bound(files), connections, "{files}");
    }
}
