//! Files beside other programs that do the same: `cargo bench --bench files`, or with names, as in `-- downloads`.
//!
//! A download stands beside nginx, and an upload beside a program that only reads, hashes, writes and syncs. All are measured by
//! turns on the same machine; the table has the medians of the rounds. What crowds of transfers do to others is in the bench `abuse`.

#[path = "../api.rs"]
#[allow(dead_code, reason = "other benches make places and sockets, too")]
mod api;
mod bare;
#[path = "../../tests/api/certificate.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod certificate;
mod downloads;
mod line;
#[path = "../speed/machine.rs"]
#[allow(dead_code, reason = "another bench uses all of it")]
mod machine;
mod served;
mod uploads;

use self::machine::Watch;

const ROUNDS: usize = 5;
pub const FILE: usize = 50_000_000;
/// Bytes of a run.
const RUN: usize = 40 * FILE;

/// What a run has measured.
#[derive(Clone, Copy)]
pub struct Run {
    /// Megabytes a second.
    rate: f64,
    /// Seconds of CPU of the server for a gigabyte.
    cpu: f64,
}

/// One of those that are compared.
pub struct Subject<'a> {
    pub name: &'static str,
    /// All processes of the server.
    pub processes: Vec<u32>,
    /// Moves [`FILE`] bytes so many times, by so many connections.
    pub run: Box<dyn Fn(usize, usize) + 'a>,
}

impl Subject<'_> {
    fn measure(&self, connections: usize) -> Run {
        let watches: Vec<_> = self.processes.iter().map(|process| Watch::new(*process, &[])).collect();
        (self.run)(RUN / FILE, connections);
        let spent: Vec<_> = watches.iter().map(Watch::spent).collect();
        let cpu: f64 = spent.iter().map(|spent| spent.server).sum();
        Run { rate: RUN as f64 / 1e6 / spent[0].seconds, cpu: cpu / (RUN as f64 / 1e9) }
    }
}

/// Measures all by turns, and prints a line for each.
pub fn compare(what: &str, connections: usize, subjects: &[Subject]) {
    let mut runs = vec![Vec::new(); subjects.len()];
    for round in 0..ROUNDS {
        for turn in 0..subjects.len() {
            let n = (round + turn) % subjects.len(); // none is always the first
            runs[n].push(subjects[n].measure(connections));
        }
    }
    for (Subject { name, .. }, runs) in subjects.iter().zip(runs) {
        let median = |of: fn(&Run) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[ROUNDS / 2]
        };
        let (rate, cpu) = (median(|run| run.rate), median(|run| run.cpu));
        println!("| {what}, {connections} connections | {name} | {rate:.0} MB/s | {cpu:.2} s/GB |");
    }
}

fn main() {
    machine::raise_file_limit();
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [role, folder] = &words[..]
        && role == "bare"
    {
        return bare::serve(folder.as_ref());
    }
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| word == name);
    println!("{}\n\n| Transfer | Server | Rate | CPU |\n|---|---|---|---|", machine::description());
    for tls in [false, true] {
        if wanted("downloads") {
            downloads::measure(tls);
        }
        if wanted("uploads") {
            uploads::measure(tls);
        }
    }
}
