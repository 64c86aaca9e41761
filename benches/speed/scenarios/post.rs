//! Posts, each on disk before its answer.

use std::time::Duration;

use super::Place;
use crate::{
    limits::{Limit, insert},
    load::Load,
    machine::written,
    measure::{Bench, Run, Subject, Unit},
};

/// Members who post, where there are so many.
const POSTERS: usize = 20;
const CONNECTIONS: usize = 32;
const POSTS: Unit = Unit::rate("posts/s");

/// At 32 connections, in channels with few and many members.
pub fn post(bench: &mut Bench) {
    for members in [1, 20, bench.size(1000, 50)] {
        measure(bench, &format!("post, members: {members}"), members, CONNECTIONS);
    }
}

/// At one connection: what one person waits.
pub fn alone(bench: &mut Bench) {
    measure(bench, "post-alone", 1, 1);
}

/// The time of a post against the number of connections.
pub fn by_load(bench: &mut Bench) {
    for connections in bench.size(vec![1, 4, 16, 64, 256], vec![1, 4]) {
        measure(bench, &format!("post-load, connections: {connections}"), 20, connections);
    }
}

fn measure(bench: &mut Bench, name: &str, members: usize, connections: usize) {
    let places = bench.places(members, members.min(POSTERS));
    let load = |requests| Load {
        requests,
        connections,
        warm_up: bench.size(Duration::from_millis(500), Duration::from_millis(20)),
        measured: bench.size(Duration::from_secs(3), Duration::from_millis(200)),
        and_after: !bench.tiny,
    };
    let folder = tempfile::tempdir().unwrap();
    let limit = Limit::start("insert", &insert::Plan { database: folder.path().join("limit.db") });
    let bare = load(places[0].world.posts(POSTERS));
    let subjects = places.iter().map(|Place { build, world, server }| {
        let load = load(world.posts(POSTERS));
        Subject::server(build, server, move |server| run(&load, server.id(), server.address))
    });
    let mut subjects: Vec<Subject> = subjects.collect();
    subjects.push(Subject::limit(|| run(&bare, limit.id(), limit.address)));
    bench.turns(name, POSTS, subjects);
}

/// A load of posts, and what each brings to the disk.
fn run(load: &Load, process: u32, address: std::net::SocketAddr) -> Run {
    let before = written(process);
    let (mut run, done) = load.run(process, address);
    run.notes = vec![("bytes written each", (written(process) - before) / done.all as f64)];
    run
}
