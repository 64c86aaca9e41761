//! Whose turn it is to deliver: no target waits for another, and a long queue is not read for it.

use serde_json::json;
use tidings::{
    domain::webhooks::{
        deliveries,
        delivery_slots::{Room, Wanted},
        replay,
    },
    id::OrganisationId,
};

use crate::{
    harness::{Client, Server},
    receiver::{self, Receiver},
};

/// Ada and her channel.
async fn scene() -> (Server, Client, String) {
    let server = receiver::server().await;
    let ada = server.user("ada").await;
    let channel = ada.channel(&ada.organisation("Engines").await, "engines", &[]).await;
    (server, ada, channel)
}

/// Whose turn it is with so much under way.
#[tokio::test]
async fn a_full_target_is_passed_over_and_those_that_are_not_prompt_have_half_of_all_places() {
    let (server, ada, channel) = scene().await;
    let (slow, prompt) =
        (ada.hook(&channel, "https://slow.example/").await.id, ada.hook(&channel, "https://prompt.example/").await.id);
    server.sql("update webhooks set next_due = 1 where target = 'slow.example:443'");
    server.sql("update webhooks set next_due = 2, is_prompt = 1 where target = 'prompt.example:443'");
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let turns = |room: &Room| {
        let (turns, _) = deliveries::turns(&database, room.clone()).unwrap();
        turns.iter().map(|turn| turn.webhook.to_string()).collect::<Vec<_>>()
    };
    let own = deliveries::turns(&database, Room::default()).unwrap().0[0].place.organisation;
    let wanted = |organisation, target: &str, is_prompt| Wanted { organisation, target: target.to_owned(), is_prompt };
    let others = || OrganisationId::new();

    let mut room = Room::default();
    assert_eq!(turns(&room), [slow.clone(), prompt.clone()]);
    let places: Vec<_> = (0..2).map(|_| wanted(others(), "slow.example:443", false)).collect();
    assert!(places.iter().all(|place| room.enter(place)));
    assert_eq!(turns(&room), std::slice::from_ref(&prompt), "it has its two");
    room.leave(&places[0]);
    assert_eq!(turns(&room), [slow.clone(), prompt.clone()]);
    assert!((1..Room::ALL / 2).all(|n| room.enter(&wanted(others(), &n.to_string(), false))));
    assert_eq!(turns(&room), std::slice::from_ref(&prompt), "half of all places are taken");
    assert!((0..Room::ALL / 2).all(|n| room.enter(&wanted(others(), &n.to_string(), true))));
    assert!(turns(&room).is_empty(), "all are");

    let mut room = Room::default();
    assert!((0..Room::OF_AN_ORGANISATION / 2).all(|n| room.enter(&wanted(own, &n.to_string(), false))));
    assert_eq!(turns(&room), std::slice::from_ref(&prompt), "the organisation has had its half");
    assert!((0..Room::OF_AN_ORGANISATION / 2).all(|n| room.enter(&wanted(own, &n.to_string(), true))));
    assert!(turns(&room).is_empty(), "and all that it may have");
}

#[tokio::test]
async fn a_target_is_prompt_once_it_has_answered_soon_and_well() {
    let (server, ada, channel) = scene().await;
    let receiver = Receiver::start(&[200, 500, 200]).await;
    let hook = ada.hook(&channel, &receiver.url).await;
    let is_prompt = || server.count("webhooks where is_prompt = 1") == 1;
    assert!(!is_prompt(), "it has to show it first");
    for (n, expected) in [true, false, true].into_iter().enumerate() {
        ada.say(&channel, "The engine has arrived").await;
        hook.history(n + 1).await;
        assert_eq!(is_prompt(), expected, "{n}");
    }
    let same = json!({ "webhook_name": "renamed", "webhook_url": receiver.url });
    ada.put(&hook.path(""), same).await.expect(200);
    assert!(is_prompt(), "this is the same target");
    ada.put(&hook.path(""), json!({ "webhook_url": "http://127.0.0.1:9/" })).await.expect(200);
    assert!(!is_prompt(), "this is another target");
}

/// However long the queue is: a look at whose turn it is reads one row of an index, and so does the look at what is
/// due there. What is queued is not read to find what can be sent again.
#[tokio::test]
async fn a_long_queue_is_not_looked_through() {
    let (server, ..) = scene().await;
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    let plan = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Vec<String> {
        let mut explain = database.prepare(&format!("explain query plan {sql}")).unwrap();
        explain.query_map(values, |row| row.get(3)).unwrap().map(Result::unwrap).collect()
    };
    let next = plan(deliveries::DUE, &[&true]);
    assert_eq!(next[0], "SEARCH w USING COVERING INDEX webhooks_due (is_prompt=? AND next_due>?)");
    assert!(next[1].starts_with("SEARCH c USING ") && next[1].ends_with("PRIMARY KEY (id=?)"), "{next:?}");
    let claim = plan(deliveries::CLAIM, &[&[0_u8; 16].as_slice(), &0]);
    assert_eq!(claim[0], "SEARCH w USING PRIMARY KEY (id=?)");
    assert_eq!(claim[1], "SEARCH d USING INDEX deliveries_due (webhook_id=? AND due_at<?)");
    let span = plan(replay::SPAN, &[&[0_u8; 16].as_slice(), &0, &1, &1001]);
    let search =
        "SEARCH deliveries USING COVERING INDEX deliveries_due (webhook_id=? AND due_at=? AND created_at>? AND created_at<?)";
    assert_eq!(span, [search]);
    assert!(!next.iter().chain(&claim).any(|step| step.contains("TEMP B-TREE FOR ORDER")), "{next:?} {claim:?}");
}
