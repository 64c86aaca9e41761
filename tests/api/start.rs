//! `GET /start`: what a client shows first, in one answer.

use serde_json::{Value, json};

use tidings::{
    domain::{
        access::{Caller, PlatformRole},
        first_screen,
        scopes::Grant,
        streams,
    },
    id::{SessionId, UserId},
};

use crate::{
    harness::{Client, Server, blob, text, unknown_id},
    messages::posting::statements,
    socket::Socket,
};

async fn fetch(client: &Client, query: &str) -> Value {
    client.get(&format!("/start{query}")).await.data(200, "Start retrieved successfully")
}

/// What of `whole` stands in `part`, field by field.
#[track_caller]
fn assert_within(part: &Value, whole: &Value) {
    for (field, value) in part.as_object().unwrap() {
        assert_eq!(Some(value), whole.get(field), "{field}");
    }
}

#[tokio::test]
async fn everything_in_it_is_what_the_single_operations_answer() {
    let server = Server::start().await;
    let (ada, grace, engines) = server.ada_and_grace().await;
    let looms = ada.organisation("Looms").await;
    let channel = ada.channel(&engines, "pilots", &[&grace]).await;
    grace.call("POST", &format!("/channels/{channel}/star"), None).await.expect(200);
    ada.channel(&engines, "hidden", &[]).await;
    let archived = ada.channel(&engines, "archived", &[&grace]).await;
    ada.say(&archived, "before").await;
    ada.put(&format!("/channels/{archived}/archive"), json!({ "archived": true })).await.expect(200);
    let dm = ada.post(&format!("/organisations/{engines}/dms"), json!({ "user_ids": [grace.user_id] })).await.expect(201);
    ada.say(&channel, "hello @grace").await;
    ada.say(&channel, "hello all").await;
    ada.say(&text(&dm["data"]["id"]), "hello you").await;

    let all = fetch(&grace, "").await;
    assert_eq!(all["user"], grace.get("/users/me").await.expect(200)["data"]);
    let listed = grace.get("/users/organisations").await.expect(200)["data"].take();
    assert_eq!(all["organisations"].as_array().unwrap().len(), 1);
    assert_within(&listed[0], &all["organisations"][0]);
    assert_eq!([&all["organisations"][0]["unread_count"], &all["organisations"][0]["mention_count"]], [&json!(3), &json!(1)]);
    assert_eq!([&all["organisation"]["id"], &all["organisation"]["role"]], [&json!(engines), &json!("member")]);
    let roles = grace.get(&format!("/organisations/{engines}/roles")).await.expect(200)["data"].take();
    let own = roles.as_array().unwrap().iter().find(|role| role["key"] == "member").unwrap();
    assert_eq!([&all["organisation"]["permissions"], &all["organisation"]["role_name"]], [&own["permissions"], &own["name"]]);

    for (list, path) in [("channels", "user-channels"), ("direct_messages", "dms")] {
        let single = grace.get(&format!("/organisations/{engines}/{path}")).await.expect(200)["data"].take();
        let (single, shown) = (single.as_array().unwrap(), all[list].as_array().unwrap());
        assert_eq!(shown.len(), single.len(), "{list}");
        for (shown, single) in shown.iter().zip(single) {
            let details = grace.get(&format!("/channels/{}", text(&shown["id"]))).await.expect(200)["data"].take();
            for (field, value) in shown.as_object().unwrap() {
                if field == "participants" {
                    let others = single[field].as_array().unwrap().iter().filter(|one| one["user_id"] != grace.user_id);
                    assert_eq!(value, &others.cloned().collect::<Value>());
                    continue;
                }
                assert!([single, &details].iter().any(|one| one.get(field) == Some(value)), "{list} {field}");
            }
        }
    }
    let names: Vec<_> = all["channels"].as_array().unwrap().iter().map(|one| text(&one["name"])).collect();
    assert_eq!(names, ["general", "pilots"]);
    assert_eq!(all["channels"][1]["is_starred"], true);

    let both = fetch(&ada, "").await;
    assert_eq!(both["organisation"]["id"], looms, "the current organisation");
    assert_eq!(both["organisation"]["role_name"], "Owner");
    assert_eq!(fetch(&ada, "?slug=engines").await["organisation"]["id"], engines);
    grace.get("/start?slug=looms").await.expect(404);
    grace.get("/start?slug=nowhere").await.expect(404);
}

#[tokio::test]
async fn who_is_in_no_organisation_has_an_empty_start() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let all = fetch(&ada, "").await;
    assert_eq!([&all["organisations"], &all["channels"], &all["direct_messages"], &all["tokens"]], [&json!([]); 4]);
    assert_eq!((&all["organisation"], &all["streams"]), (&Value::Null, &json!([ada.user_id])));
}

#[tokio::test]
async fn only_a_channel_that_the_caller_may_hear_gets_a_token() {
    let server = Server::start().await;
    let (ada, grace, engines) = server.ada_and_grace().await;
    let (general, hidden) = (ada.general(&engines).await, ada.channel(&engines, "hidden", &[]).await);
    for channel in [&hidden, &unknown_id()] {
        assert_eq!(fetch(&grace, &format!("?channel={channel}")).await["tokens"], json!([]));
    }
    let all = fetch(&grace, &format!("?channel={general}")).await;
    assert_eq!(all["tokens"][0]["channel"], general);
    let mut socket = Socket::open(&grace).await;
    socket.command("connect", json!({ "token": all["connection_token"] })).await;
    let reply = socket.command("subscribe", json!({ "channel": general, "token": all["tokens"][0]["token"] })).await;
    assert!(reply["subscribe"].is_object(), "{reply}");
    grace.get("/start?channel=5").await.expect(400);
}

/// Ada's world: an organisation of 1,000 people, 200 channels and 30 direct messages. Gives a channel with 50 posts.
async fn world(server: &Server, ada: &Client, organisation: &str) -> String {
    let (org, ada_id) = (blob(organisation), blob(&ada.user_id));
    let times = |most: u32| format!("with recursive k (n) as (select 1 union all select n + 1 from k where n < {most})");
    let people = "from users where username glob 'person[0-9]*'";
    for sql in [
        format!(
            "{} insert into users (id, email, username, first_name, last_name, created_at, updated_at)
             select randomblob(16), 'person' || n || '@example.org', 'person' || n, 'Grace', 'Hopper', 0, 0 from k",
            times(999)
        ),
        format!(
            "insert into organisation_members (organisation_id, user_id, role_id, created_at, updated_at)
             select {org}, id, 4, 0, 0 {people}"
        ),
        format!(
            "{} insert into channels (id, organisation_id, name, topic, owner_id, created_by, user_count, created_at, updated_at)
             select randomblob(16), {org}, 'project-' || n, 'What project ' || n || ' is about', {ada_id}, {ada_id}, 1000, 0, 0 from k",
            times(199)
        ),
        format!(
            "{} insert into channels (id, organisation_id, name, is_private, is_dm, dm_key, owner_id, created_by, user_count,
               created_at, updated_at)
             select randomblob(16), {org}, 'ada, person' || n, 1, 1, randomblob(32), {ada_id}, {ada_id}, 2, 0, 0 from k",
            times(30)
        ),
        format!(
            "insert into channel_members (channel_id, user_id, username, created_at)
             select id, {ada_id}, 'ada', 0 from channels where name like 'project-%' or is_dm"
        ),
        "insert into channel_members (channel_id, user_id, username, created_at)
             select c.id, u.id, u.username, 0 from users u join channels c on c.name like 'project-%' where u.username glob 'person[0-9]*'"
            .to_owned(),
        "insert into channel_members (channel_id, user_id, username, created_at)
         select c.id, u.id, u.username, 0 from channels c join users u on c.name = 'ada, ' || u.username"
            .to_owned(),
    ] {
        server.sql(&sql);
    }
    server.sql("update channels set last_message_at = 1799168801123456");
    let channel = ada.general(organisation).await;
    for n in 0..50 {
        ada.say(
            &channel,
            &format!("Message {n}: the engine of the second hall stands still, and somebody should look after it."),
        )
        .await;
    }
    channel
}

#[tokio::test]
async fn the_first_screen_is_three_requests_two_round_trips_and_a_hundred_and_ten_kilobytes() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = world(&server, &ada, &organisation).await;
    // The address that the person opens names the organisation and the channel, so both are asked for at once.
    let paths =
        [format!("/api/v1/start?slug=engines&channel={channel}"), format!("/api/v1/channels/{channel}/messages?limit=50")];
    let fetched = futures_util::future::join_all(
        paths.iter().map(|path| async { ada.request("GET", path).send().await.unwrap().bytes().await.unwrap() }),
    );
    let [first, page] = <[_; 2]>::try_from(fetched.await).unwrap();
    eprintln!("start {} bytes, page {} bytes", first.len(), page.len());
    assert!(first.len() + page.len() <= 110_000, "{} + {} bytes", first.len(), page.len());
    let first: Value = serde_json::from_slice(&first).unwrap();
    let page: Value = serde_json::from_slice(&page).unwrap();
    assert_eq!(page["messages"].as_array().unwrap().len(), 50);
    let all = &first["data"];
    assert_eq!(["channels", "direct_messages"].map(|list| all[list].as_array().unwrap().len()), [200, 30]);
    // One socket hears everything.
    let mut socket = Socket::open(&ada).await;
    let subs = json!({ &channel: { "token": all["tokens"][0]["token"] } });
    let reply = socket.command("connect", json!({ "token": all["connection_token"], "subs": subs })).await;
    let mut heard: Vec<_> = reply["connect"]["subs"].as_object().unwrap().keys().cloned().collect();
    heard.sort();
    let mut wanted = vec![channel, organisation.clone(), ada.personal(&organisation), ada.user_id.clone()];
    wanted.sort();
    assert_eq!(heard, wanted);
}

#[tokio::test]
async fn the_statements_of_a_start_grow_with_nothing() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let session = SessionId(ada.session_id().parse().unwrap());
    let caller = Caller {
        user: UserId(ada.user_id.parse().unwrap()),
        session,
        role: PlatformRole::User,
        person: UserId(ada.user_id.parse().unwrap()),
        grant: Grant::Session,
    };
    let read = || {
        let traced = server.write(|tx| {
            statements(tx, |tx| {
                first_screen::read(tx, caller, Some("engines"))?;
                streams::streams_of_user(tx, caller.user)?;
                Ok(())
            })
        });
        traced.unwrap()
    };
    read(); // with it the connection has read the schema
    let small = read();
    for n in 0..20 {
        ada.organisation(&format!("Looms {n}")).await;
    }
    world(&server, &ada, &organisation).await;
    let large = read();
    println!("{} statements", large.len());
    assert_eq!(large, small);
    assert!((5..=14).contains(&large.len()), "{large:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn five_tabs_restored_at_once_are_all_answered() {
    let server = Server::with(|settings| settings.rate_limit = tidings::config::Switch::On).await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.general(&organisation).await;
    for round in 0..3 {
        let tab = async || {
            let (start_path, page_path) =
                (format!("/start?slug=engines&channel={channel}"), format!("/channels/{channel}/messages"));
            let tokens = json!({ "channels": [channel, organisation] });
            let (start, page, tokens) =
                tokio::join!(ada.get(&start_path), ada.get(&page_path), ada.post("/token/subscription", tokens));
            [start.status, page.status, tokens.status]
        };
        let answered = futures_util::future::join_all((0..5).map(|_| tab())).await;
        assert!(answered.iter().all(|tab| *tab == [200, 200, 200]), "round {round}: {answered:?}");
    }
}
