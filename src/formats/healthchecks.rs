//! Checks of Healthchecks.io, whose placeholder `$JSON` is the check as its API has it: <https://healthchecks.io/docs/api/>.

use serde_json::Value;

use super::{
    Post, Status,
    lenient_fields::{Field, object},
    markdown_pieces::{bold, first_line, one_per_line},
};

object! {
    struct Check { name: String, slug: String, status: String, tags: String, desc: String, last_ping: String, n_pings: u64 }
}

pub fn post(body: &Value) -> Post {
    let Check { name, slug, status, tags, desc, last_ping, n_pings } = Check::read(body);
    let name = [&*name, &*slug].into_iter().find(|name| !name.trim().is_empty()).unwrap_or("A check");
    let head = bold(&format!("{} is {}", first_line(name), first_line(&status)));
    let pings = if last_ping.is_empty() { String::new() } else { format!("Last ping {}, {n_pings} in all", minute(&last_ping)) };
    let tags = if tags.is_empty() { tags } else { format!("Tags: {}", first_line(&tags)) };
    let text = one_per_line([head, first_line(&desc), pings, tags]);
    Post { author: "Healthchecks.io".into(), text, status: Status::bad_if(status == "down"), ..Post::default() }
}

/// `2026-11-25 03:00 UTC` for `2026-11-25T03:00:07+00:00`. A time of another form stays as it is.
fn minute(time: &str) -> String {
    let time = first_line(time);
    let parts = time.strip_suffix("+00:00").and_then(|time| time.split_once('T'));
    match parts.and_then(|(day, clock)| Some((day, clock.get(..5)?))) {
        Some((day, minute)) => format!("{day} {minute} UTC"),
        None => time,
    }
}
