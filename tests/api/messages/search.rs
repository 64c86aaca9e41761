//! Full-text search: what is found, by whom, and what never is.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    harness::{Client, Reply, Server, encoded, text, unknown_id},
    shapes::{MESSAGE, assert_shape},
};

async fn search(client: &Client, organisation: &str, parameters: &[(&str, &str)]) -> Reply {
    let query: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    client.get(&format!("/organisations/{organisation}/search?{}", query.join("&"))).await
}

async fn found(client: &Client, organisation: &str, q: &str) -> Value {
    search(client, organisation, &[("q", q)]).await.data(200, "Messages found successfully")
}

fn contents(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|message| text(&message["content"])).collect()
}

/// Posts a marker and waits until it is found: all before it is in the index by then.
pub async fn indexed(client: &Client, organisation: &str) {
    let channel = client.general(organisation).await;
    let marker = format!("marker-{}", unknown_id());
    client.say(&channel, &marker).await;
    within_a_moment("the index follows", async || found(client, organisation, &marker).await != json!([])).await;
}

/// The index tells nobody that it has changed, so this looks again every few milliseconds.
async fn within_a_moment(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(20));
    let arrived = async {
        while !holds().await {
            look.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), arrived).await.expect(what);
}

#[tokio::test]
async fn posts_and_replies_are_found_newest_first() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    let post = ada.say(&channel, "The Analytical Engine weaves").await;
    ada.reply(&channel, &post, "algebraical patterns, engine-wise").await;
    let general = ada.general(&organisation).await;
    ada.say(&general, "another engine of größe 🌍🌍🌍").await;
    ada.say(&general, "a loom").await;
    indexed(&grace, &organisation).await;

    let all = found(&grace, &organisation, "ENGINE").await;
    assert_eq!(
        contents(&all),
        ["another engine of größe 🌍🌍🌍", "algebraical patterns, engine-wise", "The Analytical Engine weaves"]
    );
    assert_shape(&all[0], MESSAGE);
    assert_eq!([&all[1]["thread_id"], &all[2]["id"]], [&post, &post]);
    for (q, hits) in [
        ("weaves analytical", 1),
        ("gine w", 3), // the short word does not count
        ("engine loom", 0),
        ("größe", 1),
        ("🌍🌍🌍", 1),
        ("a l", 1),
        ("GRÖSSE", 1),
    ] {
        assert_eq!(contents(&found(&grace, &organisation, q).await).len(), hits, "{q}");
    }
    let of = async |parameters: &[(&str, &str)]| contents(&search(&grace, &organisation, parameters).await.expect(200)["data"]);
    assert_eq!(of(&[("q", "engine"), ("limit", "1")]).await, ["another engine of größe 🌍🌍🌍"]);
    assert_eq!(of(&[("q", "engine"), ("channel_id", &channel)]).await.len(), 2);
}

#[tokio::test]
async fn the_search_follows_edits_and_deletions() {
    let server = Server::start().await;
    let (ada, _, organisation) = server.ada_and_grace().await;
    let channel = ada.general(&organisation).await;
    let edit = async |id: &str, content: &str| {
        let body = json!({ "message_id": id, "content": content });
        ada.put(&format!("/channels/{channel}/messages"), body).await.expect(200);
    };
    let delete = async |id: &str| ada.delete(&format!("/channels/{channel}/messages/{id}")).await.expect(200);
    // Before the index has reached them, and after.
    let (early, gone_early) = (ada.say(&channel, "sesame one").await, ada.say(&channel, "sesame two").await);
    edit(&early, "barley one").await;
    delete(&gone_early).await;
    let (late, gone_late) = (ada.say(&channel, "sesame three").await, ada.say(&channel, "sesame four").await);
    ada.reply(&channel, &gone_late, "keeps its place").await;
    indexed(&ada, &organisation).await;
    assert_eq!(contents(&found(&ada, &organisation, "sesame").await), ["sesame four", "sesame three"]);
    edit(&late, "barley three").await;
    edit(&gone_late, "barley four").await;
    delete(&gone_late).await;
    assert_eq!(found(&ada, &organisation, "sesame").await, json!([]));
    within_a_moment("an edit is followed without a post", async || {
        !contents(&found(&ada, &organisation, "three").await).is_empty()
    })
    .await;
    assert_eq!(contents(&found(&ada, &organisation, "barley").await), ["barley three", "barley one"]);
}

#[tokio::test]
async fn a_search_finds_only_messages_that_the_caller_may_read() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let guest = server.member(&ada, &organisation, "guest", "guest").await;
    let outsider = server.user("outsider").await;
    let elsewhere = ada.organisation("Elsewhere").await;
    let public = ada.channel(&organisation, "public", &[]).await;
    let private = ada.private_channel(&organisation, "private", &[&grace]).await;
    let doomed = ada.channel(&organisation, "doomed", &[&grace]).await;
    let archived = ada.channel(&organisation, "archived", &[&grace]).await;
    for (channel, content) in [
        (&public, "sesame public"),
        (&private, "sesame private"),
        (&doomed, "sesame doomed"),
        (&archived, "sesame archived"),
        (&ada.general(&elsewhere).await, "sesame elsewhere"),
    ] {
        ada.say(channel, content).await;
    }
    indexed(&ada, &organisation).await;
    ada.delete(&format!("/channels/{doomed}")).await.expect(204);
    ada.put(&format!("/channels/{archived}/archive"), json!({ "archived": true })).await.expect(200);
    assert_eq!(contents(&found(&ada, &organisation, "sesame").await), ["sesame archived", "sesame private", "sesame public"]);
    assert_eq!(contents(&found(&grace, &organisation, "sesame").await), ["sesame archived", "sesame private"]);
    assert_eq!(found(&guest, &organisation, "sesame").await, json!([]));
    assert_eq!(contents(&found(&ada, &elsewhere, "sesame").await), ["sesame elsewhere"]);
    grace.call("POST", &format!("/channels/{private}/leave"), None).await.expect(200);
    assert_eq!(contents(&found(&grace, &organisation, "sesame").await), ["sesame archived"]);

    let unknown = search(&ada, &unknown_id(), &[("q", "sesame")]).await.expect(404);
    assert_eq!(unknown, search(&outsider, &organisation, &[("q", "sesame")]).await.expect(404));
    let within = async |client: &Client, channel: &str, status: u16| {
        search(client, &organisation, &[("q", "sesame"), ("channel_id", channel)]).await.expect(status)
    };
    let unknown = within(&ada, &unknown_id(), 404).await;
    assert_eq!(unknown, within(&grace, &private, 404).await);
    assert_eq!(unknown, within(&guest, &public, 404).await);
    assert_eq!(unknown, within(&ada, &ada.general(&elsewhere).await, 404).await);
    within(&grace, &public, 403).await;
}

/// If lists of postings were shared, the time of a search would tell how common a word is in other organisations.
#[tokio::test]
async fn no_list_of_postings_holds_messages_of_two_organisations() {
    let server = Server::start().await;
    let (ada, grace) = (server.user("ada").await, server.user("grace").await);
    for (client, name) in [(&ada, "Engines"), (&grace, "Looms")] {
        let organisation = client.organisation(name).await;
        let channel = client.general(&organisation).await;
        client.say(&channel, "open sesame").await;
        let edited = client.say(&channel, "open").await;
        indexed(client, &organisation).await;
        let body = json!({ "message_id": edited, "content": "open barley" });
        client.put(&format!("/channels/{channel}/messages"), body).await.expect(200);
        within_a_moment("the edit is followed", async || found(client, &organisation, "barley").await != json!([])).await;
        assert_eq!(contents(&found(client, &organisation, "open").await), ["open barley", "open sesame"]);
    }
    let database = rusqlite::Connection::open(server.folder().join("tidings.db")).unwrap();
    database.execute("create virtual table temp.postings using fts5vocab (main, message_search, instance)", []).unwrap();
    let lists = "select term, count(distinct c.organisation_id) as organisations from temp.postings p
                   join messages m on m.n = p.doc join channels c on c.id = m.channel_id group by term";
    assert!(database.query_row(&format!("select count(*) from ({lists})"), [], |row| row.get::<_, i64>(0)).unwrap() > 20);
    let shared = format!("select coalesce(group_concat(term, ' '), '') from ({lists}) where organisations > 1");
    assert_eq!(database.query_row(&shared, [], |row| row.get::<_, String>(0)).unwrap(), "");
}

/// Each step leaves a segment of the index behind, and a search reads all segments. SQLite by itself would merge
/// sixteen of them in one write.
#[tokio::test]
async fn the_segments_of_the_index_are_merged_in_small_steps() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    ada.say(&ada.general(&organisation).await, "sesame").await;
    server.sql(
        "insert into messages (id, channel_id, user_id, username, content, created_at, updated_at)
           with recursive copies (k) as (select 1 union all select k + 1 from copies where k < 1000)
           select randomblob(16), channel_id, user_id, username, 'sesame ' || hex(randomblob(46)), created_at, updated_at
           from copies, (select * from messages limit 1)",
    );
    indexed(&ada, &organisation).await;
    within_a_moment("the parts are merged", async || server.number("select count(distinct segid) from message_search_idx") < 9)
        .await;
}

#[tokio::test]
async fn a_search_takes_operators_as_plain_text() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.general(&organisation).await;
    ada.say(&channel, "say \"hello\" (and* more) content:x ^start NEAR/2 x-ray").await;
    ada.say(&channel, "another text").await;
    indexed(&ada, &organisation).await;
    for q in ["\"hello\"", "and*", "content:x", "^start", "NEAR/2", "x-ray", "(and* more)", "\"hello", "say\u{0}more"] {
        assert_eq!(contents(&found(&ada, &organisation, q).await).len(), 1, "{q}");
    }
    for q in ["another OR hello", "NOT hello", "conten*", "-text", "\"\"\"\"", "'''", "{content} : text"] {
        assert_eq!(found(&ada, &organisation, q).await, json!([]), "{q}");
    }
}

#[tokio::test]
async fn searching_fails_as_documented() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let long = "x".repeat(257);
    for parameters in [
        &[][..],
        &[("q", "")],
        &[("q", "ab")],
        &[("q", " ab ")],
        &[("q", &*long)],
        &[("q", "abc"), ("limit", "0")],
        &[("q", "abc"), ("channel_id", "no-uuid")],
    ] {
        search(&ada, &organisation, parameters).await.expect(400);
    }
    search(&ada, "no-uuid", &[("q", "abc")]).await.expect(400);
    search(&server.anonymous(), &organisation, &[("q", "abc")]).await.expect(401);
    for q in ["abc", &long[..256]] {
        assert_eq!(found(&ada, &organisation, q).await, json!([]));
    }
}

/// The index knows of trigrams, not of their order.
#[tokio::test]
async fn a_text_with_all_parts_of_a_word_but_not_the_word_is_not_found() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.general(&organisation).await;
    let long = "abcdefghijklmnopqrstuvwxyz";
    // Letters that the identifier in the marker of `indexed` has not.
    for content in ["oop ooo", "xOOOP", "to the bees", "to  be", &long[..25], long] {
        ada.say(&channel, content).await;
    }
    indexed(&ada, &organisation).await;
    for (q, hits) in [("ooop", vec!["xOOOP"]), ("to be", vec!["to  be"]), (long, vec![long])] {
        assert_eq!(contents(&found(&ada, &organisation, q).await), hits, "{q}");
    }
    let second = search(&ada, &organisation, &[("q", "ooo"), ("limit", "1"), ("offset", "1")]).await.expect(200);
    assert_eq!(contents(&second["data"]), ["oop ooo"], "what does not match does not count");
}

/// Else some accounts that repeat it would take the slots from all others.
#[tokio::test]
async fn a_phrase_that_repeats_itself_in_long_messages_is_found_in_time() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    ada.say(&ada.general(&organisation).await, &"a".repeat(40_000)).await;
    server.sql(
        "insert into messages (id, channel_id, user_id, username, content, created_at, updated_at)
           with recursive copies (k) as (select 1 union all select k + 1 from copies where k < 100)
           select randomblob(16), channel_id, user_id, username, content, created_at, updated_at
           from copies, (select * from messages limit 1)",
    );
    indexed(&ada, &organisation).await;
    let phrase = "a".repeat(256);
    let found = search(&ada, &organisation, &[("q", &phrase)]).await.expect(200);
    assert!(!found["data"].as_array().unwrap().is_empty());
    let absent = format!("{}b", &phrase[1..]);
    assert_eq!(search(&ada, &organisation, &[("q", &absent)]).await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn two_ideographs_are_found() {
    let server = Server::start().await;
    let ada = server.user("ada").await;
    let organisation = ada.organisation("Engines").await;
    let channel = ada.general(&organisation).await;
    for text in ["会議は明日です", "회의실 예약", "明後日の日程", "ab"] {
        ada.say(&channel, text).await;
    }
    indexed(&ada, &organisation).await;
    assert_eq!(contents(&found(&ada, &organisation, "会議").await), ["会議は明日です"]);
    assert_eq!(contents(&found(&ada, &organisation, "회의").await), ["회의실 예약"]);
    assert_eq!(contents(&found(&ada, &organisation, "明日").await), ["会議は明日です"], "together, not apart");
    assert_eq!(contents(&found(&ada, &organisation, "会議は明日").await), ["会議は明日です"]);
    assert_eq!(contents(&found(&ada, &organisation, "明日 会議").await), ["会議は明日です"]);
    for short in ["会", "ab", "日a"] {
        search(&ada, &organisation, &[("q", short)]).await.expect(400);
    }

    // A text that an older server has indexed is queued by the migration, and is found once more and no more often.
    server.sql("insert into unindexed_edits (n) select n from messages where content = '会議は明日です'");
    ada.say(&channel, "会議").await;
    indexed(&ada, &organisation).await;
    assert_eq!(contents(&found(&ada, &organisation, "会議").await), ["会議", "会議は明日です"]);
}

#[tokio::test]
async fn a_search_is_narrowed_to_an_author_and_to_a_time() {
    let server = Server::start().await;
    let (ada, grace, organisation) = server.ada_and_grace().await;
    let channel = ada.channel(&organisation, "news", &[&grace]).await;
    for (author, text) in [(&ada, "engine one"), (&grace, "engine two"), (&ada, "engine three")] {
        author.say(&channel, text).await;
        server.clock.advance(std::time::Duration::from_secs(3600));
    }
    indexed(&ada, &organisation).await;
    let all = found(&ada, &organisation, "engine").await;
    let second = text(&all[1]["created_at"]);
    for (narrowing, expected) in [
        (vec![("user_id", &*ada.user_id)], vec!["engine three", "engine one"]),
        (vec![("before", &*second)], vec!["engine one"]),
        (vec![("after", &*second)], vec!["engine three"]),
        (vec![("after", &*second), ("user_id", &*grace.user_id)], vec![]),
        (vec![("before", "2000-01-01T00:00:00Z")], vec![]),
    ] {
        let parameters: Vec<_> = [("q", "engine")].into_iter().chain(narrowing).collect();
        let found = search(&ada, &organisation, &parameters).await.data(200, "Messages found successfully");
        assert_eq!(contents(&found), expected, "{parameters:?}");
    }
}
