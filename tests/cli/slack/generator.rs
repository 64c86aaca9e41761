//! Makes an export after Slack's documented format.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The first day: 2024-01-01.
const BEGIN: u64 = 1_704_067_200;
/// Seconds between two messages.
const STEP: u64 = 600;
const CHANNELS: [&str; 6] = ["general", "dev", "ops", "secret", "D1", "mpdm-ada--grace--guest-1"];

/// What an export has.
#[derive(Default)]
pub struct Counts {
    /// Messages of people that begin a thread, or could.
    pub posts: u64,
    pub replies: u64,
    /// Posts of programs.
    pub fed: u64,
    pub joins: u64,
    pub files: u64,
    pub empty: u64,
    pub orphans: u64,
    pub dev: Dev,
}

/// What the channel `dev` shows.
#[derive(Default)]
pub struct Dev {
    pub posts: u64,
    pub replies: u64,
    pub reactions: u64,
    pub edited: u64,
    pub fed: u64,
}

impl Counts {
    /// Counts what a program has posted.
    fn fed(&mut self, message: Value, is_dev: u64) -> Value {
        self.fed += 1;
        self.dev.posts += is_dev;
        self.dev.fed += is_dev;
        message
    }

    /// How often something is reported as left out, besides people and files that are left out once.
    pub fn left_out(&self) -> u64 {
        self.joins + self.files + self.empty + self.orphans
    }
}

fn ts(n: u64) -> String {
    format!("{}.{:06}", BEGIN + n * STEP, n % 1_000_000)
}

/// The date of a message, as a file is named.
fn date(n: u64) -> String {
    jiff::Timestamp::from_second((BEGIN + n * STEP) as i64).unwrap().strftime("%Y-%m-%d").to_string()
}

/// An export of so many entries, the last of which has something of everything.
pub fn generate(number: u64) -> (BTreeMap<String, Value>, Counts) {
    let (mut files, mut counts, mut roots) = (lists(), Counts::default(), BTreeMap::new());
    for n in 0..number - 1 {
        let channel = (n % 6) as usize;
        let message = entry(n, channel, &mut roots, &mut counts);
        push(&mut files, CHANNELS[channel], n, message);
    }
    let n = number - 1;
    counts.posts += 1;
    counts.files += 1;
    let last = json!({
        "type": "message", "user": "U0", "ts": ts(n),
        "text": "<@U1> &amp; <!channel>: see <#C2|dev> and <https://plan.example/?a=1&amp;b=2|the plan> :tada:",
        "reactions": [{ "name": "+1::skin-tone-3", "users": ["U1", "U9"], "count": 2 }],
        "files": [{ "id": "F1", "name": "plan.pdf", "permalink": "https://files.example/F1", "mode": "hosted" }],
    });
    push(&mut files, "general", n, last);
    let pin = json!([{ "id": ts(n), "type": "C", "created": BEGIN + n * STEP + 1, "user": "U0" }]);
    files.get_mut("channels.json").unwrap()[0]["pins"] = pin;
    (files, counts)
}

fn push(files: &mut BTreeMap<String, Value>, channel: &str, n: u64, message: Value) {
    let day = files.entry(format!("{channel}/{}.json", date(n))).or_insert_with(|| json!([]));
    day.as_array_mut().unwrap().push(message);
}

fn entry(n: u64, channel: usize, roots: &mut BTreeMap<usize, String>, counts: &mut Counts) -> Value {
    let is_dev = u64::from(channel == 1);
    let user = ["U0", "U1", "U2"][(n / 6 % 3) as usize];
    let mut message = json!({ "type": "message", "user": user, "text": format!("message {n}"), "ts": ts(n),
        "team": "T1", "client_msg_id": format!("{n}") });
    match n / 6 % 20 {
        0 => {
            message["thread_ts"] = json!(ts(n));
            message["reply_count"] = json!(4);
            roots.insert(channel, ts(n));
        }
        7..=10 if roots.contains_key(&channel) => {
            message["thread_ts"] = json!(roots[&channel]);
            message["parent_user_id"] = json!("U0");
            if n.is_multiple_of(11) {
                message["subtype"] = json!("thread_broadcast");
            }
            counts.replies += 1;
            counts.dev.replies += is_dev;
            return message;
        }
        12 => {
            message = json!({ "type": "message", "subtype": "bot_message", "bot_id": "B1", "username": "Deploys", "ts": ts(n), "text": "",
                "attachments": [{ "title": "Build", "title_link": "https://ci.example/7", "text": "passed &amp; deployed", "id": 1 }] });
            return counts.fed(message, is_dev);
        }
        13 => {
            message = json!({ "type": "message", "user": "UB", "bot_id": "B1", "bot_profile": { "name": "Deploys", "app_id": "A1" },
                "ts": ts(n), "text": "deployed" });
            return counts.fed(message, is_dev);
        }
        14 => {
            message =
                json!({ "type": "message", "subtype": "channel_join", "user": user, "text": "<@U1> has joined", "ts": ts(n) });
            counts.joins += 1;
            return message;
        }
        15 => {
            message["text"] = json!("");
            counts.empty += 1;
            return message;
        }
        16 => {
            message["thread_ts"] = json!("1600000000.000001"); // before the export begins
            counts.orphans += 1;
        }
        17 => {
            message["edited"] = json!({ "user": user, "ts": ts(n + 1) });
            counts.dev.edited += is_dev;
        }
        18 => {
            message["reactions"] = json!([{ "name": "thumbsup", "users": ["U0", "U1"], "count": 2 },
                { "name": "shipit-2", "users": ["U0"], "count": 1 }]);
            counts.dev.reactions += 2 * is_dev;
        }
        _ => {}
    }
    counts.posts += 1;
    counts.dev.posts += is_dev;
    message
}

fn lists() -> BTreeMap<String, Value> {
    let user = |id: &str, name: &str, more: Value| {
        let mut user = json!({ "id": id, "team_id": "T1", "name": name, "deleted": false, "is_bot": false,
            "real_name": format!("{name} Example"), "profile": { "real_name": format!("{name} Example") } });
        let object = user.as_object_mut().unwrap();
        object.extend(more.as_object().unwrap().clone());
        user
    };
    let address = |name: &str| json!({ "email": format!("{name}@x.example"), "first_name": name, "last_name": "Example" });
    let users = json!([
        user("U0", "ada", json!({ "is_primary_owner": true, "is_owner": true, "is_admin": true, "profile": address("Ada") })),
        user("U1", "grace", json!({ "profile": address("grace") })),
        user("U2", "linus", json!({ "deleted": true })),
        user("U3", "guest", json!({ "is_restricted": true, "profile": address("guest") })),
        user("UB", "deploys", json!({ "is_bot": true, "profile": { "email": null, "api_app_id": "A1" } })),
    ]);
    let channel = |id: &str, name: &str, members: Value, more: Value| {
        let mut channel = json!({ "id": id, "name": name, "created": BEGIN, "creator": "U0", "is_archived": false, "is_general": false,
            "members": members, "topic": { "value": "", "creator": "", "last_set": 0 }, "purpose": { "value": "What it is for" } });
        channel.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        channel
    };
    let channels = json!([
        channel("C1", "general", json!(["U0", "U1", "U3", "UB"]), json!({ "is_general": true })),
        channel("C2", "dev", json!(["U0", "U1"]), json!({})),
        channel("C3", "ops", json!([]), json!({ "is_archived": true })),
    ]);
    BTreeMap::from([
        ("users.json".into(), users),
        ("channels.json".into(), channels),
        ("groups.json".into(), json!([channel("G1", "secret", json!(["U0", "U1"]), json!({}))])),
        ("dms.json".into(), json!([{ "id": "D1", "created": BEGIN, "members": ["U0", "U1"] }])),
        ("mpims.json".into(), json!([channel("G2", "mpdm-ada--grace--guest-1", json!(["U0", "U1", "U3"]), json!({}))])),
        ("integration_logs.json".into(), json!([{ "user_id": "U0", "change_type": "added", "date": "1704067200" }])),
    ])
}
