//! The names of emoji, for clients that complete them. It is no operation: the file is the same for everybody.

use std::sync::LazyLock;

use poem::{Request, Response};
use serde_json::json;

use crate::web::Asset;

/// Answers `/emoji.json`: each emoji with its names, in the order of Unicode's groups.
pub fn list_all(req: Request) -> Response {
    static NAMES: LazyLock<Asset> = LazyLock::new(|| {
        let named = emojis::iter().filter(|emoji| emoji.shortcode().is_some());
        let named = named.map(|emoji| {
            json!({
                "emoji": emoji.as_str(),
                "names": emoji.shortcodes().collect::<Vec<_>>(),
                "description": emoji.name(),
                "group": format!("{:?}", emoji.group()),
            })
        });
        Asset::new("application/json", json!({ "emoji": named.collect::<Vec<_>>() }).to_string(), Vec::new())
    });
    NAMES.answer(&req)
}
