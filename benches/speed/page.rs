//! Writes docs/performance.md down to the figures of other benches, and its plots.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use super::{
    machine,
    measure::{LIMIT, Row},
    plot::Plot,
    table::number,
};

/// The first heading that this bench does not write.
const KEPT: &str = "## The writer";

const INTRODUCTION: &str = "Every figure on this page is printed by the command above it. The server is the release binary in \
a process of its own, and its clients are other processes, which send prepared bytes over raw sockets and share the cores with it.";

const COLUMNS: &str = "The columns: the result and the latencies are medians of several rounds. CPU is the time of the server's \
process in user mode and in the kernel, for each unit of work. The limit is what a program that does only the unavoidable part of \
the same work reached in the same rounds. A row with a foreign share ran beside other programs that took so much of the machine.";

/// The longest line of the page, but for tables.
const LINE: usize = 125;

/// The sections: heading, beginnings of the scenarios' names, and what the reader must know.
const SECTIONS: [(&str, &[&str], &str); 5] = [
    (
        "Requests",
        &["post", "newest-50", "own-account", "channel", "channels-200", "threads", "members"],
        "Posts have 120 characters, and each is on disk before its answer. Their limit is a bare insert with group commit behind \
         the same HTTP; the limit of an answer is the bare select of its rows and a constant answer of its size.",
    ),
    (
        "Push",
        &["fan-out", "storm", "idle-socket"],
        "In `fan-out`, the next post goes out when all sockets have an earlier one, with one or eight posts in flight. In `storm`, \
         all sockets lose their connection, miss 50 messages, and come back at once; the result is the time until the last one has \
         everything, and the latencies are those of another client meanwhile. The limit writes the same bytes to as many sockets.",
    ),
    ("Size and start", &["start", "disk"], "The size on disk includes the events and the search index."),
    (
        "Webhooks, log-ins, search",
        &["delivery", "deliveries", "log-in", "search"],
        "The time of a delivery is that from the request of the post to its arrival. Deliveries go to eight webhooks of one receiver. The limit of log-ins is the check of their passwords on all cores. \
         Searches run in an organisation with a million messages.",
    ),
    (
        "Mixed load",
        &["mixed"],
        "Clients read, post, search and lose their connections: for a minute, or as long as `--minutes` says.",
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

pub fn write(rows: &[Row], label: &str) {
    let path = folder().join("performance.md");
    let former = fs::read_to_string(&path).unwrap();
    let kept = &former[former.find(KEPT).expect("the page has the sections of the other benches")..];
    fs::write(&path, page(rows, label) + kept).unwrap();
}

fn page(rows: &[Row], label: &str) -> String {
    let machine = machine::description();
    let mut page = format!("# Performance\n\n{}", wrapped(&format!("{INTRODUCTION} The machine: {machine}.")));
    _ = write!(page, "\n{}\n```sh\ncargo bench --bench speed\n```\n", wrapped(COLUMNS));
    for (heading, names, introduction) in SECTIONS {
        let belongs = |row: &&Row| {
            let name = row.scenario.split(&[',', ' '][..]).next().unwrap();
            names.iter().any(|start| name == *start || name.strip_prefix(start).is_some_and(|rest| rest.starts_with('-')))
        };
        let shown: Vec<&Row> = rows.iter().filter(belongs).filter(|row| row.label == label).collect();
        if shown.is_empty() {
            continue;
        }
        _ = write!(page, "\n## {heading}\n\n{}\n", wrapped(introduction));
        page.push_str("| Scenario | Result | p50, p99 | CPU each | Limit | Besides |\n|---|---|---|---|---|---|\n");
        shown.into_iter().for_each(|row| page.push_str(&line(row)));
        page.push_str(&plots(heading, rows, label));
    }
    page.push('\n');
    page
}

/// A paragraph in lines.
fn wrapped(text: &str) -> String {
    let (mut lines, mut length) = (String::new(), 0);
    for word in text.split(' ') {
        if length + 1 + word.len() > LINE {
            lines.push('\n');
            length = 0;
        } else if length > 0 {
            lines.push(' ');
            length += 1;
        }
        lines.push_str(word);
        length += word.len();
    }
    lines + "\n"
}

fn line(row: &Row) -> String {
    let run = &row.run;
    let times = run.p50.zip(run.p99).map(|(p50, p99)| format!("{} ms, {} ms", number(p50), number(p99)));
    let limit = row.limit.zip(row.share());
    let limit = limit.map(|(limit, share)| format!("{}; {:.0} % of it", number(limit), share * 100.0));
    let mut notes: Vec<String> = run.notes.iter().map(|(name, value)| format!("{name}: {}", number(*value))).collect();
    if run.foreign > super::measure::FOREIGN {
        notes.push(format!("foreign: {:.0} %", run.foreign * 100.0));
    }
    format!(
        "| {} | {} {} | {} | {} | {} | {} |\n",
        row.scenario,
        number(run.figure),
        row.unit.name,
        times.unwrap_or_default(),
        run.cpu.map(|cpu| format!("{} µs", number(cpu))).unwrap_or_default(),
        limit.unwrap_or_default(),
        notes.join(", ")
    )
}

/// Writes the plots of a section; gives the lines that show them.
fn plots(heading: &str, rows: &[Row], label: &str) -> String {
    let points = |label: &str, start: &str, end: &str, value: fn(&Row) -> Option<f64>| -> Vec<(f64, f64)> {
        let rows = rows.iter().filter(|row| row.label == label && row.scenario.ends_with(end));
        rows.filter_map(|row| Some((leading(row.scenario.strip_prefix(start)?)?, value(row)?))).collect()
    };
    let cpu = |row: &Row| row.run.cpu;
    let plot = |title, x, y, lines| Plot { title, x, y, is_logarithmic: true, lines };
    let drawn: Vec<(&str, Plot)> = match heading {
        "Requests" => vec![
            ("post-load", {
                let lines = vec![
                    ("p50", points(label, "post-load, connections: ", "", |row| row.run.p50)),
                    ("p99", points(label, "post-load, connections: ", "", |row| row.run.p99)),
                    ("p50 of the limit", points(LIMIT, "post-load, connections: ", "", |row| row.run.p50)),
                ];
                plot("Time of a post against the load", "connections", "ms", lines)
            }),
            ("newest-50", {
                let lines =
                    vec![("server", points(label, "newest-50 of ", "", cpu)), ("limit", points(LIMIT, "newest-50 of ", "", cpu))];
                plot("Cost of the newest 50 messages against the size of the channel", "messages", "µs of CPU", lines)
            }),
        ],
        "Push" => vec![("fan-out", {
            let lines = vec![
                ("one post in flight", points(label, "fan-out-", "in flight: 1", cpu)),
                ("eight", points(label, "fan-out-", "in flight: 8", cpu)),
                ("limit, eight", points(LIMIT, "fan-out-", "in flight: 8", cpu)),
            ];
            plot("Cost of a delivery against the number of sockets", "sockets", "µs of CPU", lines)
        })],
        "Mixed load" => rows
            .iter()
            .filter(|row| row.scenario.starts_with("mixed") && row.label == label)
            .map(|row| {
                let lines = vec![("resident", row.run.series.clone())];
                let title = "Memory during the mixed load";
                ("mixed", Plot { title, x: "seconds", y: "MiB", is_logarithmic: false, lines })
            })
            .collect(),
        _ => Vec::new(),
    };
    let mut shown = String::new();
    for (name, plot) in drawn {
        let svg = plot.svg();
        if !svg.is_empty() {
            fs::write(folder().join(format!("images/{name}.svg")), svg).unwrap();
            _ = write!(shown, "\n![{}](images/{name}.svg)\n", plot.title);
        }
    }
    shown
}

/// The number that a text begins with, as `1,000` or `10000, in flight: 1`.
fn leading(text: &str) -> Option<f64> {
    let number = text.split(", ").next()?.replace(',', "");
    number.parse().ok()
}
