//! What the server takes without being asked for anything: memory, time to start, space on the disk.

use std::{
    fs,
    time::{Duration, Instant},
};

use rusqlite::Connection;

use super::{
    Place,
    fan_out::{Listeners, people},
};
use crate::{
    http::{connect, exchange, request},
    load::Load,
    machine::status,
    measure::{Bench, Run, Subject, Unit},
    server::{Build, Server},
    world::{World, behind, personal},
};

const KIBIBYTES: Unit = Unit::cost("KiB each");
const MILLISECONDS: Unit = Unit::cost("ms");
const BYTES: Unit = Unit::cost("bytes each");
/// Answers that a server has given before its memory is looked at again.
const ANSWERS: usize = 1000;

/// Resident memory of a socket that listens to its user, its organisation and a channel, and hears nothing.
pub fn idle(bench: &mut Bench) {
    let sockets = bench.size(10_000, 200);
    let places = bench.places(people(sockets), people(sockets));
    let wait = bench.size(Duration::from_secs(30), Duration::ZERO); // one ping each
    let subjects = places.into_iter().map(|Place { build, world, server }| {
        let greetings = world.greetings(server.address, people(sockets), |n| {
            vec![personal(&world, server.address, n), world.organisation.clone(), world.channel.clone()]
        });
        server.stop();
        Subject::build(&build.clone(), move || {
            // A new one, since the memory that hashed passwords would hold the connections.
            let server = world.serve();
            let before = resident(&server);
            let listeners = Listeners::to(&world, &server, greetings.clone(), sockets, false);
            let opened = resident(&server);
            std::thread::sleep(wait);
            let after = resident(&server);
            drop(listeners);
            let each = |memory: f64| (memory - before) / sockets as f64;
            let notes = vec![("when opened", each(opened)), ("all MiB", after / 1024.0)];
            Run { figure: each(after), notes, ..Run::default() }
        })
    });
    let subjects = subjects.collect();
    bench.turns(&format!("idle-socket, sockets: {sockets}"), KIBIBYTES, subjects);
}

/// From the start of the process to its first answer, with nothing and with a million messages.
pub fn start(bench: &mut Bench) {
    let builds = bench.builds.clone();
    let subjects = builds.iter().map(|build| {
        Subject::build(build, || {
            let folder = tempfile::tempdir().unwrap();
            started(|| Server::start(build, &folder.path().join("data")))
        })
    });
    let subjects = subjects.collect();
    bench.turns("start, empty", MILLISECONDS, subjects);
    let large = bench.large();
    let subjects =
        builds.iter().zip(large.iter()).map(|(build, large)| Subject::build(build, || started(|| large.world.serve())));
    let subjects = subjects.collect();
    bench.turns(bench.size("start, 1,000,000 messages", "start, 2,000 messages"), MILLISECONDS, subjects);
}

fn started(start: impl Fn() -> Server) -> Run {
    let began = Instant::now();
    let server = start();
    let get = |path: &str| {
        let (status, _) = exchange(&mut connect(server.address), request("GET", path, "", "").as_bytes());
        assert_eq!(status, 200, "{path}");
    };
    get("/health");
    let took = began.elapsed();
    let fresh = resident(&server);
    get("/docs");
    get("/api/v1/openapi.json");
    for _ in 0..ANSWERS {
        get("/health");
    }
    let notes = vec![("MiB", fresh / 1024.0), ("MiB after the docs and 1,000 answers", resident(&server) / 1024.0)];
    Run { figure: took.as_secs_f64() * 1000.0, notes, ..Run::default() }
}

pub fn resident(server: &Server) -> f64 {
    status(server.id(), "VmRSS")
}

/// The size of the database file for each post, with its events and the search index.
pub fn disk(bench: &mut Bench) {
    let (posts, tiny) = (bench.size(100_000, 500), bench.tiny);
    let builds = bench.builds.clone();
    let subjects = builds.iter().map(|build| Subject::build(build, move || size(build, posts, tiny)));
    let rounds = std::mem::replace(&mut bench.rounds, 1); // every round is the same
    let subjects = subjects.collect();
    bench.turns(&format!("disk, posts: {posts}"), BYTES, subjects);
    bench.rounds = rounds;
}

fn size(build: &Build, posts: usize, tiny: bool) -> Run {
    let (world, server) = World::new(build, 20, 20);
    let before = fs::metadata(world.database()).unwrap().len();
    let second = Duration::from_millis(if tiny { 100 } else { 1000 });
    let load = Load { requests: world.posts(20), connections: 32, warm_up: Duration::ZERO, measured: second, and_after: false };
    let mut posted = 0;
    while posted < posts {
        posted += load.run(server.id(), server.address).1.all;
    }
    let database = Connection::open(world.database()).unwrap();
    while behind(&database) > 0 {
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(database);
    server.stop();
    world.sql(|_| ());
    let bytes = fs::metadata(world.database()).unwrap().len() - before;
    Run { figure: bytes as f64 / posted as f64, ..Run::default() }
}
