//! Monitors of Uptime Kuma: <https://github.com/louislam/uptime-kuma/wiki/Notification-Methods>.

use serde_json::Value;

use super::{
    Post, Status,
    honest_links::link,
    lenient_fields::{Field, object},
    markdown_pieces::one_per_line,
};

object! {
    struct Event { msg: String, heartbeat: Heartbeat, monitor: Monitor }
    /// The status is 0 for a monitor that is down.
    struct Heartbeat { status: String, msg: String }
    struct Monitor { name: String, kind "type": String, url: String, hostname: String, port: String }
}

/// The post of a heartbeat, of a certificate that ends soon, or of a test.
pub fn post(body: &Value) -> Post {
    let Event { msg, heartbeat, monitor } = Event::read(body);
    let named = monitor.named();
    let text = match msg.strip_prefix(&format!("[{}] ", monitor.name)) {
        Some(says) => format!("{named} {says}"),
        None if msg.is_empty() => one_per_line([named, heartbeat.msg]),
        None => one_per_line([msg.clone(), named]),
    };
    // A certificate or a domain that ends soon has neither a heartbeat nor a monitor.
    let ends_soon = body["heartbeat"].is_null() && body["monitor"].is_null() && msg.contains("will expire in");
    let status = Status::bad_if(heartbeat.status == "0" || ends_soon);
    Post { author: "Uptime Kuma".into(), text, status, ..Post::default() }
}

impl Monitor {
    /// The name, with what the monitor watches. One that watches no page has `https://` as its address, or none.
    fn named(&self) -> String {
        let has_page = !matches!(self.url.as_str(), "" | "http://" | "https://");
        match self.kind.as_str() {
            "port" => format!("{} ({}:{})", self.name, self.hostname, self.port),
            _ if has_page => link(&self.name, &self.url),
            _ => self.name.clone(),
        }
    }
}
