//! Work beside the requests: deliveries of webhooks, the search index, and password hashes.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::json;

use super::{Place, fan_out::timed};
use crate::{
    clients::Client,
    http::{call, request},
    limits::hash,
    load::Load,
    machine::Watch,
    measure::{Bench, Run, Subject, Unit},
    receiver,
    requests::{Done, Plan},
    server::{Build, Server},
    world::{self, COMMON, RARE, World, behind, credentials, unindex},
};

const DELIVERIES: Unit = Unit::rate("deliveries/s");
const MILLISECONDS: Unit = Unit::cost("ms");
const LOG_INS: Unit = Unit::rate("log-ins/s");
const RECEIVERS: usize = 8;

/// What webhooks deliver to one process, out of a short and a long queue.
pub fn deliveries(bench: &mut Bench) {
    let measured = bench.size(18_000, 400);
    for queued in bench.size([20_000, 200_000], [500, 1000]) {
        let builds = bench.builds.clone();
        let subjects = builds.iter().map(|build| Subject::build(build, move || deliver(build, queued, measured)));
        let subjects = subjects.collect();
        bench.turns(&format!("deliveries, queued: {queued}"), DELIVERIES, subjects);
    }
}

/// From the request of a post to its arrival at the one webhook of its channel, while nothing else happens.
pub fn delivery(bench: &mut Bench) {
    let (posts, places) = (bench.size(200, 10), bench.places(1, 1));
    let subjects = places.iter().map(|Place { build, world, server }| {
        let mut receiver = Client::start("receiver", &receiver::Plan {});
        let body = json!({ "webhook_name": "out", "webhook_url": format!("http://{}/", receiver.greeting) });
        call(server.address, &world.tokens[0], "POST", &format!("/webhooks/{}", world.channel), &body);
        Subject::server(build, server, move |server| {
            let (mut took, watch) = (Vec::new(), Watch::new(server.id(), &[receiver.id()]));
            for _ in 0..posts {
                let post = json!({ "content": timed() });
                call(server.address, &world.tokens[0], "POST", &format!("/channels/{}/messages", world.channel), &post);
                std::thread::sleep(Duration::from_millis(20));
            }
            let spent = watch.spent();
            while took.len() < posts {
                receiver.tell("times");
                took.extend(serde_json::from_str::<Vec<u32>>(&receiver.line()).unwrap());
            }
            took.sort_unstable();
            let at = |share: f64| f64::from(took[(took.len() as f64 * share) as usize]) / 1000.0;
            let cpu = Some(spent.server / posts as f64 * 1e6);
            Run { figure: at(0.5), p50: Some(at(0.5)), p99: Some(at(0.99)), cpu, foreign: spent.foreign, ..Run::default() }
        })
    });
    let subjects = subjects.collect();
    bench.turns("delivery", MILLISECONDS, subjects);
}

fn deliver(build: &Build, queued: usize, measured: usize) -> Run {
    let (world, server) = World::new(build, 1, 1);
    let mut receiver = Client::start("receiver", &receiver::Plan {});
    let url = format!("http://{}/", receiver.greeting);
    let (channel, token) = (&world.channel, &world.tokens[0]);
    let statuses: Vec<String> = (0..RECEIVERS)
        .map(|_| {
            let body = json!({ "webhook_name": "out", "webhook_url": url });
            let made = call(server.address, token, "POST", &format!("/webhooks/{channel}"), &body);
            format!("/webhooks/{channel}/{}/change-status", world::text(&made["data"]["id"]))
        })
        .collect();
    let set = |server: &Server, status: &str| {
        for path in &statuses {
            call(server.address, token, "PUT", path, &json!({ "webhook_status": status }));
        }
    };
    set(&server, "paused");
    call(server.address, token, "POST", &format!("/channels/{channel}/messages"), &json!({ "content": "x".repeat(200) }));
    let database = Connection::open(world.database()).unwrap();
    let waiting = || database.query_row("select count(*) from deliveries", [], |row| row.get::<_, i64>(0)).unwrap();
    while waiting() < RECEIVERS as i64 {
        std::thread::sleep(Duration::from_millis(1)); // the post is queued after its answer
    }
    drop(database);
    server.stop();
    world.sql(|database| multiply(database, queued / RECEIVERS));
    let server = world.serve();
    let received = |receiver: &mut Client| {
        receiver.tell("count");
        receiver.line().parse::<usize>().unwrap()
    };
    let watch = Watch::new(server.id(), &[receiver.id()]);
    set(&server, "active");
    let mut count = 0;
    while count < measured {
        std::thread::sleep(Duration::from_millis(5));
        count = received(&mut receiver);
    }
    let (spent, count) = (watch.spent(), count as f64);
    let cpu = Some(spent.server / count * 1e6);
    Run { figure: count / spent.seconds, cpu, foreign: spent.foreign, ..Run::default() }
}

/// Queues copies of each webhook's one event, with identifiers in the order of time, as real ones are.
fn multiply(database: &Connection, copies: usize) {
    // Servers of before know an event by its message.
    let (n, event_n) =
        if database.prepare("select event_n from deliveries").is_ok() { ("n", "event_n") } else { ("message_n", "message_n") };
    let series = "with recursive copies (k) as (select 1 union all select k + 1 from copies where k < ?1)";
    for sql in [
        format!("insert into webhook_events ({n}, payload) {series} select {n} + k, payload from copies, webhook_events"),
        format!(
            "insert into deliveries (id, webhook_id, {event_n}, due_at, created_at) {series}
             select unhex(printf('%012x%s', created_at / 1000 + k, hex(randomblob(10)))), webhook_id, {event_n} + k, due_at, created_at
             from copies, deliveries"
        ),
    ] {
        database.execute(&sql, [copies as i64 - 1]).unwrap();
    }
}

/// The index of a million messages, and searches in it for a word that most of them have, and for one that few have.
pub fn search(bench: &mut Bench) {
    let (large, builds) = (bench.large(), bench.builds.clone());
    let servers = large.iter().map(|large| {
        large.world.sql(unindex);
        large.world.serve()
    });
    let servers: Vec<Server> = servers.collect();
    let subjects = builds
        .iter()
        .zip(large.iter())
        .zip(&servers)
        .map(|((build, large), server)| Subject::server(build, server, move |server| index(&large.world, server)));
    let (subjects, rounds) = (subjects.collect(), std::mem::replace(&mut bench.rounds, 1)); // it is filled once
    bench.turns("search-index", Unit::rate("messages/s"), subjects);
    bench.rounds = rounds;
    for (what, word) in [("common", COMMON), ("rare", RARE), ("in no message", "xylophone")] {
        let measured = bench.size(Duration::from_secs(3), Duration::from_millis(100));
        let subjects = builds.iter().zip(large.iter()).zip(&servers).map(|((build, large), server)| {
            let requests = vec![large.world.get(&format!("/organisations/{}/search?q={word}", large.world.organisation))];
            let load = Load { requests, connections: 1, warm_up: Duration::from_millis(50), measured, and_after: false };
            Subject::server(build, server, move |server| {
                let (mut run, done) = load.run(server.id(), server.address);
                run.figure = done.p50;
                run.notes.push(("p95 ms", done.p95));
                run
            })
        });
        let subjects = subjects.collect();
        bench.turns(&format!("search, word: {what}"), MILLISECONDS, subjects);
    }
}

fn index(world: &World, server: &Server) -> Run {
    let database = Connection::open(world.database()).unwrap();
    let (all, watch) = (behind(&database), Watch::new(server.id(), &[]));
    while behind(&database) > 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (spent, all) = (watch.spent(), all.max(1) as f64);
    Run { figure: all / spent.seconds, cpu: Some(spent.server / all * 1e6), foreign: spent.foreign, ..Run::default() }
}

/// Many log in at once. The limit is the hash of their passwords on all cores.
pub fn log_in(bench: &mut Bench) {
    let people = bench.size(64, 4);
    let places = bench.places(people, 1);
    let measured = bench.size(Duration::from_secs(2), Duration::from_millis(400));
    let subjects = places.iter().map(|place| {
        let other = place.world.get("/users/me");
        Subject::server(&place.build, &place.server, move |server| storm(server, &other, people))
    });
    let mut subjects: Vec<Subject> = subjects.collect();
    subjects.push(Subject::limit(|| {
        let mut client = Client::start("hash", &hash::Plan {});
        let watch = Watch::new(client.id(), &[]);
        std::thread::sleep(measured);
        let spent = watch.spent();
        client.tell("stop");
        let hashes = client.line().parse::<f64>().unwrap().max(1.0);
        let cpu = Some(spent.server / hashes * 1e6);
        Run { figure: hashes / spent.seconds, cpu, foreign: spent.foreign, ..Run::default() }
    }));
    bench.turns(&format!("log-in, at once: {people}"), LOG_INS, subjects);
}

fn storm(server: &Server, other: &str, people: usize) -> Run {
    let body = |n| credentials(n).to_string();
    let requests = (0..people).map(|n| request("POST", "/api/v1/auth/login", "", &body(n))).collect();
    let plan = |requests, connections, pause, once| Plan { address: server.address, connections, requests, pause, once };
    let mut clients = Client::start("requests", &plan(requests, people, 0, true));
    let mut bystander = Client::start("requests", &plan(vec![other.to_owned()], 1, 2, false));
    let watch = Watch::new(server.id(), &[clients.id(), bystander.id()]);
    let began = Instant::now();
    bystander.tell("count");
    clients.tell("count");
    let done: Done = serde_json::from_str(&clients.line()).unwrap();
    let (seconds, spent) = (began.elapsed().as_secs_f64(), watch.spent());
    bystander.tell("stop");
    let others: Done = serde_json::from_str(&bystander.line()).unwrap();
    let logged_in = (done.all - done.refused) as f64;
    let notes = vec![("refused", done.refused as f64), ("others' p50 ms", others.p50), ("others' p99 ms", others.p99)];
    Run {
        figure: logged_in / seconds,
        p50: Some(done.p50),
        p99: Some(done.p99),
        cpu: Some(spent.server / logged_in * 1e6),
        foreign: spent.foreign,
        notes,
        ..Run::default()
    }
}
