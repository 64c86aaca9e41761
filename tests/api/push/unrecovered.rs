//! Where recovery ends, on each kind of stream: what can't be caught up with is said.

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server},
    socket::Socket,
};

/// Grace in a channel of Ada's, and where she was in some of her streams when she went away.
struct Away {
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
    positions: Vec<(String, Value)>,
}

async fn away() -> Away {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    ada.say(&channel, "heard").await;
    let mut socket = Socket::connect(&grace).await;
    let mut positions = Vec::new();
    for stream in [channel.clone(), grace.personal(&organisation), organisation.clone()] {
        let position = socket.subscribe(&stream).await;
        assert_eq!([&position["recoverable"], &position["positioned"]], [true, true], "{position}");
        assert!(position["epoch"].as_str().is_some_and(|epoch| !epoch.is_empty()), "{position}");
        positions.push((stream, position));
    }
    Away { server, ada, grace, organisation, channel, positions }
}

impl Away {
    /// The answer to Grace's subscription from that position of the stream.
    async fn resumed(&self, stream: &str, position: &Value) -> Value {
        let mut socket = Socket::connect(&self.grace).await;
        let result = socket.recover(stream, &position["epoch"], &position["offset"]).await;
        assert_eq!(result["was_recovering"], true, "{stream}: {result}");
        result
    }

    /// Grace comes back to the stream: whether she recovered, how much, and where she is now.
    async fn back(&self, stream: usize) -> (bool, usize, Value) {
        let (name, position) = &self.positions[stream];
        outcome(self.resumed(name, position).await)
    }

    /// The log forgets all that it has.
    fn forget(&self) {
        self.server.sql("update meta set value = (select max(seq) from events) where key = 'events_floor'");
        self.server.sql("delete from events");
    }

    fn top(&self) -> i64 {
        self.server.number("select seq from sqlite_sequence where name = 'events'")
    }
}

fn outcome(result: Value) -> (bool, usize, Value) {
    let recovered = result["recovered"].as_bool().unwrap_or_default();
    (recovered, result["publications"].as_array().map_or(0, Vec::len), result)
}

const CHANNEL: usize = 0;
const PERSONAL: usize = 1;
const ORGANISATION: usize = 2;

#[tokio::test]
async fn a_client_that_was_away_for_longer_than_the_log_reaches_is_told() {
    let away = away().await;
    away.ada.say(&away.channel, "missed").await;
    away.forget();
    away.ada.say(&away.channel, "kept").await;
    for stream in [CHANNEL, PERSONAL] {
        let (recovered, publications, result) = away.back(stream).await;
        assert_eq!((recovered, publications), (false, 0), "{result}");
        assert_eq!((&result["offset"], &result["epoch"]), (&json!(away.top()), &away.positions[stream].1["epoch"]), "{result}");
        let (recovered, publications, _) = outcome(away.resumed(&away.positions[stream].0, &result).await);
        assert_eq!((recovered, publications), (true, 0), "from where she is now");
    }
}

#[tokio::test]
async fn a_stream_without_new_events_is_recovered_after_any_pruning() {
    let away = away().await;
    away.ada.say(&away.ada.channel(&away.organisation, "other", &[]).await, "not hers").await;
    away.forget();
    for stream in [CHANNEL, PERSONAL, ORGANISATION] {
        let (recovered, publications, result) = away.back(stream).await;
        assert_eq!((recovered, publications, &result["offset"]), (true, 0, &json!(away.top())), "{stream}: {result}");
    }
}

#[tokio::test]
async fn a_position_that_was_never_there_is_not_recovered() {
    let away = away().await;
    away.ada.say(&away.channel, "missed").await;
    for (name, position) in &away.positions {
        let (epoch, offset, top) = (&position["epoch"], &position["offset"], away.top());
        for wrong in [json!({ "epoch": epoch, "offset": top + 1 }), json!({ "epoch": "another", "offset": offset })] {
            let (recovered, publications, result) = outcome(away.resumed(name, &wrong).await);
            assert_eq!((recovered, publications), (false, 0), "{name}: {result}");
            assert_eq!((&result["offset"], &result["epoch"]), (&json!(top), epoch), "{name}: {result}");
        }
        for right in [json!({ "epoch": epoch, "offset": offset }), json!({ "epoch": "", "offset": offset })] {
            assert!(outcome(away.resumed(name, &right).await).0, "{name}: {right}");
        }
    }
}
