//! The Grafana dashboard and the alert rules of `examples/`: each name, label and function in their queries fits a scrape.

use std::collections::{HashMap, HashSet};

use regex::Regex;
use serde_json::Value;

use super::metrics::{self, Page};
use crate::socket::Socket;

/// The words of PromQL in the queries.
const WORDS: [&str; 9] = ["absent", "by", "histogram_quantile", "increase", "or", "rate", "sum", "time", "topk"];
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

#[tokio::test]
async fn each_alert_fits_a_scrape() {
    let rules = include_str!("../../../examples/alerts.yml");
    let queries: Vec<_> = rules.lines().filter_map(|line| line.trim().strip_prefix("expr: ")).collect();
    assert_eq!((queries.len(), rules.matches("- alert: ").count()), (8, 8));
    let scrape = scrape().await;
    queries.into_iter().for_each(|query| scrape.check(query));
}
