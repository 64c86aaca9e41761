//! Incidents and components of a Statuspage: <https://support.atlassian.com/statuspage/docs/enable-webhook-notifications/>.

use serde_json::Value;

use super::{
    Post, Status,
    honest_links::link,
    lenient_fields::{Field, object},
    markdown_pieces::{first_line, one_per_line, quote},
};

object! {
    struct Event { page: Page, incident: Incident, component: Component, update "component_update": Update }
    struct Page { status "status_description": String }
    struct Incident { name: String, status: String, shortlink: String, updates "incident_updates": Vec<IncidentUpdate> }
    struct IncidentUpdate { body: String }
    struct Component { name: String, status: String }
    struct Update { old_status: String, new_status: String }
}

/// The post of an incident's newest update, or of a component's new status.
pub fn post(body: &Value) -> Option<Post> {
    let Event { page, incident, component, update } = Event::read(body);
    let words = |status: &str| first_line(status).replace('_', " ");
    let (text, is_over) = if !incident.name.is_empty() {
        let head = format!("{}: {}", link(&incident.name, &incident.shortlink), words(&incident.status));
        let says = incident.updates.first().map_or_else(String::new, |update| quote(&update.body));
        (
            one_per_line([head, says, first_line(&page.status)]),
            matches!(incident.status.as_str(), "resolved" | "completed" | "postmortem"),
        )
    } else if !component.name.is_empty() {
        let status = if update.new_status.is_empty() { &component.status } else { &update.new_status };
        let was = if update.old_status.is_empty() { String::new() } else { format!(" (was {})", words(&update.old_status)) };
        (format!("{}: {}{was}", first_line(&component.name), words(status)), status == "operational")
    } else {
        return None;
    };
    Some(Post { author: "Statuspage".into(), text, status: Status::bad_if(!is_over), ..Post::default() })
}
