//! A client process with many sockets. It says when all of them have the next message, how long messages were under way, and
//! how long it takes until all have recovered after they were cut off together.

use std::{
    cell::RefCell,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    rc::Rc,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::{
    sync::{Semaphore, mpsc},
    task::{JoinSet, LocalSet},
};

use super::{
    clients::say,
    socket::{Socket, recovered},
};

#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    pub address: SocketAddr,
    /// The address of the first person; the others have the next ones. With many sockets of one address, the kernel takes
    /// long to find a free port, and the bench would measure that.
    pub from: Ipv4Addr,
    /// A connect command for each person.
    pub greetings: Vec<Value>,
    /// Sockets of each person.
    pub each: usize,
    /// Whether each message has the time when it was sent, as nanoseconds after [`SENT`].
    pub timed: bool,
}

impl Plan {
    /// The address from which a person connects.
    fn person(&self, n: usize) -> IpAddr {
        Ipv4Addr::from_bits(self.from.to_bits() + n as u32).into()
    }
}

/// Stands in the text of a message before the time when it was sent.
pub const SENT: &str = "sent:";
/// A publication has its message's text under two names.
const TEXTS: usize = 2;
/// Sockets that are opened at once before the measurement.
const OPENING: usize = 32;
/// A client whose connection failed tries again after this.
const AGAIN: Duration = Duration::from_millis(200);

/// What all sockets of the process have seen together.
#[derive(Default)]
struct Seen {
    /// How many sockets have the first, the second message, and so on, since the process began.
    levels: Vec<usize>,
    microseconds: Vec<u32>,
    /// The latest frame of one of them.
    frame: String,
}

/// What came of a recovery.
#[derive(Serialize, Deserialize, Default)]
pub struct Recovered {
    pub seconds: f64,
    pub messages: usize,
    /// Sockets that were told that they could not recover.
    pub unrecovered: usize,
    /// Connections that were refused, cut off or closed before they had everything.
    pub failures: usize,
}

pub fn play(plan: Plan) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(LocalSet::new().run_until(obey(Rc::new(plan))));
    std::process::exit(0);
}

async fn obey(plan: Rc<Plan>) {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let (words, mut input) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        _ = std::io::stdin().lines().map_while(Result::ok).try_for_each(|line| words.send(line));
        std::process::exit(0); // the bench has ended, and nobody waits for what the sockets still do
    });
    let mut greetings = plan.greetings.clone();
    let (mut tasks, greeting) = open(&plan, &seen).await;
    remember(&mut greetings, &greeting);
    say(&greeting);
    while let Some(words) = input.recv().await {
        match words.split_once(' ').unwrap_or((&words, "")) {
            ("drop", _) => {
                tasks.shutdown().await;
                advance(&mut greetings, &std::mem::take(&mut seen.borrow_mut().frame));
                say("dropped");
            }
            ("recover", messages) => {
                let (sockets, recovered, greeting) = recover(&plan, &greetings, messages.parse().unwrap()).await;
                remember(&mut greetings, &greeting);
                for socket in sockets {
                    tasks.spawn_local(listen(socket, plan.clone(), seen.clone(), 0, tasks.is_empty()));
                }
                say(&serde_json::to_string(&recovered).unwrap());
            }
            ("frame", _) => say(&seen.borrow().frame),
            ("times", _) => {
                let took = std::mem::take(&mut seen.borrow_mut().microseconds);
                say(&serde_json::to_string(&took).unwrap());
            }
            _ => panic!("unknown: {words}"),
        }
    }
}

/// Opens all sockets; gives the answer to one of the connect commands.
async fn open(plan: &Rc<Plan>, seen: &Rc<RefCell<Seen>>) -> (JoinSet<()>, String) {
    let (mut opening, mut tasks) = (JoinSet::new(), JoinSet::new());
    let slots = Rc::new(Semaphore::new(OPENING));
    for (n, greeting) in plan.greetings.iter().enumerate() {
        for _ in 0..plan.each {
            let (plan, slots, command) = (plan.clone(), slots.clone(), greeting.to_string());
            opening.spawn_local(async move {
                let _slot = slots.acquire().await.unwrap();
                let mut socket = Socket::open(plan.address, plan.person(n), &command).await.unwrap();
                let answer = String::from_utf8(socket.message().await.unwrap().0.to_vec()).unwrap();
                (socket, answer)
            });
        }
    }
    let (mut last, sockets) = (String::new(), plan.greetings.len() * plan.each);
    while let Some(opened) = opening.join_next().await {
        let (socket, answer) = opened.unwrap();
        tasks.spawn_local(listen(socket, plan.clone(), seen.clone(), sockets, tasks.is_empty()));
        last = answer;
    }
    (tasks, last)
}

/// For each time in a text when it was sent, the microseconds since then.
pub fn times(text: &[u8]) -> impl Iterator<Item = u32> {
    let now = jiff::Timestamp::now().as_nanosecond();
    let sent = std::str::from_utf8(text).unwrap_or_default().split(SENT).skip(1);
    sent.map(move |sent| {
        let digits = sent.find(|c: char| !c.is_ascii_digit()).unwrap_or(sent.len());
        u32::try_from((now - sent[..digits].parse::<i128>().unwrap()) / 1000).unwrap()
    })
}

/// Counts what arrives at one socket. The one that completes a message on all of `sockets` says so.
async fn listen(mut socket: Socket, plan: Rc<Plan>, seen: Rc<RefCell<Seen>>, sockets: usize, is_first: bool) {
    let mut heard = 0;
    while let Ok((frame, pushes)) = socket.message().await {
        let seen = &mut *seen.borrow_mut();
        if is_first {
            seen.frame = String::from_utf8_lossy(frame).into_owned();
        }
        if plan.timed {
            seen.microseconds.extend(times(frame).step_by(TEXTS));
        }
        for _ in 0..pushes {
            if seen.levels.len() == heard {
                seen.levels.push(0);
            }
            seen.levels[heard] += 1;
            heard += 1;
            if seen.levels[heard - 1] == sockets {
                say("all");
            }
        }
    }
}

/// Lets all sockets connect at once and wait until each has so many messages.
async fn recover(plan: &Rc<Plan>, greetings: &[Value], messages: usize) -> (Vec<Socket>, Recovered, String) {
    let (began, mut all) = (Instant::now(), JoinSet::new());
    for (n, greeting) in greetings.iter().enumerate() {
        for _ in 0..plan.each {
            all.spawn_local(recover_one(plan.clone(), n, greeting.to_string(), messages));
        }
    }
    let (mut sockets, mut greeting, mut recovered) = (Vec::new(), String::new(), Recovered::default());
    while let Some(one) = all.join_next().await {
        let (socket, answer, one) = one.unwrap();
        recovered.messages += one.messages;
        recovered.unrecovered += one.unrecovered;
        recovered.failures += one.failures;
        sockets.push(socket);
        greeting = answer;
    }
    recovered.seconds = began.elapsed().as_secs_f64();
    (sockets, recovered, greeting)
}

async fn recover_one(plan: Rc<Plan>, n: usize, command: String, messages: usize) -> (Socket, String, Recovered) {
    let mut recovered = Recovered::default();
    loop {
        match attempt(&plan, n, &command, messages).await {
            Ok((socket, answer, heard)) => {
                recovered.messages = heard;
                recovered.unrecovered = usize::from(!answer.contains(r#""recovered":true"#));
                return (socket, answer, recovered);
            }
            Err(_) => recovered.failures += 1,
        }
        tokio::time::sleep(AGAIN).await;
    }
}

async fn attempt(plan: &Plan, n: usize, command: &str, messages: usize) -> std::io::Result<(Socket, String, usize)> {
    let mut socket = Socket::open(plan.address, plan.person(n), command).await?;
    let answer = String::from_utf8_lossy(socket.message().await?.0).into_owned();
    let mut heard = recovered(answer.as_bytes());
    if answer.contains(r#""recovered":true"#) {
        while heard < messages {
            heard += socket.message().await?.1;
        }
    }
    Ok((socket, answer, heard))
}

/// Puts the position of an answer's subscriptions into the commands, for the next recovery. All streams count in one log, so that
/// the highest offset is good for each.
fn remember(greetings: &mut [Value], answer: &str) {
    let answer: Value = serde_json::from_str(answer).unwrap();
    let Some(subs) = answer["connect"]["subs"].as_object() else { return };
    let last = |sub: &Value| {
        let last = sub["publications"].as_array().and_then(|publications| publications.last());
        last.unwrap_or(sub)["offset"].as_u64().unwrap_or(0) // left out in JSON if it is 0
    };
    let (Some(sub), Some(offset)) = (subs.values().next(), subs.values().map(last).max()) else { return };
    for asked in asked_for(greetings) {
        asked["recover"] = Value::Bool(true);
        asked["epoch"] = sub["epoch"].clone();
        asked["offset"] = offset.into();
    }
}

/// Puts the position of the latest publication of a frame into the commands, if there is one.
fn advance(greetings: &mut [Value], frame: &str) {
    let Some(line) = frame.lines().last() else { return };
    let push = serde_json::from_str::<Value>(line).unwrap()["push"].take();
    asked_for(greetings).for_each(|asked| asked["offset"] = push["pub"]["offset"].clone());
}

/// The subscriptions of all commands.
fn asked_for(greetings: &mut [Value]) -> impl Iterator<Item = &mut Value> {
    let subs = greetings.iter_mut().filter_map(|greeting| greeting["connect"]["subs"].as_object_mut());
    subs.flat_map(|subs| subs.values_mut())
}
