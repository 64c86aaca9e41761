//! One message to many sockets.

use std::{
    cell::RefCell,
    io::Write,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use serde_json::Value;

use super::Place;
use crate::{
    clients::{Client, ids},
    http,
    limits::{Limit, frames},
    machine::{Watch, settle},
    measure::{Bench, Run, Subject, Unit},
    server::Server,
    sockets::{Plan, SENT},
    world::{TEXT, World},
};

/// Sockets that one person may have.
const EACH: usize = 100;
/// Client processes, each with a network of its own.
const PROCESSES: usize = 4;
const DELIVERIES: Unit = Unit::rate("deliveries/s");
/// Between the posts of a calm author.
const EVERY: Duration = Duration::from_millis(100);
const MILLISECONDS: Unit = Unit::cost("ms");
/// Connections of an author who floods.
const FLOODING: usize = 16;
/// Posts that are under way at once.
const IN_FLIGHT: [usize; 2] = [1, 8];

/// The next post begins when all sockets have an earlier one.
pub fn closed(bench: &mut Bench, sockets: usize) {
    let size = bench.size(sockets, sockets / 50);
    let posts = bench.size(200_000 / sockets + 20, 10);
    let places = bench.places(people(size), people(size));
    let listening = |place| RefCell::new(Listeners::new(place, size, false));
    let listeners: Vec<_> = places.iter().map(listening).collect();
    let limit = stand_in(&mut listeners[0].borrow_mut(), 0);
    let at_limit = RefCell::new(listeners[0].borrow().of(&limit));
    for in_flight in IN_FLIGHT {
        let drive = |process, listeners: &RefCell<Listeners>| drive(process, &mut listeners.borrow_mut(), posts, in_flight);
        let subjects = places.iter().zip(&listeners);
        let subjects = subjects.map(|(Place { build, server, .. }, listeners)| {
            Subject::server(build, server, move |server| drive(server.id(), listeners))
        });
        let mut subjects: Vec<Subject> = subjects.collect();
        subjects.push(Subject::limit(|| drive(limit.id(), &at_limit)));
        bench.turns(&format!("fan-out-{sockets}, in flight: {in_flight}"), DELIVERIES, subjects);
    }
}

/// Ten posts a second to so many sockets, each timed from its request to its arrival at each socket.
pub fn paced(bench: &mut Bench, sockets: usize) {
    let sockets = bench.size(sockets, sockets / 50);
    let posts = bench.size(50, 5);
    let places = bench.places(people(sockets), people(sockets));
    let subjects = places.iter().map(|place| {
        let mut listeners = Listeners::new(place, sockets, true);
        let due: Vec<Duration> = (0..posts).map(|n| EVERY * n).collect();
        Subject::server(&place.build, &place.server, move |server| pace(server.id(), &mut listeners, &due, None))
    });
    let subjects = subjects.collect();
    bench.turns(&format!("fan-out-paced, sockets: {sockets}"), MILLISECONDS, subjects);
}

/// The same, while another author posts about as fast as the rate limits let them: a burst, and then so many a second.
pub fn flood(bench: &mut Bench, sockets: usize) {
    let (burst, rate, seconds): (u32, u32, u32) = (bench.size(200, 5), 50, bench.size(5, 1));
    let refilled = bench.size(Duration::from_secs(4), Duration::ZERO); // after the round before
    let sockets = bench.size(sockets, sockets / 50);
    let limited = |Place { build, world, server }: Place| {
        server.stop();
        let server = Server::with_rate_limit(&build, &world.data(), "on");
        Place { build, world, server }
    };
    let logged_in = people(sockets).max(2);
    let places: Vec<Place> = bench.places(logged_in, logged_in).into_iter().map(limited).collect();
    let subjects = places.iter().map(|place| {
        let mut listeners = Listeners::new(place, sockets, true);
        let posts = burst + rate * seconds;
        let flood = Flood {
            author: Poster { token: place.world.tokens[1].clone(), ..listeners.poster.clone() },
            due: (0..posts).map(|n| Duration::from_secs(1) * n.saturating_sub(burst) / rate).collect(),
        };
        let due: Vec<Duration> = (0..10 * seconds).map(|n| EVERY * n).collect();
        Subject::server(&place.build, &place.server, move |server| {
            std::thread::sleep(refilled);
            pace(server.id(), &mut listeners, &due, Some(&flood))
        })
    });
    let subjects = subjects.collect();
    bench.turns(&format!("fan-out-flood, sockets: {sockets}"), MILLISECONDS, subjects);
}

pub fn people(sockets: usize) -> usize {
    sockets.div_ceil(EACH)
}

/// Client processes whose sockets listen to the channel, and who posts to it.
pub struct Listeners {
    pub clients: Vec<Client>,
    plans: Vec<Plan>,
    pub poster: Poster,
    pub sockets: usize,
}

impl Listeners {
    pub fn new(place: &Place, sockets: usize, timed: bool) -> Listeners {
        let Place { world, server, .. } = place;
        let greetings = world.greetings(server.address, people(sockets), |_| vec![world.channel.clone()]);
        Listeners::to(world, server, greetings, sockets, timed)
    }

    /// Sockets of the people with these connect commands.
    pub fn to(world: &World, server: &Server, greetings: Vec<Value>, sockets: usize, timed: bool) -> Listeners {
        let each = sockets / greetings.len();
        let plan = |(n, greetings): (usize, &[Value])| {
            let from = Ipv4Addr::new(127, 1, n as u8, 1);
            Plan { address: server.address, from, greetings: greetings.to_vec(), each, timed }
        };
        let plans = greetings.chunks(greetings.len().div_ceil(PROCESSES)).enumerate().map(plan).collect();
        let poster = Poster { address: server.address, path: world.messages(), token: world.tokens[0].clone() };
        Listeners::start(plans, poster, sockets)
    }

    fn start(plans: Vec<Plan>, poster: Poster, sockets: usize) -> Listeners {
        Listeners { clients: Client::start_all("sockets", &plans), plans, poster, sockets }
    }

    /// As many that listen to a limit instead.
    pub fn of(&self, limit: &Limit) -> Listeners {
        let from = |plan: &Plan| Ipv4Addr::from_bits(plan.from.to_bits() + (1 << 16)); // the next network
        let plans = self.plans.iter().map(|plan| Plan { address: limit.address, from: from(plan), ..plan.clone() });
        let poster = Poster { address: limit.address, ..self.poster.clone() };
        Listeners::start(plans.collect(), poster, self.sockets)
    }

    pub fn await_all(&mut self) {
        self.clients.iter_mut().for_each(|client| assert_eq!(client.line(), "all"));
    }
}

/// A limit that writes the same frames as a server to which clients listen. Each connection recovers so many messages.
pub fn stand_in(listeners: &mut Listeners, missed: usize) -> Limit {
    let request = listeners.poster.request(&marked());
    http::exchange(&mut http::connect(listeners.poster.address), request.as_bytes());
    listeners.await_all();
    let client = &mut listeners.clients[0];
    client.tell("frame");
    let (push, mut answer) = (client.line(), serde_json::from_str::<Value>(&client.greeting).unwrap());
    let publication = &serde_json::from_str::<Value>(&push).unwrap()["push"]["pub"];
    for sub in answer["connect"]["subs"].as_object_mut().unwrap().values_mut() {
        if missed > 0 {
            sub["recovered"] = Value::Bool(true);
            sub["publications"] = Value::Array(vec![publication.clone(); missed]);
        }
    }
    Limit::start("frames", &frames::Plan { answer: answer.to_string(), push })
}

/// Who posts to the channel.
#[derive(Clone)]
pub struct Poster {
    pub address: SocketAddr,
    path: String,
    token: String,
}

impl Poster {
    pub fn request(&self, text: &str) -> String {
        http::request("POST", &self.path, &self.token, &serde_json::json!({ "content": text }).to_string())
    }
}

/// A text that the sockets count.
pub fn marked() -> String {
    format!("~{}", "x".repeat(TEXT - 1))
}

/// Such a text with the time when it is sent.
pub fn timed() -> String {
    let now = jiff::Timestamp::now().as_nanosecond();
    format!("~{SENT}{now} {}", "x".repeat(TEXT - 30))
}

/// Posts in a closed loop, on as many connections as posts are under way.
fn drive(process: u32, listeners: &mut Listeners, posts: usize, in_flight: usize) -> Run {
    let (request, address) = (listeners.poster.request(&marked()), listeners.poster.address);
    let mut streams: Vec<TcpStream> = (0..in_flight).map(|_| http::connect(address)).collect();
    let watch = Watch::new(process, &ids(&listeners.clients));
    let began = Instant::now();
    for n in 0..posts + in_flight {
        let stream = &mut streams[n % in_flight];
        if n >= in_flight {
            let (status, _) = http::read_answer(stream);
            assert_eq!(status, 201);
            listeners.await_all();
        }
        if n < posts {
            stream.write_all(request.as_bytes()).unwrap();
        }
    }
    let (seconds, spent) = (began.elapsed().as_secs_f64(), watch.spent());
    let deliveries = (posts * listeners.sockets) as f64;
    Run { figure: deliveries / seconds, cpu: Some(spent.server / deliveries * 1e6), foreign: spent.foreign, ..Run::default() }
}

/// Posts whose time nobody measures.
struct Flood {
    author: Poster,
    due: Vec<Duration>,
}

impl Flood {
    /// Posts at these times, or as soon after as a connection has its former answer.
    fn run(&self, began: Instant, first: usize) {
        let mut stream = http::connect(self.author.address);
        for due in self.due.iter().skip(first).step_by(FLOODING) {
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            let (status, _) = http::exchange(&mut stream, self.author.request(&marked()).as_bytes());
            assert_eq!(status, 201);
        }
    }
}

/// Posts at these times, or as soon after as the former one is answered.
fn pace(process: u32, listeners: &mut Listeners, due: &[Duration], flood: Option<&Flood>) -> Run {
    settle(process); // it has stood still while others were measured, and indexes what it was posted before
    let watch = Watch::new(process, &ids(&listeners.clients));
    let began = Instant::now();
    std::thread::scope(|scope| {
        if let Some(flood) = flood {
            (0..FLOODING).for_each(|first| _ = scope.spawn(move || flood.run(began, first)));
        }
        let mut stream = http::connect(listeners.poster.address);
        for due in due {
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            let (status, _) = http::exchange(&mut stream, listeners.poster.request(&timed()).as_bytes());
            assert_eq!(status, 201);
        }
    });
    let flooded = flood.map_or(0, |flood| flood.due.len());
    (0..due.len() + flooded).for_each(|_| listeners.await_all());
    let spent = watch.spent();
    let mut took: Vec<u32> = Vec::new();
    for client in &mut listeners.clients {
        client.tell("times");
        took.extend(serde_json::from_str::<Vec<u32>>(&client.line()).unwrap());
    }
    took.sort_unstable();
    let at = |share: f64| f64::from(took[(took.len() as f64 * share) as usize]) / 1000.0;
    let cpu = spent.server / (took.len() + flooded * listeners.sockets) as f64 * 1e6;
    Run { figure: at(0.99), p50: Some(at(0.5)), p99: Some(at(0.99)), cpu: Some(cpu), foreign: spent.foreign, ..Run::default() }
}
