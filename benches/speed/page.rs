//! Writes the sections of docs/performance.md whose scenarios were measured, and their plots.

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

const COLUMNS: &str = "| Scenario | Result | p50, p99 | CPU each | Limit | Besides |\n|---|---|---|---|---|---|\n";

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
         everything, and the latencies are those of another client meanwhile. In `fan-out-paced`, an author posts ten times a second; in \
         `fan-out-flood`, another one meanwhile posts about as fast as the rate limits let them, on 16 connections, to a server \
         with `--rate-limit on`. The limit writes the same bytes to as many sockets.",
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
        "Clients read, post, search and lose their connections: for a minute, or as long as `--minutes` says, in one round. Two \
         servers run at once, and the clients of one ask for compressed answers.",
    ),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// Replaces each section all of whose scenarios were measured, with its text and plots, and leaves the rest of the page as it is.
pub fn write(rows: &[Row], label: &str) {
    let path = folder().join("performance.md");
    let mut page = fs::read_to_string(&path).unwrap();
    for (heading, names, introduction) in SECTIONS {
        let is_of = |row: &Row, start: &str| {
            let name = row.scenario.split(&[',', ' '][..]).next().unwrap();
            name == start || name.strip_prefix(start).is_some_and(|rest| rest.starts_with('-'))
        };
        let mine: Vec<&Row> = rows.iter().filter(|row| row.label == label).collect();
        let shown = mine.iter().filter(|row| names.iter().any(|name| is_of(row, name)));
        let lines: String = shown.map(|row| line(row)).collect();
        if names.iter().all(|name| mine.iter().any(|row| is_of(row, name))) {
            let section = format!("{}\n{COLUMNS}{lines}{}", introduced(introduction), plots(heading, rows, label));
            replace(&mut page, heading, &section);
        } else if !lines.is_empty() {
            eprintln!("{heading}: not all of its scenarios were measured, so it stays");
        }
    }
    fs::write(&path, page).unwrap();
}

/// What stands between a heading of the page and the next one becomes this text.
fn replace(page: &mut String, heading: &str, text: &str) {
    let heading = format!("\n## {heading}\n\n");
    let begin = page.find(&heading).expect("the page has a heading for each section") + heading.len();
    let end = page[begin..].find("\n## ").map_or(page.len(), |length| begin + length);
    page.replace_range(begin..end, text);
}

/// The introduction of a section, with the day and the machine of its figures.
fn introduced(introduction: &str) -> String {
    let day = jiff::Zoned::now().strftime("%-d %B %Y");
    wrapped(&format!("{introduction} Measured on {day}, {}.", machine::description()))
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
        "Mixed load" => {
            let mixed = rows.iter().filter(|row| row.scenario.starts_with("mixed") && row.label == label);
            let lines = mixed.map(|row| (row.scenario.split(", ").nth(1).unwrap_or_default(), row.run.series.clone())).collect();
            let title = "Memory during the mixed load";
            vec![("mixed", Plot { title, x: "seconds", y: "MiB", is_logarithmic: false, lines })]
        }
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
