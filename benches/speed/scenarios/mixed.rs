//! A working day in short: people with sockets who read, post, and lose their connections.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{
    Place,
    fan_out::{Listeners, people},
};
use crate::{
    clients::{Client, ids},
    http::request,
    machine::{Watch, status},
    measure::{Bench, Run, Subject, Unit},
    requests::{Done, Plan},
    sockets::Recovered,
    world::sentence,
};

const REQUESTS: Unit = Unit::rate("requests/s");
/// Milliseconds between two requests of a connection.
const PAUSE: u64 = 500;
/// Seconds between two losses of connections, each of a quarter of the sockets.
const LOSSES: usize = 5;

/// Memory over time, and the latency of all requests together.
pub fn mixed(bench: &mut Bench) {
    let sockets = bench.size(1000, 40);
    let seconds = bench.size((bench.minutes * 60.0) as usize, 2);
    let connections = bench.size(200, 8);
    let places = bench.places(people(sockets).max(4), people(sockets).max(4));
    let subjects = places.iter().map(|place| {
        let mut listeners = Listeners::new(place, sockets, false);
        let requests = requests(place);
        Subject::server(&place.build, &place.server, move |server| {
            let plan = Plan { address: server.address, connections, requests: requests.clone(), pause: PAUSE, once: false };
            run(server.id(), &mut listeners, &plan, seconds)
        })
    });
    let (subjects, rounds) = (subjects.collect(), std::mem::replace(&mut bench.rounds, 1)); // it is long enough
    bench.turns(&format!("mixed, sockets: {sockets}"), REQUESTS, subjects);
    bench.rounds = rounds;
}

/// Nine of ten read.
fn requests(Place { world, .. }: &Place) -> Vec<String> {
    let (channel, organisation) = (&world.channel, &world.organisation);
    let paths = [
        format!("/channels/{channel}/messages"),
        format!("/organisations/{organisation}/user-channels"),
        format!("/channels/{channel}"),
        "/users/me".to_owned(),
        format!("/threads/channels/{channel}"),
        format!("/channels/{channel}/messages?limit=20"),
        format!("/channels/{channel}/users?limit=50"),
        format!("/organisations/{organisation}/search?q=invoice"),
    ];
    let mut requests = Vec::new();
    for n in 0..100 {
        let token = &world.tokens[n % world.tokens.len()];
        requests.push(match n % 10 {
            8 => request("PUT", &format!("/api/v1/channels/{channel}/read"), token, "{}"),
            9 => request("POST", &world.messages(), token, &json!({ "content": sentence(n) }).to_string()),
            kind => request("GET", &format!("/api/v1{}", paths[kind]), token, ""),
        });
    }
    requests
}

fn run(process: u32, listeners: &mut Listeners, plan: &Plan, seconds: usize) -> Run {
    let mut client = Client::start("requests", plan);
    let mut ours = ids(&listeners.clients);
    ours.push(client.id());
    let (watch, began) = (Watch::new(process, &ours), Instant::now());
    client.tell("count");
    let (mut series, mut reconnecting) = (Vec::new(), None::<usize>);
    for second in 0..seconds {
        std::thread::sleep(Duration::from_secs(second as u64).saturating_sub(began.elapsed()));
        series.push((second as f64, status(process, "VmRSS") / 1024.0));
        if second % LOSSES == 1 {
            let n = second / LOSSES % listeners.clients.len();
            finish(listeners, reconnecting.replace(n));
            listeners.clients[n].tell("drop");
            listeners.clients[n].tell("recover 0");
        }
    }
    finish(listeners, reconnecting);
    let spent = watch.spent();
    client.tell("stop");
    let done: Done = serde_json::from_str(&client.line()).unwrap();
    assert_eq!(done.refused, 0);
    let memory = |(_, mebibytes): &(f64, f64)| *mebibytes;
    let first = memory(&series[0]);
    Run {
        figure: done.answers as f64 / spent.seconds,
        p50: Some(done.p50),
        p99: Some(done.p99),
        cpu: Some(spent.server / done.answers as f64 * 1e6),
        foreign: spent.foreign,
        notes: vec![
            ("MiB at first", first),
            ("at most", series.iter().map(memory).fold(first, f64::max)),
            ("at last", series.last().map_or(first, memory)),
        ],
        series,
    }
}

/// Reads what a client process says until all its sockets are back.
fn finish(listeners: &mut Listeners, reconnecting: Option<usize>) {
    let Some(client) = reconnecting.map(|n| &mut listeners.clients[n]) else { return };
    loop {
        let line = client.line();
        if let Ok(recovered) = serde_json::from_str::<Recovered>(&line) {
            assert_eq!(recovered.unrecovered, 0);
            return;
        }
        assert!(matches!(line.as_str(), "all" | "dropped"), "{line}");
    }
}
