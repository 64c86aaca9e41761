//! Answers that only read: small ones, and lists in a large database.

use std::time::Duration;

use super::lists as limits;
use crate::{
    http,
    large::Large,
    limits::{Limit, constant, select},
    load::Load,
    measure::{Bench, Subject, Unit},
    server::Server,
    world::blob,
};

const ANSWERS: Unit = Unit::rate("answers/s");

/// The newest 50 of a thousand, of more, and of a million.
pub fn newest(bench: &mut Bench) {
    for (size, channel) in [
        ("1,000", (|large| &large.small) as fn(&Large) -> &String),
        (bench.size("30,000", "1,500"), |large| &large.middle),
        (bench.size("1,000,000", "2,000"), |large| &large.world.channel),
    ] {
        measure(bench, &format!("newest-50 of {size}"), |large| {
            let channel = channel(large);
            let rule = format!("m.channel_id = {} and m.root is null", blob(channel));
            (format!("/channels/{channel}/messages"), vec![limits::messages(&rule, 50)])
        });
    }
}

pub fn own_account(bench: &mut Bench) {
    measure(bench, "own-account", |_| ("/users/me".into(), Vec::new()));
}

pub fn channel(bench: &mut Bench) {
    measure(bench, "channel", |large| (format!("/channels/{}", large.world.channel), Vec::new()));
}

/// The caller's 200 channels, each with its unread counts.
pub fn channels(bench: &mut Bench) {
    measure(bench, "channels-200", |large| {
        let path = format!("/organisations/{}/user-channels", large.world.organisation);
        (path, vec![limits::channels(&large.world.organisation)])
    });
}

/// Fifty threads with five replies each, and the same without their replies.
pub fn threads(bench: &mut Bench) {
    measure(bench, "threads", |large| (format!("/threads/channels/{}", large.talks), limits::threads(&large.talks)));
    measure(bench, "threads, replies: 0", |large| {
        let mut sql = limits::threads(&large.talks);
        sql.truncate(1);
        (format!("/threads/channels/{}?messages=0", large.talks), sql)
    });
}

/// A page of 200 members.
pub fn members(bench: &mut Bench) {
    measure(bench, "members", |large| {
        let channel = &large.world.channel;
        (format!("/channels/{channel}/users?limit=200"), vec![limits::members(channel)])
    });
}

/// Measures a path. Its limit is the select of its rows, if there are any, and a constant answer of its size.
fn measure(bench: &mut Bench, name: &str, path: impl Fn(&Large) -> (String, Vec<String>)) {
    let builds = bench.builds.clone();
    let large = bench.large();
    let servers: Vec<Server> = large.iter().map(|large| large.world.serve()).collect();
    let load = |request| Load {
        requests: vec![request],
        connections: bench.size(32, 2),
        warm_up: bench.size(Duration::from_millis(500), Duration::from_millis(20)),
        measured: bench.size(Duration::from_secs(3), Duration::from_millis(300)),
        and_after: false,
    };
    let first = large[0].world.get(&path(&large[0]).0);
    let (_, answer) = http::exchange(&mut http::connect(servers[0].address), first.as_bytes());
    let constant = Limit::start("constant", &constant::Plan { bytes: answer.len() });
    let constantly = load(http::request("GET", "/constant", "", ""));
    let rows = select::Plan { database: large[0].world.database(), sql: path(&large[0]).1 };
    let subjects = builds.iter().zip(large.iter()).zip(&servers).map(|((build, large), server)| {
        let load = load(large.world.get(&path(large).0));
        Subject::server(build, server, move |server| load.run(server.id(), server.address).0)
    });
    let mut subjects: Vec<Subject> = subjects.collect();
    subjects.push(Subject::limit(|| limits::run(&rows, &constantly, &constant)));
    bench.turns(name, ANSWERS, subjects);
}
