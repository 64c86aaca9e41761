//! The Grafana dashboard and the alert rules of `examples/`: each name, label and function in their queries fits a scrape.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use regex::Regex;
use serde_json::Value;
use tidings::time::Time;

use super::metrics::{self, Page};
use crate::{harness::Server, socket::Socket};

/// The words of PromQL in the queries.
const WORDS: [&str; 11] =
    ["absent", "and", "by", "histogram_quantile", "increase", "or", "predict_linear", "rate", "sum", "time", "topk"];
/// The labels that Prometheus adds to each sample.
const ADDED: [&str; 1] = ["job"];

/// What a scrape has: the labels of each sample's name, and the type of each metric.
struct Scrape {
    labels: HashMap<String, HashSet<String>>,
    types: HashMap<String, String>,
}

impl Scrape {
    fn of(page: &str) -> Scrape {
        let label = Regex::new(r#"[{,]([a-z_]+)=""#).unwrap();
        let mut scrape = Scrape { labels: HashMap::new(), types: HashMap::new() };
        for line in page.lines() {
            match line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
                Some((metric, kind)) => _ = scrape.types.insert(metric.to_owned(), kind.to_owned()),
                None if line.starts_with('#') => {}
                None => {
                    let name = line.split(['{', ' ']).next().unwrap().to_owned();
                    let labels = label.captures_iter(line).map(|found| found[1].to_owned());
                    scrape.labels.entry(name).or_default().extend(labels);
                }
            }
        }
        scrape
    }

    /// Whether a sample only grows, so that its rate is what tells something.
    fn is_counted(&self, sample: &str) -> bool {
        let suffixed = |suffixes: &[&str], kind: &str| {
            let metric = suffixes.iter().find_map(|suffix| sample.strip_suffix(suffix));
            metric.is_some_and(|metric| self.types.get(metric).is_some_and(|have| have == kind))
        };
        suffixed(&["_total"], "counter") || suffixed(&["_bucket", "_sum", "_count"], "histogram")
    }

    fn check(&self, query: &str) {
        let quoted = Regex::new(r#""[^"]*""#).unwrap().replace_all(query, "");
        let bare = Regex::new(r"\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)").unwrap().replace_all(&quoted, "");
        let words = Regex::new(r"[a-z_]+").unwrap();
        let names: Vec<_> = words.find_iter(&bare).map(|word| word.as_str()).filter(|word| !WORDS.contains(word)).collect();
        assert!(!names.is_empty(), "{query}");
        for name in &names {
            let labels = self.labels.get(*name).unwrap_or_else(|| panic!("no sample {name}, in {query}"));
            let matched = Regex::new(&format!(r"{name}\{{([^}}]*)\}}")).unwrap();
            for label in
                matched.captures_iter(&quoted).flat_map(|found| found[1].split(',').map(str::to_owned).collect::<Vec<_>>())
            {
                let label = label.trim_end_matches(['=', '~', '!']);
                assert!(ADDED.contains(&label) || labels.contains(label), "{name} has no label {label}, in {query}");
            }
            let is_rate = Regex::new(&format!(r"(rate|increase)\({name}\b")).unwrap().is_match(&quoted);
            assert_eq!(is_rate, self.is_counted(name), "a rate is taken of what is counted, and of nothing else: {query}");
        }
        let grouped = Regex::new(r"by \(([^)]*)\)").unwrap();
        for label in grouped.captures_iter(&quoted).flat_map(|found| found[1].split(", ").map(str::to_owned).collect::<Vec<_>>())
        {
            assert!(names.iter().any(|name| self.labels[*name].contains(&label)), "nothing has the label {label}, in {query}");
        }
        assert_eq!(query.contains("histogram_quantile"), names.iter().any(|name| name.ends_with("_bucket")), "{query}");
    }
}

/// A scrape of a server with an open socket.
async fn scrape() -> Scrape {
    let server = metrics::start().await;
    let ada = server.user("ada").await;
    let socket = Socket::connect(&ada).await;
    let scrape = Scrape::of(&Page::of(&server).await.0);
    drop(socket);
    scrape
}

#[tokio::test]
async fn each_query_of_the_dashboard_fits_a_scrape() {
    let dashboard: Value = serde_json::from_str(include_str!("../../../examples/grafana.json")).unwrap();
    let scrape = scrape().await;
    assert!(scrape.is_counted("tidings_request_seconds_bucket") && !scrape.is_counted("tidings_wal_bytes"));
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: HashSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    let places: HashSet<_> = panels.iter().map(|panel| panel["gridPos"].to_string()).collect();
    assert!(panels.len() > 20 && ids.len() == panels.len() && places.len() == panels.len());
    let shown = Regex::new(r"\{\{([a-z]+)\}\}").unwrap();
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            scrape.check(target["expr"].as_str().unwrap());
            for label in shown.captures_iter(target["legendFormat"].as_str().unwrap()) {
                assert!(target["expr"].as_str().unwrap().contains(&label[1]), "{target}");
            }
        }
    }
    let variable = dashboard["templating"]["list"][1]["query"].as_str().unwrap();
    let name = variable.trim_start_matches("label_values(").split(',').next().unwrap();
    assert!(scrape.labels.contains_key(name), "{variable}");
}

const ALERTS: &str = include_str!("../../../examples/alerts.yml");

/// Whether the alert fires on a scrape at a time in Unix seconds. Its operators have the same meaning in SQL.
fn fires(alert: &str, scrape: &Page, now: i64) -> bool {
    let rule = ALERTS.split("- alert: ").find(|rule| rule.starts_with(alert)).unwrap();
    let query = rule.lines().find_map(|line| line.trim().strip_prefix("expr: ")).unwrap();
    let sample = Regex::new(r#"tidings_([a-z_]+)\{job="tidings"\}"#).unwrap();
    let query = sample.replace_all(query, |found: &regex::Captures| scrape.value(&found[1]).to_string());
    let query = query.replace("time()", &now.to_string());
    let database = rusqlite::Connection::open_in_memory().unwrap();
    database.query_row(&format!("select {query}"), [], |row| row.get(0)).unwrap_or_else(|err| panic!("{query}: {err}"))
}

#[tokio::test]
async fn the_alert_of_old_backups_fires_if_none_was_ever_made_and_not_if_none_are_wanted() {
    const EVERY: i64 = 3600;
    let start = async |every: i64, folder: &str| {
        let server = Server::with(|settings| {
            settings.metrics_token = Some(metrics::TOKEN.into());
            settings.backups.every = Some(Duration::from_secs(every as u64));
            settings.backups.migration.backup_dir = Some(settings.data_dir.join(folder));
        });
        server.await
    };
    let tried = async |server: &Server, made: &str| loop {
        let page = Page::of(server).await;
        if page.value(&format!("backups_total{{made=\"{made}\"}}")) > 0
            && (made == "false" || page.value("backup_time_seconds") > 0)
        {
            return page;
        }
    };
    let (alert, now) = ("TidingsBackupIsOld", Time::now().unix_seconds());
    let unwanted = metrics::start().await;
    assert!(!fires(alert, &Page::of(&unwanted).await, now));
    // No folder can be made inside a file.
    let failing = start(EVERY, "secret.key/backups").await;
    assert!(fires(alert, &tried(&failing, "false").await, now));
    let working = start(EVERY, "backups").await;
    let page = tried(&working, "true").await;
    let made = page.value("backup_time_seconds");
    assert_eq!([0, 2 * EVERY, 2 * EVERY + 1].map(|later| fires(alert, &page, made + later)), [false, false, true]);
}

#[tokio::test]
async fn each_alert_fits_a_scrape() {
    let rules = ALERTS;
    let queries: Vec<_> = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    assert_eq!((queries.len(), rules.matches("- alert: ").count()), (10, 10));
    let scrape = scrape().await;
    queries.into_iter().for_each(|query| scrape.check(query));
}
