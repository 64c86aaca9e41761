//! Measurements by turns: each round runs all builds and the limit, one after the other; the table has the medians.

use std::{cell::OnceCell, rc::Rc};

use super::{
    large::Large,
    server::{Build, Server},
    world::World,
};

/// A run beside more than this share of foreign work is made again.
pub const FOREIGN: f64 = 0.1;
/// Times that a run is made at most; the one with the least foreign work counts.
const TRIES: usize = 3;

/// What one run measured.
#[derive(Clone, Default)]
pub struct Run {
    /// In the scenario's unit.
    pub figure: f64,
    /// Milliseconds.
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    /// Microseconds of the server's CPU for each unit of work.
    pub cpu: Option<f64>,
    /// The share of the machine that other programs took.
    pub foreign: f64,
    pub notes: Vec<(&'static str, f64)>,
    /// What changed over time: seconds, and a figure.
    pub series: Vec<(f64, f64)>,
}

/// What a scenario's figure counts.
#[derive(Clone, Copy)]
pub struct Unit {
    pub name: &'static str,
    /// As of times and sizes; rates are better the higher they are.
    pub lower_is_better: bool,
}

impl Unit {
    pub const fn rate(name: &'static str) -> Unit {
        Unit { name, lower_is_better: false }
    }

    pub const fn cost(name: &'static str) -> Unit {
        Unit { name, lower_is_better: true }
    }
}

/// A line of the table: the medians of all rounds.
pub struct Row {
    pub scenario: String,
    pub label: String,
    pub unit: Unit,
    pub run: Run,
    /// The figure of the limit in the same rounds; none for the limit itself.
    pub limit: Option<f64>,
}

/// A build or the limit, as it is measured in each round.
pub struct Subject<'a> {
    label: String,
    run: Box<dyn FnMut() -> Run + 'a>,
}

/// The limit's name in the table.
pub const LIMIT: &str = "limit";

impl<'a> Subject<'a> {
    /// A build whose server stands still while others are measured.
    pub fn server(build: &Build, server: &'a Server, mut run: impl FnMut(&Server) -> Run + 'a) -> Subject<'a> {
        server.pause();
        Subject::build(build, move || {
            server.resume();
            let measured = run(server);
            server.pause();
            measured
        })
    }

    /// A build that starts a server of its own in each round.
    pub fn build(build: &Build, run: impl FnMut() -> Run + 'a) -> Subject<'a> {
        Subject { label: build.label.clone(), run: Box::new(run) }
    }

    /// What the machine must do at least.
    pub fn limit(run: impl FnMut() -> Run + 'a) -> Subject<'a> {
        Subject { label: LIMIT.to_owned(), run: Box::new(run) }
    }
}

pub struct Bench {
    pub builds: Vec<Build>,
    pub rounds: usize,
    pub minutes: f64,
    pub tiny: bool,
    pub rows: Vec<Row>,
    /// The large world of each build, once it is needed: it takes long to make.
    pub large: OnceCell<Rc<Vec<Large>>>,
}

impl Bench {
    pub fn new(builds: Vec<Build>, rounds: usize, minutes: f64, tiny: bool) -> Bench {
        Bench { builds, rounds, minutes, tiny, rows: Vec::new(), large: OnceCell::new() }
    }

    /// A size of the full bench, or its stand-in.
    pub fn size<T>(&self, full: T, tiny: T) -> T {
        if self.tiny { tiny } else { full }
    }

    /// The large world of each build, made when it is first needed.
    pub fn large(&self) -> Rc<Vec<Large>> {
        let make = || {
            let members = self.size(1000, 30);
            let messages = self.size(1_000_000, 2000);
            let large = self.builds.iter().map(|build| {
                let (world, server) = World::new(build, members, 1);
                server.stop();
                Large::new(world, messages)
            });
            Rc::new(large.collect())
        };
        self.large.get_or_init(make).clone()
    }

    /// Measures all subjects by turns, and adds a row for each.
    pub fn turns(&mut self, scenario: &str, unit: Unit, mut subjects: Vec<Subject>) {
        let mut runs: Vec<Vec<Run>> = subjects.iter().map(|_| Vec::new()).collect();
        for round in 0..self.rounds {
            for turn in 0..subjects.len() {
                let n = (turn + round) % subjects.len(); // none is always the first
                let run = self.quiet(&mut subjects[n]);
                eprintln!("{scenario}, {}: {:.1} {}", subjects[n].label, run.figure, unit.name);
                runs[n].push(run);
            }
        }
        let rows = subjects.iter().zip(&runs).map(|(subject, runs)| (subject.label.clone(), medians(runs)));
        let rows: Vec<(String, Run)> = rows.collect();
        let limit = rows.iter().find(|(label, _)| label == LIMIT).map(|(_, run)| run.figure);
        for (label, run) in rows {
            let limit = limit.filter(|_| label != LIMIT);
            self.rows.push(Row { scenario: scenario.to_owned(), label, unit, run, limit });
        }
    }

    /// The run with the least foreign work.
    fn quiet(&self, subject: &mut Subject) -> Run {
        let mut best = (subject.run)();
        for _ in 1..if self.tiny { 1 } else { TRIES } {
            if best.foreign <= FOREIGN {
                break;
            }
            let again = (subject.run)();
            if again.foreign < best.foreign {
                best = again;
            }
        }
        best
    }
}

fn medians(runs: &[Run]) -> Run {
    let of = |value: &dyn Fn(&Run) -> Option<f64>| -> Option<f64> {
        let mut values: Vec<f64> = runs.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    let notes = runs[0].notes.iter().enumerate();
    Run {
        series: runs[0].series.clone(),
        figure: of(&|run| Some(run.figure)).unwrap(),
        p50: of(&|run| run.p50),
        p99: of(&|run| run.p99),
        cpu: of(&|run| run.cpu),
        foreign: of(&|run| Some(run.foreign)).unwrap(),
        notes: notes.map(|(n, (name, _))| (*name, of(&|run| Some(run.notes[n].1)).unwrap())).collect(),
    }
}
