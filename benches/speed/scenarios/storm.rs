//! All sockets are cut off at once, miss messages, and come back at once.

use super::fan_out::{Listeners, marked, people, stand_in};
use crate::{
    clients::{Client, ids},
    http,
    machine::{Watch, settle},
    measure::{Bench, Run, Subject, Unit},
    requests::{Done, Plan},
    sockets::Recovered,
};

/// Messages that each socket must recover.
const MISSED: usize = 50;
const SECONDS: Unit = Unit::cost("s");

/// Elapsed until the last socket has all messages.
pub fn storm(bench: &mut Bench, sockets: usize) {
    let (size, settles) = (bench.size(sockets, sockets / 100), !bench.tiny);
    let places = bench.places(people(size), people(size));
    let other = places[0].world.get("/users/me");
    let mut listeners: Vec<Listeners> = places.iter().map(|place| Listeners::new(place, size, false)).collect();
    let limit = stand_in(&mut listeners[0], MISSED);
    let mut at_limit = listeners[0].of(&limit);
    let subjects = places.iter().zip(&mut listeners).map(|(place, listeners)| {
        let other = place.world.get("/users/me");
        Subject::server(&place.build, &place.server, move |server| run(server.id(), &other, listeners, settles))
    });
    let mut subjects: Vec<Subject> = subjects.collect();
    subjects.push(Subject::limit(|| run(limit.id(), &other, &mut at_limit, settles)));
    bench.turns(&format!("storm-{sockets}"), SECONDS, subjects);
}

fn run(process: u32, other: &str, listeners: &mut Listeners, settles: bool) -> Run {
    listeners.cut_off();
    let Listeners { clients, poster, sockets, .. } = &*listeners;
    let (sockets, address) = (*sockets, poster.address);
    let (request, mut stream) = (poster.request(&marked()), http::connect(poster.address));
    for _ in 0..MISSED {
        assert_eq!(http::exchange(&mut stream, request.as_bytes()).0, 201);
    }
    if settles {
        settle(process); // what the posts left to the background
    }
    let plan = Plan { address, connections: 1, requests: vec![other.to_owned()], pause: 2, once: false };
    let mut bystander = Client::start("requests", &plan);
    let mut all = ids(clients);
    all.push(bystander.id());
    let watch = Watch::new(process, &all);
    bystander.tell("count");
    let recovered = listeners.recover(MISSED);
    let spent = watch.spent();
    bystander.tell("stop");
    let done: Done = serde_json::from_str(&bystander.line()).unwrap();
    let expected = sockets * MISSED;
    assert!(recovered.messages <= expected, "no message comes twice");
    Run {
        figure: recovered.seconds,
        p50: Some(done.p50),
        p99: Some(done.p99),
        cpu: Some(spent.server / sockets as f64 * 1e6),
        foreign: spent.foreign,
        notes: vec![
            ("lost", (expected - recovered.messages) as f64),
            ("not recovered", recovered.unrecovered as f64),
            ("refused or cut off", recovered.failures as f64),
        ],
        ..Run::default()
    }
}

impl Listeners {
    /// Closes all sockets.
    pub fn cut_off(&mut self) {
        self.clients.iter_mut().for_each(|client| client.tell("drop"));
        for client in &mut self.clients {
            while client.line() != "dropped" {}
        }
    }

    /// Opens all sockets again at once, until each has what it missed.
    pub fn recover(&mut self, missed: usize) -> Recovered {
        self.clients.iter_mut().for_each(|client| client.tell(&format!("recover {missed}")));
        let all = self.clients.iter_mut().map(|client| serde_json::from_str::<Recovered>(&client.line()).unwrap());
        all.reduce(|all, one| Recovered {
            seconds: all.seconds.max(one.seconds),
            messages: all.messages + one.messages,
            unrecovered: all.unrecovered + one.unrecovered,
            failures: all.failures + one.failures,
        })
        .unwrap()
    }
}
