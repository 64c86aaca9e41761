//! An external Centrifugo is fed from the event log: in order, once, whatever fails.

use crate::{
    harness::{Client, PASSWORD, Server, email},
    stand_in::{API_KEY, Arrival, Fault, StandIn, TOKEN_KEY},
};
use serde_json::{Value, json};
use tidings::{
    db,
    domain::{
        accounts::by_operator,
        log::{cursors, events},
    },
};

/// Ada and Grace in the channel `news`.
struct Scene {
    stand_in: StandIn,
    server: Server,
    ada: Client,
    grace: Client,
    organisation: String,
    channel: String,
}

async fn scene() -> Scene {
    let mut stand_in = StandIn::start().await;
    let server = Server::with(|settings| settings.push = stand_in.settings()).await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    ada.say(&channel, "the scene is set").await;
    while stand_in.on(&channel).await["content"] != "the scene is set" {}
    while stand_in.on(&grace.personal(&organisation)).await["notification_type"] != "unread_thread_change" {}
    stand_in.forget();
    Scene { stand_in, server, ada, grace, organisation, channel }
}

impl Scene {
    /// Waits for the contents of this many messages of the channel.
    async fn heard(&mut self, count: usize) -> Vec<Value> {
        let mut contents = Vec::new();
        while contents.len() < count {
            contents.push(self.stand_in.on(&self.channel).await["content"].clone());
        }
        contents
    }

    async fn say(&self, contents: &[String]) {
        for content in contents {
            self.ada.say(&self.channel, content).await;
        }
    }
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("message {n}")).collect()
}

#[tokio::test]
async fn a_message_goes_to_its_channel_and_its_counts_to_each_member() {
    let Scene { mut stand_in, server, ada, grace, organisation, channel } = scene().await;
    let before = stand_in.requests().len();
    let message = ada.say(&channel, "hello").await;
    let (mut bare, mut counts) = (None, None);
    while bare.is_none() || counts.is_none() {
        match stand_in.next().await {
            Arrival::Publication { channel: on, data } if on == channel => bare = Some(data),
            Arrival::Publication { channel: on, data } if on == grace.personal(&organisation) => counts = Some(data),
            // That she has read her own post.
            Arrival::Publication { channel: on, .. } if on == ada.personal(&organisation) => {}
            other => panic!("{other:?}"),
        }
    }
    let (bare, counts) = (bare.unwrap(), counts.unwrap());
    assert_eq!([&bare["id"], &bare["content"]], [&message, "hello"]);
    assert_eq!(counts["notification_type"], "unread_thread_change");
    assert_eq!([&counts["data"]["thread_count"], &counts["data"]["channels_id"]], [&json!(2), &json!(channel)]);
    assert!(counts["notification_id"].is_string());
    let requests = stand_in.requests().split_off(before);
    let to_grace: Vec<_> =
        requests.iter().filter(|(_, body)| body.to_string().contains(&grace.personal(&organisation))).collect();
    assert_eq!(to_grace.len(), 1, "{requests:?}");
    assert_eq!(to_grace[0].0, "batch");
    assert!(to_grace[0].1.to_string().contains("hello"), "both at once: {requests:?}");
    server.stop().await;
}

#[tokio::test]
async fn a_publication_for_many_streams_is_one_broadcast() {
    let Scene { mut stand_in, server, ada, grace, organisation, channel } = scene().await;
    let bob = server.member(&ada, &organisation, "bob", "member").await;
    ada.post(&format!("/channels/{channel}/users"), json!({ "user_ids": [bob.user_id] })).await.expect(200);
    ada.say(&channel, "@channel lunch").await;
    while stand_in.on(&bob.personal(&organisation)).await["notification_type"] != "channel_mention" {}
    let (path, body) = stand_in.requests().pop().unwrap();
    assert_eq!((path.as_str(), &body["data"]["notification_type"]), ("broadcast", &json!("channel_mention")));
    let mut channels: Vec<_> = body["channels"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    channels.sort_unstable();
    let mut wanted = [grace.personal(&organisation), bob.personal(&organisation)];
    wanted.sort_unstable();
    assert_eq!(channels, wanted);
}

#[tokio::test]
async fn who_joins_before_a_publication_is_forwarded_does_not_get_what_came_before() {
    let Scene { mut stand_in, server, ada, grace, organisation, channel } = scene().await;
    stand_in.go_away().await;
    let lunch = ada.channel(&organisation, "lunch", &[]).await;
    ada.say(&lunch, "@channel soup").await;
    ada.post(&format!("/channels/{lunch}/users"), json!({ "user_ids": [grace.user_id] })).await.expect(200);
    ada.say(&channel, "@channel the end").await;
    stand_in.come_back().await;
    let mut told = Vec::new();
    while told.last().is_none_or(|last| *last != "channel_mention the end") {
        let data = stand_in.on(&grace.personal(&organisation)).await;
        let what = [&data["data"]["trigger_action"], &data["data"]["action"], &data["data"]["content"]];
        let what: Vec<_> = what.into_iter().filter_map(Value::as_str).collect();
        told.push(format!("{} {}", data["notification_type"].as_str().unwrap(), what.join(" ").trim_start_matches("@channel ")));
    }
    assert_eq!(
        told,
        ["channel_update joined", "trigger_notification joined", "unread_thread_change ", "channel_mention the end"]
    );
    server.stop().await;
}

#[tokio::test]
async fn failed_requests_are_repeated_until_every_publication_arrives_once_in_order() {
    let mut scene = scene().await;
    use Fault::*;
    let faults: [&[Fault]; 9] = [
        &[Status(500)],
        &[Dropped],
        &[Status(429)],
        &[Partly],
        &[Page],
        &[Status(401)],
        &[Status(404)],
        &[Dropped, Partly, Status(503)],
        &[Partly, Dropped],
    ];
    for (n, faults) in faults.into_iter().enumerate() {
        scene.stand_in.fail(faults);
        let wanted: Vec<_> = (0..5).map(|m| format!("{n} {m}")).collect();
        scene.say(&wanted).await;
        assert_eq!(scene.heard(wanted.len()).await, wanted, "{faults:?}");
    }
}

#[tokio::test]
async fn a_backlog_of_many_channels_keeps_the_order_of_each() {
    let mut scene = scene().await;
    let mut others = Vec::new();
    for n in 0..5 {
        others.push(scene.ada.channel(&scene.organisation, &format!("other {n}"), &[&scene.grace]).await);
    }
    scene.stand_in.fail_always(Some(Fault::Status(502)));
    let wanted = numbered(10);
    for content in &wanted {
        scene.ada.say(&scene.channel, content).await;
        for other in &others {
            scene.ada.say(other, content).await;
        }
    }
    let thread = scene.ada.say(&scene.channel, "the end").await;
    scene.ada.reply(&scene.channel, &thread, "of all").await;
    scene.stand_in.fail(&[Fault::Partly, Fault::Dropped, Fault::Partly]);
    scene.stand_in.fail_always(None);
    let mut heard: std::collections::HashMap<String, Vec<String>> = Default::default();
    loop {
        let Arrival::Publication { channel, data } = scene.stand_in.next().await else { panic!("nobody lost a right") };
        if data["content"] == "of all" {
            assert_eq!(channel, thread);
            break;
        }
        if let Some(content) = data["content"].as_str() {
            heard.entry(channel).or_default().push(content.into());
        }
    }
    for other in &others {
        assert_eq!(heard[other], wanted);
    }
    assert_eq!(heard[&scene.channel][..10], wanted);
}

#[tokio::test]
async fn messages_posted_while_centrifugo_is_down_arrive_when_it_is_back() {
    let mut scene = scene().await;
    scene.stand_in.go_away().await;
    let wanted = numbered(5);
    scene.say(&wanted).await;
    scene.stand_in.come_back().await;
    assert_eq!(scene.heard(wanted.len()).await, wanted);
}

#[tokio::test]
async fn a_request_that_is_not_answered_is_sent_again() {
    let mut scene = scene().await;
    scene.stand_in.fail(&[Fault::Silence]);
    let wanted = numbered(3);
    scene.say(&wanted).await;
    assert_eq!(scene.heard(wanted.len()).await, wanted);
}

#[tokio::test]
async fn a_restart_in_the_middle_loses_nothing() {
    let mut scene = scene().await;
    let wanted = numbered(6);
    scene.stand_in.fail(&[Fault::Dropped]);
    scene.stand_in.fail_always(Some(Fault::Status(500)));
    scene.say(&wanted[..3]).await;
    scene.server = scene.server.restart().await;
    scene.say(&wanted[3..]).await;
    scene.stand_in.fail_always(None);
    assert_eq!(scene.heard(wanted.len()).await, wanted);
}

#[tokio::test]
async fn a_publication_that_is_refused_for_good_is_skipped_and_no_other() {
    let mut scene = scene().await;
    let forbidden = scene.ada.channel(&scene.organisation, "forbidden", &[]).await;
    while scene.stand_in.on(&forbidden).await["notification_type"] != "channel_update" {}
    scene.stand_in.refuse("poison", &forbidden);
    scene.stand_in.fail(&[Fault::Status(500)]); // so that several come together
    scene.ada.say(&scene.channel, "poison").await;
    scene.ada.say(&forbidden, "nobody hears this").await;
    scene.ada.say(&scene.channel, "all is well").await;
    assert_eq!(scene.heard(1).await, ["all is well"]);
    let counts = scene.grace.personal(&scene.organisation);
    for _ in ["poison", "all is well"] {
        assert_eq!(scene.stand_in.on(&counts).await["notification_type"], "unread_thread_change");
    }
}

#[tokio::test]
async fn nothing_is_skipped_while_centrifugo_refuses_everything() {
    let mut scene = scene().await;
    // As of HTTPS that is spoken to without.
    scene.stand_in.fail_always(Some(Fault::Status(400)));
    let wanted = numbered(3);
    scene.say(&wanted).await;
    scene.stand_in.fail_always(None);
    assert_eq!(scene.heard(wanted.len()).await, wanted);
}

#[tokio::test]
async fn push_tokens_for_centrifugo_are_good_for_five_minutes() {
    #[derive(serde::Deserialize)]
    struct Claims {
        sub: String,
        exp: i64,
        channel: Option<String>,
    }
    let Scene { server, grace, organisation, channel, .. } = scene().await;
    let key = jsonwebtoken::DecodingKey::from_secret(TOKEN_KEY.as_bytes());
    let rules = jsonwebtoken::Validation::new(jsonwebtoken::Algorithm::HS256);
    let claims = |token: &str| jsonwebtoken::decode::<Claims>(token, &key, &rules).unwrap().claims;
    let (connection, subscription) = (grace.connection_token().await, grace.subscription_token(&channel).await);
    for (token, names) in [(&connection, None), (&subscription, Some(channel))] {
        let claims = claims(token);
        assert_eq!((claims.sub, claims.channel), (grace.user_id.clone(), names));
        let left = claims.exp - jiff::Timestamp::now().as_second();
        assert!((290..=300).contains(&left), "{left}");
    }
    grace.post("/token/subscription", json!({ "channel": organisation })).await.expect(200);
    assert!(!server.stores(API_KEY) && !server.stores(TOKEN_KEY));
}

#[tokio::test]
async fn the_embedded_endpoint_is_off() {
    let Scene { server, .. } = scene().await;
    for path in ["/connection/websocket", "/centrifugo/connection/websocket"] {
        let request = server.anonymous().request("GET", path).header("upgrade", "websocket").header("connection", "upgrade");
        assert_eq!(request.send().await.unwrap().status(), 404, "{path}");
    }
}

#[tokio::test]
async fn a_leaver_is_told_then_reconnects_and_receives_no_more() {
    let Scene { mut stand_in, server, ada, grace, organisation, channel } = scene().await;
    stand_in.fail_always(Some(Fault::Status(500)));
    ada.say(&channel, "before").await;
    grace.call("POST", &format!("/channels/{channel}/leave"), None).await.expect(200);
    ada.say(&channel, "after").await;
    stand_in.fail(&[Fault::Dropped, Fault::Partly]);
    stand_in.fail_always(None);
    let personal = grace.personal(&organisation);
    let (mut left, mut gone) = (false, false);
    loop {
        match stand_in.next().await {
            Arrival::Publication { channel: on, data } if on == personal => {
                assert!(!gone, "after the disconnect: {data}");
                left |= data["notification_type"] == "channel_update";
            }
            Arrival::Publication { data, .. } if data["content"] == "after" => break,
            Arrival::Publication { .. } => {}
            // Twice, when the first answer was lost: it does no harm.
            Arrival::Disconnect { user, code } => {
                assert_eq!((&user, code), (&grace.user_id, 3014));
                gone = true;
            }
        }
    }
    assert!(left && gone);
    grace.post("/token/subscription", json!({ "channel": channel })).await.expect(403);
    server.stop().await;
}

#[tokio::test]
async fn an_ended_session_an_account_and_an_organisation_disconnect_their_users() {
    let Scene { mut stand_in, server, ada, grace, organisation, .. } = scene().await;
    let there = server.log_in("grace", PASSWORD).await;
    there.call("POST", "/auth/logout", None).await.expect(200);
    assert_eq!(stand_in.disconnected().await, (grace.user_id.clone(), 3014));

    // As the command line does it, beside the server.
    server.write(|tx| by_operator::set_active(tx, &email("grace"), false)).unwrap();
    assert_eq!(stand_in.disconnected().await, (grace.user_id.clone(), 3014));

    ada.delete(&format!("/organisations/{organisation}")).await.expect(204);
    let users = [stand_in.disconnected().await.0, stand_in.disconnected().await.0];
    assert!(users.contains(&ada.user_id) && users.contains(&grace.user_id), "{users:?}");
}

#[tokio::test]
async fn waiting_and_refused_publications_are_counted() {
    let mut scene = scene().await;
    scene.server = {
        let folder = scene.server.end_and_keep().await;
        let change = |settings: &mut tidings::config::Settings| {
            settings.push = scene.stand_in.settings();
            settings.metrics_token = Some("a-token-for-the-tests".into());
        };
        Server::on_folder(folder, change).await
    };
    let value = async |sample: &str| -> i64 {
        let request = scene.server.anonymous().request("GET", "/metrics").bearer_auth("a-token-for-the-tests");
        let page = request.send().await.unwrap().text().await.unwrap();
        page.lines().find_map(|line| line.strip_prefix(sample)).unwrap().trim().parse().unwrap()
    };
    scene.ada.origin.clone_from(&scene.server.origin);
    scene.stand_in.refuse("poison", "none");
    scene.stand_in.fail(&[Fault::Status(500)]);
    scene.ada.say(&scene.channel, "poison").await;
    scene.ada.say(&scene.channel, "all is well").await;
    while scene.stand_in.on(&scene.channel).await["content"] != "all is well" {}
    while value("tidings_push_forwarding_lag").await > 0 {}
    assert!(value("tidings_push_forwarded_total{outcome=\"again\"}").await >= 1);
    assert_eq!(value("tidings_push_forwarded_total{outcome=\"skipped\"}").await, 1);
    scene.ada.call("POST", "/auth/logout", None).await.expect(200);
    assert_eq!(scene.stand_in.disconnected().await.0, scene.ada.user_id);
    while value("tidings_push_forwarding_lag").await > 0 {}
}

#[tokio::test]
async fn waiting_events_are_not_pruned() {
    let mut scene = scene().await;
    scene.stand_in.fail_always(Some(Fault::Status(500)));
    scene.say(&numbered(3)).await;
    let prune = |server: &Server| server.write(|tx| events::prune(tx, tx.now(), 1000)).unwrap();
    prune(&scene.server);
    assert!(scene.server.count("events") >= 3);
    scene.stand_in.fail_always(None);
    assert_eq!(scene.heard(3).await, numbered(3));
    scene.say(&["marker".to_owned()]).await;
    assert_eq!(scene.heard(1).await, ["marker"], "which was sent once the others had been confirmed");
    scene.server = scene.server.restart().await; // what was taken is noted a second later, or at the end
    prune(&scene.server);
    assert!(scene.server.count("events") <= 1, "the marker at the most");
}

#[tokio::test]
async fn at_most_a_million_events_wait() {
    let mut scene = scene().await;
    scene.stand_in.fail_always(Some(Fault::Status(500)));
    scene.say(&numbered(2)).await;
    let prune = |server: &Server| server.write(|tx| events::prune(tx, tx.now(), 1000)).unwrap();
    let last = db::read_once(scene.server.folder(), |conn| Ok(db::log_reader::last_seq(conn)?)).unwrap();
    let much_later = |seq: i64| {
        let (channel, body) = (&scene.channel, r#"{"content":"much later"}"#);
        scene.server.sql(&format!(
            "insert into events values ({seq}, '{channel}', 'subscribers', '', null, null, null, '{body}', unixepoch() * 1000000)"
        ));
    };
    prune(&scene.server);
    assert!(scene.server.count("events") >= 2);
    much_later(last + 1_000_000);
    prune(&scene.server);
    assert_eq!(scene.server.count("events"), 1, "the others have waited for too long");
    scene.stand_in.fail_always(None);
    while scene.stand_in.on(&scene.channel).await["content"] != "much later" {}
}

#[tokio::test]
async fn events_that_the_embedded_endpoint_published_are_not_sent_to_centrifugo() {
    let scene = scene().await;
    scene.stand_in.fail_always(Some(Fault::Status(500)));
    scene.say(&["never taken".to_owned()]).await;
    let folder = scene.server.end_and_keep().await;
    let embedded = Server::on_copy_of(folder.path(), |_| {}).await;
    let ada = Client { origin: embedded.origin.clone(), ..scene.ada.clone() };
    ada.say(&scene.channel, "heard elsewhere").await;
    assert_eq!(db::read_once(embedded.folder(), |conn| cursors::find(conn, cursors::FORWARDER)).unwrap(), None);
    let folder = embedded.end_and_keep().await;
    let mut stand_in = StandIn::start().await;
    let server = Server::on_copy_of(folder.path(), |settings| settings.push = stand_in.settings()).await;
    let ada = Client { origin: server.origin.clone(), ..scene.ada };
    ada.say(&scene.channel, "here again").await;
    assert_eq!(stand_in.on(&scene.channel).await["content"], "here again");
}
