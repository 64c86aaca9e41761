//! A bench that cannot flatter: `cargo bench --bench speed`.
//!
//! It drives the real binary from other processes, which send prepared bytes over raw sockets. Each scenario runs by turns
//! beside its limit: a small program that does only what the machine must do at least. The CPU time of the server stands
//! beside each rate, and the share of the machine that other programs took beside both.
//!
//! Positional arguments select scenarios by the beginning of their names. `--server LABEL=PATH` measures another build, and
//! several of them compare builds by turns. `--tiny` runs everything once in the smallest size.

mod clients;
mod http;
mod large;
mod limits;
mod load;
mod machine;
mod measure;
mod page;
mod plot;
mod receiver;
mod requests;
mod roles;
mod scenarios;
mod server;
mod socket;
mod sockets;
mod table;
mod world;

use std::path::PathBuf;

use clap::Parser;

use self::{measure::Bench, server::Build};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
struct Arguments {
    /// The scenarios whose names begin so; all without one.
    names: Vec<String>,
    /// A build to measure; the one of this tree without one.
    #[arg(long = "server", value_name = "LABEL=PATH", value_parser = build)]
    servers: Vec<Build>,
    /// How often each measurement is made; the table has the medians.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// How long the mixed load runs.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Runs everything once in the smallest size, to see that it works.
    #[arg(long)]
    tiny: bool,
    /// Writes the sections of docs/performance.md all of whose scenarios were measured.
    #[arg(long, conflicts_with = "tiny")]
    write: bool,
    /// What `cargo bench` adds.
    #[arg(long, hide = true)]
    bench: bool,
}

fn build(text: &str) -> Result<Build, String> {
    let (label, path) = text.split_once('=').ok_or("expected LABEL=PATH")?;
    let path = PathBuf::from(path);
    if path.is_file() { Ok(Build { label: label.to_owned(), path }) } else { Err(format!("{}: no such file", path.display())) }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role] = arguments.as_slice()
        && roles::play(role)
    {
        return;
    }
    let Arguments { names, mut servers, rounds, minutes, tiny, write, bench: _ } = Arguments::parse();
    if servers.is_empty() {
        servers.push(Build { label: "tidings".into(), path: env!("CARGO_BIN_EXE_tidings").into() });
    }
    machine::raise_file_limit();
    let rounds = if tiny { 1 } else { rounds };
    let mut bench = Bench::new(servers, rounds, minutes, tiny);
    for (name, scenario) in scenarios::ALL {
        if names.is_empty() || names.iter().any(|wanted| name.starts_with(wanted.as_str())) {
            scenario(&mut bench);
        }
    }
    table::print(&bench.rows);
    if write {
        page::write(&bench.rows, &bench.builds[0].label);
    }
}
