//! Monitors of Uptime Kuma: <https://github.com/louislam/uptime-kuma/wiki/Notification-Methods>.

use serde_json::Value;

use super::{
    Post, Status,
    honest_links::link,
    lenient_fields::{Field, object},
    markdown_pieces::{bold, one_per_line},
};

object! {
    struct Event { msg: String, heartbeat: Heartbeat, monitor: Monitor }
    /// The status is 0 for a monitor that is down.
    struct Heartbeat { status: String, msg: String }
    struct Monitor { name: String, url: String }
}

/// The post of a heartbeat, of a certificate that ends soon, or of a test.
pub fn post(body: &Value) -> Post {
    let Event { msg, heartbeat, monitor } = Event::read(body);
    let has_address = !matches!(monitor.url.as_str(), "" | "http://" | "https://");
    let monitor = if has_address { link(&monitor.name, &monitor.url) } else { String::new() };
    let text = if msg.is_empty() { one_per_line([bold(&monitor), heartbeat.msg]) } else { one_per_line([msg, monitor]) };
    Post { author: "Uptime Kuma".into(), text, status: Status::bad_if(heartbeat.status == "0"), ..Post::default() }
}
