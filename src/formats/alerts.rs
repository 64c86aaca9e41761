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
/// Labels of an alert that are shown beside its name.
const LABELS: usize = 6;

object! {
    struct Group {
        status: String, title: String, alerts: Vec<Alert>, truncated "truncatedAlerts": u64, labels "groupLabels": BTreeMap<String, String>,
    }
    struct Alert {
        status: String, labels: BTreeMap<String, String>, annotations: BTreeMap<String, String>,
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
        let more = self.alerts.len().saturating_sub(LISTED).saturating_add(self.truncated as usize);
        let more = if more > 0 { format!("- \u{2026} and {more} more") } else { String::new() };
        let alerts = self.alerts.iter().take(LISTED).map(Alert::text);
        Post {
            author: author.into(),
            text: one_per_line([head].into_iter().chain(alerts).chain([more])),
            status: Status::bad_if(self.status != "resolved"),
            ..Post::default()
        }
    }

    /// What the alerts have in common, and how many there are.
    fn head(&self) -> String {
        let name = self.labels.values().map(|value| first_line(value)).collect::<Vec<_>>().join(", ");
        let number = counted_noun(self.alerts.len(), "alert", "alerts");
        let head = [first_line(&self.status), number, name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
        bold(&head.join(" \u{b7} "))
    }
}

impl Alert {
    fn text(&self) -> String {
        let label = |name: &str| self.labels.get(name).map(|value| first_line(value)).filter(|value| !value.is_empty());
        let address = [&self.panel, &self.dashboard, &self.source].into_iter().find(|address| !address.is_empty());
        let name = link(&label("alertname").unwrap_or_else(|| "alert".into()), address.map_or("", String::as_str));
        let others =
            self.labels.iter().filter(|(name, value)| !(*name == "alertname" || name.starts_with("__") || value.is_empty()));
        let others = others
            .take(LABELS)
            .map(|(name, value)| format!("{}: {}", first_line(name), first_line(value)))
            .collect::<Vec<_>>()
            .join(", ");
        let others = if others.is_empty() { others } else { format!(" ({others})") };
        let says = ["summary", "description", "message"]
            .iter()
            .find_map(|name| self.annotations.get(*name).filter(|text| !text.is_empty()));
        let says = says.map_or_else(String::new, |says| format!(": {}", first_line(says)));
        let state = if self.status.is_empty() { String::new() } else { format!("{} ", first_line(&self.status)) };
        format!("- {state}{name}{others}{says}")
    }
}
