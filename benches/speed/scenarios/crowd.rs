//! A hundred thousand sockets, or as many as the limit of open files allows: what they take, how soon all have a post, and how all come back after they were cut off together.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    fan_out::{Listeners, marked},
    footprint::resident,
};
use crate::{
    clients::{Client, ids},
    http::{self, call},
    machine::{Watch, file_limit, settle, status},
    measure::{Bench, Run, Subject, Unit},
    requests::{Done, Plan},
    server::{Build, Server},
    world::{World, text},
};

/// Posts to all, one after the other.
const POSTS: usize = 10;
/// Messages that each socket must recover.
const MISSED: usize = 5;
/// Each socket hears a post twice: on the channel, and as an unread count on its user's own stream.
const PUSHES: usize = 2;
/// As many sockets as the limit of open files lets a process have (`ulimit -n 110000` is enough for all).
const MOST: usize = 100_000;
const OTHER_FILES: usize = 1000;
const SECONDS: Unit = Unit::cost("s");

/// Sockets of as many people, each of whom hears their own streams and the channel that all are in.
pub fn crowd(bench: &mut Bench) {
    let sockets = bench.size(MOST.min(file_limit() - OTHER_FILES), 200);
    let (wait, settles) = (bench.size(Duration::from_secs(30), Duration::ZERO), !bench.tiny); // one ping each
    let builds = bench.builds.clone();
    let subjects = builds.iter().map(|build| {
        let (world, greetings, other) = people(build, sockets);
        Subject::build(build, move || {
            let server = world.serve();
            let other = http::request("POST", &other, &world.tokens[0], &json!({ "content": "of others" }).to_string());
            run(&world, &server, &greetings, &other, wait, settles)
        })
    });
    let subjects = subjects.collect();
    bench.turns(&format!("crowd-{sockets}"), SECONDS, subjects);
}

/// A world with so many people besides its owner, their connect commands, and where the owner posts to nobody.
fn people(build: &Build, count: usize) -> (World, Vec<Value>, String) {
    let (world, server) = World::new(build, count + 1, 1);
    let body = json!({ "name": "quiet", "organisation_id": world.organisation });
    let quiet = text(&call(server.address, &world.tokens[0], "POST", "/channels", &body)["data"]["id"]);
    server.stop();
    let greetings = world.sessions(count);
    (world, greetings, format!("/api/v1/channels/{quiet}/messages"))
}

fn run(world: &World, server: &Server, greetings: &[Value], other: &str, wait: Duration, settles: bool) -> Run {
    let (process, sockets, before) = (server.id(), greetings.len(), resident(server));
    let began = Instant::now();
    let mut listeners = Listeners::to(world, server, greetings.to_vec(), sockets, false);
    let connected = began.elapsed().as_secs_f64();
    let each = |memory: f64| (memory - before) / sockets as f64;
    let opened = resident(server);
    std::thread::sleep(wait);
    let idle = resident(server);

    let plan = Plan { address: server.address, connections: 1, requests: vec![other.to_owned()], pause: 2, once: false };
    let mut bystander = Client::start("requests", &plan);
    let mut all = ids(&listeners.clients);
    all.push(bystander.id());
    let watch = Watch::new(process, &all);
    let (request, mut stream) = (listeners.poster.request(&marked()), http::connect(server.address));
    bystander.tell("count");
    let mut took: Vec<f64> = Vec::new();
    for _ in 0..POSTS {
        let began = Instant::now();
        assert_eq!(http::exchange(&mut stream, request.as_bytes()).0, 201);
        (0..PUSHES).for_each(|_| listeners.await_all());
        took.push(began.elapsed().as_secs_f64());
    }
    let spent = watch.spent();
    let meanwhile = stop(&mut bystander);

    listeners.cut_off();
    for _ in 0..MISSED {
        assert_eq!(http::exchange(&mut stream, request.as_bytes()).0, 201);
    }
    if settles {
        settle(process);
    }
    bystander.tell("count");
    let recovered = listeners.recover(MISSED);
    let in_storm = stop(&mut bystander);
    took.sort_by(f64::total_cmp);
    Run {
        figure: took[took.len() / 2],
        p50: Some(meanwhile.p50),
        p99: Some(meanwhile.p99),
        cpu: Some(spent.server / (POSTS * PUSHES * sockets) as f64 * 1e6),
        notes: vec![
            ("slowest post", took[took.len() - 1]),
            ("connected in s", connected),
            ("KiB each", each(idle)),
            ("KiB each when opened", each(opened)),
            ("all MiB", idle / 1024.0),
            ("MiB at most", status(process, "VmHWM") / 1024.0),
            ("storm s", recovered.seconds),
            ("lost", (sockets * MISSED) as f64 - recovered.messages as f64),
            ("not recovered", recovered.unrecovered as f64),
            ("refused or cut off", recovered.failures as f64),
            ("others' p50 ms in the storm", in_storm.p50),
            ("others' p99 ms in the storm", in_storm.p99),
        ],
        ..Run::default()
    }
}

fn stop(bystander: &mut Client) -> Done {
    bystander.tell("stop");
    let done: Done = serde_json::from_str(&bystander.line()).unwrap();
    assert_eq!(done.refused, 0);
    done
}
