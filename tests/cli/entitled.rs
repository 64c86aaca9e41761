//! The publications that a subscriber was entitled to, from the event log, and the comparison with those it received.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
};

use rusqlite::{Connection, Row};
use serde_json::{Value, json};

use crate::subscriber::{Heard, Stream, Subscriber};

/// A row of the log.
struct Logged {
    seq: i64,
    stream: String,
    audience: String,
    kind: String,
    channel: String,
    message: Option<i64>,
    actor: String,
    body: Value,
}

/// The whole log, with what was pruned of it.
#[derive(Default)]
pub struct Log {
    rows: BTreeMap<i64, Logged>,
    floor: i64,
    /// Messages whose text is gone.
    deleted: HashSet<i64>,
    /// Channel and user of each membership, with the place in the log from which on it entitles.
    members: HashMap<(String, String), i64>,
}

pub fn open(folder: &Path) -> Connection {
    let database = Connection::open(folder.join("tidings.db")).unwrap();
    database.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    database
}

const UNREAD: &str = "unread_thread_change";
const THREAD: &str = "thread_unread";
const UPDATE: &str = "channel_update";

impl Log {
    /// Reads the rows of the log, and keeps those that were read before.
    pub fn read(&mut self, database: &Connection) {
        let mut rows = database
            .prepare(
                "select seq, stream, audience, e.type, lower(hex(e.channel_id)), message_n, lower(hex(actor_id)), body,
                   lower(hex(m.id)), m.content, m.edited_at is not null
                 from events e left join messages m on e.type = '' and m.n = e.message_n",
            )
            .unwrap();
        // The log doesn't store a new message: it is the message as it is now.
        let body = |row: &Row| -> rusqlite::Result<Value> {
            if !row.get_ref(7)?.as_str()?.is_empty() {
                return Ok(serde_json::from_str(row.get_ref(7)?.as_str()?).unwrap());
            }
            let id: uuid::Uuid = row.get::<_, String>(8)?.parse().unwrap();
            let content: Option<String> = if row.get(10)? { None } else { row.get(9)? };
            Ok(json!({ "id": id, "content": content }))
        };
        let text = |row: &Row, at| row.get::<_, Option<String>>(at).map(Option::unwrap_or_default);
        let logged = rows.query_map([], |row| {
            Ok(Logged {
                seq: row.get(0)?,
                stream: row.get(1)?,
                audience: row.get(2)?,
                kind: row.get(3)?,
                channel: text(row, 4)?,
                message: row.get(5)?,
                actor: text(row, 6)?,
                body: body(row)?,
            })
        });
        self.rows.extend(logged.unwrap().map(|row| row.unwrap()).map(|row| (row.seq, row)));
        let floor: String =
            database.query_row("select value from meta where key = 'events_floor'", [], |row| row.get(0)).unwrap();
        self.floor = floor.parse().unwrap();
        let mut deleted = database.prepare("select n from messages where deleted_at is not null").unwrap();
        self.deleted = deleted.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        let sql = "select lower(hex(channel_id)), lower(hex(user_id)), joined_seq from channel_members";
        let mut members = database.prepare(sql).unwrap();
        let member = |row: &Row| Ok(((row.get(0)?, row.get(1)?), row.get(2)?));
        self.members = members.query_map([], member).unwrap().map(Result::unwrap).collect();
    }

    /// Prunes all rows that the log has now; this record keeps them.
    pub fn prune(&mut self, database: &mut Connection) {
        let tx = database.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
        self.read(&tx);
        let floor = "update meta set value = coalesce((select max(seq) from events), value) where key = 'events_floor'";
        tx.execute(floor, []).unwrap();
        tx.execute("delete from events", []).unwrap();
        tx.commit().unwrap();
    }

    /// How often a bare message stands on a stream.
    pub fn count(&self, stream: &str, message: &str) -> usize {
        let is_it = |row: &&Logged| row.kind.is_empty() && row.stream == stream && row.body["id"] == message;
        self.rows.values().filter(is_it).count()
    }

    /// Everything that the subscriber heard is what it was entitled to: nothing lost, nothing twice, in order.
    pub fn check(&self, subscriber: &Subscriber) {
        for stream in &subscriber.streams {
            let at = format!("{} on {}", subscriber.name, stream.name);
            match stream.name.split_once('/') {
                None => {
                    self.check_gaps(stream, |row| row.stream == stream.name, &at);
                    let heard: Vec<&Heard> = stream.heard.iter().collect();
                    self.check_rows(stream, heard, |row| row.stream == stream.name && row.audience != "members", &at);
                }
                Some((_, user)) => self.check_personal(stream, &user.replace('-', ""), &at),
            }
        }
    }

    /// The personal stream: rows addressed to this person one by one, and beside them only state of their channels.
    fn check_personal(&self, stream: &Stream, user: &str, at: &str) {
        let is_state =
            |row: &Logged| [UNREAD, THREAD].contains(&row.kind.as_str()) || (row.stream != stream.name && row.kind == UPDATE);
        let is_mine = |row: &Logged| {
            let is_for_members = row.audience != "subscribers" && row.actor != user;
            let joined = self.members.get(&(row.channel.clone(), user.to_owned()));
            row.stream == stream.name || is_for_members && joined.is_some_and(|joined| row.seq > *joined)
        };
        let is_of_mine = |row: &Logged| is_mine(row) || self.members.contains_key(&(row.channel.clone(), user.to_owned()));
        self.check_gaps(stream, is_of_mine, at);
        let is_addressed = |row: &Logged| is_mine(row) && row.audience != "both" && !is_state(row);
        let (addressed, state): (Vec<_>, Vec<_>) = stream.heard.iter().partition(|heard| is_addressed(&self.rows[&heard.offset]));
        self.check_rows(stream, addressed, is_addressed, at);
        for heard in state {
            let row = &self.rows[&heard.offset];
            assert!(
                [UNREAD, THREAD, UPDATE].contains(&heard.data["notification_type"].as_str().unwrap_or_default()),
                "{at}: {}",
                heard.data
            );
            let channel = heard.data["data"]["channels_id"].as_str().unwrap_or_default().replace('-', "");
            assert_eq!(channel, row.channel, "{at}: at {}", row.seq);
            assert!(self.members.contains_key(&(channel, user.to_owned())), "{at}: {}", heard.data);
        }
    }

    fn check_rows(&self, stream: &Stream, heard: Vec<&Heard>, is_mine: impl Fn(&Logged) -> bool, at: &str) {
        let in_gap = |seq: i64| stream.gaps.iter().any(|(from, to)| seq > *from && seq <= *to);
        let mine = self.rows.values().filter(|row| row.seq > stream.first && !in_gap(row.seq) && is_mine(row));
        let entitled: Vec<i64> = mine.map(|row| row.seq).collect();
        let offsets: Vec<i64> = heard.iter().map(|heard| heard.offset).collect();
        assert_eq!(offsets, entitled, "{at}, but for {:?}", stream.gaps);
        for heard in heard {
            let row = &self.rows[&heard.offset];
            let mut data = heard.data.clone();
            let id = data.as_object_mut().and_then(|data| data.remove("notification_id"));
            assert_eq!(id.is_some(), !row.kind.is_empty(), "{at}: {}", heard.data);
            if row.message.is_none_or(|message| !self.deleted.contains(&message)) {
                match row.kind.is_empty() {
                    false => assert_eq!(data, row.body, "{at}: at {}", row.seq),
                    // One that was edited is heard with its first text live, and with the present one when it is recovered.
                    true => {
                        assert_eq!(data["id"], row.body["id"], "{at}: at {}", row.seq);
                        let is_edited = row.body["content"].is_null();
                        assert!(is_edited || data["content"] == row.body["content"], "{at}: at {}: {data}", row.seq);
                    }
                }
            }
        }
    }

    /// A gap is told only where the log was cut and something had come: to this stream, or for others beside it.
    fn check_gaps(&self, stream: &Stream, moves: impl Fn(&Logged) -> bool, at: &str) {
        for (from, to) in &stream.gaps {
            assert!(*from < self.floor, "{at}: nothing was cut after {from}");
            let moved = self.rows.range(from + 1..=*to).any(|(_, row)| moves(row));
            assert!(moved, "{at}: nothing had come after {from}");
        }
    }
}

/// What a client shows at the end from the personal stream alone: the last state of this kind for each channel. A
/// client that was told of a gap asks afresh; what it then knew is not in here.
pub fn last_state<'a>(stream: &'a Stream, kind: &str) -> HashMap<&'a str, &'a Value> {
    let after = stream.gaps.last().map_or(0, |(_, to)| *to);
    let heard = stream.heard.iter().filter(|heard| heard.offset > after && heard.data["notification_type"] == kind);
    heard.filter_map(|heard| Some((heard.data["data"]["channels_id"].as_str()?, &heard.data["data"]))).collect()
}
