//! Attacks on the real binary from many addresses of this machine, and what a member notices of them:
//! `cargo bench --bench abuse`, or with names of scenarios, as in `cargo bench --bench abuse -- pings commands`. To attack another
//! build by turns: `--server=PATH`.
//!
//! The attackers are a process of their own, and whoever is hung up on comes back at once.

mod answers;
#[path = "../api.rs"]
#[allow(dead_code, reason = "other benches open sockets, too")]
mod api;
mod attackers;
mod bodies;
mod comeback;
mod commands;
mod downloads;
#[path = "../../tests/api/push/frames.rs"]
#[allow(dead_code, reason = "the tests close sockets, too")]
mod frames;
#[path = "../speed/http.rs"]
#[allow(dead_code, reason = "other benches are clients of it, too")]
mod http;
mod office;
mod pages;
mod pings;
mod probe;
mod programs;
mod server;
mod sockets;
mod strangers;
mod unread;
mod uploads;
mod writes;

/// All scenarios, in the order in which they run.
const SCENARIOS: &[&str] = &[
    "strangers",
    "pings",
    "commands",
    "bodies",
    "office",
    "programs",
    "answers",
    "unread",
    "pages",
    "comeback",
    "writes",
    "uploads",
    uploads::GIGABIT,
    "downloads",
];

#[tokio::main]
async fn main() {
    raise_file_limit();
    // Cargo adds flags of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["attack", scenario] => attack(scenario).await,
        [] => defend(SCENARIOS).await,
        _ => defend(&words).await,
    }
}

/// As many files as the machine lets a process have.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
}

/// Measures a server under each of the attacks.
async fn defend(scenarios: &[&str]) {
    for scenario in scenarios {
        println!("# {scenario}");
        match *scenario {
            "strangers" => strangers::defend().await,
            "pings" => pings::defend().await,
            "commands" => commands::defend().await,
            "bodies" => bodies::defend().await,
            "office" => office::defend().await,
            "programs" => programs::defend().await,
            "answers" => answers::defend().await,
            "unread" => unread::defend().await,
            "pages" => pages::defend().await,
            "comeback" => comeback::defend().await,
            "writes" => writes::defend().await,
            "uploads" | uploads::GIGABIT => uploads::defend(scenario).await,
            "downloads" => downloads::defend().await,
            unknown => panic!("{unknown}: the scenarios are {SCENARIOS:?}"),
        }
    }
}

/// The attackers' process.
async fn attack(scenario: &str) {
    let target = attackers::target();
    match scenario {
        "strangers" => strangers::attack(target),
        "pings" => pings::attack(target).await,
        "commands" => commands::attack(target).await,
        "bodies" => bodies::attack(target).await,
        "office" => office::attack(target),
        "programs" => programs::attack(target).await,
        "answers" => answers::attack(target),
        "unread" => unread::attack(target).await,
        "pages" => pages::attack(target),
        "writes" => writes::attack(target).await,
        "uploads" | uploads::GIGABIT => uploads::attack(target, scenario),
        "downloads" => downloads::attack(target),
        unknown => panic!("{unknown}: the scenarios are {SCENARIOS:?}"),
    }
    std::future::pending::<()>().await;
}
