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
    let head = bold(&format!("{} is {}", first_line(if name.is_empty() { &slug } else { &name }), first_line(&status)));
    let pings =
        if last_ping.is_empty() { String::new() } else { format!("Last ping {}, {n_pings} in all", first_line(&last_ping)) };
    let tags = if tags.is_empty() { tags } else { format!("Tags: {}", first_line(&tags)) };
    let text = one_per_line([head, first_line(&desc), pings, tags]);
    Post { author: "Healthchecks.io".into(), text, status: Status::bad_if(status == "down"), ..Post::default() }
}
