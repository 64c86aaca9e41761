//! Groups of alerts, as Grafana and Prometheus' Alertmanager send them:
//! <https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/>,
//! <https://prometheus.io/docs/alerting/latest/configuration/#webhook_config>.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Post, Status,
    honest_links::link,
    lenient_fields::{Field, object},
    markdown_pieces::{bold, counted_noun, first_line, one_per_line},
};

/// Alerts that are listed.
const LISTED: usize = 10;
/// Labels that are shown beside the name of an alert, or beside the head of a group.
const LABELS: usize = 8;
/// Annotations that say what is wrong, the first of which is shown. `Error` is Grafana's, of a query that failed.
const ANNOTATIONS: [&str; 4] = ["summary", "description", "message", "Error"];
/// Names of Grafana's alerts of a query that failed or found nothing. The label `rulename` has the name of the rule.
const OF_QUERIES: [&str; 2] = ["DatasourceError", "DatasourceNoData"];

type Labels = BTreeMap<String, String>;

object! {
    struct Group {
        status: String, title: String, alerts: Vec<Alert>, truncated "truncatedAlerts": u64, labels "groupLabels": Labels,
        common "commonLabels": Labels,
    }
    struct Alert {
        status: String, labels: Labels, annotations: BTreeMap<String, String>,
        source "generatorURL": String, panel "panelURL": String, dashboard "dashboardURL": String,
    }
}

pub fn grafana(body: &Value) -> Post {
    let group = Group::read(body);
    group.post("Grafana", if group.title.is_empty() { group.head() } else { bold(&group.title) })
}

pub fn alertmanager(body: &Value) -> Post {
    let group = Group::read(body);
    group.post("Alertmanager", group.head())
}

impl Group {
    fn post(&self, author: &str, head: String) -> Post {
        let none = Labels::new();
        let common = if self.number() > 1 { &self.common } else { &none };
        let more = self.number() - self.alerts.len().min(LISTED);
        let more = if more > 0 { format!("- \u{2026} and {more} more") } else { String::new() };
        let alerts = self.alerts.iter().take(LISTED).map(|alert| alert.text(common));
        Post {
            author: author.into(),
            text: one_per_line([head + &in_parentheses(common, &none)].into_iter().chain(alerts).chain([more])),
            status: Status::bad_if(self.status != "resolved"),
            ..Post::default()
        }
    }

    /// The number of alerts, with those that the program has left out of the list.
    fn number(&self) -> usize {
        self.alerts.len().saturating_add(self.truncated as usize)
    }

    /// How many alerts there are, and what they have in common.
    fn head(&self) -> String {
        let name = self.labels.values().map(|value| first_line(value)).collect::<Vec<_>>().join(", ");
        let head = self.counts().into_iter().chain([name]).filter(|part| !part.is_empty()).collect::<Vec<_>>();
        bold(&head.join(" \u{b7} "))
    }

    /// The status of a group and its number of alerts, or the number of those that fire and of those that are resolved.
    fn counts(&self) -> Vec<String> {
        let resolved = self.alerts.iter().filter(|alert| alert.status == "resolved").count();
        let firing = self.alerts.len() - resolved;
        if resolved == 0 || firing == 0 {
            return vec![first_line(&self.status), counted_noun(self.number(), "alert", "alerts")];
        }
        let more = if self.truncated > 0 { format!(", {} more", self.truncated) } else { String::new() };
        vec![format!("{firing} firing, {resolved} resolved{more}")]
    }
}

impl Alert {
    /// The line of an alert, without the labels that the head of its group has.
    fn text(&self, common: &Labels) -> String {
        let address = [&self.panel, &self.dashboard, &self.source].into_iter().find(|address| !address.is_empty());
        let name = link(&self.name(), address.map_or("", String::as_str));
        let others = in_parentheses(&self.labels, common);
        let says = ANNOTATIONS.iter().find_map(|name| self.annotations.get(*name).filter(|text| !text.is_empty()));
        let says = says.map_or_else(String::new, |says| format!(": {}", first_line(says)));
        let state = if self.status.is_empty() { String::new() } else { format!("{} ", first_line(&self.status)) };
        format!("- {state}{name}{others}{says}")
    }

    fn name(&self) -> String {
        let label = |name: &str| self.labels.get(name).map(|value| first_line(value)).filter(|value| !value.is_empty());
        let name = label("alertname").unwrap_or_else(|| "alert".into());
        match label("rulename") {
            Some(rule) if is_of_query(&self.labels) => format!("{rule}: {name}"),
            _ => name,
        }
    }
}

fn is_of_query(labels: &Labels) -> bool {
    labels.get("alertname").is_some_and(|name| OF_QUERIES.contains(&name.as_str()))
}

/// Labels that an alert's name doesn't have and that aren't known already, the severity first.
fn in_parentheses(labels: &Labels, known: &Labels) -> String {
    let is_in_name = |name: &str| name == "alertname" || (name == "rulename" && is_of_query(labels));
    let is_shown = |name: &str, value: &String| {
        !(is_in_name(name) || name.starts_with("__") || value.is_empty() || known.get(name) == Some(value))
    };
    let mut shown: Vec<_> = labels.iter().filter(|(name, value)| is_shown(name, value)).collect();
    shown.sort_by_key(|(name, _)| *name != "severity");
    let shown = shown.into_iter().take(LABELS).map(|(name, value)| format!("{}: {}", first_line(name), first_line(value)));
    let shown = shown.collect::<Vec<_>>().join(", ");
    if shown.is_empty() { shown } else { format!(" ({shown})") }
}
