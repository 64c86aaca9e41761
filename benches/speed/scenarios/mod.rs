//! The scenarios, each beside its limit.

mod background;
mod crowd;
mod fan_out;
mod footprint;
mod lists;
mod mixed;
mod post;
mod reads;
mod screens;
mod storm;

use super::{
    measure::Bench,
    server::{Build, Server},
    world::World,
};

type Scenario = (&'static str, fn(&mut Bench));

/// In the order in which they run.
pub const ALL: &[Scenario] = &[
    ("post", post::post),
    ("post-alone", post::alone),
    ("post-load", post::by_load),
    ("newest-50", reads::newest),
    ("own-account", reads::own_account),
    ("channel", reads::channel),
    ("channels-200", reads::channels),
    ("threads", reads::threads),
    ("members", reads::members),
    ("first-screen", screens::start),
    ("people", screens::people),
    ("fan-out-100", |bench| fan_out::closed(bench, 100)),
    ("fan-out-1000", |bench| fan_out::closed(bench, 1000)),
    ("fan-out-10000", |bench| fan_out::closed(bench, 10_000)),
    ("fan-out-paced-100", |bench| fan_out::paced(bench, 100)),
    ("fan-out-paced-1000", |bench| fan_out::paced(bench, 1000)),
    ("fan-out-flood-1000", |bench| fan_out::flood(bench, 1000)),
    ("fan-out-flood-10000", |bench| fan_out::flood(bench, 10_000)),
    ("storm-1000", |bench| storm::storm(bench, 1000)),
    ("storm-5000", |bench| storm::storm(bench, 5000)),
    ("storm-10000", |bench| storm::storm(bench, 10_000)),
    ("idle-socket", footprint::idle),
    ("crowd", crowd::crowd),
    ("start", footprint::start),
    ("disk", footprint::disk),
    ("delivery", background::delivery),
    ("deliveries", background::deliveries),
    ("log-in", background::log_in),
    ("mixed", mixed::mixed),
    ("search", background::search), // at the end, since it changes the large world
];

/// A world for each build, on a server of its own.
struct Place {
    build: Build,
    world: World,
    server: Server,
}

impl Bench {
    fn places(&self, members: usize, logged_in: usize) -> Vec<Place> {
        let place = |build: &Build| {
            let (world, server) = World::new(build, members, logged_in);
            Place { build: build.clone(), world, server }
        };
        self.builds.iter().map(place).collect()
    }
}
