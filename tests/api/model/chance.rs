//! Things done at random, in whatever order: what is refused changes nothing, and that must look so, too.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::script::Row;
use crate::harness::text;

const ACTORS: [&str; 4] = ["ada", "grace", "bob", "gus"];
const WORDS: [&str; 8] = ["@ada", "@grace", "@bob", "@gus", "@channel", "@robert", "engines", "tea"];

/// Random choices, the same for the same seed.
pub struct Chance {
    state: u64,
    organisation: String,
    users: Vec<String>,
    channels: Vec<String>,
    /// Messages, each with its channel and thread.
    messages: Vec<[String; 3]>,
}

impl Chance {
    /// Begins with the records that `names` maps to.
    pub fn new(seed: u64, names: &BTreeMap<String, String>) -> Chance {
        let named = |name: &str| names[name].clone();
        let messages = [["news", "post", "post"], ["news", "reply", "post"], ["plans", "plan", "plan"]];
        Chance {
            state: seed,
            organisation: named("org"),
            users: ACTORS.map(named).into(),
            channels: ["news", "plans"].map(named).into(),
            messages: messages.map(|of| of.map(named)).into(),
        }
    }

    pub fn below(&mut self, limit: usize) -> usize {
        // SplitMix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    fn text(&mut self) -> String {
        (0..=self.below(3)).map(|_| self.one(&WORDS)).collect::<Vec<_>>().join(" ")
    }

    pub fn row(&mut self) -> Row {
        let who = self.one(&ACTORS);
        let (organisation, text) = (self.organisation.clone(), self.text());
        let user = self.one(&self.users.clone());
        let (channel, [home, message, thread]) = (self.one(&self.channels.clone()), self.one(&self.messages.clone()));
        let flag = self.below(2) == 0;
        let in_channel = |end: &str| format!("/channels/{channel}{end}");
        let at_message = |end: &str| format!("/channels/{home}/messages/{message}{end}");
        let member = format!("/organisations/{organisation}/users/{user}");
        let none = Value::Null;
        let (who, method, path, body) = match self.below(36) {
            0..=3 => (who, "POST", in_channel("/messages"), json!({ "content": text })),
            4..=7 => (who, "POST", format!("/channels/{home}/messages"), json!({ "content": text, "thread_id": thread })),
            8..=11 => (who, "PUT", format!("/channels/{home}/messages"), json!({ "content": text, "message_id": message })),
            12..=13 => (who, "DELETE", at_message(""), none),
            14 => (who, if flag { "PUT" } else { "DELETE" }, at_message("/reactions/tada"), none),
            15 => (who, if flag { "PUT" } else { "DELETE" }, at_message("/pin"), none),
            16 => (who, "PUT", format!("/channels/{home}/read"), json!({ "last_message_id": message })),
            17 if flag => (who, "PUT", in_channel("/read"), json!({})),
            17 => (who, "PUT", format!("/channels/{home}/read"), json!({ "unread_from": message })),
            18 => {
                let status = if flag { "completed" } else { "pending" };
                (who, "PUT", format!("/threads/{thread}/channels/{home}"), json!({ "status": status }))
            }
            19..=20 => (who, "POST", in_channel("/join"), json!({})),
            21 if flag => (who, "POST", in_channel("/leave"), none),
            21..=22 => (who, "POST", in_channel("/users"), json!({ "user_ids": [user] })),
            23 => (who, "DELETE", in_channel(&format!("/users/{user}")), none),
            24 => (who, "PATCH", in_channel("/username"), json!({ "username": self.one(&["robert", "x", "y"]) })),
            25 => (who, "PATCH", in_channel(""), json!({ "topic": text, "is_private": flag })),
            26 => ("ada", "PUT", in_channel("/archive"), json!({ "archived": self.below(3) == 0 })),
            27 => (who, "POST", format!("/organisations/{organisation}/dms"), json!({ "user_ids": [user] })),
            28 => {
                let channel = json!({ "organisation_id": organisation, "name": text, "is_private": flag, "userIds": [user] });
                (who, "POST", "/channels".to_owned(), channel)
            }
            29 => {
                let (role, status) =
                    (self.one(&["member", "guest", "manager", "manager"]), self.one(&["active", "active", "deactivated"]));
                ("ada", "PUT", member, json!({ "role_id": role, "status": status }))
            }
            30 if self.below(4) == 0 => ("ada", "DELETE", member, none),
            30 => ("root", "POST", format!("/organisations/{organisation}/users"), json!({ "user_id": user })),
            33 if flag => (who, "PUT", format!("/threads/{thread}/read"), json!({})),
            33 | 34 => (who, "PUT", format!("/threads/{thread}/read"), json!({ "unread_from": message })),
            35 => (who, if flag { "DELETE" } else { "PUT" }, format!("/threads/{thread}/follow"), none),
            31 => (who, if flag { "POST" } else { "DELETE" }, in_channel(self.one(&["/star", "/mute"])), none),
            // Not of who was removed: their new name shows with what they once wrote, and nobody there is told.
            _ => ("ada", "PATCH", "/profile".to_owned(), json!({ "first_name": text })),
        };
        Row::new(who, method, path, if body.is_null() { String::new() } else { body.to_string() })
    }

    /// Remembers what was made.
    pub fn learn(&mut self, row: &Row, answer: &Value) {
        let data = &answer["data"];
        if row.method == "POST" && row.path.ends_with("/messages") {
            self.messages.push(["channel_id", "id", "thread_id"].map(|field| text(&data[field])));
        } else if row.method == "POST" && (row.path == "/channels" || row.path.ends_with("/dms")) {
            self.channels.push(text(&data["channels_id"]));
        }
    }
}
