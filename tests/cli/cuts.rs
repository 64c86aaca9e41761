//! Nothing is lost and nothing comes twice, wherever the cut is: connections break, the server is ended and killed,
//! clients stay away, the log is pruned, while messages are posted, edited and deleted.
//!
//! All choices are those of `TIDINGS_CUTS_SEED`, which a failing run prints.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    entitled,
    harness::Dice,
    subscriber::Order,
    world::{Cut, SUBSCRIBERS, World},
};

/// Posts, replies, edits, deletions and the rest.
const ACTS: usize = 450;
const KILLS: usize = 4;
const RESTARTS: usize = 3;
const PRUNINGS: usize = 2;
const BREAKS: usize = 25;
const ABSENCES: usize = 6;
const LIMIT: Duration = Duration::from_secs(60);

/// Which cuts come before which act, each with its number.
type Plan = BTreeMap<usize, Vec<(usize, Cut)>>;

fn plan(dice: &mut Dice) -> Plan {
    let mut plan: BTreeMap<usize, Vec<Cut>> = BTreeMap::new();
    let mut add = |act: usize, cut: Cut| plan.entry(act).or_default().push(cut);
    for signal in std::iter::repeat_n("KILL", KILLS).chain(std::iter::repeat_n("TERM", RESTARTS)) {
        add(dice.roll(ACTS), Cut::Server(signal));
    }
    for _ in 0..BREAKS {
        let order = if dice.roll(2) == 0 { Order::Drop } else { Order::Resubscribe(dice.roll(6)) };
        add(dice.roll(ACTS), Cut::Subscriber(dice.roll(SUBSCRIBERS), order));
    }
    for absence in 0..ABSENCES + PRUNINGS {
        let (act, length) = (dice.roll(ACTS - 100), 20 + dice.roll(60));
        // Who is away when the log is cut is in nobody else's way.
        let is_pruning = absence >= ABSENCES;
        let subscriber = if is_pruning { SUBSCRIBERS - 1 - absence % PRUNINGS } else { dice.roll(SUBSCRIBERS - PRUNINGS) };
        add(act, Cut::Subscriber(subscriber, Order::Leave));
        if is_pruning {
            add(act + length, Cut::Prune);
        }
        add(act + length, Cut::Subscriber(subscriber, Order::Return));
    }
    let mut number = 0..;
    plan.into_iter().map(|(act, cuts)| (act, number.by_ref().zip(cuts).collect())).collect()
}

/// Somebody who acts, one thing after the other.
struct Lane {
    number: usize,
    dice: Dice,
    token: String,
    is_ada: bool,
    rooms: usize,
    acts: usize,
    /// Room, id and mark of what is there.
    own: Vec<(usize, String, String)>,
}

impl Lane {
    async fn run(mut self, world: Arc<World>, plan: Arc<Plan>, next: Arc<AtomicUsize>) {
        loop {
            let act = next.fetch_add(1, Ordering::SeqCst);
            if act >= ACTS {
                return;
            }
            for (number, cut) in plan.get(&act).into_iter().flatten() {
                // In their order, whichever lane they fall to: who is to be away when the log is cut has left by then.
                world.cuts.subscribe().wait_for(|done| done == number).await.expect("cuts go on");
                world.cut(*cut).await;
                world.cuts.send_replace(number + 1);
            }
            self.act(&world).await;
        }
    }

    async fn act(&mut self, world: &World) {
        self.acts += 1;
        let room = self.dice.roll(self.rooms);
        let channel = &world.rooms[room].channel;
        match self.dice.roll(100) {
            0..50 => self.post(world, room, None).await,
            50..75 => self.post(world, room, Some(&world.rooms[room].thread)).await,
            75..83 if !self.own.is_empty() => {
                let (room, id, mark) = &self.own[self.dice.roll(self.own.len())];
                let body = json!({ "message_id": id, "content": format!("{mark} edited for the {}th time", self.acts) });
                let path = format!("/channels/{}/messages", world.rooms[*room].channel);
                world.expect(Method::PUT, &path, &self.token, body, [200, 200]).await;
            }
            83..89 if !self.own.is_empty() => {
                let (room, id, mark) = self.own.swap_remove(self.dice.roll(self.own.len()));
                let path = format!("/channels/{}/messages/{id}", world.rooms[room].channel);
                world.expect(Method::DELETE, &path, &self.token, json!({}), [200, 404]).await;
                world.deleted.lock().unwrap().push(mark);
            }
            89..93 if self.is_ada => {
                let body = json!({ "topic": format!("{} {}", self.number, self.acts) });
                world.expect(Method::PATCH, &format!("/channels/{channel}"), &self.token, body, [200, 200]).await;
            }
            93..95 if self.is_ada => world.change_role(["member", "guest"][self.dice.roll(2)]).await,
            95..97 if self.is_ada => {
                let user = &world.subscribers[self.dice.roll(SUBSCRIBERS)].0;
                world.add(&format!("extra {} {}", self.number, self.acts), &[user]).await;
            }
            _ => {
                let reader = &world.subscribers[self.dice.roll(SUBSCRIBERS)].1;
                let path = format!("/channels/{}/read", world.rooms[0].channel);
                world.expect(Method::PUT, &path, reader, json!({}), [200, 200]).await;
            }
        }
    }

    async fn post(&mut self, world: &World, room: usize, thread: Option<&String>) {
        let mention = match self.dice.roll(10) {
            0 => " @channel".to_owned(),
            1..=3 => format!(" @s{}", self.dice.roll(SUBSCRIBERS)),
            _ => String::new(),
        };
        let (id, mark) = (uuid::Uuid::now_v7().to_string(), format!("<{}-{}>", self.number, self.acts));
        let body = json!({ "id": id, "content": format!("{mark}{mention}"), "thread_id": thread });
        let channel = &world.rooms[room].channel;
        world.expect(Method::POST, &format!("/channels/{channel}/messages"), &self.token, body, [201, 201]).await;
        world.posted.lock().unwrap().push((thread.unwrap_or(channel).clone(), id.clone()));
        self.own.push((room, id, mark));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[expect(clippy::disallowed_methods, reason = "the seed of a run that is to be repeated")]
async fn a_recovered_client_loses_and_repeats_nothing_wherever_the_connection_was_cut() {
    let seed = match std::env::var("TIDINGS_CUTS_SEED") {
        Ok(seed) => seed.parse().expect("a number"),
        Err(_) => SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros() as u64,
    };
    eprintln!("TIDINGS_CUTS_SEED={seed}");
    tokio::time::timeout(LIMIT, run(seed)).await.expect("it does not come to an end");
}

async fn run(seed: u64) {
    let mut dice = Dice(seed);
    let plan = Arc::new(plan(&mut dice));
    let mut world = World::make().await;
    let mut listening = JoinSet::new();
    for n in 0..SUBSCRIBERS {
        world.listen(n, &mut listening).await;
    }
    let (world, next) = (Arc::new(world), Arc::new(AtomicUsize::new(0)));
    let mut lanes = JoinSet::new();
    for number in 0..4 {
        let is_ada = number < 2;
        let token = if is_ada { world.ada.clone() } else { world.subscribers[number - 2].1.clone() };
        let (dice, rooms) = (Dice(dice.roll(usize::MAX) as u64), if number == 3 { 1 } else { 2 });
        let lane = Lane { number, dice, token, is_ada, rooms, acts: 0, own: Vec::new() };
        lanes.spawn(lane.run(world.clone(), plan.clone(), next.clone()));
    }
    lanes.join_all().await;
    world.end().await;
    for subscriber in 0..SUBSCRIBERS {
        world.order(subscriber, Order::Finish).await;
    }
    let subscribers = listening.join_all().await;

    world.log.lock().unwrap().read(&entitled::open(world.folder.path()));
    for (stream, id) in world.posted.lock().unwrap().iter() {
        assert_eq!(world.log.lock().unwrap().count(stream, id), 1, "{id} was answered");
    }
    for subscriber in &subscribers {
        let n: usize = subscriber.name[1..].parse().unwrap();
        world.check(subscriber, &world.subscribers[n].1).await;
    }
    let streams = || subscribers.iter().flat_map(|subscriber| &subscriber.streams);
    let (heard, caught_up, gaps) = (
        streams().map(|stream| stream.heard.len()).sum::<usize>(),
        streams().map(|stream| stream.caught_up).sum::<usize>(),
        streams().map(|stream| stream.gaps.len()).sum::<usize>(),
    );
    eprintln!("{heard} publications, {caught_up} of them caught up with, and {gaps} gaps");
    assert!(caught_up > 100 && gaps > 0, "the cuts were none");
}
