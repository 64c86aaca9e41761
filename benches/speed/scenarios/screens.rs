//! What a client asks for when it opens, and while somebody types a name.

use std::time::Duration;

use serde_json::json;

use super::Place;
use crate::{
    http::call,
    load::Load,
    measure::{Bench, Subject, Unit},
    world::channels,
};

const ANSWERS: Unit = Unit::rate("answers/s");

/// `GET /start` of a member of an organisation of 1,000, with 200 channels and 30 direct messages.
pub fn start(bench: &mut Bench) {
    let (members, others, people) = (bench.size(1000, 40), bench.size(200, 10), bench.size(30, 3));
    let full = bench.places(members, 1).into_iter().map(|Place { build, world, server }| {
        for n in 1..=people {
            let other = json!({ "user_ids": [format!("01900000-0000-7000-8000-{n:012x}")] });
            call(server.address, &world.tokens[0], "POST", &format!("/organisations/{}/dms", world.organisation), &other);
        }
        server.stop();
        world.sql(|database| drop(channels(database, &world, others)));
        let server = world.serve();
        Place { build, world, server }
    });
    let places: Vec<Place> = full.collect();
    alone(bench, "first-screen", &places, |_| "/start".into());
}

/// The members of an organisation of 10,000 whose names begin with what somebody typed.
pub fn people(bench: &mut Bench) {
    let places = bench.places(bench.size(10_000, 40), 1);
    alone(bench, "people-10000", &places, |place| format!("/organisations/{}/users?q=u77&limit=20", place.world.organisation));
}

/// One client asks for the same again and again: nobody opens two screens at once.
fn alone(bench: &mut Bench, name: &str, places: &[Place], path: impl Fn(&Place) -> String) {
    let load = |place: &Place| Load {
        requests: vec![place.world.get(&path(place))],
        connections: 1,
        warm_up: bench.size(Duration::from_millis(500), Duration::from_millis(20)),
        measured: bench.size(Duration::from_secs(3), Duration::from_millis(300)),
        and_after: false,
    };
    let subjects = places.iter().map(|place| {
        let load = load(place);
        Subject::server(&place.build, &place.server, move |server| load.run(server.id(), server.address).0)
    });
    let subjects = subjects.collect();
    bench.turns(name, ANSWERS, subjects);
}
