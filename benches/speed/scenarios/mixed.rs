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
    machine::{Spent, Watch, status},
    measure::{Bench, Row, Run, Unit},
    requests::{Done, Plan},
    sockets::Recovered,
    world::{World, sentence},
};

const REQUESTS: Unit = Unit::rate("requests/s");
/// Milliseconds between two requests of a connection.
const PAUSE: u64 = 500;
/// Seconds between two losses of connections, each of a quarter of the sockets.
const LOSSES: usize = 5;

/// Memory over time, and the latency of all requests together. Each build serves two worlds at once: the clients of one ask for
/// plain answers, and those of the other for compressed ones.
pub fn mixed(bench: &mut Bench) {
    let sockets = bench.size(1000, 40);
    let seconds = bench.size((bench.minutes * 60.0) as usize, 2);
    let connections = bench.size(200, 8);
    for build in bench.builds.clone() {
        let mut sides = ["identity", "zstd"].map(|coding| {
            let (world, server) = World::new(&build, people(sockets).max(4), people(sockets).max(4));
            let place = Place { build: build.clone(), world, server };
            let listeners = Listeners::new(&place, sockets, false);
            let requests = requests(&place, coding);
            let plan = Plan { address: place.server.address, connections, requests, pause: PAUSE, once: false };
            Side::new(coding, place, listeners, &plan)
        });
        let runs = run(&mut sides, seconds);
        for (side, run) in sides.iter().zip(runs) {
            let scenario = format!("mixed, answers: {}, sockets: {sockets}", side.coding);
            bench.rows.push(Row { scenario, label: build.label.clone(), unit: REQUESTS, run, limit: None });
        }
    }
}

/// Of ten requests eight are reads, one moves the read mark, and one posts.
fn requests(Place { world, .. }: &Place, coding: &str) -> Vec<String> {
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
        let request = match n % 10 {
            8 => request("PUT", &format!("/api/v1/channels/{channel}/read"), token, "{}"),
            9 => request("POST", &world.messages(), token, &json!({ "content": sentence(n) }).to_string()),
            kind => request("GET", &format!("/api/v1{}", paths[kind]), token, ""),
        };
        requests.push(request.replacen("host:", &format!("accept-encoding: {coding}\r\nhost:"), 1));
    }
    requests
}

/// A server, and those who use it.
struct Side {
    /// Of the answers.
    coding: &'static str,
    place: Place,
    listeners: Listeners,
    client: Client,
    memory: Vec<(f64, f64)>,
    /// The client process whose sockets come back.
    reconnecting: Option<usize>,
}

impl Side {
    fn new(coding: &'static str, place: Place, listeners: Listeners, plan: &Plan) -> Side {
        Side { coding, place, listeners, client: Client::start("requests", plan), memory: Vec::new(), reconnecting: None }
    }

    fn processes(&self) -> Vec<u32> {
        let mut processes = ids(&self.listeners.clients);
        processes.extend([self.client.id(), self.place.server.id()]);
        processes
    }

    fn measure(&mut self, second: usize) {
        self.memory.push((second as f64, status(self.place.server.id(), "VmRSS") / 1024.0));
        if second % LOSSES == 1 {
            self.await_all();
            let n = second / LOSSES % self.listeners.clients.len();
            self.reconnecting = Some(n);
            self.listeners.clients[n].tell("drop");
            self.listeners.clients[n].tell("recover 0");
        }
    }

    /// Reads what a client process says until all its sockets are back.
    fn await_all(&mut self) {
        let Some(client) = self.reconnecting.take().map(|n| &mut self.listeners.clients[n]) else { return };
        loop {
            let line = client.line();
            if let Ok(recovered) = serde_json::from_str::<Recovered>(&line) {
                assert_eq!(recovered.unrecovered, 0);
                return;
            }
            assert!(matches!(line.as_str(), "all" | "dropped"), "{line}");
        }
    }

    fn stop(&mut self) -> Done {
        self.client.tell("stop");
        serde_json::from_str(&self.client.line()).unwrap()
    }
}

fn run(sides: &mut [Side], seconds: usize) -> Vec<Run> {
    let ours: Vec<u32> = sides.iter().flat_map(Side::processes).collect();
    let others = |server| ours.iter().copied().filter(|process| *process != server).collect::<Vec<u32>>();
    let watches: Vec<Watch> =
        sides.iter().map(|Side { place, .. }| place.server.id()).map(|server| Watch::new(server, &others(server))).collect();
    let began = Instant::now();
    sides.iter_mut().for_each(|side| side.client.tell("count"));
    for second in 0..seconds {
        std::thread::sleep(Duration::from_secs(second as u64).saturating_sub(began.elapsed()));
        sides.iter_mut().for_each(|side| side.measure(second));
    }
    sides.iter_mut().for_each(Side::await_all);
    let spent: Vec<Spent> = watches.iter().map(Watch::spent).collect();
    sides.iter_mut().zip(spent).map(|(side, spent)| result(side.stop(), &spent, std::mem::take(&mut side.memory))).collect()
}

fn result(done: Done, spent: &Spent, memory: Vec<(f64, f64)>) -> Run {
    assert_eq!(done.refused, 0);
    let mebibytes = |at: &(f64, f64)| at.1;
    let first = mebibytes(&memory[0]);
    Run {
        figure: done.answers as f64 / spent.seconds,
        p50: Some(done.p50),
        p99: Some(done.p99),
        cpu: Some(spent.server / done.answers as f64 * 1e6),
        foreign: spent.foreign,
        notes: vec![
            ("bytes each", done.bytes_each()),
            ("MiB at first", first),
            ("at most", memory.iter().map(mebibytes).fold(first, f64::max)),
            ("at last", memory.last().map_or(first, mebibytes)),
        ],
        series: memory,
    }
}
